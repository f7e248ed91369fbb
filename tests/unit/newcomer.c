// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A newcomer among ten under steady arrivals: the natively built datapath, poised's own fold every
 * 5 ms and its fade every 50 ms, packets on two CPUs, in a time of the test's own. Flows last 10 s
 * or 600 s on average, as exponential as Poisson's, or exactly.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/fold.h"
#include "tests/support/native.h"

#define SECOND	   1000000000ull
#define STEP_MS	   5
#define STEPS	   (1000 / STEP_MS) /* a second */
#define FADE_STEPS 10
#define OTHERS	   10
#define NEWCOMER   11
#define FAIR	   (1.0 / NEWCOMER)
#define SLOTS	   (1 << 23)
#define SWEEP_TIME 20 /* seconds that a sweep is spread over: closed flows' words may wait */
#define SECONDS	   800
#define NONE	   0xffffffffu

struct run {
	const char *policy;
	double mean;	  /* seconds that a flow lasts */
	bool exact;	  /* each of them */
	__u32 rate;	  /* flows a second */
	int seconds;	  /* after the newcomer's coming */
	int window;	  /* seconds that arrivals are compared over once it has caught up */
	int killed, back; /* seconds between which poised does not run */
};

static struct native n;
static struct fold fold;
static struct frame frame;
static __u64 began;   /* CLOCK_REALTIME of the newcomer's coming */
static __u32 second0; /* the stamps' clock then */

/* Flows, and which of them end in a step. */
static __u32 flows, *next, *ends, steps;
static unsigned int arrivals[SECONDS];

/* ---- packets ----------------------------------------------------------------------------------*/

static unsigned int packet(__u32 k, __u8 flags, __u32 cpu)
{
	run_set_cpu(cpu);
	return native_flow(&frame, k, flags);
}

static unsigned int begin(__u32 k)
{
	unsigned int to = packet(k, NATIVE_SYN, k & 1);

	packet(k, NATIVE_ACK, k & 1);
	return to;
}

/* ---- time -------------------------------------------------------------------------------------*/

static void end_in(__u32 k, __u32 step, double seconds)
{
	const __u32 second = STEPS;
	double at = step + seconds * second + 1;

	if (at >= steps)
		return;
	next[k] = ends[(__u32)at];
	ends[(__u32)at] = k;
}

static double lifetime(const struct run *run)
{
	return run->exact ? run->mean : -log(1 - drand48()) * run->mean;
}

/* Those that are under way when the newcomer comes: as long as they still last, for exact ones
 * whatever part of their time. */
static void fill(const struct run *run)
{
	__u32 live = (__u32)(run->rate * run->mean);

	while (flows < live) {
		double left = run->exact ? drand48() * run->mean : lifetime(run);

		begin(flows);
		end_in(flows, 0, left);
		if (++flows % (run->rate / STEPS) == 0)
			fold_run(&fold, n.i->loads, poise_loads_row(n.i->meta->members));
	}
}

static void step(const struct run *run, __u32 at)
{
	const __u32 slice = n.i->meta->flow_buckets / (SWEEP_TIME * STEPS) + 1;
	struct poise_sweep io = {
		.first = at % (SWEEP_TIME * STEPS) * slice,
		.count = slice,
		.kind = POISE_SWEEP_EXPIRED,
	};

	run_set_seconds(second0 + at / STEPS);
	for (__u32 k = ends[at]; k != NONE; k = next[k])
		packet(k, NATIVE_RST, k >> 1 & 1);
	for (__u32 k = 0; k < run->rate / STEPS; k++, flows++) {
		unsigned int to = begin(flows);

		arrivals[at / STEPS] += to == NEWCOMER;
		end_in(flows, at, lifetime(run));
	}
	run_sweep(&io);
	if ((int)(at / STEPS) >= run->killed && (int)(at / STEPS) < run->back)
		return;
	fold_run(&fold, n.i->loads, poise_loads_row(n.i->meta->members));
	if (at % FADE_STEPS == 0)
		instance_fade(n.i, n.cfg, began + at * (SECOND / STEPS), second0 + at / STEPS);
}

/* ---- the scene --------------------------------------------------------------------------------*/

static void open_scene(const struct run *run)
{
	char yaml[1024];
	int used = sprintf(yaml,
			   "services:\n  - { name: web, listen: '10.2.0.1:80', forward: l2,\n"
			   "      backends: [ { address: 10.3.0.%d, admin: disabled }",
			   NEWCOMER);

	for (int k = 1; k <= OTHERS; k++)
		used += sprintf(yaml + used, ", 10.3.0.%d", k);
	sprintf(yaml + used, " ] }\n");
	native_open(&n, yaml, SLOTS);
	n.cfg->service[0]->conf.policy = run->policy[0] == 'l' ? POISE_LEAST_CONN : POISE_P2C;
	native_commit(&n);
	fold_init(&fold, n.i->meta->cpus);
	fold_members(&fold, n.cfg);
	second0 = instance_stamp_now(n.i);
	run_set_seconds(second0);
	frame_build(&frame, "ip4 10.0.0.0 > 10.2.0.1 | tcp 1024 > 80 S");
	srand48(1);
	flows = 0;
	steps = (__u32)run->seconds * STEPS;
	next = calloc((size_t)(run->rate * (run->mean + run->seconds + 1)), sizeof(*next));
	ends = malloc(steps * sizeof(*ends));
	cr_assert(next && ends);
	memset(ends, 0xff, steps * sizeof(*ends));
	memset(arrivals, 0, sizeof(arrivals));
}

static struct config_member *newcomer(void)
{
	return &n.cfg->service[0]->member[NEWCOMER - 1];
}

static void come(void)
{
	native_beat(&n, true);
	newcomer()->conf.admin = POISE_ENABLED;
	native_commit(&n);
	began = newcomer()->conf.since;
	cr_assert(n.i->members[newcomer()->id].live & POISE_L_FADING);
}

static void close_scene(void)
{
	free(next);
	free(ends);
	fold_free(&fold);
	native_close(&n);
}

/* The second in which it has caught up. */
static int runs(const struct run *run)
{
	int caught = -1;

	for (__u32 at = 0; at < steps; at++) {
		step(run, at);
		if (caught < 0 && !(n.i->members[newcomer()->id].live & POISE_L_FADING))
			caught = (int)(at / STEPS);
	}
	cr_assert(caught >= 0, "it never catches up");
	return caught;
}

static double gauge_share(void)
{
	__s64 sum = 0;

	for (size_t k = 0; k < NEWCOMER; k++)
		sum += native_gauge(&n, n.cfg->service[0]->member[k].id);
	return (double)native_gauge(&n, newcomer()->id) / (double)sum;
}

static void judge(const struct run *run, int caught)
{
	double fair = run->rate * FAIR;

	cr_expect_leq(arrivals[0], 2 * fair, "%u in the first second", arrivals[0]);
	for (int s = 0; s <= caught; s++)
		cr_expect_leq(arrivals[s], 2.5 * fair, "%u in second %d", arrivals[s], s);
	for (int s = caught + 1; s + run->window <= run->seconds; s += run->window) {
		unsigned int sum = 0;

		for (int k = 0; k < run->window; k++)
			sum += arrivals[s + k];
		cr_expect_float_eq(
			sum / fair / run->window, 1, 0.1,
			"%s, %.0f s: %u of %.0f in the %d s from %d on (caught up in %d)",
			run->policy, run->mean, sum, fair * run->window, run->window, s, caught);
	}
	cr_expect_float_eq(gauge_share() / FAIR, 1, 0.1, "its load is %f of fair",
			   gauge_share() / FAIR);
	fprintf(stderr,
		"%s, flows of %.0f s%s: %.2f of fair in its first second, caught up in second %d\n",
		run->policy, run->mean, run->exact ? " exactly" : "", arrivals[0] / fair, caught);
}

static void newcomer_of(const struct run *run)
{
	open_scene(run);
	fill(run);
	come();
	judge(run, runs(run));
	close_scene();
}

Test(newcomer, least_conn_flows_of_10_s)
{
	newcomer_of(&(struct run){"least-conn", 10, false, 20000, 40, 1, 0, 0});
}

Test(newcomer, p2c_flows_of_10_s)
{
	newcomer_of(&(struct run){"p2c", 10, false, 20000, 40, 1, 0, 0});
}

Test(newcomer, least_conn_flows_of_600_s)
{
	newcomer_of(&(struct run){"least-conn", 600, false, 2000, 600, 10, 0, 0});
}

Test(newcomer, p2c_flows_of_600_s)
{
	newcomer_of(&(struct run){"p2c", 600, false, 2000, 600, 10, 0, 0});
}

/* Whoever has come at once goes at once, ten seconds later: no second is like another, but each ten
 * are. */
Test(newcomer, least_conn_flows_of_exactly_10_s)
{
	newcomer_of(&(struct run){"least-conn", 10, true, 5000, 60, 10, 0, 0});
}

/* Nobody folds loads or moves its share on, first in the middle of its fade, then while it catches
 * up; what is left is its cap. */
Test(newcomer, while_poised_is_gone)
{
	newcomer_of(&(struct run){"least-conn", 10, false, 5000, 50, 10, 4, 9});
	newcomer_of(&(struct run){"p2c", 100, false, 2000, 150, 10, 15, 40});
}
