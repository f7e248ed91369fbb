// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rate of new flows, under a clock that the test moves: right whatever the rate and whatever
 * the CPU that a flow comes by; a burst after a rest; only what is new takes from it, and what did
 * not begin gives it back.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/native.h"

static const char yaml[] = "services:\n"
			   "  - name: web\n"
			   "    listen: [ '10.2.0.1:80', '10.2.0.1:53/udp' ]\n"
			   "    forward: ipip\n"
			   "    rate: 100\n"
			   "    rate-burst: 10\n"
			   "    backends: [ { address: 10.3.0.1 }, { address: 10.3.0.2 } ]\n";

static struct native n;
static __u16 service;

static void setup(void)
{
	service = native_open_web(&n, yaml, 1 << 20);
}

static void teardown(void)
{
	native_close(&n);
}

TestSuite(rate, .init = setup, .fini = teardown);

static struct config_service *web(void)
{
	return native_web(&n);
}

static void limit(__u32 rate, __u32 burst)
{
	web()->conf.rate = rate;
	web()->conf.rate_burst = burst;
	native_commit(&n);
	run_tick(RUN_HZ * 1000); /* a rest */
}

static __u64 refused(void)
{
	return run_drops(service)->count[POISE_R_RATE];
}

/* Whether a packet of the client's k-th flow is forwarded. */
static bool goes(const char *protocol, __u32 flow, const char *flags)
{
	return native_nth(&n, protocol, flow, flags);
}

static bool syn(__u32 flow)
{
	return goes("tcp", flow, "S");
}

/* So many new flows at once: how many of them are taken. */
static __u32 flows(__u32 *next, __u32 count)
{
	__u32 taken = 0;

	for (__u32 k = 0; k < count; k++)
		taken += syn((*next)++);
	return taken;
}

/* ---- how many ---------------------------------------------------------------------------------*/

enum way { ONE_CPU, SPREAD, MOVING };

/* Twice the rate is offered, at every tick as much as is due; or one flow in so many ticks. */
static void over_time(__u32 rate, enum way way, __u32 *next)
{
	__u32 seconds = rate < 100 ? 100 : 5, offered = 2 * rate, taken = 0, due = 0;
	double want = (double)rate * seconds;

	limit(rate, 0);
	flows(next, 2 * rate / 10 + 20); /* the burst is gone */
	for (__u32 tick = 0; tick < seconds * RUN_HZ; tick++) {
		run_tick(1);
		if (way == MOVING)
			run_set_cpu(tick / 100 & 1);
		for (due += offered; due >= RUN_HZ; due -= RUN_HZ) {
			if (way == SPREAD)
				run_set_cpu(*next & 1);
			taken += syn((*next)++);
		}
	}
	run_set_cpu(0);
	cr_expect(taken > want * 0.995 - 1 && taken < want * 1.005 + 1,
		  "%u a second for %u s: %u flows", rate, seconds, taken);
}

Test(rate, is_right_on_whatever_cpus)
{
	static const __u32 rates[] = {1, 7, 99, 256, 300, 1000, 3333};
	__u32 next = 0;

	for (size_t k = 0; k < sizeof(rates) / sizeof(rates[0]); k++)
		for (int way = ONE_CPU; way <= MOVING; way++) {
			over_time(rates[k], (enum way)way, &next);
			memset(n.i->flows, 0, n.i->meta->flow_buckets * sizeof(*n.i->flows));
		}
}

/* A bucket holds its burst, and what is due until the next tick: one, or rate / HZ of them. */
Test(rate, lets_a_burst_through_after_a_rest)
{
	static const struct {
		__u32 rate, burst, taken;
	} cases[] = {
		{100, 10, 11},	      {100, 1, 2},  {1, 7, 8}, {RUN_HZ * 10, 50, 60},
		{RUN_HZ * 10, 1, 11}, {100, 0, 11}, /* auto: a tenth of a second's, */
		{10, 0, 6},			    /* and at least 5 */
	};
	__u32 next = 0;

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		__u32 taken;

		limit(cases[k].rate, cases[k].burst);
		taken = flows(&next, 200);
		cr_expect(taken == cases[k].taken || taken + 1 == cases[k].taken,
			  "rate %u burst %u: %u", cases[k].rate, cases[k].burst, taken);
		run_tick(RUN_HZ * 1000);
		cr_expect_eq(flows(&next, 200), taken, "however long the rest");
	}
}

Test(rate, none_is_any)
{
	__u32 next = 0;

	web()->conf.rate = 0;
	native_commit(&n);
	cr_assert_eq(native_record(&n, service)->track, POISE_TRACK_AUTO);
	cr_assert_eq(flows(&next, 5000), 5000);
}

/* ---- refusals ---------------------------------------------------------------------------------*/

Test(rate, what_is_too_much_is_refused_and_counted)
{
	__u32 next = 0;

	cr_assert_eq(native_record(&n, service)->track, POISE_TRACK_ALWAYS);
	flows(&next, 20);
	cr_assert_geq(refused(), 9);
	run_refill();
	cr_assert_eq(native_send(&n, NULL, "ip4 10.99.0.1 > 10.2.0.1 | tcp 1 > 80 S"), XDP_TX);
	cr_assert_eq(run_drops(service)->count[POISE_R_ANSWERED_RST] > 0, true);
	cr_assert_eq(native_send(&n, NULL, "ip4 10.99.0.1 > 10.2.0.1 | udp 1 > 53"), XDP_TX);
	cr_assert_eq(run_drops(service)->count[POISE_R_ANSWERED_ICMP], 1);
}

/* ---- what is new ------------------------------------------------------------------------------*/

Test(rate, flows_that_go_on_do_not_count)
{
	limit(1, 4);
	for (int round = 0; round < 20; round++)
		for (__u32 flow = 0; flow < 2; flow++) {
			cr_assert(syn(flow), "SYN again");
			cr_assert(goes("tcp", flow, round ? "A" : "S"), "data");
			cr_assert(goes("udp", flow, ""), "UDP");
		}
	cr_assert_eq(refused(), 0);
	/* nor what was picked up */
	for (__u32 flow = 100; flow < 150; flow++)
		cr_assert(goes("tcp", flow, "A"));
	cr_assert_eq(refused(), 0);
}

/* UDP flows of a backend that is down move at their next packet, however many. */
Test(rate, flows_that_move_do_not_count)
{
	limit(1, 50);
	for (__u32 flow = 0; flow < 50; flow++)
		cr_assert(goes("udp", flow, ""), "flow %u", flow);
	web()->member[0].conf.health = POISE_HEALTH_DOWN;
	native_commit(&n);
	while (goes("udp", 999, ""))
		;
	for (__u32 flow = 0; flow < 50; flow++)
		cr_assert(goes("udp", flow, ""), "flow %u", flow);
}

Test(rate, a_flow_that_no_backend_takes_does_not_count)
{
	__u32 next = 0;

	for (size_t m = 0; m < 2; m++)
		web()->member[m].conf.admin = POISE_DISABLED;
	native_commit(&n);
	cr_assert_eq(flows(&next, 100), 0);
	cr_assert_eq(refused(), 0);
	for (size_t m = 0; m < 2; m++)
		web()->member[m].conf.admin = POISE_ENABLED;
	native_commit(&n);
	cr_assert_geq(flows(&next, 100), 10);
}

/* ---- CPUs at once -----------------------------------------------------------------------------*/

#define BURST	 5000
#define TOGETHER 2000

static void *same_flows(void *arg)
{
	run_set_cpu(*(__u32 *)arg);
	for (__u32 flow = 0; flow < TOGETHER; flow++) {
		char words[96];

		snprintf(words, sizeof(words), "ip4 10.50.%u.%u > 10.2.0.1 | tcp 1 > 80 S",
			 flow >> 8, flow & 255);
		native_send(&n, NULL, words);
	}
	return NULL;
}

/* Two CPUs with the first packets of the same flows: each counts once. */
Test(rate, a_flow_counts_once)
{
	__u32 cpu[2] = {0, 1}, next = 0, left;
	pthread_t thread[2];

	limit(10, BURST);
	for (int k = 0; k < 2; k++)
		cr_assert_eq(pthread_create(&thread[k], NULL, same_flows, &cpu[k]), 0);
	for (int k = 0; k < 2; k++)
		pthread_join(thread[k], NULL);
	cr_assert_eq(refused(), 0);
	left = flows(&next, BURST);
	cr_assert(left == BURST - TOGETHER || left == BURST - TOGETHER + 1, "%u", left);
}
