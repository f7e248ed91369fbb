// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sweeping the flow table through the pinned program: only kernel code frees flow words. A full
 * sweep that began after a grace period proves that no word names a member removed before.
 */
#include <bpf/bpf.h>
#include <errno.h>

#include "clock.h"
#include "flow_table.h"
#include "store.h"

/* An anonymous instance has no packets and no kernel: its words of void members just go. */
static void sweep_memory(struct instance *i, struct poise_sweep *io)
{
	if (io->beside == POISE_SWEEP_SLOTS)
		return;
	for (__u32 b = io->first; b < io->first + io->count; b++)
		for (int w = 0; w < POISE_BUCKET_WORDS; w++) {
			__u64 *word = &(io->beside ? i->flows_beside : i->flows)[b].word[w];
			__u32 state = POISE_WORD_STATE(*word);
			const struct poise_member *m = &i->members[POISE_WORD_MEMBER(*word)];

			if (!*word)
				continue;
			if (!m->service) {
				*word = 0;
				io->freed++;
				continue;
			}
			io->used++;
			io->live += state >= POISE_FLOW_NEW && state <= POISE_FLOW_EST;
		}
}

int sweep_run(struct instance *i, struct poise_sweep *io, struct poise_error *err)
{
	struct bpf_test_run_opts opts = {
		.sz = sizeof(opts), .ctx_in = io, .ctx_size_in = sizeof(*io)};

	if (i->anonymous) {
		sweep_memory(i, io);
		return 0;
	}
	if (i->sweep_fd < 0) {
		poise_fail(err, POISE_E_NO_INSTANCE, "the sweeper is not pinned in %s", i->dir);
		return poise_error_remedy(err, "start poised, or poise attach DEV");
	}
	if (bpf_prog_test_run_opts(i->sweep_fd, &opts))
		return poise_fail_errno(err, "cannot run the sweeper");
	if (opts.retval) {
		errno = -(int)opts.retval;
		return poise_fail_errno(err, "the sweeper refused buckets %u to %u", io->first,
					io->first + io->count - 1);
	}
	return 0;
}

/* In which table bucket `at` is, and as which of it; where that table ends. */
static __u32 sweep_segment(const struct instance *i, __u32 at, struct poise_sweep *io)
{
	const __u32 end[] = {i->flow_buckets, instance_table_buckets(i), instance_buckets(i)};
	__u32 begin = 0;

	for (io->beside = POISE_SWEEP_FLOWS;
	     io->beside < POISE_SWEEP_SLOTS && at >= end[io->beside]; io->beside++)
		begin = end[io->beside];
	io->first = at - begin;
	return end[io->beside];
}

int instance_sweep_range(struct instance *i, struct poise_sweep *io, struct poise_error *err)
{
	__u32 first = io->first, end = io->first + io->count, freed = 0, live = 0, used = 0;

	if (end > instance_buckets(i) || end < first)
		end = instance_buckets(i);
	for (__u32 at = first, step; at < end; at += step) {
		struct poise_sweep some = *io;
		__u32 stop = sweep_segment(i, at, &some);

		if (stop > end)
			stop = end;
		step = stop - at < POISE_SWEEP_BUCKETS ? stop - at : POISE_SWEEP_BUCKETS;
		some.count = step;
		some.freed = some.live = some.used = 0;
		if (sweep_run(i, &some, err))
			return -1;
		freed += some.freed;
		live += some.live;
		used += some.used;
	}
	io->freed = freed;
	io->live = live;
	io->used = used;
	return 0;
}

/* Ashes that are about to become free let go of their paths. */
static void release_paths(struct instance *i, __u64 generation)
{
	for (__u32 id = 1; id < i->meta->members; id++) {
		const struct poise_member_conf *m = store_member(i, id);

		if (m->r.state == POISE_REC_ASHES && m->r.generation <= generation)
			instance_set_nexthop(i, (__u16)id, 0);
	}
}

/* While the programs may not be those of meta.flow_stage yet, the sweeper may not know which of two
 * tables is which; then it does its work, but proves nothing. */
static bool proves(const struct instance *i)
{
	__u32 stage = POISE_FLOWS_STAGE(i->meta->flow_stage);

	return stage == POISE_FLOWS_ALONE || stage == POISE_FLOWS_MOVING;
}

__u64 instance_sweep_begin(struct instance *i)
{
	__u64 generation;

	/* A sweep of a table that is no longer in force proves as little. */
	if (flow_table_refresh(i, NULL))
		return 0;
	i->swept_stage = i->flow_stage;
	generation = __atomic_load_n(&i->meta->committed, __ATOMIC_ACQUIRE);

	/* What is committed but not yet derived may still be read by packets. */
	if (__atomic_load_n(&i->meta->applied, __ATOMIC_ACQUIRE) != generation)
		return 0;
	if (i->meta->swept < generation)
		grace_wait(i);
	return generation;
}

void instance_sweep_end(struct instance *i, __u64 generation, __u64 live, __u64 used)
{
	store64(&i->meta->flows_live, live);
	store64(&i->meta->flows_used, used);
	store64(&i->meta->sweep_completed, clock_monotonic());
	if (i->meta->swept < generation && proves(i) && i->swept_stage == i->meta->flow_stage) {
		release_paths(i, generation);
		store64(&i->meta->swept, generation);
	}
}

int instance_sweep(struct instance *i, struct poise_error *err)
{
	struct poise_sweep all = {.count = instance_buckets(i)};
	__u64 generation = i->meta->committed;

	/* stamps of a generation's removals are above it */
	if (i->meta->swept < generation && i->meta->graced <= generation)
		instance_grace(i);
	i->swept_stage = i->flow_stage;
	if (instance_sweep_range(i, &all, err))
		return -1;
	instance_sweep_end(i, generation, all.live, all.used);
	return 0;
}
