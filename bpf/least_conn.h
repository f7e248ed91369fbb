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

/* Sixteen slots at once, from the `skip`th on: a cycle begins where a value of the map does. How
 * far it came before it has to wait for an answer; POISE_WORDS: to the end; 0: no use in going on.
 */
static __always_inline __u32 least_conn_value(struct pick *p, const struct poise_words *slots,
					      struct loads *loads, __u32 skip, __u32 left)
{
	for (__u32 k = 0; k < POISE_WORDS && k < left; k++) {
		__u32 slot = ONCE(slots->w[k]);
		__u32 place = p->row + POISE_CYCLE_MEMBER(slot);

		if (k < skip)
			continue;
		if (place / POISE_WORDS != loads->group && !loads_get(loads, place / POISE_WORDS))
			return 0;
		if (load_compare(p, slot, load_in(loads, place)))
			return k + 1;
	}
	return POISE_WORDS;
}

__noinline int least_conn_some(struct pick *p, struct poise_service_rec *rec)
{
	struct loads loads;
	__u32 at, skip;

	if (!p || !rec || !loads_get(&loads, p->row / POISE_WORDS))
		return 0;
	skip = p->next % POISE_WORDS;
	at = p->next - skip;
	for (int k = 0; k < LEAST_CONN_STRIDE / POISE_WORDS && at < rec->cycle_size; k++) {
		__u32 value = (rec->cycle_at + at) / POISE_WORDS, came;
		const struct poise_words *slots = bpf_map_lookup_elem(&table, &value);

		if (!slots)
			break;
		came = least_conn_value(p, slots, &loads, skip, rec->cycle_size - at);
		at += came;
		skip = 0;
		if (!came || p->asked.slot)
			break;
	}
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
	return pick_all(pick, f, rec, rec->cycle_size, least_conn_some);
}

#endif
