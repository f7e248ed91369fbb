// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mode local, packet by packet: what a client's packet becomes before it passes to the host's
 * stack, and what becomes of the answer where it leaves the host; errors about either; and what is
 * nobody's answer leaves as it is. There is one port, so that packets can be written down.
 */
#include <criterion/criterion.h>
#include <linux/pkt_cls.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cases.h"
#include "tests/support/setup.h"

#define PORT "20000"

/* Two services lead to each backend, whose port is not their listeners'. */
#define LOCAL(name, listen, backend)                                                               \
	"  - { name: " name ", listen: [ '" listen ":80', '" listen ":53/udp' ], forward: local, " \
	"backends: [ { address: '" backend "', port: 8080 } ] }\n"

static const char setup[] = "services:\n" LOCAL("one", "10.2.0.1", "10.3.0.1")
	LOCAL("two", "10.2.0.2", "10.3.0.1") LOCAL("six", "[fd02:0::1]", "fd03:0::2");

static struct rig rig;

static void start(void)
{
	struct config_limits limits = RIG_LIMITS(4096);

	limits.nat_groups = 1;
	limits.nat_low = 20000;
	limits.nat_high = 20001;
	rig_open_with(&rig, setup, &limits);
}

static void finish(void)
{
	rig_close(&rig);
	place_cleanup();
}

TestSuite(local, .init = start, .fini = finish, .timeout = TEST_LONGEST);

/* Client's packets, which must pass to the stack; then one more, or one that leaves the host. */
struct flight {
	const char *name, *first;
	enum { IN, OUT } way;
	const char *packet;
	int verdict;
	const char *becomes; /* NULL: as it came */
};

#define C4   "ip4 10.1.0.9 > 10.2.0.1 "
#define C4B  "ip4 10.1.0.9 > 10.2.0.2 "
#define C6   "ip6 fd01::9 > fd02:0::1 "
#define S4   "ip4 10.1.0.9 > 10.3.0.1 ttl 63 "
#define S6   "ip6 fd01::9 > fd03:0::2 ttl 63 "
#define S4R  "ip4 10.3.0.1 > 10.1.0.9 "
#define S6R  "ip6 fd03:0::2 > fd01::9 "
#define C4R  "ip4 10.2.0.1 > 10.1.0.9 "
#define C4BR "ip4 10.2.0.2 > 10.1.0.9 "
#define C6R  "ip6 fd02:0::1 > fd01::9 "
#define SYN  "| tcp 1234 > 80 S seq 77"

#define DONE TC_ACT_UNSPEC

static const struct flight flights[] = {
	{"TCP", NULL, IN, C4 SYN " | data 11", XDP_PASS, S4 "| tcp 1234 > 8080 S seq 77 | data 11"},
	{"TCP over IPv6", NULL, IN, C6 SYN " | data 11", XDP_PASS,
	 S6 "| tcp 1234 > 8080 S seq 77 | data 11"},
	{"UDP", NULL, IN, C4 "tos 4 df | udp 1234 > 53 | data 3", XDP_PASS,
	 S4 "tos 4 df | udp 1234 > 8080 | data 3"},
	{"UDP without a checksum", NULL, IN, C4 "| udp 1234 > 53 csum 0 | data 3", XDP_PASS,
	 S4 "| udp 1234 > 8080 csum 0 | data 3"},
	{"tags stay", NULL, IN, IN2 C4 SYN, XDP_PASS, IN2 S4 "| tcp 1234 > 8080 S seq 77"},
	{"options and extension headers stay", NULL, IN, "ip4 10.1.0.9 > 10.2.0.1 opt 8 " SYN,
	 XDP_PASS, "ip4 10.1.0.9 > 10.3.0.1 ttl 63 opt 8 | tcp 1234 > 8080 S seq 77"},
	{"the flow goes on", C4 SYN, IN, C4 "| tcp 1234 > 80 A | data 700", XDP_PASS,
	 S4 "| tcp 1234 > 8080 A | data 700"},
	{"the answer", C4 SYN, OUT, S4R "| tcp 8080 > 1234 SA seq 5 ack 78", DONE,
	 C4R "| tcp 80 > 1234 SA seq 5 ack 78"},
	{"data of the answer", C4 SYN, OUT, S4R "df | tcp 8080 > 1234 PA seq 5 ack 78 | data 1400",
	 DONE, C4R "df | tcp 80 > 1234 PA seq 5 ack 78 | data 1400"},
	{"the answer, IPv6", C6 SYN, OUT, S6R "| tcp 8080 > 1234 SA seq 5 ack 78 | data 3", DONE,
	 C6R "| tcp 80 > 1234 SA seq 5 ack 78 | data 3"},
	{"a datagram's", C4 "| udp 1234 > 53", OUT, S4R "| udp 8080 > 1234 | data 33", DONE,
	 C4R "| udp 53 > 1234 | data 33"},
	{"one without a checksum", C4 "| udp 1234 > 53", OUT,
	 S4R "| udp 8080 > 1234 csum 0 | data 33", DONE, C4R "| udp 53 > 1234 csum 0 | data 33"},
	{"a bare ACK of who remembers another", C4 SYN, OUT, S4R "| tcp 8080 > 1234 A", DONE,
	 C4R "| tcp 80 > 1234 A"},
	{"a reset", C4 SYN, OUT, S4R "| tcp 8080 > 1234 RA", DONE, C4R "| tcp 80 > 1234 RA"},
	{"a flow in place of one that was reset", C4 SYN ";" C4 "| tcp 1234 > 80 R", IN, C4 SYN,
	 XDP_PASS, S4 "| tcp 1234 > 8080 S seq 77"},
	{"no flow", NULL, OUT, S4R "| tcp 8080 > 1234 SA", DONE, NULL},
	{"another port of the backend", C4 SYN, OUT, S4R "| tcp 8081 > 1234 SA", DONE, NULL},
	{"another port of the client", C4 SYN, OUT, S4R "| tcp 8080 > 1235 SA", DONE, NULL},
	{"another protocol", C4 SYN, OUT, S4R "| udp 8080 > 1234", DONE, NULL},
	{"a client's fragment", NULL, IN, C4 "id 7 mf | udp 1234 > 53 | data 8", XDP_DROP, NULL},
	{"a fragment", C4 "| udp 1234 > 53", OUT, S4R "off 100 proto 17 | data 33", DONE, NULL},
	{"no IP", C4 SYN, OUT, "arp 10.3.0.1 > 10.1.0.9", DONE, NULL},
};

/* The first of two flows has the client's port, the second its slot's: two slots a row. */
static const struct flight twice[] = {
	{"one client's port through two services", C4 SYN, IN, C4B SYN, XDP_PASS,
	 S4 "| tcp 20001 > 8080 S seq 77"},
	{"the answer of the first", C4 SYN ";" C4B SYN, OUT, S4R "| tcp 8080 > 1234 SA", DONE,
	 C4R "| tcp 80 > 1234 SA"},
	{"the answer of the second", C4 SYN ";" C4B SYN, OUT, S4R "| tcp 8080 > 20001 SA", DONE,
	 C4BR "| tcp 80 > 1234 SA"},
	{"the SYN again has its port", C4 SYN ";" C4B SYN, IN, C4 SYN, XDP_PASS,
	 S4 "| tcp 1234 > 8080 S seq 77"},
	{"a backend that is its own client", C4 SYN, IN, "ip4 10.3.0.1 > 10.2.0.1 " SYN, XDP_TX,
	 "eth lb > gw | ip4 10.2.0.1 > 10.3.0.1 ttl 63 | tcp 20001 > 8080 S seq 77"},
	{"the answer to itself", C4 SYN ";ip4 10.3.0.1 > 10.2.0.1 " SYN, IN,
	 "ip4 10.3.0.1 > 10.2.0.1 | tcp 8080 > 20001 SA", XDP_TX,
	 "eth lb > gw | ip4 10.2.0.1 > 10.3.0.1 ttl 63 | tcp 80 > 1234 SA"},
	{"no port for a third", C4 SYN ";" C4B SYN, IN, "ip4 10.1.0.10 > 10.2.0.1 " SYN, XDP_TX,
	 "eth lb > gw | ip4 10.2.0.1 > 10.1.0.10 ttl 64 df | tcp 80 > 1234 RA seq 0 ack 78 win 0"},
};

static const struct flight errors[] = {
	{"from the client's side", C4 SYN, IN,
	 "ip4 10.1.0.254 > 10.2.0.1 | icmp 3 code 4 mtu 1300 | " C4R
	 "ttl 60 | tcp 80 > 1234 A | data 20",
	 XDP_PASS,
	 "ip4 10.1.0.9 > 10.3.0.1 ttl 63 | icmp 3 code 4 mtu 1300 | " S4R
	 "ttl 60 | tcp 8080 > 1234 A | data 20"},
	{"from the client's side, IPv6", C6 SYN, IN,
	 "ip6 fd01::fe > fd02:0::1 | icmp6 2 mtu 1300 | " C6R "ttl 60 | tcp 80 > 1234 A | data 20",
	 XDP_PASS,
	 "ip6 fd01::9 > fd03:0::2 ttl 63 | icmp6 2 mtu 1300 | " S6R
	 "ttl 60 | tcp 8080 > 1234 A | data 20"},
	{"from the backend", C4 "| udp 1234 > 53 | data 5", OUT,
	 S4R "| icmp 3 code 3 | " S4 "| udp 1234 > 8080 | data 5", DONE,
	 C4R "| icmp 3 code 3 | ip4 10.1.0.9 > 10.2.0.1 ttl 63 | udp 1234 > 53 | data 5"},
	{"from the host, about TCP", C4 SYN, OUT,
	 "ip4 10.3.0.254 > 10.1.0.9 | icmp 3 code 4 mtu 900 | " S4 "| tcp 1234 > 8080 A | data 20",
	 DONE,
	 C4R "| icmp 3 code 4 mtu 900 | ip4 10.1.0.9 > 10.2.0.1 ttl 63 | tcp 1234 > 80 A | data "
	     "20"},
	{"from the backend, IPv6", C6 "| udp 1234 > 53 | data 5", OUT,
	 S6R "| icmp6 1 code 4 | " S6 "| udp 1234 > 8080 | data 5", DONE,
	 C6R "| icmp6 1 code 4 | ip6 fd01::9 > fd02:0::1 ttl 63 | udp 1234 > 53 | data 5"},
	{"about no flow", C4 SYN, OUT, S4R "| icmp 3 code 3 | " S4 "| udp 1234 > 8080 | data 5",
	 DONE, NULL},
};

static bool fly(const struct flight *f)
{
	struct frame in, out, expected;
	char words[512], *rest, *one;
	int verdict;

	rig_forget(&rig);
	rig_refill(&rig);
	snprintf(words, sizeof(words), "%s", f->first ? f->first : "");
	for (one = strtok_r(words, ";", &rest); one; one = strtok_r(NULL, ";", &rest))
		cr_assert_geq(rig_send(&rig, one, NULL), XDP_PASS, "%s: %s", f->name, one);
	frame_build(&in, f->packet);
	verdict = f->way == IN ? rig_run(&rig, &in, &out) : rig_leave(&rig, &in, &out);
	frame_build(&expected, f->becomes ? f->becomes : f->packet);
	if (verdict == f->verdict && frame_equal(&expected, &out))
		return true;
	fprintf(stderr, "%s: verdict %d, not %d\n", f->name, verdict, f->verdict);
	frame_print_difference(&expected, &out);
	return false;
}

static void fly_all(const struct flight *f, size_t n)
{
	size_t bad = 0;

	for (size_t k = 0; k < n; k++)
		bad += !fly(&f[k]);
	cr_assert_eq(bad, 0, "%zu of %zu", bad, n);
}

Test(local, packets)
{
	fly_all(flights, sizeof(flights) / sizeof(flights[0]));
}

Test(local, one_port_twice)
{
	fly_all(twice, sizeof(twice) / sizeof(twice[0]));
}

Test(local, errors)
{
	fly_all(errors, sizeof(errors) / sizeof(errors[0]));
}
