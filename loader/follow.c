/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Following: a new generation is seen by two loads, the network by its socket. Both are only news;
 * a pass then looks at all members, a tick's worth of questions at a time, and takes the lock only
 * if a word must change and nobody else holds it. Whoever does will be done in milliseconds, and a
 * tick comes soon.
 */
#include <stdlib.h>
#include <string.h>

#include "poised.h"

/* Of net_plan: 8192 members that did not change take 3 ms. */
#define BUDGET_PER_TICK 8192

int follow_open(struct follow *f, struct instance *i, struct poise_error *err)
{
	memset(f, 0, sizeof(*f));
	f->instance = i;
	if (net_open(&f->net, err) < 0)
		return -1;
	follow_devices(f);
	return 0;
}

void follow_close(struct follow *f)
{
	net_plan_free(&f->plan);
	net_close(f->net);
	config_free(f->cfg);
	memset(f, 0, sizeof(*f));
}

void follow_network(struct follow *f)
{
	if (net_read(f->net) > 0)
		f->news++;
}

bool follow_devices(struct follow *f)
{
	unsigned int now[FOLLOW_DEVICES];
	struct attach_state *list;
	int n = attach_list(f->instance, &list, NULL);
	bool changed;

	if (n < 0)
		return false;
	if (n > FOLLOW_DEVICES)
		n = FOLLOW_DEVICES;
	for (int k = 0; k < n; k++)
		now[k] = list[k].ifindex;
	free(list);
	changed = (size_t)n != f->devices || memcmp(now, f->attached, n * sizeof(now[0])) != 0;
	memcpy(f->attached, now, n * sizeof(now[0]));
	f->devices = n;
	f->news += changed;
	return changed;
}

/* Told once, until something works again. */
static void fault(struct follow *f, const struct poise_error *err)
{
	if (!f->told_fault)
		log_error(LOG_LEVEL_ERROR, err);
	f->told_fault = true;
}

/* A transaction that is committed but not yet derived has no members to give next hops to. */
static bool generation_moved(const struct follow *f)
{
	const struct poise_meta *meta = f->instance->meta;
	__u64 committed = __atomic_load_n(&meta->committed, __ATOMIC_ACQUIRE);

	if (f->cfg && f->cfg->generation == committed)
		return false;
	return __atomic_load_n(&meta->applied, __ATOMIC_ACQUIRE) == committed;
}

/* Plans nothing that was seen before now. */
static void start_over(struct follow *f)
{
	f->plan.count = 0;
	f->plan.more = false;
	f->pending = false;
}

static bool follow_generation(struct follow *f)
{
	struct poise_error err = {0};
	struct config *cfg;

	if (!generation_moved(f))
		return false;
	if (instance_load(f->instance, &cfg, &err) < 0) {
		fault(f, &err);
		return false;
	}
	start_over(f);
	config_free(f->cfg);
	f->cfg = cfg;
	f->news++;
	return true;
}

/* A fault that lasts is told once, and tried again in a second, not in every tick. */
static void give_up(struct follow *f, const struct poise_error *err)
{
	fault(f, err);
	start_over(f);
	f->done = f->planned;
}

static void plan(struct follow *f)
{
	struct poise_error err = {0};

	if (!f->plan.more)
		f->planned = f->news;
	if (net_plan(f->net, f->instance, f->cfg, f->attached, f->devices, BUDGET_PER_TICK,
		     &f->plan, &err) < 0) {
		give_up(f, &err);
		return;
	}
	f->pending = f->plan.count > 0;
	if (!f->pending && !f->plan.more)
		f->done = f->planned;
}

/* Stores what was planned; it stays pending if somebody else has the lock. */
static void store(struct follow *f)
{
	struct poise_error err = {0};
	int rc = instance_try_lock(f->instance, &err);

	if (rc == 0)
		return;
	if (rc > 0) {
		rc = net_apply(f->instance, &f->plan, &err);
		instance_unlock(f->instance);
	}
	if (rc < 0) {
		give_up(f, &err);
		return;
	}
	f->told_fault = false;
	f->pending = false;
	if (!f->plan.more)
		f->done = f->planned;
}

bool follow_tick(struct follow *f)
{
	bool fresh = follow_generation(f);

	if (!f->cfg)
		return fresh;
	if (f->pending && f->news != f->planned)
		start_over(f);
	if (!f->pending && (f->plan.more || f->news != f->done))
		plan(f);
	if (f->pending)
		store(f);
	return fresh;
}
