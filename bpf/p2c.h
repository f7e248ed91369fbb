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

struct drawn {
	__u64 chance;
	__u64 taken; /* bit per part */
	__u32 members;
	__u32 first; /* where the parts begin */
};

/* 0 .. n-1 at random. */
static __always_inline __u32 p2c_below(struct drawn *d, __u32 n)
{
	d->chance = d->chance * P2C_STEP + POISE_GOLD;
	return (d->chance >> 32) * n >> 32;
}

/* The next part: of the first n + 1, another than before. */
static __always_inline __u32 p2c_part(struct drawn *d, __u32 n)
{
	__u32 part = p2c_below(d, n + 1);

	if (d->taken >> (part & (P2C_PARTS - 1)) & 1)
		part = n;
	d->taken |= 1ull << (part & (P2C_PARTS - 1));
	return part;
}

/* A place of the roster in this part. */
static __always_inline __u32 p2c_place(struct drawn *d, __u32 part)
{
	__u32 from = part, to, at;

	if (d->members > P2C_PARTS) {
		from = part * d->members / P2C_PARTS;
		to = (part + 1) * d->members / P2C_PARTS;
		from += p2c_below(d, to - from);
	}
	at = d->first + from;
	return at < d->members ? at : at - d->members;
}

__noinline answer_t p2c_choose(struct flow *f)
{
	struct poise_service_rec *rec;
	struct pick best = {};
	struct drawn d = {};
	struct turn *turn;
	__u32 part, parts;

	if (!f)
		return DROP(BROKEN);
	rec = service_record(f->service, f->record);
	turn = turn_get(f);
	if (!rec || !turn)
		return DROP(BROKEN);
	d.chance = turn_draw(turn, f);
	d.members = rec->cycle_size;
	d.first = poise_table_slot(d.chance, d.members);
	parts = d.members < P2C_PARTS ? d.members : P2C_PARTS;
	part = parts > rec->choices ? parts - rec->choices : 0;
	best.draw = d.chance >> 32;
	for (int k = 0; k < POISE_CHOICES_MAX && part < parts; k++, part++)
		load_compare(&best, f, rec, cycle_slot(rec, p2c_place(&d, p2c_part(&d, part))));
	return best.id;
}

#endif
