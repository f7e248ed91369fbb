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

__noinline int least_conn_some(struct pick *p, struct poise_service_rec *rec)
{
	struct loads loads;
	__u32 at, end;

	if (!p || !rec || !loads_get(&loads, p->row / POISE_WORDS))
		return 0;
	at = p->next;
	end = at + LEAST_CONN_STRIDE < rec->cycle_size ? at + LEAST_CONN_STRIDE : rec->cycle_size;
	p->next = end;
	for (int k = 0; k < LEAST_CONN_STRIDE && at < end; k++, at++) {
		__u32 slot = cycle_slot(rec, at);
		__u32 place = p->row + POISE_CYCLE_MEMBER(slot);

		if (place / POISE_WORDS != loads.group && !loads_get(&loads, place / POISE_WORDS))
			break;
		if (load_compare(p, slot, load_in(&loads, place))) {
			p->next = at + 1;
			break;
		}
	}
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
