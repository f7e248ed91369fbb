// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Suite flow: what a flow's word costs, from its first packet to its end. Each operation is on a
 * bucket of its own, in no order.
 */
#include <stdio.h>
#include <string.h>

#include "case.h"
#include "ground.h"
#include "inside.h"

#define BUCKETS	  4096 /* of a CPU */
#define CPUS_MAX  64
#define SPREAD	  2654435761u /* odd: visits every bucket once */
#define TAG	  0x5eed0000u
#define BACKENDS  8
#define SWEPT	  512 /* buckets a call */
#define FILL_HALF (POISE_BUCKET_WORDS / 2)

static const struct op *now;
static struct {
	unsigned int next;
	unsigned long failed;
} __attribute__((aligned(64))) lane[CPUS_MAX];

/* What is done, and how full its bucket is before. */
struct op {
	const char *name;
	unsigned int fill;
	__u32 state; /* of the words there */
	bool (*does)(unsigned int cpu, __u32 bucket);
	unsigned int per;
};

static __u16 member(__u32 bucket)
{
	const struct config_service *svc = config_service_by_id(ground.cfg, ground.service);

	return svc->member[bucket % BACKENDS].id;
}

static bool get_hit(unsigned int cpu, __u32 bucket)
{
	(void)cpu;
	return measured_get(bucket, TAG + 2 * (POISE_BUCKET_WORDS - 1), ground.service) ==
	       POISE_BUCKET_WORDS - 1;
}

static bool get_miss(unsigned int cpu, __u32 bucket)
{
	(void)cpu;
	return measured_get(bucket, TAG - 2, ground.service) < 0;
}

/* In a free slot, or in place of another. */
static bool claim(unsigned int cpu, __u32 bucket)
{
	(void)cpu;
	return !measured_claim(bucket, ground.service,
			       inside_word(TAG - 2, member(bucket), POISE_FLOW_NEW));
}

static bool release(unsigned int cpu, __u32 bucket)
{
	(void)cpu;
	return !measured_free(bucket, 0);
}

/* All on one member: every CPU counts on a line of its own. */
static bool gauge(unsigned int cpu, __u32 bucket)
{
	(void)cpu;
	(void)bucket;
	measured_gauge(member(0));
	return true;
}

static bool sweep(unsigned int cpu, __u32 bucket)
{
	struct poise_sweep io = {
		.first = cpu * BUCKETS + bucket % (BUCKETS / SWEPT) * SWEPT,
		.count = SWEPT,
		.kind = POISE_SWEEP_EXPIRED,
	};

	measured_sweep(&io);
	return io.live == SWEPT * now->fill;
}

static const struct op ops[] = {
	{"get-hit", POISE_BUCKET_WORDS, POISE_FLOW_EST, get_hit, 1},
	{"get-miss", POISE_BUCKET_WORDS, POISE_FLOW_EST, get_miss, 1},
	{"claim", FILL_HALF, POISE_FLOW_EST, claim, 1},
	{"evict", POISE_BUCKET_WORDS, POISE_FLOW_NEW, claim, 1},
	{"free", FILL_HALF, POISE_FLOW_EST, release, 1},
	{"gauge-pair", 0, 0, gauge, 1},
	{"sweep", FILL_HALF, POISE_FLOW_EST, sweep, SWEPT *FILL_HALF},
};

/* Every bucket as it is to be found. What counts say of it does not matter. */
static void flow_reset(unsigned int cpu)
{
	for (__u32 b = cpu * BUCKETS; b < (cpu + 1) * BUCKETS; b++)
		for (unsigned int k = 0; k < POISE_BUCKET_WORDS; k++)
			ground.i->flows[b].word[k] =
				k < now->fill ? inside_word(TAG + 2 * k, member(b), now->state) : 0;
	lane[cpu].next = 0;
}

static int flow_open(const struct bench_case *c, unsigned int cpus, struct poise_error *err)
{
	now = c->what;
	memset(lane, 0, sizeof(lane));
	if (cpus > CPUS_MAX)
		return poise_fail(err, POISE_E_BAD_VALUE, "at most %d CPUs", CPUS_MAX);
	return ground_open(ground_yaml("track: always, forward: l2", BACKENDS), cpus,
			   cpus * BUCKETS * POISE_BUCKET_WORDS, err);
}

static void flow_run(unsigned int cpu, unsigned int times)
{
	while (times--) {
		__u32 at = lane[cpu].next++ * SPREAD % BUCKETS;

		lane[cpu].failed += !now->does(cpu, cpu * BUCKETS + at);
	}
}

static unsigned long flow_failed(void)
{
	unsigned long failed = 0;

	for (unsigned int cpu = 0; cpu < CPUS_MAX; cpu++)
		failed += lane[cpu].failed;
	return failed;
}

static const struct case_kind kind = {flow_open, flow_reset, flow_run, flow_failed, ground_close};

/* A slot of the flow table. */
#define FLOW_BYTES (sizeof(struct poise_bucket) / POISE_BUCKET_WORDS)

void suite_flow(struct cases *cases)
{
	for (size_t n = 0; n < sizeof(ops) / sizeof(ops[0]); n++) {
		struct bench_case *c = case_add(cases, &kind, "flow/%s", ops[n].name);

		c->what = &ops[n];
		c->per = ops[n].per;
		c->times = ops[n].per > 1 ? BUCKETS / SWEPT : c->times;
		c->at_most = ops[n].per > 1 ? BUCKETS / SWEPT : BUCKETS;
		c->bytes = ops[n].does == claim ? FLOW_BYTES : 0;
	}
}
