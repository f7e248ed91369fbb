/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Comparing members by load: whose (load + 1) / weight is smallest takes the flow, and chance
 * decides among equals, or all CPUs would send their flows to the same one at once.
 *
 * A member's load is what poised counted of all other CPUs a few milliseconds ago, and what this
 * CPU counts itself, now. Each part may be negative, as flows are closed by other CPUs than opened
 * them.
 */
#ifndef POISE_LOAD_H
#define POISE_LOAD_H

#include "cycle.h"

/* The best member so far. All zero: nobody, and any is better. */
struct pick {
	__u64 load; /* + 1 */
	__u32 weight;
	__u32 tie; /* the smaller of two equals wins */
	__u32 id;
	__u32 draw;
};

static __always_inline __u32 load_of(__u32 id)
{
	__u32 place = count_place(id);
	__u32 *mine = word_lookup(&own, place), *rest = word_lookup(&others, place);
	__s32 load;

	if (!mine || !rest)
		return 0;
	load = (__s32)ONCE(*mine) + (__s32)ONCE(*rest);
	return load > 0 ? (__u32)load : 0;
}

/* A number of its own for each member and draw. */
static __always_inline __u32 load_tie(__u32 id, __u32 draw)
{
	__u32 x = (id + draw) * (__u32)POISE_MIX1;

	x = (x ^ x >> 15) * (__u32)POISE_MIX2;
	return x ^ x >> 16;
}

/* Takes the member of a slot if it is better than the best so far, and may take the flow. */
static __always_inline void load_compare(struct pick *best, const struct flow *f,
					 const struct poise_service_rec *rec, __u32 slot)
{
	__u32 id = POISE_CYCLE_MEMBER(slot), weight = POISE_CYCLE_WEIGHT(slot), tie;
	__u64 load = load_of(id) + 1ull;

	/* Weights have 16 bits, loads 31: exact, and no division. */
	if (best->id && load * best->weight > best->load * weight)
		return;
	tie = load_tie(id, best->draw);
	if (best->id && load * best->weight == best->load * weight && tie >= best->tie)
		return;
	if (!admitted(f, rec, id, member_get(id), id))
		return;
	best->load = load;
	best->weight = weight;
	best->tie = tie;
	best->id = id;
}

#endif
