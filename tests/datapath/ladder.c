// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Backends that are down: what becomes of the flows that they have (on-down), by TCP and UDP, over
 * IPv4 and IPv6, under every policy; where new ones go instead; and that a reset is for those flows
 * alone.
 *
 * A flow is a client port; the backend that it goes to is told by the frame.
 */
#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/rig.h"

#define SETUP                                                                                      \
	"services:\n"                                                                              \
	"  - name: flows\n"                                                                        \
	"    listen: [ '10.2.0.1:80', '10.2.0.1:53/udp', '[fd02::1]:80', '[fd02::1]:53/udp' ]\n"   \
	"    forward: l2\n"                                                                        \
	"    %s\n"                                                                                 \
	"    backends: [ { address: 10.3.0.1 }, { address: 10.3.0.2 }, { address: 10.3.0.3%s } "   \
	"]\n"

#define BACKENDS 3
#define ANSWERED (-1) /* sent back */
#define DROPPED	 0
#define FLOWS	 16

static struct rig rig;

TestSuite(ladder, .fini = place_cleanup, .timeout = TEST_LONGEST);

enum l4 { SYN, DATA, FIN, RST, UDP };

static const char *const l4s[] = {"tcp %d > 80 S", "tcp %d > 80 A seq 5000 ack 777 | data 9",
				  "tcp %d > 80 FA seq 5000 ack 777", "tcp %d > 80 R seq 5000",
				  "udp %d > 53 | data 9"};

static void words(char buf[128], int family, int flow, enum l4 l4)
{
	int used = snprintf(buf, 128, "%s | ",
			    family == 4 ? "ip4 10.1.0.9 > 10.2.0.1" : "ip6 fd01::9 > fd02::1");

	snprintf(buf + used, (size_t)(128 - used), l4s[l4], 2000 + flow);
}

/* The backend (1 and up) that a packet of the flow goes to, DROPPED or ANSWERED. */
static int goes_to(int family, int flow, enum l4 l4)
{
	static struct frame out;
	char packet[128];

	words(packet, family, flow, l4);
	rig_refill(&rig);
	if (rig_send(&rig, packet, &out) != XDP_TX)
		return DROPPED;
	return out.byte[4] == FRAME_MAC_BACKEND ? out.byte[5] : ANSWERED;
}

/* third: more keys of the third backend. */
static void open_as(const char *keys, const char *third)
{
	char yaml[1024];

	snprintf(yaml, sizeof(yaml), SETUP, keys, third);
	rig_open(&rig, yaml);
}

static void open_with(const char *keys)
{
	open_as(keys, "");
}

static struct poise_member_conf *backend(int n)
{
	return &config_service_named(rig.cfg, "flows")->member[n - 1].conf;
}

enum fault { HEALTH, DISABLED, NONE };

static const char *const faults[] = {"down", "disabled", "up"};

static void set(int n, enum fault fault)
{
	backend(n)->health = fault == HEALTH ? POISE_HEALTH_DOWN : POISE_HEALTH_UP;
	backend(n)->admin = fault == DISABLED ? POISE_DISABLED : POISE_ENABLED;
	rig_commit(&rig);
}

static void set_all(enum fault fault)
{
	for (int n = 1; n <= BACKENDS; n++)
		set(n, fault);
}

static __u64 counted(enum poise_reason reason)
{
	static struct rig_counts now;

	rig_count(&rig, &now);
	return now.service[rig_service(&rig, "flows")].count[reason];
}

/* ---- on-down ----------------------------------------------------------------------------------*/

enum fate { STAYS, MOVES, RESETS };

static const struct {
	const char *keys;
	enum fate tcp, udp;
} on_downs[] = {
	{"idle: 2h", STAYS, MOVES}, /* the defaults */
	{"on-down: keep", STAYS, MOVES},     {"on-down: move", MOVES, MOVES},
	{"on-down: reset", RESETS, MOVES},   {"on-down-udp: keep", STAYS, STAYS},
	{"on-down-udp: move", STAYS, MOVES}, {"{on-down: reset, on-down-udp: keep}", RESETS, STAYS},
};
#define ON_DOWNS (sizeof(on_downs) / sizeof(on_downs[0]))

static const char *const policies[] = {"maglev",     "source-hash", "round-robin",  "random",
				       "least-conn", "p2c",	    "latency-aware"};
#define POLICIES (sizeof(policies) / sizeof(policies[0]))

static void expect_fate(enum fate fate, int was, int is, const char *what, enum fault fault)
{
	if (fate == STAYS)
		cr_expect_eq(is, was, "%s, %s: from %d to %d", what, faults[fault], was, is);
	else if (fate == RESETS)
		cr_expect_eq(is, ANSWERED, "%s, %s: from %d to %d", what, faults[fault], was, is);
	else
		cr_expect(is > 0 && is != was, "%s, %s: from %d to %d", what, faults[fault], was,
			  is);
}

/* A flow of TCP and one of UDP, each while its backend has the fault; a new one meanwhile. */
static void check_flows(size_t on_down, int family, enum fault fault, const char *what)
{
	int base = 2 * FLOWS * (2 * (family == 6) + (int)fault), tcp = base, udp = base + 1;
	int fresh = base + 2, was, is;

	was = goes_to(family, tcp, SYN);
	cr_assert(was > 0);
	cr_assert_eq(goes_to(family, tcp, DATA), was);
	set(was, fault);
	expect_fate(on_downs[on_down].tcp, was, goes_to(family, tcp, DATA), what, fault);
	for (int k = 0; k < FLOWS; k++) {
		is = goes_to(family, fresh + k, SYN);
		cr_expect(is > 0 && is != was, "%s: a new flow to %d", what, is);
	}
	set(was, NONE);

	was = goes_to(family, udp, UDP);
	cr_assert(was > 0);
	cr_assert_eq(goes_to(family, udp, UDP), was);
	set(was, fault);
	is = goes_to(family, udp, UDP);
	expect_fate(on_downs[on_down].udp, was, is, what, fault);
	cr_expect_eq(goes_to(family, udp, UDP), is, "%s: on from %d", what, is);
	for (int k = 0; k < FLOWS && on_downs[on_down].udp == STAYS; k++)
		cr_expect_neq(goes_to(family, fresh + k, UDP), was, "%s: a new UDP flow", what);
	set(was, NONE);
}

static void check_on_down(const char *policy, size_t on_down)
{
	const char *keys = on_downs[on_down].keys;
	char all[256];

	snprintf(all, sizeof(all), "policy: %s\n    <<: %s%s%s", policy, *keys == '{' ? "" : "{",
		 keys, *keys == '{' ? "" : "}");
	open_with(all);
	for (int family = 4; family <= 6; family += 2)
		for (enum fault fault = HEALTH; fault <= DISABLED; fault++)
			check_flows(on_down, family, fault, all);
}

/* ---- the reset --------------------------------------------------------------------------------*/

static const struct {
	const char *in, *out;
} resets[] = {
	{"ip4 10.1.0.9 > 10.2.0.1 | tcp 3000 > 80 A seq 5000 ack 777 | data 9",
	 "eth lb > gw | ip4 10.2.0.1 > 10.1.0.9 df | tcp 80 > 3000 win 0 R seq 777 ack 0"},
	{"ip4 10.1.0.9 > 10.2.0.1 tos 5 opt 8 | tcp 3000 > 80 AP seq 1 ack 0xffffffff opt 12",
	 "eth lb > gw | ip4 10.2.0.1 > 10.1.0.9 df | tcp 80 > 3000 win 0 R seq 0xffffffff ack 0"},
	{"ip4 10.1.0.9 > 10.2.0.1 | tcp 3000 > 80 FA seq 5000 ack 777",
	 "eth lb > gw | ip4 10.2.0.1 > 10.1.0.9 df | tcp 80 > 3000 win 0 R seq 777 ack 0"},
	/* what acknowledges nothing is acknowledged: 5000 + 9 + FIN */
	{"ip4 10.1.0.9 > 10.2.0.1 | tcp 3000 > 80 F seq 5000 | data 9",
	 "eth lb > gw | ip4 10.2.0.1 > 10.1.0.9 df | tcp 80 > 3000 win 0 RA seq 0 ack 5010"},
	{"eth gw > lb | vlan 7 pcp 3 | ip4 10.1.0.9 > 10.2.0.1 | tcp 3000 > 80 A ack 9",
	 "eth lb > gw | vlan 7 pcp 3 | ip4 10.2.0.1 > 10.1.0.9 df | "
	 "tcp 80 > 3000 win 0 R seq 9 ack 0"},
	{"ip6 fd01::9 > fd02::1 | tcp 3000 > 80 A seq 5000 ack 777 | data 9",
	 "eth lb > gw | ip6 fd02::1 > fd01::9 | tcp 80 > 3000 win 0 R seq 777 ack 0"},
	{"ip6 fd01::9 > fd02::1 | dst 16 | tcp 3000 > 80 FA seq 5000 ack 777",
	 "eth lb > gw | ip6 fd02::1 > fd01::9 | tcp 80 > 3000 win 0 R seq 777 ack 0"},
	{"eth gw > lb | vlan 8 tpid 0x88a8 | vlan 9 | ip6 fd01::9 > fd02::1 | "
	 "tcp 3000 > 80 A ack 4",
	 "eth lb > gw | vlan 8 tpid 0x88a8 | vlan 9 | ip6 fd02::1 > fd01::9 | "
	 "tcp 80 > 3000 win 0 R seq 4 ack 0"},
};

/* To the byte, each as often as it comes. */
static void resets_are_right(void)
{
	static struct frame in, out, expected;

	open_with("on-down: reset");
	for (size_t r = 0; r < sizeof(resets) / sizeof(resets[0]); r++) {
		__u64 answered = counted(POISE_R_ANSWERED_RST), down = counted(POISE_R_DOWN);

		frame_build(&in, resets[r].in);
		frame_build(&expected, resets[r].out);
		rig_forget(&rig);
		set_all(NONE);
		cr_assert_eq(rig_run(&rig, &in, &out), XDP_TX);
		cr_assert_eq(out.byte[4], FRAME_MAC_BACKEND);
		set(out.byte[5], HEALTH);
		for (int again = 0; again < 2; again++) {
			rig_refill(&rig);
			cr_assert_eq(rig_run(&rig, &in, &out), XDP_TX, "%s", resets[r].in);
			if (!frame_equal(&expected, &out)) {
				frame_print_difference(&expected, &out);
				cr_assert_fail("%s", resets[r].in);
			}
		}
		cr_expect_eq(counted(POISE_R_ANSWERED_RST) - answered, 2);
		cr_expect_eq(counted(POISE_R_DOWN) - down, 2);
	}
}

static __s64 flows_live(void)
{
	__s64 live = 0;

	for (int n = 1; n <= BACKENDS; n++) {
		struct instance_stats stats;
		char address[32];

		snprintf(address, sizeof(address), "10.3.0.%d", n);
		instance_member_stats(rig.i, rig_member(&rig, address), &stats);
		live += stats.flows;
	}
	return live;
}

/* Nobody else is reset, nobody twice for good, and a reset flow is no live one. */
static void resets_are_for_nobody_else(void)
{
	__s64 live;
	int was, other;

	open_with("on-down: reset");
	was = goes_to(4, 1, SYN);
	goes_to(4, 1, DATA);
	for (int flow = 2; (other = goes_to(4, flow, SYN)) == was; flow++)
		;
	set(was, HEALTH);
	cr_expect_neq(goes_to(4, 500, DATA), ANSWERED, "a flow that nobody knows");
	cr_expect_neq(goes_to(4, 501, FIN), ANSWERED, "its end");
	cr_expect_neq(goes_to(4, 502, RST), ANSWERED, "its reset");
	cr_expect_neq(goes_to(4, 503, UDP), ANSWERED, "a datagram");
	live = flows_live();
	cr_expect_eq(goes_to(4, 1, DATA), ANSWERED);
	cr_expect_eq(flows_live(), live - 1);
	cr_expect_eq(goes_to(4, 1, RST), DROPPED, "a reset is not answered");
	cr_expect_eq(flows_live(), live - 1);
	set(other, DISABLED);
	cr_expect_neq(goes_to(4, 1, SYN), ANSWERED, "who begins anew begins");
	cr_expect(goes_to(4, 1, DATA) > 0, "and goes on");
	set_all(NONE);
}

/* A SYN that was sent again because the backend did not answer gets another. */
static void nobody_is_reset_who_only_began(void)
{
	int was, is;

	open_with("on-down: reset");
	was = goes_to(6, 1, SYN);
	set(was, HEALTH);
	is = goes_to(6, 1, SYN);
	cr_expect(is > 0 && is != was, "from %d to %d", was, is);
	cr_expect_eq(goes_to(6, 1, DATA), is);
	set_all(NONE);
}

/* ---- on-none-up, sorry, panic -----------------------------------------------------------------*/

/* fate: ANSWERED or DROPPED. */
static void expect_none(int fate, const char *what)
{
	for (int family = 4; family <= 6; family += 2)
		for (int flow = 600; flow < 600 + FLOWS; flow++) {
			cr_expect_eq(goes_to(family, flow, SYN), fate, "%s: SYN", what);
			cr_expect_eq(goes_to(family, flow, UDP), fate, "%s: UDP", what);
		}
}

static void expect_refused(const char *what)
{
	expect_none(ANSWERED, what);
}

/* Bits 1 << n of those that new flows go to. */
static int served_by(int first)
{
	int set = 0;

	for (int family = 4; family <= 6; family += 2)
		for (int flow = first; flow < first + 4 * FLOWS; flow++) {
			int tcp = goes_to(family, flow, SYN), udp = goes_to(family, flow, UDP);

			cr_expect(tcp > 0 && udp > 0, "flow %d: %d and %d", flow, tcp, udp);
			set |= 1 << (tcp > 0 ? tcp : 0) | 1 << (udp > 0 ? udp : 0);
		}
	return set;
}

#define ALL (1 << 1 | 1 << 2 | 1 << 3)

/* With nobody up: new flows are answered, those that are kept go on, on record or not. */
static void none_up(const char *policy)
{
	char keys[128];
	int was, spread = strcmp(policy, "source-hash") != 0;

	snprintf(keys, sizeof(keys), "policy: %s\n    on-none-up: refuse", policy);
	open_with(keys);
	was = goes_to(4, 1, SYN);
	cr_assert_eq(goes_to(4, 1, DATA), was);
	set_all(HEALTH);
	expect_refused(policy);
	cr_expect_eq(goes_to(4, 1, DATA), was, "%s: a flow that is kept", policy);
	set(2, NONE);
	cr_expect_eq(served_by(700), 1 << 2, "%s", policy);
	cr_expect_eq(goes_to(4, 1, DATA), was, "%s: a flow that is kept", policy);
	set_all(DISABLED);
	expect_refused(policy);

	snprintf(keys, sizeof(keys), "policy: %s\n    on-none-up: try", policy);
	open_with(keys);
	set_all(HEALTH);
	cr_expect(served_by(800) == ALL || !spread, "%s: 0x%x", policy, served_by(800));
	was = goes_to(4, 1, UDP);
	for (int k = 0; k < FLOWS; k++)
		cr_expect_eq(goes_to(4, 1, UDP), was, "%s: a flow of one that is tried", policy);
	set_all(DISABLED);
	expect_refused(policy);
}

/* A client's own backend takes no new flow of its when nobody may be chosen. */
static void none_up_with_affinity(void)
{
	open_with("affinity: yes");
	for (int flow = 1; flow < FLOWS; flow++)
		cr_expect(goes_to(4, flow, SYN) > 0);
	set_all(DISABLED);
	expect_refused("affinity");
}

/* As many are counted as with an answer; flows that are kept do not notice. */
static void nobody_in_silence(void)
{
	__u64 before, was_answered;
	int was;

	open_with("on-nobody: drop");
	was = goes_to(4, 1, SYN);
	cr_assert_eq(goes_to(4, 1, DATA), was);
	before = counted(POISE_R_NO_BACKEND);
	was_answered = counted(POISE_R_ANSWERED_RST) + counted(POISE_R_ANSWERED_ICMP);
	set_all(DISABLED);
	expect_none(DROPPED, "on-nobody drop");
	cr_expect_eq(counted(POISE_R_NO_BACKEND) - before, 4 * FLOWS);
	cr_expect_eq(counted(POISE_R_ANSWERED_RST) + counted(POISE_R_ANSWERED_ICMP), was_answered);
	cr_expect_eq(goes_to(4, 1, DATA), was, "a flow that is kept");
	set(2, NONE);
	cr_expect_eq(served_by(2000), 1 << 2);
}

static void sorry(const char *policy)
{
	char keys[64];

	snprintf(keys, sizeof(keys), "policy: %s", policy);
	open_as(keys, ", sorry: yes");
	cr_expect_eq(served_by(900) & 1 << 3, 0, "%s", policy);
	set(1, HEALTH);
	cr_expect_eq(served_by(1000), 1 << 2, "%s", policy);
	set(2, DISABLED);
	cr_expect_eq(served_by(1100), 1 << 3, "%s", policy);
	set(1, NONE);
	cr_expect_eq(served_by(1200), 1 << 1, "%s", policy);
}

static void panic(const char *policy)
{
	int spread = strcmp(policy, "source-hash") != 0;
	char keys[64];

	snprintf(keys, sizeof(keys), "policy: %s\n    panic: 50%%", policy);
	open_with(keys);
	set(1, HEALTH);
	cr_expect_eq(served_by(1300) & 1 << 1, 0, "%s: two of three", policy);
	set(2, HEALTH);
	cr_expect(served_by(1400) == ALL || !spread, "%s: one of three", policy);
	set(1, NONE);
	cr_expect_eq(served_by(1500) & 1 << 2, 0, "%s: two of three", policy);
}

/* The same of TCP alone: a datagram without a record may go on where the table led before. */
static int begun_at(int first)
{
	int set = 0;

	for (int flow = first; flow < first + 4 * FLOWS; flow++) {
		int at4 = goes_to(4, flow, SYN), at6 = goes_to(6, flow, SYN);

		cr_assert(at4 >= 0 && at6 >= 0, "flow %d goes to nobody", flow);
		set |= 1 << at4 | 1 << at6;
	}
	return set;
}

/* Two and a sorry one: with fewer than two up it serves, until both are again; whoever is up keeps
 * what it has. */
static void min_up(const char *policy)
{
	char keys[64];
	int was;

	snprintf(keys, sizeof(keys), "policy: %s\n    min-up: 2", policy);
	open_as(keys, ", sorry: yes");
	was = goes_to(4, 1, SYN);
	cr_assert_eq(goes_to(4, 1, DATA), was);
	cr_assert(was == 1 || was == 2, "%s: %d", policy, was);
	set(3 - was, HEALTH);
	cr_expect_eq(begun_at(1600), 1 << 3, "%s: one of two", policy);
	cr_expect_eq(goes_to(4, 1, DATA), was, "%s: a flow of the one that is up", policy);
	set(3 - was, NONE);
	cr_expect_eq(begun_at(1700) & 1 << 3, 0, "%s: both again", policy);
	set(3, HEALTH);
	set(3 - was, HEALTH);
	cr_expect_eq(begun_at(1800), 1 << was, "%s: no sorry one is up", policy);
}

/* One after another over one loaded program. */
Test(ladder, stories)
{
	resets_are_right();
	resets_are_for_nobody_else();
	nobody_is_reset_who_only_began();
	none_up_with_affinity();
	nobody_in_silence();
	for (size_t p = 0; p < POLICIES; p++) {
		for (size_t d = 0; d < ON_DOWNS; d++)
			check_on_down(policies[p], d);
		none_up(policies[p]);
		sorry(policies[p]);
		panic(policies[p]);
		min_up(policies[p]);
	}
	rig_close(&rig);
}
