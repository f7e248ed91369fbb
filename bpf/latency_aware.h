/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Policy latency-aware: drawn by weight as under random, but whoever is slower than the best
 * gives up a part of what it is drawn for, by the square of how much slower. How much poised has
 * worked out (loader/favour.h); where no latency is known it is nothing, and this is random.
 */
#ifndef POISE_LATENCY_AWARE_H
#define POISE_LATENCY_AWARE_H

#include "load.h"

#define LATENCY_AWARE_TRIES 8 /* of those who may not take the flow */
#define LATENCY_AWARE_DRAWS                                                                        \
	8 /* a try: where one of four is fast, one in ten finds it in none ... */

/* The next who takes what it is drawn for; 0: nobody did. */
static __always_inline __u32 latency_aware_draw(struct flow *f, struct poise_service_rec *rec,
						struct turn *turn, const struct poise_loads *row)
{
	for (int k = 0; k < LATENCY_AWARE_DRAWS; k++) {
		__u64 place = turn_draw(turn, f);
		__u32 id = table_current(rec, table_entry(rec->table_at, rec->table_size, place));

		/* What has chosen the place must not decide again. */
		if (place * POISE_GOLD >> 32 >= ONCE(row[id & poise_row_mask].refused))
			return id;
	}
	return 0;
}

__noinline answer_t latency_aware_choose(struct flow *f)
{
	struct poise_loads *row = loads_row();
	struct poise_service_rec *rec;
	struct turn *turn;

	if (!turn_begin(f, &rec, &turn) || !row)
		return DROP(BROKEN);
	for (int k = 0; k < LATENCY_AWARE_TRIES; k++) {
		__u32 id = latency_aware_draw(f, rec, turn, row);

		if (admitted(f, rec, id, member_get(id), 0))
			return id;
	}
	return 0;
}

#endif
