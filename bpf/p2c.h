/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Policy p2c, the power of two choices (Mitzenmacher, "The Power of Two Choices in Randomized Load
 * Balancing", 1996), here of as many as `choices` says: some members of the roster are drawn, and
 * the one of least load x latency takes the flow.
 *
 * The first is where the roster is begun, at random; each other is drawn from an arc of its own, of
 * which the rest is cut into as many equal ones. So all differ, none needs to know of the others,
 * and any two members are as likely to be drawn together, if two are drawn.
 */
#ifndef POISE_P2C_H
#define POISE_P2C_H

#include "load.h"

/* The best of those drawn; 0: the roster is not what it seems. */
static __always_inline __u32 p2c_best(const struct poise_service_rec *rec, __u64 draw)
{
	struct poise_loads *row = loads_row();
	__u32 mask = poise_row_mask, members = rec->cycle_size;
	__u32 start = poise_table_slot(draw, members);
	struct rival best = LOAD_NOBODY;
	__u64 from = 0, end = 65536;

	for (int k = 0; k < POISE_CHOICES_MAX && k < rec->choices; k++) {
		struct poise_seat *seat;
		__u64 at, member;

		draw *= LOAD_STEP;
		at = start + from + poise_table_slot(draw >> 32, (__u32)((end >> 16) - from));
		from = end >> 16;
		end += rec->arc;
		at = load_either(load_less(at, members), at, at - members);
		seat = load_seat(rec, (__u32)at);
		if (!seat || !row)
			return 0;
		member = ONCE(seat->member);
		/* What has chosen the place must not decide again. */
		load_meet(&best, load_score(seat, member, row, mask, true), draw * POISE_GOLD >> 1,
			  member);
	}
	return (__u32)best.member;
}

/* Whoever is refused may be all that there is, so then others are compared, each asked in turn: at
 * equal distances, which no more come round to the first. */
static __always_inline answer_t p2c_careful(struct flow *f, struct poise_service_rec *rec,
					    __u64 draw)
{
	__u32 at = poise_table_slot(draw, rec->cycle_size);
	__u32 step = 1 + poise_table_slot(draw >> 32, rec->arc >> 16);

	return load_careful(f, rec, at, step, rec->choices);
}

__noinline answer_t p2c_choose(struct flow *f)
{
	struct poise_service_rec *rec;
	struct turn *turn;
	__u64 draw;
	__u32 id;

	if (!turn_begin(f, &rec, &turn))
		return DROP(BROKEN);
	draw = turn_draw(turn, f);
	id = p2c_best(rec, draw | 1);
	if (LIKELY(admitted(f, rec, id, member_get(id), id)))
		return id;
	return p2c_careful(f, rec, draw);
}

#endif
