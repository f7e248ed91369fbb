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
 *
 * A policy has a function some(pick, record) that looks at a few members from pick->next on, puts
 * the best into pick->best, and moves pick->next on; careful, it stops at the first that is better
 * and puts it into pick->asked instead. That keeps both loops short, which is what the verifier
 * minds, and calls few deep, which is what the stack minds.
 */
#ifndef POISE_LOAD_H
#define POISE_LOAD_H

#include "cycle.h"
#include "scratch.h"

/* Calls of some() for a flow: twice for all that least-conn may look at, and for as many members
 * again who may not take it. */
#define PICK_CALLS 64

static __always_inline void pick_start(struct pick *p, __u32 careful)
{
	p->best.slot = 0;
	p->asked.slot = 0;
	p->careful = careful;
	p->next = 0;
	p->chance = p->start;
	p->taken = 0;
}

static __always_inline struct pick *pick_begin(__u64 chance)
{
	struct scratch *s = scratch_get();

	if (!s)
		return NULL;
	s->pick.row = count_place(0);
	s->pick.draw = chance >> 32;
	s->pick.start = chance;
	pick_start(&s->pick, 0);
	return &s->pick;
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

/* All have been looked at: is that the answer? */
static __always_inline bool pick_over(struct pick *p, struct flow *f, struct poise_service_rec *rec)
{
	__u32 id = POISE_CYCLE_MEMBER(p->best.slot);

	return !id || p->careful || admitted(f, rec, id, member_get(id), id);
}

static __always_inline void pick_ask(struct pick *p, struct flow *f)
{
	if (LIKELY(!p->asked.slot))
		return;
	if (load_admitted(f, POISE_CYCLE_MEMBER(p->asked.slot)))
		p->best = p->asked;
	p->asked.slot = 0;
}

/* `count` members are to be looked at, by some(). The answer of the policy. */
static __always_inline answer_t pick_all(struct pick *p, struct flow *f,
					 struct poise_service_rec *rec, __u32 count,
					 int (*some)(struct pick *, struct poise_service_rec *))
{
	for (int call = 0; call < PICK_CALLS; call++) {
		some(p, rec);
		pick_ask(p, f);
		if (p->next < count)
			continue;
		if (pick_over(p, f, rec))
			break;
		pick_start(p, 1);
	}
	return POISE_CYCLE_MEMBER(p->best.slot);
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

static __always_inline __u32 load_in(const struct loads *l, __u32 place)
{
	__u32 at = place % POISE_WORDS;
	__s32 sum = (__s32)ONCE(l->mine->w[at]) + (__s32)ONCE(l->rest->w[at]);

	return sum > 0 ? (__u32)sum : 0;
}

/* A number of its own for each member and draw. */
static __always_inline __u32 load_tie(__u32 id, __u32 draw)
{
	__u32 x = (id + draw) * (__u32)POISE_MIX1;

	x = (x ^ x >> 15) * (__u32)POISE_MIX2;
	return x ^ x >> 16;
}

/* Is the member of a slot, with this load, better than the best so far? Then it is the best, or is
 * to be asked: true. */
static __always_inline bool load_compare(struct pick *p, __u32 slot, __u32 load)
{
	/* Weights have 16 bits, loads 31: exact, and no division. */
	__u64 ours = (load + 1ull) * POISE_CYCLE_WEIGHT(p->best.slot);
	__u64 theirs = (p->best.load + 1) * POISE_CYCLE_WEIGHT(slot);
	struct rival *to = &p->best;
	__u32 tie;

	if (LIKELY(ours > theirs))
		return false;
	tie = load_tie(POISE_CYCLE_MEMBER(slot), p->draw);
	if (ours == theirs && tie >= p->best.tie)
		return false;
	if (UNLIKELY(p->careful))
		to = &p->asked;
	to->load = load;
	to->slot = slot;
	to->tie = tie;
	return p->careful;
}

#endif
