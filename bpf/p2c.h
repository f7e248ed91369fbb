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

#define P2C_PARTS  POISE_CHOICES_MAX
#define P2C_STRIDE POISE_CHOICES_AUTO	  /* draws a call */
#define P2C_STEP   6364136223846793005ull /* of Knuth's generator; its high half is used */

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

/* Draws some more; pick->next counts the draws. */
__noinline int p2c_some(struct pick *p, struct poise_service_rec *rec)
{
	__u32 members, parts;

	if (!p || !rec)
		return 0;
	members = rec->cycle_size;
	parts = members < P2C_PARTS ? members : P2C_PARTS;
	for (int k = 0; k < P2C_STRIDE && p->next < rec->choices; k++) {
		__u32 part = p2c_part(p, parts - rec->choices + p->next++);
		__u32 slot = cycle_slot(rec, p2c_place(p, part, members));
		__u32 place = p->row + POISE_CYCLE_MEMBER(slot);
		struct loads loads;

		if (!loads_get(&loads, place / POISE_WORDS) ||
		    load_compare(p, slot, load_in(&loads, place)))
			break;
	}
	return 0;
}

__noinline answer_t p2c_choose(struct flow *f)
{
	struct poise_service_rec *rec;
	struct pick *pick;
	struct turn *turn;

	if (!f)
		return DROP(BROKEN);
	rec = service_record(f->service, f->record);
	turn = turn_get(f);
	if (!rec || !turn)
		return DROP(BROKEN);
	pick = pick_begin(turn_draw(turn, f));
	if (!pick)
		return DROP(BROKEN);
	return pick_all(pick, f, rec, rec->choices, p2c_some);
}

#endif
