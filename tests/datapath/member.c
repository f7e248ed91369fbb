// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who may be chosen: the ladder of states, next hops, sources, and the MTU, exact to the byte.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cases.h"
#include "tests/support/setup.h"

/* Narrow path: 120 bytes. IPv4 with TCP is 40 bytes of it, IPv6 with TCP 60. */
#define S(n)   "ip4 10.1.0.9 > 10.2.4." #n " "
#define T(n)   "ip6 fd01::9 > fd02:4::" #n " "
#define TCP(n) "| tcp 1234 > 80 A | data " #n
/* What is too big is answered (answer.c), but for IPv4 without DF and for resets. */
#define TOO_BIG(name, ip, n, service)	    CASE_DROP(name, IN0 ip TCP(n), service " too-big")
#define RESET(n)			    "| tcp 1234 > 80 R | data " #n
#define RESET_TOO_BIG(name, ip, n, service) CASE_DROP(name, IN0 ip RESET(n), service " too-big")

static const struct packet_case mtu[] = {
	CASE_TX("l2 v4: as large as the MTU", IN0 S(1) TCP(80), "10.3.4.1",
		OUT0("b1") S(1) "ttl 63 " TCP(80)),
	TOO_BIG("l2 v4: one more", S(1), 81, "s41"),
	CASE_TX("l2 v6: as large as the MTU", IN0 T(1) TCP(60), "10.3.4.1",
		OUT0("b1") T(1) "ttl 63 " TCP(60)),
	RESET_TOO_BIG("l2 v6: one more", T(1), 61, "s41"),
	CASE_TX("4in4: as large as the MTU", IN0 S(2) TCP(60), "10.3.4.2",
		OUT0("b2") OUTER4("10.3.4.2") "| " S(2) TCP(60)),
	TOO_BIG("4in4: one more", S(2), 61, "s42"),
	RESET_TOO_BIG("4in4: one more, DF clear or not", S(2) "df ", 61, "s42"),
	CASE_TX("6in4: as large as the MTU", IN0 T(2) TCP(40), "10.3.4.2",
		OUT0("b2") OUTER4("10.3.4.2") "df | " T(2) TCP(40)),
	RESET_TOO_BIG("6in4: one more", T(2), 41, "s42"),
	CASE_TX("4in6: as large as the MTU", IN0 S(3) TCP(40), "fd03:4::3",
		OUT0("b3") OUTER6("fd03:4::3") "| " S(3) TCP(40)),
	TOO_BIG("4in6: one more", S(3), 41, "s43"),
	CASE_TX("6in6: as large as the MTU", IN0 T(3) TCP(20), "fd03:4::3",
		OUT0("b3") OUTER6("fd03:4::3") "| " T(3) TCP(20)),
	RESET_TOO_BIG("6in6: one more", T(3), 21, "s43"),
	TOO_BIG("4in4: much more", S(2), 1000, "s42"),
	CASE_TX("gue 4in4: as large as the MTU", IN0 S(6) TCP(52), "10.3.4.6",
		OUT0("b6") OUTER4("10.3.4.6") GUE "| " S(6) TCP(52)),
	TOO_BIG("gue 4in4: one more", S(6), 53, "s46"),
	CASE_TX("gue 6in4: as large as the MTU", IN0 T(6) TCP(32), "10.3.4.6",
		OUT0("b6") OUTER4("10.3.4.6") "df " GUE "| " T(6) TCP(32)),
	RESET_TOO_BIG("gue 6in4: one more", T(6), 33, "s46"),
	CASE_TX("gue 4in6: as large as the MTU", IN0 S(7) TCP(32), "fd03:4::7",
		OUT0("b7") OUTER6("fd03:4::7") GUE "| " S(7) TCP(32)),
	TOO_BIG("gue 4in6: one more", S(7), 33, "s47"),
	CASE_TX("gue 6in6: as large as the MTU", IN0 T(7) TCP(12), "fd03:4::7",
		OUT0("b7") OUTER6("fd03:4::7") GUE "| " T(7) TCP(12)),
	RESET_TOO_BIG("gue 6in6: one more", T(7), 13, "s47"),
	CASE_TX("a tag takes nothing of the MTU", IN2 S(1) TCP(80), "10.3.4.1",
		OUT0("b1") S(1) "ttl 63 " TCP(80)),
};

static const struct packet_case source[] = {
	CASE_TX("l2 needs no outer source", IN0 "ip4 10.1.0.9 > 10.2.5.1 | tcp 1 > 80 S",
		"10.3.5.1", OUT0("b1") "ip4 10.1.0.9 > 10.2.5.1 ttl 63 | tcp 1 > 80 S"),
	CASE_DROP("ipip over IPv4 without a source", IN0 "ip4 10.1.0.9 > 10.2.5.2 | tcp 1 > 80 S",
		  "s52 no-source"),
	CASE_DROP("ipip over IPv6 without a source", IN0 "ip6 fd01::9 > fd02:5::3 | udp 1 > 53",
		  "s53 no-source"),
	CASE_DROP("gue over IPv4 without a source", IN0 "ip6 fd01::9 > fd02:5::6 | udp 1 > 53",
		  "s56 no-source"),
	CASE_DROP("gue over IPv6 without a source", IN0 "ip4 10.1.0.9 > 10.2.5.7 | tcp 1 > 80 S",
		  "s57 no-source"),
};

#define BACK "eth lb > gw | "

static const struct packet_case unresolved[] = {
	CASE_ANSWER("l2", IN0 "ip4 10.1.0.9 > 10.2.9.1 | tcp 1 > 80 S",
		    "s91 no-backend answered-rst",
		    BACK "ip4 10.2.9.1 > 10.1.0.9 df | tcp 80 > 1 RA seq 0 ack 1001 win 0"),
	CASE_DROP("l2, TCP that goes on", IN0 "ip4 10.1.0.9 > 10.2.9.1 | tcp 1 > 80 A",
		  "s91 no-next-hop"),
	CASE_ANSWER("ipip", IN0 "ip6 fd01::9 > fd02:9::2 | udp 1 > 53",
		    "s92 no-backend answered-icmp",
		    BACK "ip6 fd02:9::2 > fd01::9 | icmp6 1 code 4 | "
			 "ip6 fd01::9 > fd02:9::2 | udp 1 > 53"),
	CASE_ANSWER("ipip over IPv6", IN0 "ip4 10.1.0.9 > 10.2.9.3 | udp 1 > 53",
		    "s93 no-backend answered-icmp",
		    BACK "ip4 10.2.9.3 > 10.1.0.9 tos 0xc0 df | icmp 3 code 3 | "
			 "ip4 10.1.0.9 > 10.2.9.3 | udp 1 > 53"),
};

static const struct packet_case nobody[] = {
	CASE_DROP("TCP that goes on", IN0 "ip4 10.1.0.9 > 10.2.0.7 | tcp 1 > 80 A",
		  "nobody no-backend"),
	CASE_DROP("IPv6 that goes on", IN0 "ip6 fd01::9 > fd02:0::7 | tcp 1 > 80 A",
		  "nobody no-backend"),
	CASE_DROP("in two tags", IN2 "ip4 10.1.0.9 > 10.2.0.7 | tcp 1 > 80 R", "nobody no-backend"),
	CASE_PASS("another port is still not ours", IN0 "ip4 10.1.0.9 > 10.2.0.7 | tcp 1 > 81 S"),
};

static struct rig rig;

TestSuite(member, .fini = place_cleanup);

static void mtu_is_exact(void)
{
	rig_open(&rig, "services:\n" SETUP_MODES(4));
	rig.i->meta->cuts = 0; /* nobody cuts in two: that is datapath/cut */
	CASES_RUN(&rig, mtu);
}

static void no_outer_source(void)
{
	rig_open(&rig, "services:\n" SETUP_MODES(5));
	rig.i->meta->cuts = 0; /* nobody cuts in two: that is datapath/cut */
	CASES_RUN(&rig, source);
}

static void no_next_hop(void)
{
	rig_open(&rig, "services:\n" SETUP_MODES(9));
	rig.i->meta->cuts = 0; /* nobody cuts in two: that is datapath/cut */
	CASES_RUN(&rig, unresolved);
}

static void no_backend(void)
{
	rig_open(&rig, "services:\n"
		       "  - { name: nobody, forward: l2, listen: [ '10.2.0.7:80', "
		       "'10.2.0.7:53/udp', '[fd02:0::7]:80' ] }\n");
	CASES_RUN(&rig, nobody);
}

/* ---- the ladder -------------------------------------------------------------------------------*/

#define TWO                                                                                        \
	"services:\n"                                                                              \
	"  - name: two\n"                                                                          \
	"    listen: [ '10.2.0.8:80', '10.2.0.8:53/udp' ]\n"                                       \
	"    forward: l2\n"                                                                        \
	"    track: always\n"                                                                      \
	"    backends: [ { address: 10.3.0.1 }, { address: 10.3.0.2 } ]\n"

enum fate { UP, UNCHECKED, DRAINING, FAILED, DISABLED, FATES };

static const struct {
	__u8 admin, health;
} fates[FATES] = {
	[UP] = {POISE_ENABLED, POISE_HEALTH_UP},
	[UNCHECKED] = {POISE_ENABLED, POISE_HEALTH_CHECKING},
	[DRAINING] = {POISE_DRAINING, POISE_HEALTH_UP},
	[FAILED] = {POISE_ENABLED, POISE_HEALTH_DOWN},
	[DISABLED] = {POISE_DISABLED, POISE_HEALTH_UP},
};

static void set_fates(enum fate first, enum fate second)
{
	struct config_service *s = config_service_named(rig.cfg, "two");
	const enum fate fate[2] = {first, second};

	for (int m = 0; m < 2; m++) {
		s->member[m].conf.admin = fates[fate[m]].admin;
		s->member[m].conf.health = fates[fate[m]].health;
	}
	rig_commit(&rig);
}

/* Where 64 new flows of each protocol go: how many to each of the two, the rest is refused. */
static void spread(unsigned int count[2])
{
	static struct frame in, out;
	__u8 mac[2][6];
	char words[96];

	frame_mac("b1", mac[0]);
	frame_mac("b2", mac[1]);
	rig_forget(&rig);
	count[0] = count[1] = 0;
	for (int k = 0; k < 128; k++) {
		snprintf(words, sizeof(words), "ip4 10.1.0.9 > 10.2.0.8 | %s",
			 k & 1 ? "tcp 1234 > 80 S" : "udp 1234 > 53");
		frame_build(&in, words);
		in.byte[34] = (__u8)k; /* source port, high byte; nobody looks at the checksum */
		if (rig_run(&rig, &in, &out) != XDP_TX)
			continue;
		for (int m = 0; m < 2; m++)
			count[m] += !memcmp(out.byte, mac[m], sizeof(mac[m]));
	}
}

/* Each pair of states: the better one gets all new flows, equals share, the disabled gets none. */
static void ladder(void)
{
	rig_open(&rig, TWO);
	for (enum fate a = 0; a < FATES; a++)
		for (enum fate b = 0; b < FATES; b++) {
			unsigned int count[2];

			set_fates(a, b);
			spread(count);
			if (a == DISABLED && b == DISABLED)
				cr_expect(count[0] + count[1] == 0, "both disabled: %u and %u",
					  count[0], count[1]);
			else
				cr_expect(count[0] + count[1] == 128,
					  "states %d and %d: %u refused", a, b,
					  128 - count[0] - count[1]);
			if (a < b)
				cr_expect(!count[1], "states %d and %d: %u and %u", a, b, count[0],
					  count[1]);
			else if (a > b)
				cr_expect(!count[0], "states %d and %d: %u and %u", a, b, count[0],
					  count[1]);
			else if (a != DISABLED)
				cr_expect(count[0] > 32 && count[1] > 32,
					  "both in state %d: %u and %u", a, count[0], count[1]);
		}
}

/* One of two loses its next hop: from the very next packet no new flow goes there. */
static void unresolved_is_avoided(void)
{
	unsigned int count[2];

	rig_open(&rig, TWO);
	spread(count);
	cr_expect(count[0] > 32 && count[1] > 32, "%u and %u", count[0], count[1]);
	instance_set_nexthop(rig.i, rig_member(&rig, "10.3.0.1"), 0);
	spread(count);
	cr_expect(count[0] == 0 && count[1] == 128, "%u and %u", count[0], count[1]);
}

/* One after another over one loaded program. */
Test(member, stories)
{
	mtu_is_exact();
	no_outer_source();
	no_next_hop();
	no_backend();
	ladder();
	unresolved_is_avoided();
	rig_close(&rig);
}
