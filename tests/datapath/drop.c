// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Flows dropped from the table, by the really loaded sweeper: exactly those that are asked for go,
 * gauges follow at once, and the next packet of a dropped flow is one of an unknown flow, which the
 * table takes up and nobody answers.
 */
#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/rig.h"

#define FLOWS 64

static const char setup[] =
	"services:\n"
	"  - { name: four, listen: [ '10.2.0.1:80', '10.2.0.1:53/udp' ], forward: l2,\n"
	"      track: always, backends: [ 10.3.0.1, 10.3.0.2 ] }\n"
	"  - { name: six, listen: [ '[fd02::1]:80', '[fd02::1]:53/udp' ], forward: l2,\n"
	"      track: always, backends: [ 'fd03::3', 'fd03::4' ] }\n";

static struct rig rig;

TestSuite(drop, .fini = place_cleanup);

/* The backend that the packet of a flow leaves for; 0: answered or dropped. */
static int packet(bool six, int flow, const char *l4, const char *to)
{
	static struct frame out;
	char words[128];

	snprintf(words, sizeof(words), "%s | %s %d > %s",
		 six ? "ip6 fd01::9 > fd02::1" : "ip4 10.1.0.9 > 10.2.0.1", l4, 2000 + flow, to);
	if (rig_send(&rig, words, &out) != XDP_TX || out.byte[4] != FRAME_MAC_BACKEND)
		return 0;
	return out.byte[5];
}

/* TCP flows of both services, half of them established, and UDP flows. */
static void begin(int to[2][FLOWS])
{
	for (int six = 0; six < 2; six++)
		for (int f = 0; f < FLOWS; f++) {
			to[six][f] = packet(six, f, "tcp", "80 S");
			cr_assert(to[six][f]);
			if (f & 1)
				packet(six, f, "tcp", "80 A");
			cr_assert(packet(six, f, "udp", "53"));
		}
}

static __u32 drop(const char *service, const char *backend, enum poise_flow_state state)
{
	struct poise_sweep io = {
		.count = rig.i->meta->flow_buckets,
		.kind = POISE_SWEEP_FORCE,
		.service = service ? rig_service(&rig, service) : 0,
		.member = backend ? rig_member(&rig, backend) : 0,
		.state = (__u8)state,
	};
	struct poise_error err = {0};

	cr_assert_eq(instance_sweep_range(rig.i, &io, &err), 0, "%s", err.message);
	return io.freed;
}

static __s64 gauge(const char *backend)
{
	struct instance_stats s;

	instance_member_stats(rig.i, rig_member(&rig, backend), &s);
	return s.flows;
}

static bool one(void *ctx, __u64 word)
{
	++*((int *)ctx + POISE_WORD_STATE(word));
	return true;
}

/* Words recorded in a state. */
static int words(enum poise_flow_state state)
{
	int n[8] = {0};

	instance_flows(rig.i, one, n);
	return n[state];
}

Test(drop, what_goes_on_is_picked_up_where_it_was)
{
	struct poise_error err = {0};
	int to[2][FLOWS];
	__u32 gone;

	rig_open(&rig, setup);
	begin(to);
	cr_assert_eq(words(POISE_FLOW_EST), FLOWS);
	cr_assert_eq(drop("four", NULL, POISE_FLOW_EST), FLOWS / 2);
	cr_assert_eq(words(POISE_FLOW_EST), FLOWS / 2, "those of the other service stay");
	gone = (__u32)gauge("fd03::3");
	cr_assert_eq(drop("six", "fd03::3", POISE_FLOW_FREE), gone);
	cr_assert_eq(gauge("fd03::3"), 0);
	cr_assert_eq(gauge("10.3.0.1") + gauge("10.3.0.2") + gauge("fd03::4"),
		     FLOWS + FLOWS / 2 + 2 * FLOWS - gone);
	drop(NULL, NULL, POISE_FLOW_FREE);
	cr_assert_eq(gauge("10.3.0.1") + gauge("10.3.0.2") + gauge("fd03::4"), 0);
	for (int six = 0; six < 2; six++)
		for (int f = 0; f < FLOWS; f++)
			cr_assert_eq(packet(six, f, "tcp", "80 A"), to[six][f]);
	cr_assert_eq(words(POISE_FLOW_PICKUP), 2 * FLOWS);
	cr_assert_eq(instance_check(rig.i, NULL, NULL, &err), 0);
	rig_close(&rig);
}
