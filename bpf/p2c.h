/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Policy p2c, the power of two choices (Mitzenmacher, "The Power of Two Choices in Randomized Load
 * Balancing", 1996), here of as many as `choices` says: some members of the roster are drawn, and
 * the one of least load takes the flow.
 *
 * They are drawn without repetition by Floyd's algorithm (Bentley, "Programming Pearls: A Sample of
 * Brilliance", 1987), whose memory is one word: a bit for each of up to 64 parts of the roster.
 * A roster of 64 or fewer has a member a part, and all sets are drawn alike. A longer one has parts
 * of several members, of which one at random is looked at; the parts begin at a random member, so
 * all are looked at as often.
 */
#ifndef POISE_P2C_H
#define POISE_P2C_H

#include "load.h"

#define P2C_PARTS POISE_CHOICES_MAX
#define P2C_STEP  6364136223846793005ull /* of Knuth's generator; its high half is used */

/* 0 .. n-1 at random. */
static __always_inline __u32 p2c_below(struct pick *p, __u32 n)
{
	p->chance = p->chance * P2C_STEP + POISE_GOLD;
	return (p->chance >> 32) * n >> 32;
}

/* The next part: of the first n + 1, another than before. */
static __always_inline __u32 p2c_part(struct pick *p, __u32 n)
{
	__u32 part = p2c_below(p, n + 1);

	if (p->taken >> (part & (P2C_PARTS - 1)) & 1)
		part = n;
	p->taken |= 1ull << (part & (P2C_PARTS - 1));
	return part;
}

/* A place of the roster in this part. */
static __always_inline __u32 p2c_place(struct pick *p, __u32 part, __u32 members)
{
	__u32 from = part, to, at;

	if (members > P2C_PARTS) {
		from = part * members / P2C_PARTS;
		to = (part + 1) * members / P2C_PARTS;
		from += p2c_below(p, to - from);
	}
	at = poise_table_slot(p->draw, members) + from;
	return at < members ? at : at - members;
}

/* Each time the same are drawn. */
static __always_inline void p2c_draw(struct flow *f, struct poise_service_rec *rec,
				     struct pick *best)
{
	__u32 members = rec->cycle_size, parts = members < P2C_PARTS ? members : P2C_PARTS;
	__u32 part = parts > rec->choices ? parts - rec->choices : 0;
	struct loads loads;

	best->chance = best->start;
	best->taken = 0;
	if (!loads_get(&loads, best->row / POISE_WORDS))
		return;
	for (int k = 0; k < POISE_CHOICES_MAX && part < parts; k++, part++) {
		__u32 at = p2c_place(best, p2c_part(best, part), members);

		if (!load_compare(best, &loads, f, cycle_slot(rec, at)))
			break;
	}
}

__noinline answer_t p2c_choose(struct flow *f)
{
	struct poise_service_rec *rec;
	struct pick *best;
	struct turn *turn;

	if (!f)
		return DROP(BROKEN);
	rec = service_record(f->service, f->record);
	turn = turn_get(f);
	if (!rec || !turn)
		return DROP(BROKEN);
	best = pick_begin(turn_draw(turn, f));
	if (!best)
		return DROP(BROKEN);
	for (int k = 0; k < PICK_PASSES; k++) {
		p2c_draw(f, rec, best);
		if (pick_over(best, f))
			break;
	}
	return best->id;
}

#endif
