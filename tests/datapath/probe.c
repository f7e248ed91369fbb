// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Health checks by clients' way, through the programs at TC: what leaves for a backend is what XDP
 * would have made of a client's packet to the virtual address, what comes back is the backend's
 * own, checksums included; and whatever is no probe's passes as it is.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <linux/pkt_cls.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "maps/text.h"
#include "tests/support/cases.h"
#include "tests/support/setup.h"

static const char setup[] =
	"services:\n" SETUP_MODES(0) SETUP_MODES(1) SETUP_MODES(3) SETUP_MODES(4) SETUP_MODES(9);

static struct rig rig;
static int out_fd, in_fd;

static int open_program(const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", rig.i->dir, name);
	fd = bpf_obj_get(path);
	cr_assert(fd >= 0, "%s: %s", path, strerror(errno));
	return fd;
}

static void start(void)
{
	rig_open(&rig, setup);
	out_fd = open_program("prog_probe_out");
	in_fd = open_program("prog_probe_in");
}

static void finish(void)
{
	close(out_fd);
	close(in_fd);
	rig_close(&rig);
	place_cleanup();
}

TestSuite(probe, .init = start, .fini = finish, .timeout = TEST_LONGEST);

/* A probe's entry, and a packet each way. The entry is that of port 61441. */
struct probe_case {
	const char *name;
	const char *backend, *address;
	int proto, port;
	__u8 flags;
	const char *out, *sent; /* sent NULL: as it went out, untouched */
	int verdict;
	const char *in, *taken; /* in NULL: none */
};

#define ENTRY 1
#define FULL  POISE_PROBE_FULL
#define OK    TC_ACT_UNSPEC

/* As the stack sends, with the link header that it knows, and as answers come. */
#define STACK	   "eth lb > b9 | "
#define US4	   "ip4 10.3.0.254 > "
#define US6	   "ip6 fd03::fe > "
#define SYN	   "| tcp 61441 > 80 S"
#define BACK(a)	   "eth b2 > lb | ip4 " a " > 10.3.0.254 "
#define BACK6(a)   "eth b2 > lb | ip6 " a " > fd03::fe "
#define SYNACK	   "| tcp 80 > 61441 SA"
#define TCP4(p, n) "10.3." #p "." #n, "10.2." #p "." #n, IPPROTO_TCP, 80
#define TCP6(p, n) "fd03:" #p "::" #n, "fd02:" #p "::" #n, IPPROTO_TCP, 80
#define UDP4(p, n) "10.3." #p "." #n, "10.2." #p "." #n, IPPROTO_UDP, 53
#define UDP6(p, n) "fd03:" #p "::" #n, "fd02:" #p "::" #n, IPPROTO_UDP, 53

static const struct probe_case cases[] = {
	{"ipip, IPv4", TCP4(0, 2), 0, STACK US4 "10.3.0.2 df tos 4 " SYN,
	 OUT0("b2") OUTER4("10.3.0.2") "df tos 4 | " US4 "10.2.0.2 df tos 4 " SYN, OK,
	 BACK("10.2.0.2") SYNACK, BACK("10.3.0.2") SYNACK},
	{"ipip, IPv6", TCP6(0, 3), 0, STACK US6 "fd03:0::3 " SYN,
	 OUT0("b3") OUTER6("fd03:0::3") "| " US6 "fd02:0::3 " SYN, OK, BACK6("fd02:0::3") SYNACK,
	 BACK6("fd03:0::3") SYNACK},
	{"gue, IPv4", TCP4(0, 6), 0, STACK US4 "10.3.0.6 df " SYN,
	 OUT0("b6") OUTER4("10.3.0.6") "df " GUE "| " US4 "10.2.0.6 df " SYN, OK,
	 BACK("10.2.0.6") SYNACK, BACK("10.3.0.6") SYNACK},
	{"gue, IPv6", TCP6(0, 7), 0, STACK US6 "fd03:0::7 " SYN,
	 OUT0("b7") OUTER6("fd03:0::7") GUE "| " US6 "fd02:0::7 " SYN, OK,
	 BACK6("fd02:0::7") SYNACK, BACK6("fd03:0::7") SYNACK},
	{"l2", TCP4(0, 1), 0, STACK US4 "10.3.0.1 df " SYN,
	 OUT0("b1") US4 "10.2.0.1 ttl 63 df " SYN, OK, BACK("10.2.0.1") SYNACK,
	 BACK("10.3.0.1") SYNACK},
	{"data, of any size", TCP4(0, 2), FULL,
	 STACK US4 "10.3.0.2 df | tcp 61441 > 80 A | data 1440",
	 OUT0("b2") OUTER4("10.3.0.2") "df | " US4 "10.2.0.2 df | tcp 61441 > 80 A | data 1440", OK,
	 BACK("10.2.0.2") "| tcp 80 > 61441 A | data 7",
	 BACK("10.3.0.2") "| tcp 80 > 61441 A | data 7"},
	{"a datagram", UDP4(0, 2), 0, STACK US4 "10.3.0.2 | udp 61441 > 53 | data 5",
	 OUT0("b2") OUTER4("10.3.0.2") "| " US4 "10.2.0.2 | udp 61441 > 53 | data 5", OK,
	 BACK("10.2.0.2") "| udp 53 > 61441 | data 9",
	 BACK("10.3.0.2") "| udp 53 > 61441 | data 9"},
	{"without a checksum", UDP4(0, 1), 0, STACK US4 "10.3.0.1 | udp 61441 > 53 csum 0 | data 5",
	 OUT0("b1") US4 "10.2.0.1 ttl 63 | udp 61441 > 53 csum 0 | data 5", OK,
	 BACK("10.2.0.1") "| udp 53 > 61441 csum 0", BACK("10.3.0.1") "| udp 53 > 61441 csum 0"},
	{"a datagram by IPv6", UDP6(0, 7), 0, STACK US6 "fd03:0::7 | udp 61441 > 53 | data 5",
	 OUT0("b7") OUTER6("fd03:0::7") GUE "| " US6 "fd02:0::7 | udp 61441 > 53 | data 5", OK,
	 BACK6("fd02:0::7") "| udp 53 > 61441", BACK6("fd03:0::7") "| udp 53 > 61441"},
	/* 61441 is 0xf001 */
	{"an echo", "10.3.0.2", "10.2.0.2", IPPROTO_ICMP, 0, 0,
	 STACK US4 "10.3.0.2 proto 1 | hex 080007f5f0010009",
	 OUT0("b2") OUTER4("10.3.0.2") "| " US4 "10.2.0.2 proto 1 | hex 080007f5f0010009", OK,
	 BACK("10.2.0.2") "proto 1 | hex 00000ff5f0010009",
	 BACK("10.3.0.2") "proto 1 | hex 00000ff5f0010009"},
	{"out by another device", TCP4(3, 2), 0, STACK US4 "10.3.3.2 df " SYN,
	 OUT3("b2") OUTER4("10.3.3.2") "df | " US4 "10.2.3.2 df " SYN, TC_ACT_REDIRECT, NULL, NULL},
	{"the tag is the VLAN device's", TCP4(1, 2), 0, STACK US4 "10.3.1.2 df " SYN,
	 OUT0("b2") OUTER4("10.3.1.2") "df | " US4 "10.2.1.2 df " SYN, OK, NULL, NULL},
	/* As large as the path takes: 1500 bytes, or 120. */
	{"full, ipip", TCP4(0, 2), FULL, STACK US4 "10.3.0.2 df " SYN,
	 OUT0("b2") OUTER4("10.3.0.2") "df len 1500 | " US4 "10.2.0.2 df " SYN "| pad 1440", OK,
	 NULL, NULL},
	{"full, ipip to IPv6", TCP6(0, 3), FULL, STACK US6 "fd03:0::3 " SYN,
	 OUT0("b3") OUTER6("fd03:0::3") "len 1460 | " US6 "fd02:0::3 " SYN "| pad 1400", OK, NULL,
	 NULL},
	{"full, gue", UDP4(0, 6), FULL, STACK US4 "10.3.0.6 | udp 61441 > 53 | data 5",
	 OUT0("b6") OUTER4("10.3.0.6") "len 1500 | udp any > 6080 csum 0 len 1480 | " US4
				       "10.2.0.6 | udp 61441 > 53 | data 5 | pad 1439",
	 OK, NULL, NULL},
	{"full, l2", TCP4(0, 1), FULL, STACK US4 "10.3.0.1 df " SYN,
	 OUT0("b1") US4 "10.2.0.1 ttl 63 df " SYN "| pad 1460", OK, NULL, NULL},
	{"full, narrow", TCP4(4, 2), FULL, STACK US4 "10.3.4.2 df " SYN,
	 OUT0("b2") OUTER4("10.3.4.2") "df len 120 | " US4 "10.2.4.2 df " SYN "| pad 60", OK, NULL,
	 NULL},
	/* Errors quote what was sent. */
	{"refused", UDP4(0, 2), 0, STACK US4 "10.3.0.2 | udp 61441 > 53",
	 OUT0("b2") OUTER4("10.3.0.2") "| " US4 "10.2.0.2 | udp 61441 > 53", OK,
	 BACK("10.2.0.2") "| icmp 3 code 3 | " US4 "10.2.0.2 | udp 61441 > 53 csum 7",
	 BACK("10.2.0.2") "| icmp 3 code 3 | " US4 "10.3.0.2 | udp 61441 > 53 csum 7"},
	{"refused, IPv6", UDP6(0, 3), 0, STACK US6 "fd03:0::3 | udp 61441 > 53",
	 OUT0("b3") OUTER6("fd03:0::3") "| " US6 "fd02:0::3 | udp 61441 > 53", OK,
	 BACK6("fd02:0::3") "| icmp6 1 code 4 | " US6 "fd02:0::3 | udp 61441 > 53 csum 7",
	 BACK6("fd02:0::3") "| icmp6 1 code 4 | " US6 "fd03:0::3 | udp 61441 > 53 csum 7"},
	/* Not a probe's. */
	{"another port", TCP4(0, 2), 0, STACK US4 "10.3.0.2 | tcp 61442 > 80 S", NULL, OK,
	 BACK("10.2.0.2") "| tcp 80 > 61442 SA", NULL},
	{"below the range", TCP4(0, 2), 0, STACK US4 "10.3.0.2 | tcp 61439 > 80 S", NULL, OK,
	 BACK("10.2.0.2") "| tcp 80 > 61439 SA", NULL},
	{"to another port", TCP4(0, 2), 0, STACK US4 "10.3.0.2 | tcp 61441 > 81 S", NULL, OK,
	 BACK("10.2.0.2") "| tcp 81 > 61441 SA", NULL},
	{"to another backend", TCP4(0, 2), 0, STACK US4 "10.3.0.3 " SYN, NULL, OK,
	 BACK("10.3.0.2") SYNACK, NULL},
	{"another protocol", UDP4(0, 2), 0, STACK US4 "10.3.0.2 | tcp 61441 > 53 S", NULL, OK,
	 BACK("10.2.0.2") "| tcp 53 > 61441 SA", NULL},
	{"of the other family", TCP4(0, 2), 0, STACK US6 "::ffff:a03:2 " SYN, NULL, OK,
	 BACK6("::ffff:a02:2") SYNACK, NULL},
	{"a fragment", UDP4(0, 2), 0, STACK US4 "10.3.0.2 mf | udp 61441 > 53 | data 8", NULL, OK,
	 BACK("10.2.0.2") "mf | udp 53 > 61441 | data 8", NULL},
	{"no probe", "10.3.0.2", "10.2.0.2", 0, 80, 0, STACK US4 "10.3.0.2 " SYN, NULL, OK,
	 BACK("10.2.0.2") SYNACK, NULL},
	{"an echo the other way", "10.3.0.2", "10.2.0.2", IPPROTO_ICMP, 0, 0,
	 STACK US4 "10.3.0.2 proto 1 | hex 00000ff5f0010009", NULL, OK,
	 BACK("10.2.0.2") "proto 1 | hex 080007f5f0010009", NULL},
	{"no next hop", TCP4(9, 2), 0, STACK US4 "10.3.9.2 df " SYN, NULL, TC_ACT_SHOT, NULL, NULL},
};

static void expect(const struct probe_case *c, const char *words, const struct frame *out)
{
	static struct frame expected;

	frame_build(&expected, words);
	frame_take_any(&expected, out);
	if (frame_equal(&expected, out))
		return;
	frame_print_difference(&expected, out);
	cr_expect_fail("%s: %s", c->name, words);
}

/* *complete: as if a device had summed the packet up; left false where a kernel cannot. */
static int run(int program, const char *words, struct frame *out, bool *complete)
{
	static struct frame in;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = in.byte, .data_out = out->byte,
		    .data_size_out = sizeof(out->byte));

	frame_build(&in, words);
	opts.data_size_in = (__u32)in.length;
	opts.flags = *complete ? 1u << 2 : 0; /* BPF_F_TEST_SKB_CHECKSUM_COMPLETE, since 6.16 */
	if (bpf_prog_test_run_opts(program, &opts)) {
		cr_assert(*complete && errno == EINVAL, "%s: %s", words, strerror(errno));
		*complete = false;
		return 0;
	}
	out->length = opts.data_size_out;
	return (int)opts.retval;
}

static void enter(const struct probe_case *c)
{
	struct poise_probe *p = &rig.i->probes[ENTRY];
	struct poise_error err = {0};

	memset(p, 0, sizeof(*p));
	cr_assert_eq(poise_parse_addr(c->backend, &p->backend, &err), 0);
	cr_assert_eq(poise_parse_addr(c->address, &p->address, &err), 0);
	p->member = rig_member(&rig, c->backend);
	p->port = htons(c->port);
	p->flags = c->flags;
	p->proto = c->proto;
}

static void check(const struct probe_case *c)
{
	bool as_it_is = false, complete = true;
	static struct frame out;

	enter(c);
	cr_expect_eq(run(out_fd, c->out, &out, &as_it_is), c->verdict, "%s: out", c->name);
	if (c->verdict != TC_ACT_SHOT)
		expect(c, c->sent ? c->sent : c->out, &out);
	if (!c->in)
		return;
	cr_expect_eq(run(in_fd, c->in, &out, &as_it_is), TC_ACT_UNSPEC, "%s: in", c->name);
	expect(c, c->taken ? c->taken : c->in, &out);
	/* The kernel compares sum and packet afterwards. */
	run(in_fd, c->in, &out, &complete);
}

Test(probe, both_ways)
{
	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
		check(&cases[k]);
}

/* Whatever the addresses add up to: all carries of the checksum's repair. */
Test(probe, checksums_of_every_carry)
{
	struct probe_case c = {"carries", TCP4(0, 2), 0, NULL, NULL, OK, NULL, NULL};
	struct poise_probe *p = &rig.i->probes[ENTRY];
	static struct frame out;
	char words[256];
	bool plain = false;

	enter(&c);
	for (unsigned int n = 0; n < 2048; n++) {
		snprintf(words, sizeof(words), STACK US4 "10.3.0.2 id %u | tcp 61441 > 80 seq %u",
			 n * 7, n * 2654435761u);
		p->address.h[6] = (__u16)(n * 40503);
		p->address.h[7] = (__u16)(n * 30011);
		cr_assert_eq(run(out_fd, words, &out, &plain), OK);
		memmove(out.byte + 14, out.byte + 34, out.length - 34);
		out.length -= 20;
		cr_assert(frame_sound(&out), "%u", n);
	}
}
