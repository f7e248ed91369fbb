// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mode local, packet by packet: what a client's packet becomes before it passes to the host's
 * stack, and what becomes of the answer where it leaves the host; errors about either, and
 * fragments of either; and what is nobody's answer leaves as it is. There is one port, so that
 * packets can be written down.
 */
#include <criterion/criterion.h>
#include <linux/pkt_cls.h>
#include <sched.h>
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

/* Client's packets, which must pass to the stack, and behind a < one that leaves the host; then one
 * more, or one that leaves. */
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
	{"no IP", C4 SYN, OUT, "arp 10.3.0.1 > 10.1.0.9", DONE, NULL},
};

/* Of a datagram its beginning, and what has no ports. */
#define BEGIN	"id 7 mf "
#define LATER	"id 7 off 4 mf proto 17 | data 24"
#define LAST	"id 7 off 8 proto 17 | data 24"
#define BEGIN6	"| frag6 id 7 mf "
#define LATER6	"| frag6 id 7 off 4 mf proto 17 | data 24"
#define ASKS	"| udp 1234 > 53 | data 24"
#define ASKS_	"| udp 1234 > 8080 | data 24"
#define TELLS	"| udp 8080 > 1234 | data 24"
#define TELLS_	"| udp 53 > 1234 | data 24"
#define ANSWER	C4 ASKS ";<" S4R BEGIN TELLS
#define ANSWER6 C6 ASKS ";<" S6R BEGIN6 TELLS

static const struct flight pieces[] = {
	{"the first", NULL, IN, C4 BEGIN ASKS, XDP_PASS, S4 BEGIN ASKS_},
	{"the first, IPv6", NULL, IN, C6 BEGIN6 ASKS, XDP_PASS, S6 BEGIN6 ASKS_},
	{"the first, of TCP", NULL, IN, C4 BEGIN SYN " | data 8", XDP_PASS,
	 S4 BEGIN "| tcp 1234 > 8080 S seq 77 | data 8"},
	{"the first, without a checksum", NULL, IN, C4 BEGIN "| udp 1234 > 53 csum 0 | data 8",
	 XDP_PASS, S4 BEGIN "| udp 1234 > 8080 csum 0 | data 8"},
	{"one that follows", C4 BEGIN ASKS, IN, C4 LATER, XDP_PASS, S4 LATER},
	{"one that follows, with tags", C4 BEGIN ASKS, IN, IN2 C4 LATER, XDP_PASS, IN2 S4 LATER},
	{"one that follows, IPv6", C6 BEGIN6 ASKS, IN, C6 LATER6, XDP_PASS, S6 LATER6},
	{"the last", C4 BEGIN ASKS ";" C4 LATER, IN, C4 LAST, XDP_PASS, S4 LAST},
	{"one before the first", NULL, IN, C4 LATER, XDP_DROP, NULL},
	{"one without a hop", C4 BEGIN ASKS, IN, C4 "ttl 1 " LATER, XDP_DROP, NULL},
	{"of an answer", C4 ASKS, OUT, S4R BEGIN TELLS, DONE, C4R BEGIN TELLS_},
	{"of an answer, IPv6", C6 ASKS, OUT, S6R BEGIN6 TELLS, DONE, C6R BEGIN6 TELLS_},
	{"of an answer, of TCP", C4 SYN, OUT, S4R BEGIN "| tcp 8080 > 1234 A | data 8", DONE,
	 C4R BEGIN "| tcp 80 > 1234 A | data 8"},
	{"of an answer, options", C4 ASKS, OUT, S4R "opt 8 " BEGIN TELLS, DONE,
	 C4R "opt 8 " BEGIN TELLS_},
	{"that follows of an answer", ANSWER, OUT, S4R LATER, DONE, C4R LATER},
	{"that follows of an answer, IPv6", ANSWER6, OUT, S6R LATER6, DONE, C6R LATER6},
	{"the last of an answer", ANSWER ";<" S4R LATER, OUT, S4R LAST, DONE, C4R LAST},
	{"one after it", ANSWER ";<" S4R LAST, OUT, S4R LATER, DONE, NULL},
	{"one before the first of an answer", C4 ASKS, OUT, S4R LATER, DONE, NULL},
	{"of another number", ANSWER, OUT, S4R "id 8 off 4 mf proto 17 | data 24", DONE, NULL},
	{"of nobody's answer", NULL, OUT, S4R BEGIN TELLS, DONE, NULL},
	{"of an answer to another", ANSWER, OUT, "ip4 10.3.0.1 > 10.1.0.8 " LATER, DONE, NULL},
	/* What leaves is apart from what comes in, even if that is the same. */
	{"of an answer whose last came in by a device of ours", ANSWER ";" S4R LAST, OUT, S4R LAST,
	 DONE, C4R LAST},
};

#define ITSELF	  "ip4 10.3.0.1 > 10.2.0.1 "
#define TO_ITSELF "eth lb > gw | ip4 10.2.0.1 > 10.3.0.1 ttl 63 "

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
	{"a fragment to itself", C4 SYN, IN, ITSELF BEGIN ASKS, XDP_TX,
	 TO_ITSELF BEGIN "| udp 20001 > 8080 | data 24"},
	{"one that follows that", C4 SYN ";" ITSELF BEGIN ASKS, IN, ITSELF LATER, XDP_TX,
	 TO_ITSELF LATER},
	{"an error about the answer to itself", C4 SYN ";" ITSELF ASKS, IN,
	 ITSELF "| icmp 3 code 3 | ip4 10.2.0.1 > 10.3.0.1 ttl 60 " TELLS_, XDP_TX,
	 TO_ITSELF "| icmp 3 code 3 | " ITSELF "ttl 60 | udp 8080 > 20001 | data 24"},
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
	for (one = strtok_r(words, ";", &rest); one; one = strtok_r(NULL, ";", &rest)) {
		frame_build(&in, *one == '<' ? one + 1 : one);
		if (*one == '<')
			rig_leave(&rig, &in, &out);
		else
			cr_assert_geq(rig_run(&rig, &in, &out), XDP_PASS, "%s: %s", f->name, one);
	}
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

Test(local, fragments)
{
	fly_all(pieces, sizeof(pieces) / sizeof(pieces[0]));
}

/* Each CPU hands ports out in turn, from wherever the tests before have left it. */
static void begin_with_the_first_port(void)
{
	struct frame in, out;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	rig_forget(&rig);
	frame_build(&in, C4 SYN);
	rig_run(&rig, &in, &out);
	if (!rig.i->slots[20000].head)
		return;
	frame_build(&in, C4B SYN);
	rig_run(&rig, &in, &out);
}

Test(local, one_port_twice)
{
	begin_with_the_first_port();
	fly_all(twice, sizeof(twice) / sizeof(twice[0]));
}

Test(local, errors)
{
	fly_all(errors, sizeof(errors) / sizeof(errors[0]));
}
