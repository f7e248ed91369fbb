/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A service's cycle (maps/cycle.h): turns of round-robin, or the roster of those who may be chosen.
 */
#ifndef POISE_CYCLE_BPF_H
#define POISE_CYCLE_BPF_H

#include "table.h"
#include "turn.h"

/* What stands at a place below rec->cycle_size; 0, which names nobody, if there is no such place.
 */
static __always_inline __u32 cycle_slot(const struct poise_service_rec *rec, __u32 at)
{
	__u32 *slot = word_lookup(&table, rec->cycle_at + at);

	return slot ? ONCE(*slot) : 0;
}

/* Where there is no choice: the only one that the policy might choose; 0: there are several. */
static __always_inline __u32 cycle_only(const struct poise_service_rec *rec)
{
	return rec->cycle_size == 1 ? cycle_slot(rec, 0) : 0;
}

#endif
