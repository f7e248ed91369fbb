// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Suite choose: the choice for a new flow alone, without packet and forwarding: every policy, of
 * few backends and of many. What goes by load is asked twice: where all have the same, and where
 * the i-th has 100 x i flows.
 */
#include <stdio.h>

#include "case.h"
#include "ground.h"
#include "inside.h"
#include "maps/hash.h"
#include "maps/option.h"

#define CHOICES	   64
#define LOAD_STEP  100
#define FLOW_SLOTS 4096
#define CPUS_MAX   256

static const char *const policies[] = {"maglev", "source-hash", "round-robin",	"random",
				       "p2c",	 "least-conn",	"latency-aware"};
static const unsigned int sizes[] = {1, 3, 8, 200};

#define POLICIES (sizeof(policies) / sizeof(policies[0]))
#define SIZES	 (sizeof(sizes) / sizeof(sizes[0]))

/* A CPU's own line: its next flow, and what was no member. */
static struct {
	__u64 flow;
	unsigned long failed;
} __attribute__((aligned(64))) lane[CPUS_MAX];

static void preload(void)
{
	const struct config_service *svc = config_service_by_id(ground.cfg, ground.service);

	for (__u32 cpu = 0; cpu < ground.i->meta->cpus; cpu++)
		for (size_t m = 0; m < svc->members; m++)
			instance_loads(ground.i, cpu, svc->member[m].id)->others =
				(poise_load)(LOAD_STEP * m);
}

static int choose_open(const struct bench_case *c, unsigned int cpus, struct poise_error *err)
{
	char keys[128];

	snprintf(keys, sizeof(keys), "policy: %s, track: always, forward: l2, table-size: 4099",
		 (const char *)c->what);
	if (cpus > CPUS_MAX ||
	    ground_open(ground_yaml(keys, (unsigned int)c->size), cpus, FLOW_SLOTS, err))
		return -1;
	for (unsigned int cpu = 0; cpu < cpus; cpu++) {
		lane[cpu].flow = (__u64)cpu << 32;
		lane[cpu].failed = 0;
	}
	if (c->more)
		preload();
	return 0;
}

static void choose_run(unsigned int cpu, unsigned int times)
{
	while (times--) {
		__u64 hash = poise_mix(++lane[cpu].flow * POISE_GOLD);
		__u32 chosen = measured_choose(ground.service, hash);

		lane[cpu].failed += !chosen || chosen >= ground.i->meta->members;
	}
}

static unsigned long choose_failed(void)
{
	unsigned long failed = 0;

	for (unsigned int cpu = 0; cpu < CPUS_MAX; cpu++)
		failed += lane[cpu].failed;
	return failed;
}

static const struct case_kind kind = {choose_open, NULL, choose_run, choose_failed, ground_close};

static void add(struct cases *cases, const char *policy, unsigned int size, bool loaded)
{
	struct bench_case *c =
		case_add(cases, &kind, "choose/%s-%u%s", policy, size, loaded ? "-loaded" : "");

	c->what = policy;
	c->size = size;
	c->more = loaded;
	c->times = CHOICES;
}

void suite_choose(struct cases *cases)
{
	for (size_t p = 0; p < POLICIES; p++) {
		bool by_load = p == POLICIES - 3 || p == POLICIES - 2; /* p2c, least-conn */

		for (size_t s = 0; s < SIZES; s++)
			add(cases, policies[p], sizes[s], false);
		for (size_t s = 0; s < SIZES && by_load; s++)
			add(cases, policies[p], sizes[s], true);
	}
}
