/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The keeper: once a second, all of the flow table is swept, in slices spread over that second;
 * then, under the lock, drains whose time has come end, ids of removed members are given back, and
 * what time has told about tracking is settled; and backends are judged by their flows.
 * What waits here (the lock, a grace period of some 10 ms, the disk) holds up nobody else.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../maps/clock.h"
#include "net/hostports.h"
#include "poised.h"

#define HOST_PORTS_EACH 10 /* seconds: a server that starts may wait so long for its port */
#define SWEEP_SLICES	64 /* of a second; 4M words: 8192 buckets each, well under a millisecond */

/* Sleeps until `until`; false if it is to stop. */
static bool keeper_wait(struct keeper *k, __u64 until)
{
	struct timespec t = {.tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S};
	bool stop;

	pthread_mutex_lock(&k->mutex);
	while (!k->stop && pthread_cond_timedwait(&k->wake, &k->mutex, &t) != ETIMEDOUT)
		;
	stop = k->stop;
	pthread_mutex_unlock(&k->mutex);
	return !stop;
}

/* Told once, until something works again. */
static void fault(struct keeper *k, const struct poise_error *err)
{
	if (!k->told_fault)
		log_error(LOG_LEVEL_ERROR, err);
	k->told_fault = true;
}

/* What a sweep found. */
struct swept {
	__u64 generation;
	__u64 live;
	__u64 used;
	__u64 beside; /* of used, in a table that is to go (attach_resize) */
};

/* Where the slice that begins at bucket `at` ends: never in two tables at once. */
static __u32 slice_end(const struct instance *i, __u32 at)
{
	__u32 tables = instance_table_buckets(i), buckets = instance_buckets(i);
	__u32 end = at < i->flow_buckets ? i->flow_buckets : at < tables ? tables : buckets;
	__u32 step = (buckets + SWEEP_SLICES - 1) / SWEEP_SLICES;

	return end - at < step ? end : at + step;
}

/* One sweep of the whole table in the second that began at `start`; false if it is to stop. */
static bool keeper_sweep(struct keeper *k, __u64 start, struct swept *swept,
			 struct poise_error *err)
{
	struct instance *i = k->instance;
	__u32 slice = 0, end;

	*swept = (struct swept){.generation = instance_sweep_begin(i)};
	for (__u32 at = 0; at < instance_buckets(i); at = end) {
		struct poise_sweep io = {.first = at, .kind = POISE_SWEEP_EXPIRED};

		end = slice_end(i, at);
		io.count = end - at;
		if (instance_sweep_range(i, &io, err) < 0)
			return true;
		swept->live += io.live;
		swept->used += io.used;
		if (at >= i->flow_buckets && at < instance_table_buckets(i))
			swept->beside += io.used;
		if (!keeper_wait(k, start + ++slice * (NS_PER_S / SWEEP_SLICES)))
			return false;
	}
	return true;
}

/* Under the lock, briefly: ids of members that were gone before the sweep, and drains. */
static int keeper_housekeeping(struct keeper *k, const struct swept *swept, struct poise_error *err)
{
	struct instance *i = k->instance;
	int rc;

	if (instance_lock(i, err) < 0)
		return -1;
	instance_sweep_end(i, swept->generation, swept->live, swept->used);
	if (!(k->turns++ % HOST_PORTS_EACH))
		host_ports_note(i, false);
	rc = instance_tick(i, clock_realtime(), err);
	if (rc >= 0 && aging_tick(k->aging, i, (__u32)(clock_monotonic() / NS_PER_S), err) < 0)
		rc = -1;
	instance_unlock(i);
	return rc < 0 ? -1 : 0;
}

/* Is there something to do about a resize of the flow table: its author was killed, even before it
 * had begun, its last flow has moved, or there may be room now for who had none? */
static bool keeper_must_resize(const struct instance *i, const struct swept *swept)
{
	__u32 stage = i->meta->flow_stage;
	char pin[PATH_MAX];

	switch (POISE_FLOWS_STAGE(stage)) {
	case POISE_FLOWS_ALONE:
		snprintf(pin, sizeof(pin), "%s/%s", i->dir, instance_flows_pin(stage, true));
		return !access(pin, F_OK);
	case POISE_FLOWS_MOVING: return !swept->beside || i->beside_buckets > i->flow_buckets;
	default: return true;
	}
}

static int keeper_resize(struct keeper *k, const struct swept *swept, struct poise_error *err)
{
	__u64 left;

	if (!keeper_must_resize(k->instance, swept))
		return 0;
	if (attach_resize_go_on(&k->options->where, &left, err) < 0)
		return -1;
	if (!left)
		log_line(LOG_LEVEL_INFO, "the flow table has %u slots now; the old one is gone",
			 k->instance->meta->flow_buckets * POISE_BUCKET_WORDS);
	return 0;
}

static int keeper_save(struct keeper *k, struct poise_error *err)
{
	__u64 generation = k->instance->meta->committed;

	if (generation == k->saved)
		return 0;
	if (boot_save_last(k->instance, k->options, err) < 0)
		return -1;
	k->saved = generation;
	return 0;
}

/* Backends that are sick by their flows, or whose ejection is over. */
static int keeper_eject(struct keeper *k, struct poise_error *err)
{
	return ejector_tick(k->ejector, k->instance, clock_monotonic() / NS_PER_MS,
			    clock_realtime(), err);
}

static void *keeper_thread(void *arg)
{
	struct keeper *k = arg;

	for (;;) {
		__u64 start = clock_monotonic();
		struct poise_error err = {0}, judging = {0};
		struct swept swept;
		bool judged;

		if (!keeper_sweep(k, start, &swept, &err))
			return NULL;
		judged = keeper_eject(k, &judging) >= 0; /* whatever became of the sweep */
		if (!judged)
			fault(k, &judging);
		if (err.code || keeper_housekeeping(k, &swept, &err) < 0 ||
		    keeper_resize(k, &swept, &err) < 0 || keeper_save(k, &err) < 0)
			fault(k, &err);
		else if (judged)
			k->told_fault = false;
		/* A table of few buckets is through early. */
		if (!keeper_wait(k, start + NS_PER_S))
			return NULL;
	}
}

int keeper_start(struct keeper *k, const struct options *o, struct poise_error *err)
{
	pthread_condattr_t attr;
	int rc;

	memset(k, 0, sizeof(*k));
	k->options = o;
	if (instance_open(&k->instance, &o->where, err) < 0)
		return -1;
	/* An instance that nothing was ever told has no state worth overwriting the last one with.
	 */
	k->saved = 0;
	k->aging = aging_new();
	k->ejector = ejector_new(k->instance);
	pthread_mutex_init(&k->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&k->wake, &attr);
	pthread_condattr_destroy(&attr);
	rc = pthread_create(&k->thread, NULL, keeper_thread, k);
	if (rc) {
		errno = rc;
		poise_fail_errno(err, "cannot start a thread");
		aging_free(k->aging);
		ejector_free(k->ejector);
		instance_close(k->instance);
		return -1;
	}
	k->running = true;
	return 0;
}

void keeper_stop(struct keeper *k)
{
	if (!k->running)
		return;
	pthread_mutex_lock(&k->mutex);
	k->stop = true;
	pthread_cond_signal(&k->wake);
	pthread_mutex_unlock(&k->mutex);
	pthread_join(k->thread, NULL);
	pthread_cond_destroy(&k->wake);
	pthread_mutex_destroy(&k->mutex);
	aging_free(k->aging);
	ejector_free(k->ejector);
	instance_close(k->instance);
	k->running = false;
}
