/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Policy least-conn: of all members the one of least load. A service of more members than
 * POISE_LEAST_CONN_MOST has p2c with many choices instead (maps/derived.c).
 */
#ifndef POISE_LEAST_CONN_H
#define POISE_LEAST_CONN_H

#include "load.h"

#define LEAST_CONN_STRIDE 64 /* members a call, which costs as much as five of them */
#define LEAST_CONN_CALLS  (POISE_LEAST_CONN_MOST / LEAST_CONN_STRIDE)

/* Of the first few each may well be the best so far. */
static __always_inline void least_conn_first(struct pick *p, const struct poise_seat *seat, __u32 n,
					     const struct poise_loads *row)
{
	struct rival best = p->best;
	__u64 chance = p->chance;
	__u32 mask = poise_row_mask;

	UNROLL
	for (__u32 k = 0; k < SEATS; k++)
		if (k < n) {
			__u64 member = ONCE(seat[k].member);
			__u64 score = load_score(&seat[k], member, row, mask, false);

			load_meet(&best, score, load_draw(&chance), member);
		}
	p->best = best;
	p->chance = chance;
}

/* Later ones mostly are not. What is rarely needed is kept in memory, for there are few registers.
 */
static __always_inline void least_conn_seat(struct pick *p, const struct poise_seat *seat,
					    const struct poise_loads *row, __u32 mask,
					    __u64 *chance, __u64 *best)
{
	__u64 member = ONCE(seat->member), score = load_score(seat, member, row, mask, false), tie;

	if (score > *best)
		return;
	tie = load_draw(chance);
	if (score == *best && tie >= ONCE(p->best.tie))
		return;
	*best = score;
	p->best.tie = tie;
	p->best.member = member;
}

static __always_inline void least_conn_later(struct pick *p, const struct poise_seat *seat, __u32 n,
					     const struct poise_loads *row)
{
	__u64 chance = p->chance, best = p->best.score;
	__u32 mask = poise_row_mask;

	UNROLL
	for (__u32 k = 0; k < SEATS; k++)
		if (k < n)
			least_conn_seat(p, &seat[k], row, mask, &chance, &best);
	p->best.score = best;
	p->chance = chance;
}

/* Looks at some from p->at on. */
__noinline int least_conn_some(struct pick *p, struct poise_service_rec *rec)
{
	struct poise_loads *row = loads_row();
	__u32 at;

	if (!p || !rec || !row)
		return 0;
	at = p->at;
	for (int k = 0; k < LEAST_CONN_STRIDE / SEATS && at < rec->cycle_size; k++) {
		struct poise_seat *seat = load_seat(rec, at & ~(SEATS - 1));

		if (!seat)
			break;
		if (!at)
			least_conn_first(p, seat, rec->cycle_size, row);
		else
			least_conn_later(p, seat, rec->cycle_size - at, row);
		at += SEATS;
	}
	p->at = at;
	return 0;
}

__noinline answer_t least_conn_choose(struct flow *f)
{
	struct poise_service_rec *rec;
	struct scratch *s;
	struct turn *turn;
	struct pick *p;
	__u32 id;

	if (!turn_begin(f, &rec, &turn))
		return DROP(BROKEN);
	s = scratch_get();
	if (!s)
		return DROP(BROKEN);
	p = &s->pick;
	p->best = LOAD_NOBODY;
	p->chance = turn_draw(turn, f) | 1;
	p->at = 0;
	for (int call = 0; call < LEAST_CONN_CALLS && p->at < rec->cycle_size; call++)
		least_conn_some(p, rec);
	id = p->best.member;
	if (LIKELY(admitted(f, rec, id, member_get(id), id)))
		return id;
	return load_careful(f, rec, 0, 1, rec->cycle_size);
}

#endif
