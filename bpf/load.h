/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Comparing members by load: whose (load + 1) / weight is smallest takes the flow, and chance
 * decides among equals, or all CPUs would send their flows to the same one at once.
 *
 * A member's load is what poised counted of all other CPUs a few milliseconds ago, and what this
 * CPU counts itself, now. Each part may be negative, as flows are closed by other CPUs than opened
 * them.
 *
 * Nearly always the best one may take the flow, so it alone is asked, when all have been compared.
 * If it may not, they are compared once more, each being asked before it becomes the best.
 */
#ifndef POISE_LOAD_H
#define POISE_LOAD_H

#include "cycle.h"
#include "scratch.h"

#define PICK_PASSES 2

static __always_inline struct pick *pick_begin(__u64 chance)
{
	struct scratch *s = scratch_get();
	struct pick *p;

	if (!s)
		return NULL;
	p = &s->pick;
	p->id = 0;
	p->weight = 0;
	p->careful = 0;
	p->draw = chance >> 32;
	p->row = count_place(0);
	p->start = chance;
	return p;
}

/* Sixteen neighbours in the rows of loads: members of a service mostly are, and a look-up costs
 * several times what reading a load does. */
struct loads {
	struct poise_words *mine, *rest;
	__u32 group;
};

/* False: there is no such place. (To go on without would double what the verifier has to follow.)
 */
static __always_inline bool loads_get(struct loads *l, __u32 group)
{
	l->group = group;
	l->mine = bpf_map_lookup_elem(&own, &group);
	l->rest = bpf_map_lookup_elem(&others, &group);
	return l->mine && l->rest;
}

static __always_inline bool load_of(struct loads *l, __u32 place, __u32 *load)
{
	__s32 sum;

	if (l->group != place / POISE_WORDS && !loads_get(l, place / POISE_WORDS))
		return false;
	place %= POISE_WORDS;
	sum = (__s32)ONCE(l->mine->w[place]) + (__s32)ONCE(l->rest->w[place]);
	*load = sum > 0 ? (__u32)sum : 0;
	return true;
}

/* A number of its own for each member and draw. */
static __always_inline __u32 load_tie(__u32 id, __u32 draw)
{
	__u32 x = (id + draw) * (__u32)POISE_MIX1;

	x = (x ^ x >> 15) * (__u32)POISE_MIX2;
	return x ^ x >> 16;
}

/* Asks on behalf of the policies that go by load. */
__noinline int load_admitted(struct flow *f, __u32 id)
{
	struct poise_service_rec *rec;

	if (!f)
		return 0;
	rec = service_record(f->service, f->record);
	return rec && admitted(f, rec, id, member_get(id), id);
}

/* Is that all? Else the best may not take the flow, and the comparison begins again. */
static __always_inline bool pick_over(struct pick *p, struct flow *f)
{
	if (!p->id || p->careful || load_admitted(f, p->id))
		return true;
	p->id = 0;
	p->careful = 1;
	return false;
}

/* Takes the member of a slot if it is better than the best so far. False: no use in going on. */
static __always_inline bool load_compare(struct pick *best, struct loads *loads, struct flow *f,
					 __u32 slot)
{
	__u32 id = POISE_CYCLE_MEMBER(slot), weight = POISE_CYCLE_WEIGHT(slot), load, tie;
	__u64 ours, theirs;

	if (!load_of(loads, best->row + id, &load))
		return false;
	/* Weights have 16 bits, loads 31: exact, and no division. */
	ours = (load + 1ull) * best->weight;
	theirs = best->load * weight;
	if (LIKELY(best->id && ours > theirs))
		return true;
	tie = load_tie(id, best->draw);
	if (best->id && ours == theirs && tie >= best->tie)
		return true;
	if (UNLIKELY(best->careful) && !load_admitted(f, id))
		return true;
	best->load = load + 1ull;
	best->weight = weight;
	best->tie = tie;
	best->id = id;
	return true;
}

#endif
