// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * max-conns: never more new flows on a backend than it may have, under every policy and on two CPUs
 * at once; what ends makes room; switched on and off while flows live; and what is in held[] is
 * always the gauge.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "maps/option.h"
#include "tests/support/native.h"

static const char yaml[] =
	"services:\n"
	"  - name: web\n"
	"    listen: [ '10.2.0.1:80', '10.2.0.1:53/udp' ]\n"
	"    forward: ipip\n"
	"    max-conns: 5\n"
	"    backends: [ { address: 10.3.0.1 }, { address: 10.3.0.2, weight: 3 },\n"
	"                { address: 10.3.0.3, max-conns: 9 }, { address: 10.3.0.4 } ]\n";

#define BACKENDS 4
#define ROOM	 (5 + 5 + 9 + 5)

static struct native n;
static __u16 service;

static void setup(void)
{
	service = native_open_web(&n, yaml, 65536);
}

static void teardown(void)
{
	native_close(&n);
}

TestSuite(max_conns, .init = setup, .fini = teardown);

static struct config_service *web(void)
{
	return native_web(&n);
}

static __u16 id(size_t member)
{
	return web()->member[member].id;
}

static __s64 gauge(size_t member)
{
	return native_gauge(&n, id(member));
}

static __u64 refused(void)
{
	return run_drops(service)->count[POISE_R_FULL];
}

static __u16 to(const char *protocol, __u32 flow, const char *flags)
{
	return native_nth(&n, protocol, flow, flags);
}

static __u32 flows(__u32 first, __u32 count)
{
	__u32 taken = 0;

	for (__u32 k = 0; k < count; k++)
		taken += !!to("tcp", first + k, "S");
	return taken;
}

static void forget(void)
{
	struct poise_sweep io = {.kind = POISE_SWEEP_FORCE};

	native_sweep(&n, &io);
	for (size_t m = 0; m < BACKENDS; m++)
		cr_assert_eq(gauge(m), 0);
}

/* ---- how many ---------------------------------------------------------------------------------*/

static const __s64 most[BACKENDS] = {5, 5, 9, 5};

Test(max_conns, every_policy_fills_every_backend)
{
	const struct option *o = option_find(OPTION_SERVICE, "policy");

	for (int policy = 0; policy < POISE_POLICIES; policy++) {
		__u64 before;

		web()->conf.policy = (__u8)policy;
		native_commit(&n);
		before = refused();
		cr_expect_eq(flows(0, 200), ROOM, "%s", option_word(o, policy));
		cr_expect_eq(refused() - before, 200 - ROOM, "%s", option_word(o, policy));
		for (size_t m = 0; m < BACKENDS; m++)
			cr_expect_eq(gauge(m), most[m], "%s: backend %zu has %lld",
				     option_word(o, policy), m, gauge(m));
		forget();
	}
}

Test(max_conns, udp_and_affinity_too)
{
	__u16 first;

	web()->conf.affinity = 1;
	native_commit(&n);
	first = to("udp", 7, "");
	for (int port = 1; port < 40; port++) {
		char words[96];

		snprintf(words, sizeof(words), "ip4 10.1.0.7 > 10.2.0.1 | udp %d > 53", port);
		native_send(&n, NULL, words);
	}
	for (size_t m = 0; m < BACKENDS; m++)
		cr_assert_eq(gauge(m), most[m]);
	cr_assert(first);
	cr_assert_gt(refused(), 0);
}

Test(max_conns, what_is_refused_is_told_so)
{
	flows(0, 100);
	run_refill();
	cr_assert_eq(native_send(&n, NULL, "ip4 10.99.0.1 > 10.2.0.1 | tcp 1 > 80 S"), XDP_TX);
	cr_assert_eq(native_send(&n, NULL, "ip4 10.99.0.1 > 10.2.0.1 | udp 1 > 53"), XDP_TX);
	cr_assert_gt(run_drops(service)->count[POISE_R_ANSWERED_RST], 0);
	cr_assert_eq(run_drops(service)->count[POISE_R_ANSWERED_ICMP], 1);
}

/* ---- what makes room --------------------------------------------------------------------------*/

Test(max_conns, what_ends_makes_room)
{
	struct poise_sweep io = {.kind = POISE_SWEEP_EXPIRED};
	__u32 kept[ROOM], count = 0;

	for (__u32 flow = 0; flow < 100 && count < ROOM; flow++)
		if (to("tcp", flow, "S"))
			kept[count++] = flow;
	cr_assert_eq(flows(1000, 50), 0);
	to("tcp", kept[0], "FA");
	cr_assert_eq(flows(2000, 50), 1, "after a FIN");
	to("tcp", kept[1], "R");
	cr_assert_eq(flows(3000, 50), 1, "after a reset");
	run_set_seconds(NATIVE_T0 + 100);
	native_sweep(&n, &io);
	cr_assert_eq(flows(4000, 50), ROOM, "after silence");
	io = (struct poise_sweep){.kind = POISE_SWEEP_FORCE};
	native_sweep(&n, &io);
	cr_assert_eq(flows(5000, 50), ROOM, "after flows drop");
}

/* A SYN again is the flow's own, and so is all that follows. */
Test(max_conns, a_flow_that_goes_on_is_never_refused)
{
	__u32 kept[ROOM], count = 0;

	for (__u32 flow = 0; flow < 100 && count < ROOM; flow++)
		if (to("tcp", flow, "S"))
			kept[count++] = flow;
	for (__u32 k = 0; k < ROOM; k++) {
		cr_assert(to("tcp", kept[k], "S"));
		cr_assert(to("tcp", kept[k], "A"));
	}
	cr_assert_eq(flows(1000, 20), 0);
}

/* ---- what is not a new flow -------------------------------------------------------------------*/

/* It was begun elsewhere: refusing it would break it. But it counts. */
Test(max_conns, what_is_picked_up_is_not_refused_but_counts)
{
	__s64 all = 0;

	for (__u32 flow = 0; flow < 100; flow++)
		cr_assert(to("tcp", flow, "A"));
	cr_assert_eq(refused(), 0);
	for (size_t m = 0; m < BACKENDS; m++)
		all += gauge(m);
	cr_assert_eq(all, 100);
	cr_assert_eq(flows(1000, 50), 0);
}

/* Nor do fragments and errors, which are no flows, take a place. */
Test(max_conns, what_goes_unrecorded_takes_no_place)
{
	struct poise_bucket *b;

	to("tcp", 1, "S");
	b = (struct poise_bucket *)((unsigned long)native_word(&n) & ~(sizeof(*b) - 1));
	for (__u64 k = 0; k < POISE_BUCKET_WORDS; k++)
		b->word[k] = (k + 1) << 33 | (__u64)id(0) << POISE_WORD_MEMBER_SHIFT |
			     POISE_FLOW_EST << POISE_WORD_STATE_SHIFT |
			     (NATIVE_T0 & POISE_WORD_STAMP);
	for (int k = 0; k < 10; k++)
		to("tcp", 1, "S");
	cr_assert_eq(run_drops(service)->count[POISE_R_UNRECORDED], 10);
	memset(b, 0, sizeof(*b));
	for (size_t m = 0; m < BACKENDS; m++)
		cr_assert_leq(gauge(m), 1);
}

/* ---- the ladder -------------------------------------------------------------------------------*/

Test(max_conns, who_drains_does_not_stand_in_for_who_is_full)
{
	web()->member[2].conf.admin = POISE_DRAINING;
	native_commit(&n);
	cr_assert_eq(flows(0, 100), 15);
	cr_assert_eq(gauge(2), 0);
	cr_assert_eq(refused(), 85);
	/* but for who is gone: then its own limit counts */
	for (size_t m = 0; m < BACKENDS; m++)
		if (m != 2)
			web()->member[m].conf.admin = POISE_DISABLED;
	native_commit(&n);
	cr_assert_eq(flows(1000, 100), 9);
	cr_assert_eq(gauge(2), 9);
}

Test(max_conns, nobody_at_all_is_another_reason)
{
	for (size_t m = 0; m < BACKENDS; m++)
		web()->member[m].conf.admin = POISE_DISABLED;
	native_commit(&n);
	flows(0, 10);
	cr_assert_eq(refused(), 0);
	cr_assert_eq(run_drops(service)->count[POISE_R_NO_BACKEND], 10);
}

/* ---- switched on and off ----------------------------------------------------------------------*/

static void limit_all(__u32 limit)
{
	web()->conf.max_conns = limit;
	web()->member[2].conf.max_conns_set = 0;
	native_commit(&n);
}

Test(max_conns, counts_what_was_there_before)
{
	limit_all(0);
	web()->conf.track = POISE_TRACK_ALWAYS;
	native_commit(&n);
	for (__u32 flow = 0; flow < 100; flow++) {
		run_set_cpu(flow & 1);
		cr_assert(to("tcp", flow, "S"));
	}
	/* opened on one CPU and closed on the other */
	for (__u32 flow = 0; flow < 50; flow++) {
		run_set_cpu(~flow & 1);
		to("tcp", flow, "FA");
	}
	limit_all(3);
	cr_assert_eq(gauge(0) + gauge(1) + gauge(2) + gauge(3), 50);
	cr_assert_eq(flows(1000, 50), 0);
	for (__u32 flow = 50; flow < 100; flow++)
		to("tcp", flow, "FA");
	cr_assert_eq(flows(1000, 50), 12);
	limit_all(4);
	cr_assert_eq(flows(2000, 50), 4);
	limit_all(0);
	cr_assert_eq(flows(3000, 50), 50);
	cr_assert_eq(gauge(0) + gauge(1) + gauge(2) + gauge(3), 66);
}

Test(max_conns, a_backend_may_have_none)
{
	web()->member[0].conf.max_conns_set = 1;
	web()->member[0].conf.max_conns = 0;
	native_commit(&n);
	cr_assert_eq(flows(0, 200), 200);
	cr_assert_eq(gauge(0), 200 - (ROOM - 5));
}

/* A removed backend's id starts anew. */
Test(max_conns, goes_with_its_backend)
{
	struct poise_error err = {0};
	struct config_member *m;
	union poise_addr addr;
	__u16 was = id(0);

	flows(0, 100);
	addr = web()->member[0].conf.addr;
	config_member_del(web(), &web()->member[0]);
	native_commit(&n);
	instance_sweep(n.i, &err);
	m = config_member_add(web(), &addr, 0, &err);
	cr_assert(m);
	native_commit(&n);
	cr_assert_eq(id(0), was, "ids are used again");
	cr_assert_eq(gauge(0), 0);
	cr_assert_eq(flows(1000, 100), 5);
}

Test(max_conns, is_shown)
{
	cr_assert_eq(native_record(&n, service)->track, POISE_TRACK_ALWAYS);
	cr_assert_str_eq(instance_member_state(n.i, web(), &web()->member[0]), "up");
	flows(0, 100);
	cr_assert_str_eq(instance_member_state(n.i, web(), &web()->member[0]), "full");
	web()->member[0].conf.admin = POISE_DRAINING;
	cr_assert_str_eq(instance_member_state(n.i, web(), &web()->member[0]), "draining");
}

/* ---- CPUs at once -----------------------------------------------------------------------------*/

#define TURNS 20000

/* Begins flows and ends them, a few at a time, so that both are at the limit all the time. */
static void *come_and_go(void *arg)
{
	__u32 cpu = *(__u32 *)arg;

	run_set_cpu(cpu);
	for (__u32 turn = 0; turn < TURNS; turn++) {
		char words[96];
		__u32 port = 1 + turn % 40;

		snprintf(words, sizeof(words), "ip4 10.60.0.%u > 10.2.0.1 | tcp %u > 80 %s", cpu,
			 port, turn / 40 & 1 ? "FA" : "S");
		native_send(&n, NULL, words);
		for (size_t m = 0; m < BACKENDS; m++) {
			poise_load held = __atomic_load_n(&n.i->held[id(m)], __ATOMIC_RELAXED);

			/* each may be trying in vain just now */
			if (held > most[m] + 2 || held < 0)
				cr_assert_fail("backend %zu: %d flows", m, held);
		}
	}
	return NULL;
}

Test(max_conns, holds_on_two_cpus)
{
	__u32 cpu[2] = {0, 1};
	pthread_t thread[2];

	for (int k = 0; k < 2; k++)
		cr_assert_eq(pthread_create(&thread[k], NULL, come_and_go, &cpu[k]), 0);
	for (int k = 0; k < 2; k++)
		pthread_join(thread[k], NULL);
	for (size_t m = 0; m < BACKENDS; m++) {
		cr_assert_eq(gauge(m), native_live(&n, id(m)));
		cr_assert_leq(gauge(m), most[m]);
	}
	forget();
	cr_assert_eq(flows(0, 100), ROOM);
}
