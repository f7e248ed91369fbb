/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Comparing members by load: whose (load + 1) x cost is smallest takes the flow, and chance decides
 * among equals, or all CPUs would send their flows to the same one at once. What a flow costs at a
 * member stands beside it in the cycle (struct poise_seat); its load is what poised counted of all
 * other CPUs a few milliseconds ago, and what this CPU counts itself, now. Each part may be
 * negative, as flows are closed by other CPUs than opened them.
 *
 * What is read lies side by side and is found by few look-ups, of which each costs as much as
 * comparing a member does: eight seats in a value of the table, the loads of all in one.
 *
 * Nearly always the best one may take the flow, so the policies compare first and ask then. If it
 * may not, all are compared once more, each being asked before it becomes the best. That takes a
 * function of its own that stops for each question, and notes in memory: calls are to be few deep,
 * which is what the stack minds, and loops short, which is what the verifier minds.
 */
#ifndef POISE_LOAD_H
#define POISE_LOAD_H

#include "cycle.h"
#include "scratch.h"

#define LOAD_STEP 6364136223846793005ull
#define SEATS	  (POISE_WORDS / 2) /* in a value of the table */

/* The seat at a place of the roster, and those after it in the same value; NULL: there is none. */
static __always_inline struct poise_seat *load_seat(const struct poise_service_rec *rec, __u32 at)
{
	__u32 value = rec->cycle_at / POISE_WORDS + at / SEATS;
	struct poise_words *words = bpf_map_lookup_elem(&table, &value);

	return words ? (struct poise_seat *)words + at % SEATS : NULL;
}

/* Twice what the member's flows and one more cost. Costs have 32 bits, loads less than 30. felt:
 * its latency counts. */
static __always_inline __u64 load_score(const struct poise_seat *seat, __u64 member,
					const struct poise_loads *row, __u32 mask, bool felt)
{
	const struct poise_loads *l = &row[member & mask];
	__u64 cost = ONCE(seat->cost);
	__s32 load = (__s32)((__u32)ONCE(l->own) + (__u32)ONCE(l->others));

	/* A branch that hardly anybody takes; made a maximum it would part 0 from 1. */
	if (UNLIKELY(load < 0)) {
		BARRIER(load);
		load = 0;
	}
	if (felt)
		cost -= cost * ONCE(l->eased) >> 32;
	return ((__u32)load + 1ull) * cost << 1;
}

/* ---- the better of two, without a branch: nobody could foretell which way it goes, and a wrong
 * guess costs as much as comparing several members ----------------------------------------------*/

/* `a` if `yes` is all ones, `b` if it is 0. */
static __always_inline __u64 load_either(__u64 yes, __u64 a, __u64 b)
{
	BARRIER(yes); /* or the compiler makes it a branch */
	return b ^ ((a ^ b) & yes);
}

/* All ones if a < b, else 0; neither has bit 63. */
static __always_inline __u64 load_less(__u64 a, __u64 b)
{
	return (__u64)((__s64)(a - b) >> 63);
}

#define LOAD_NOBODY ((struct rival){.score = ~0ull >> 1, .tie = ~0ull >> 1})

/* The better of the best so far and another, whose tie is drawn. Scores are even. */
static __always_inline void load_meet(struct rival *best, __u64 score, __u64 tie, __u64 member)
{
	__u64 better = load_less(score, best->score - load_less(tie, best->tie));

	best->score = load_either(better, score, best->score);
	best->tie = load_either(better, tie, best->tie);
	best->member = load_either(better, member, best->member);
}

/* The next number of a generator of Knuth's, as a tie: its low bits are of no use. */
static __always_inline __u64 load_draw(__u64 *chance)
{
	*chance *= LOAD_STEP;
	return *chance >> 1;
}

/* ---- once more, carefully ---------------------------------------------------------------------*/

#define CAREFUL_STRIDE 32 /* members a call */
/* Calls for a flow: for all that there may be, and for as many members who may not take it. */
#define CAREFUL_CALLS (2 * POISE_LEAST_CONN_MOST / CAREFUL_STRIDE)

/* Asks on behalf of the policies that go by load. */
__noinline int load_admitted(struct flow *f, __u32 id)
{
	struct poise_service_rec *rec;

	if (!f)
		return 0;
	rec = service_record(f->service, f->record);
	return rec && admitted_deep(f, rec, id, member_get(id), id);
}

/* Goes on to the first that is better, p->asked, or through some that are not. */
__noinline int load_walk(struct pick *p, struct poise_service_rec *rec)
{
	struct poise_loads *row = loads_row();
	__u32 mask = poise_row_mask;

	if (!p || !rec || !row)
		return 0;
	for (int k = 0; k < CAREFUL_STRIDE && p->left; k++) {
		struct poise_seat *seat = load_seat(rec, p->at);
		struct rival it = {};

		if (!seat)
			break;
		p->left--;
		p->at += p->step;
		if (p->at >= rec->cycle_size)
			p->at -= rec->cycle_size;
		it.member = ONCE(seat->member);
		it.score = load_score(seat, it.member, row, mask, true);
		it.tie = load_draw(&p->chance);
		if (it.score > p->best.score ||
		    (it.score == p->best.score && it.tie >= p->best.tie))
			continue;
		p->asked = it;
		break;
	}
	return 0;
}

/* The best who may take the flow, of `count` who stand `step` apart; 0: none of them may. */
static __always_inline answer_t load_careful(struct flow *f, struct poise_service_rec *rec,
					     __u32 at, __u32 step, __u32 count)
{
	struct scratch *s = scratch_get();
	struct pick *p;

	if (!s)
		return DROP(BROKEN);
	p = &s->pick;
	*p = (struct pick){
		.best = LOAD_NOBODY,
		.chance = f->hash | 1,
		.at = at,
		.step = step,
		.left = count,
	};
	for (int call = 0; call < CAREFUL_CALLS && p->left; call++) {
		p->asked.member = 0;
		load_walk(p, rec);
		if (p->asked.member && load_admitted(f, p->asked.member))
			p->best = p->asked;
	}
	return p->best.member;
}

#endif
