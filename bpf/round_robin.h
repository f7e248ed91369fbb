/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Policy round-robin: each CPU goes through the service's turns by itself, from a random one on, so
 * that CPUs do not meet at one member. Who may not take the flow loses the turn.
 */
#ifndef POISE_ROUND_ROBIN_H
#define POISE_ROUND_ROBIN_H

#include "cycle.h"

#define ROUND_ROBIN_TRIES 8 /* turns lost in a row before the flow goes by its hash */

/* The turn of this flow, from 0; size is not 0. A cycle that was changed goes on where it was,
 * unless it has become too short for that. */
static __always_inline __u32 round_robin_turn(struct turn *t, const struct flow *f, __u32 size)
{
	__u32 at = t->position;

	if (UNLIKELY(!at || at > size))
		at = 1 + poise_table_slot(turn_draw(t, f), size);
	t->position = at < size ? at + 1 : 1;
	return at - 1;
}

__noinline answer_t round_robin_choose(struct flow *f)
{
	struct poise_service_rec *rec;
	struct turn *turn;

	if (!turn_begin(f, &rec, &turn))
		return DROP(BROKEN);
	for (int k = 0; k < ROUND_ROBIN_TRIES && rec->cycle_size; k++) {
		__u32 id = cycle_slot(rec, round_robin_turn(turn, f, rec->cycle_size));

		if (admitted(f, rec, id, member_get(id), 0))
			return id;
	}
	return 0;
}

#endif
