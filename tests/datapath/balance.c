// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How even policies keep their backends while flows of very different lengths come and go: 10,000
 * live flows over 8 backends, 100,000 new ones a second, lengths from a Pareto distribution, on one
 * CPU and on two, with poised's own fold every 5 ms. Time is the test's: what counts is who has
 * which flows when a choice is made, and what it can know of them.
 *
 * A flow's packets all come by one CPU, as a card's queues see to. Within a fold's period a CPU
 * learns nothing of the other, so each takes its turn for one period.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/fold.h"
#include "tests/support/driver.skel.h"
#include "tests/support/rig.h"

#define BACKENDS  8
#define CPUS	  2
#define LENGTH	  0.118	 /* of a flow, seconds on average: some 10,000 live ones */
#define RATE	  100000 /* new flows a second */
#define FOLD	  0.005	 /* seconds between two */
#define SECONDS	  1.5	 /* after as long as a flow lasts */
#define SHAPE	  1.5	 /* of Pareto's: no variance */
#define EMULATED  10	 /* times shorter where the CPU is emulated */
#define FLOWS_MAX 300000

static const struct config_limits limits = {.services = 3,
					    .backends = 64,
					    .listeners = 16,
					    .flow_slots = 1 << 19,
					    .table_slots = 1 << 16,
					    .paths = 8,
					    .ranges = 16};

struct flow_end {
	double at; /* seconds */
	__u32 flow;
};

/* Flows that go on, the one that ends first on top: a heap. */
struct ends {
	struct flow_end end[FLOWS_MAX];
	size_t n;
};

static struct rig rig;
static struct fold fold;
static struct ends ends[CPUS];
static struct frame syn, fin;
static __u64 random_state;

TestSuite(balance, .fini = place_cleanup, .timeout = TEST_LONGEST);

static double draw(void)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return ((double)(random_state >> 33) + 0.5) / (double)(1u << 31);
}

static void ends_put(struct ends *e, struct flow_end f)
{
	size_t at = e->n++;

	cr_assert(e->n < FLOWS_MAX);
	for (; at && e->end[(at - 1) / 2].at > f.at; at = (at - 1) / 2)
		e->end[at] = e->end[(at - 1) / 2];
	e->end[at] = f;
}

static struct flow_end ends_take(struct ends *e)
{
	struct flow_end first = e->end[0], last = e->end[--e->n];
	size_t at = 0, next;

	for (; (next = 2 * at + 1) < e->n; at = next) {
		if (next + 1 < e->n && e->end[next + 1].at < e->end[next].at)
			next++;
		if (e->end[next].at >= last.at)
			break;
		e->end[at] = e->end[next];
	}
	e->end[at] = last;
	return first;
}

/* ---- the balancer -----------------------------------------------------------------------------*/

static void open_with(enum poise_policy policy)
{
	char yaml[1024], *at = yaml;

	at += sprintf(at, "services:\n  - name: web\n    listen: 10.2.0.1:80\n    forward: l2\n"
			  "    backends:\n");
	for (unsigned int k = 1; k <= BACKENDS; k++)
		at += sprintf(at, "      - address: 10.3.0.%u\n", k);
	rig_open_with(&rig, yaml, &limits);
	rig.cfg->service[0]->conf.policy = policy;
	rig_commit(&rig);
	fold_init(&fold, rig.i->meta->cpus);
	fold_members(&fold, rig.cfg);
	frame_build(&syn, "ip4 11.0.0.0 > 10.2.0.1 | tcp 1 > 80 S");
	frame_build(&fin, "ip4 11.0.0.0 > 10.2.0.1 | tcp 1 > 80 FA");
}

static void run_on(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	cr_assert(!sched_setaffinity(0, sizeof(set), &set), "this needs %u CPUs", cpu + 1);
}

static void put(struct frame *f, __u32 flow)
{
	struct xdp_md ctx = {.data_end = (__u32)f->length, .ingress_ifindex = rig.place.lo};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = f->byte, .data_size_in = (__u32)f->length,
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx));
	__u32 source = htonl(0x0b000000 | flow);

	memcpy(f->byte + 26, &source, sizeof(source));
	cr_assert(!bpf_prog_test_run_opts(rig.program, &run));
	cr_assert_eq(run.retval, XDP_TX);
}

static __s64 gauge(unsigned int backend)
{
	__u16 id = rig.cfg->service[0]->member[backend].id;
	__s64 sum = 0;

	for (__u32 cpu = 0; cpu < rig.i->meta->cpus; cpu++)
		sum += instance_loads(rig.i, cpu, id)->own;
	return sum;
}

/* ---- the flows --------------------------------------------------------------------------------*/

static __u32 begun;

/* One CPU's part of a period: flows begin at even distances and end when they are due. */
static void period(unsigned int cpu, unsigned int cpus, double from, double until)
{
	struct ends *e = &ends[cpu];
	double least = LENGTH * (SHAPE - 1) / SHAPE;
	unsigned int count = (unsigned int)lround((until - from) * RATE / cpus);

	run_on(cpu);
	for (unsigned int k = 0; k < count; k++) {
		double now = from + (until - from) * k / count;

		while (e->n && e->end[0].at <= now)
			put(&fin, ends_take(e).flow);
		put(&syn, begun);
		ends_put(e, (struct flow_end){now + least * pow(draw(), -1 / SHAPE), begun++});
	}
}

/* The highest gauge over the mean, at the end of any period; none may be negative. */
static double unevenness(void)
{
	__s64 most = 0, sum = 0;

	for (unsigned int k = 0; k < BACKENDS; k++) {
		__s64 flows = gauge(k);

		cr_assert(flows >= 0, "backend %u: %lld flows", k, (long long)flows);
		sum += flows;
		if (flows > most)
			most = flows;
	}
	return (double)most * BACKENDS / (double)sum;
}

static double worst(unsigned int cpus)
{
	double seconds = SECONDS, worst = 0, live = 0;
	unsigned int samples = 0, last;

	if (place_emulated())
		seconds /= EMULATED;
	random_state = 1;
	begun = 0;
	last = (unsigned int)((LENGTH + seconds) / FOLD);
	for (unsigned int n = 0; n < last; n++) {
		for (unsigned int cpu = 0; cpu < cpus; cpu++)
			period(cpu, cpus, n * FOLD, (n + 1) * FOLD);
		if (n * FOLD >= LENGTH) {
			worst = fmax(worst, unevenness());
			live += (double)(ends[0].n + ends[1].n);
			samples++;
		}
		fold_run(&fold, rig.i->loads, poise_loads_row(rig.i->meta->members));
	}
	fprintf(stderr, "%u CPUs: worst %.3f, %.0f flows live\n", cpus, worst, live / samples);
	return worst;
}

static void expect_even(enum poise_policy policy, double most)
{
	for (unsigned int cpus = 1; cpus <= CPUS; cpus++) {
		if (cpus > (unsigned int)sysconf(_SC_NPROCESSORS_ONLN))
			continue;
		open_with(policy);
		memset(ends, 0, sizeof(ends));
		cr_expect_leq(worst(cpus), most, "on %u CPUs", cpus);
		fold_free(&fold);
		rig_close(&rig);
		memset(&rig, 0, sizeof(rig));
	}
}

Test(balance, least_conn)
{
	expect_even(POISE_LEAST_CONN, 1.05);
}

Test(balance, p2c)
{
	expect_even(POISE_P2C, 1.12);
}

/* What neither knows of loads: the measure is one that a policy can fail. */
Test(balance, by_chance_is_worse)
{
	open_with(POISE_RANDOM);
	cr_expect_gt(worst(1), 1.05);
	fold_free(&fold);
	rig_close(&rig);
}
