/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Policy least-conn: of all members the one of least load. A service of more members than
 * POISE_LEAST_CONN_MOST has p2c with many choices instead (maps/derived.c).
 */
#ifndef POISE_LEAST_CONN_H
#define POISE_LEAST_CONN_H

#include "load.h"

#define LEAST_CONN_STRIDE 64 /* members a call, which costs as much as five of them */

_Static_assert(PICK_CALLS >= 2 * POISE_LEAST_CONN_MOST / LEAST_CONN_STRIDE, "too few calls");

/* Looks at slots `at` to `end` as far as they are in one value of the map; where it stopped, and
 * that the comparison has to wait there for an answer. */
static __always_inline bool least_conn_value(struct pick *p, const struct poise_service_rec *rec,
					     struct loads *loads, __u32 *at, __u32 end)
{
	__u32 value = (rec->cycle_at + *at) / POISE_WORDS;
	const struct poise_words *slots = bpf_map_lookup_elem(&table, &value);
	bool ask = false;

	if (!slots)
		return true;
	do {
		__u32 slot = ONCE(slots->w[*at % POISE_WORDS]);
		__u32 place = p->row + POISE_CYCLE_MEMBER(slot);

		if (place / POISE_WORDS != loads->group && !loads_get(loads, place / POISE_WORDS))
			return true;
		ask = load_compare(p, slot, load_in(loads, place));
		++*at;
	} while (!ask && *at < end && *at % POISE_WORDS);
	return ask;
}

__noinline int least_conn_some(struct pick *p, struct poise_service_rec *rec)
{
	struct loads loads;
	__u32 at, end;

	if (!p || !rec || !loads_get(&loads, p->row / POISE_WORDS))
		return 0;
	at = p->next;
	end = at + LEAST_CONN_STRIDE < rec->cycle_size ? at + LEAST_CONN_STRIDE : rec->cycle_size;
	for (int k = 0; k < LEAST_CONN_STRIDE / POISE_WORDS + 1 && at < end; k++)
		if (least_conn_value(p, rec, &loads, &at, end))
			break;
	p->next = at;
	return 0;
}

__noinline answer_t least_conn_choose(struct flow *f)
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
	return PICK(f, rec, pick, rec->cycle_size, least_conn_some);
}

#endif
