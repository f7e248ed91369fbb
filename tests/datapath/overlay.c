// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mode nat where no attached device leads to the backend: clients' packets go on to the host's
 * stack with the source that they have, and a mark says that it is to be translated; answers leave
 * as in mode local. A flow keeps its way when another one is found.
 */
#include <criterion/criterion.h>
#include <linux/pkt_cls.h>
#include <stdio.h>

#include "tests/support/cases.h"
#include "tests/support/setup.h"

#define SERVICE(name, listen, mode, backend)                                                       \
	"  - { name: " name ", listen: [ '" listen ":80', '" listen ":53/udp' ], forward: " mode   \
	", source: 10.9.0.1, backends: [ { address: '" backend "', port: 8080 } ] }\n"

static const char setup[] = "services:\n" SERVICE("four", "10.2.0.1", "nat", "10.3.0.1")
	SERVICE("six", "[fd02:0::1]", "nat", "fd03:0::2")
		SERVICE("local", "10.2.0.3", "local", "10.3.0.3")
			SERVICE("near", "10.2.0.4", "nat", "10.3.0.4");

static struct rig rig;

static void by_stack(const char *backend)
{
	instance_set_nexthop(rig.i, rig_member(&rig, backend), POISE_NEXTHOP_LOCAL);
}

static void start(void)
{
	struct config_limits limits = RIG_LIMITS(4096);

	limits.nat_groups = 8;
	rig_open_with(&rig, setup, &limits);
	by_stack("10.3.0.1");
	by_stack("fd03:0::2");
	rig.i->meta->overlay = POISE_OVERLAY_STANDS;
}

static void finish(void)
{
	rig_close(&rig);
	place_cleanup();
}

TestSuite(overlay, .init = start, .fini = finish, .timeout = TEST_LONGEST);

#define C4  "ip4 10.1.0.9 > 10.2.0.1 "
#define C6  "ip6 fd01::9 > fd02:0::1 "
#define CL  "ip4 10.1.0.9 > 10.2.0.3 "
#define S4  "ip4 10.1.0.9 > 10.3.0.1 ttl 63 "
#define S6  "ip6 fd01::9 > fd03:0::2 ttl 63 "
#define SL  "ip4 10.1.0.9 > 10.3.0.3 ttl 63 "
#define SYN "| tcp 1234 > 80 S seq 77"

/* XDP has this to say of it, and makes it that. */
static void becomes(const char *packet, int verdict, const char *that)
{
	struct frame in, out, expected;
	int said;

	frame_build(&in, packet);
	frame_build(&expected, that);
	said = rig_run(&rig, &in, &out);
	if (!frame_equal(&expected, &out))
		frame_print_difference(&expected, &out);
	cr_assert(frame_equal(&expected, &out), "%s", packet);
	cr_assert_eq(said, verdict, "%s: %d", packet, said);
}

static void leaves(const char *packet, const char *as)
{
	struct frame in, out, expected;

	frame_build(&in, packet);
	frame_build(&expected, as);
	cr_assert_eq(rig_leave(&rig, &in, &out), TC_ACT_UNSPEC);
	if (!frame_equal(&expected, &out))
		frame_print_difference(&expected, &out);
	cr_assert(frame_equal(&expected, &out), "%s", packet);
}

static __u32 mark(const char *packet)
{
	struct frame in;

	frame_build(&in, packet);
	return rig_enter(&rig, &in);
}

Test(overlay, both_directions)
{
	becomes(C4 SYN, XDP_PASS, S4 "| tcp 1234 > 8080 S seq 77");
	leaves("ip4 10.3.0.1 > 10.1.0.9 | tcp 8080 > 1234 SA seq 5 ack 78",
	       "ip4 10.2.0.1 > 10.1.0.9 | tcp 80 > 1234 SA seq 5 ack 78");
	becomes(C4 "| tcp 1234 > 80 A | data 700", XDP_PASS, S4 "| tcp 1234 > 8080 A | data 700");
	becomes(C4 "| udp 1234 > 53 | data 3", XDP_PASS, S4 "| udp 1234 > 8080 | data 3");
	leaves("ip4 10.3.0.1 > 10.1.0.9 | udp 8080 > 1234 | data 33",
	       "ip4 10.2.0.1 > 10.1.0.9 | udp 53 > 1234 | data 33");
	becomes(C6 SYN, XDP_PASS, S6 "| tcp 1234 > 8080 S seq 77");
	leaves("ip6 fd03:0::2 > fd01::9 | tcp 8080 > 1234 SA seq 5 ack 78",
	       "ip6 fd02:0::1 > fd01::9 | tcp 80 > 1234 SA seq 5 ack 78");
	becomes("ip4 10.1.0.254 > 10.2.0.1 | icmp 3 code 4 mtu 1300 | ip4 10.2.0.1 > 10.1.0.9 ttl "
		"60 | tcp 80 > 1234 A | data 20",
		XDP_PASS,
		"ip4 10.1.0.9 > 10.3.0.1 ttl 63 | icmp 3 code 4 mtu 1300 | ip4 10.3.0.1 > 10.1.0.9 "
		"ttl 60 | tcp 8080 > 1234 A | data 20");
	leaves("ip4 10.3.0.1 > 10.1.0.9 | icmp 3 code 3 | " S4 "| udp 1234 > 8080 | data 3",
	       "ip4 10.2.0.1 > 10.1.0.9 | icmp 3 code 3 | " C4 "ttl 63 | udp 1234 > 53 | data 3");
}

/* Of a datagram in fragments the first alone is marked: the stack puts it together by that one. */
Test(overlay, fragments)
{
	becomes(C4 "id 7 mf | udp 1234 > 53 | data 24", XDP_PASS,
		S4 "id 7 mf | udp 1234 > 8080 | data 24");
	becomes(C4 "id 7 off 4 proto 17 | data 24", XDP_PASS, S4 "id 7 off 4 proto 17 | data 24");
	cr_expect_eq(mark(S4 "id 7 mf | udp 1234 > 8080 | data 24"), POISE_OVERLAY_MARK);
	cr_expect_eq(mark(S4 "id 7 off 4 proto 17 | data 24"), 0);
	cr_expect_eq(mark(S4 "id 8 mf | udp 1235 > 8080 | data 24"), 0);
	becomes(C6 "| frag6 id 7 mf | udp 1234 > 53 | data 24", XDP_PASS,
		S6 "| frag6 id 7 mf | udp 1234 > 8080 | data 24");
	cr_expect_eq(mark(S6 "| frag6 id 7 mf | udp 1234 > 8080 | data 24"), POISE_OVERLAY_MARK);
	cr_expect_eq(mark(S6 "| frag6 id 7 off 4 mf proto 17 | data 24"), 0);
	leaves("ip4 10.3.0.1 > 10.1.0.9 id 9 mf | udp 8080 > 1234 | data 24",
	       "ip4 10.2.0.1 > 10.1.0.9 id 9 mf | udp 53 > 1234 | data 24");
	leaves("ip4 10.3.0.1 > 10.1.0.9 id 9 off 4 proto 17 | data 24",
	       "ip4 10.2.0.1 > 10.1.0.9 id 9 off 4 proto 17 | data 24");
}

/* What the host is to translate is a flow's, not a backend's. */
Test(overlay, marked_are_packets_of_its_flows_alone)
{
	static const struct {
		const char *packet;
		bool marked;
	} of[] = {
		{S4 "| tcp 1234 > 8080 S seq 77", true},
		{S4 "| tcp 1234 > 8080 A | data 700", true},
		{S4 "| udp 1234 > 8080", true},
		{S6 "| tcp 1234 > 8080 S", true},
		{S4 "| tcp 1235 > 8080 S", false},
		{S4 "| tcp 1234 > 8081 S", false},
		{S4 "| udp 1235 > 8080", false},
		{"ip4 10.1.0.8 > 10.3.0.1 | tcp 1234 > 8080 S", false},
		{C4 SYN, false},
		{SL "| tcp 1234 > 8080 S", false}, /* mode local: who serves sees the client */
		{"arp 10.3.0.1 > 10.1.0.9", false},
	};

	rig_send(&rig, C4 SYN, NULL);
	rig_send(&rig, C4 "| udp 1234 > 53", NULL);
	rig_send(&rig, C6 SYN, NULL);
	becomes(CL SYN, XDP_PASS, SL "| tcp 1234 > 8080 S seq 77");
	for (size_t k = 0; k < sizeof(of) / sizeof(of[0]); k++)
		cr_expect_eq(mark(of[k].packet), of[k].marked ? POISE_OVERLAY_MARK : 0, "%s",
			     of[k].packet);
	rig.i->meta->overlay = POISE_OVERLAY_NONE;
	cr_expect_eq(mark(of[0].packet), 0);
}

/* Packets of service `four` dropped since nothing leads to their flow's backend. */
static __u64 without_next_hop(void)
{
	static struct rig_counts c;

	rig_count(&rig, &c);
	return c.service[rig_service(&rig, "four")].count[POISE_R_NO_NEXT_HOP];
}

/* A device that leads there is attached, or no more: flows that began otherwise do not turn into
 * what the backend does not know. */
Test(overlay, a_flow_keeps_its_way)
{
	__u16 member = rig_member(&rig, "10.3.0.1");
	__u64 near = rig.i->members[rig_member(&rig, "10.3.0.4")].nexthop;
	struct frame in, out;
	__u64 unled;

	rig_send(&rig, C4 SYN, NULL);
	instance_set_nexthop(rig.i, member, near);
	becomes(C4 "| tcp 1234 > 80 A | data 7", XDP_PASS, S4 "| tcp 1234 > 8080 A | data 7");
	becomes(C4 "| tcp 1234 > 80 A | data 7", XDP_PASS, S4 "| tcp 1234 > 8080 A | data 7");
	frame_build(&in, C4 "| tcp 1240 > 80 S");
	cr_assert_eq(rig_run(&rig, &in, &out), XDP_TX, "a new flow has the new way");
	by_stack("10.3.0.1");
	frame_build(&in, C4 "| tcp 1240 > 80 A");
	unled = without_next_hop();
	cr_assert_eq(rig_run(&rig, &in, &out), XDP_DROP, "its source is the balancer's");
	cr_assert_eq(without_next_hop(), unled + 1);
	becomes(C4 "| tcp 1241 > 80 S", XDP_PASS, S4 "| tcp 1241 > 8080 S");
	becomes(C4 "| tcp 1234 > 80 A | data 7", XDP_PASS, S4 "| tcp 1234 > 8080 A | data 7");
}
