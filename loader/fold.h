/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The load fold: each CPU counts its own live flows (opened - closed); what a choice on one CPU
 * cannot see is what the others hold. loads[cpu][member].others = the sum of all other CPUs' own,
 * every few milliseconds, for members in use only.
 */
#ifndef POISED_FOLD_H
#define POISED_FOLD_H

#include "../maps/config.h"

struct fold_range {
	__u32 first;
	__u32 count;
};

struct fold {
	struct fold_range *range; /* ids in use and small gaps between them, ascending */
	size_t ranges;
	poise_load *snapshot; /* [cpus][FOLD_CHUNK] */
	__u32 cpus;
};

/* Folding an id nobody uses is cheaper than another range. */
#define FOLD_GAP   32
#define FOLD_CHUNK 256 /* members at a time: a kilobyte a CPU stays in the first-level cache */

void fold_init(struct fold *f, __u32 cpus);
void fold_free(struct fold *f);
/* Which members are folded: all of cfg that have an id. */
void fold_members(struct fold *f, const struct config *cfg);
/* One fold; loads are [cpus][row]. */
void fold_run(const struct fold *f, struct poise_loads *loads, __u32 row);

#endif
