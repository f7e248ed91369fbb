/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Policy least-conn: of all members the one of least load. A service of more members than
 * POISE_LEAST_CONN_MOST has p2c with many choices instead (maps/derived.c).
 */
#ifndef POISE_LEAST_CONN_H
#define POISE_LEAST_CONN_H

#include "load.h"

#define LEAST_CONN_STRIDE 64 /* members a call of least_conn_some, which costs as much as five */
#define LEAST_CONN_CALLS  (POISE_LEAST_CONN_MOST / LEAST_CONN_STRIDE)

__noinline int least_conn_some(struct flow *f, struct pick *best, __u32 at)
{
	struct poise_service_rec *rec;

	if (!f || !best)
		return 0;
	rec = service_record(f->service, f->record);
	if (!rec)
		return 0;
	for (int k = 0; k < LEAST_CONN_STRIDE && at < rec->cycle_size; k++, at++)
		load_compare(best, f, rec, cycle_slot(rec, at));
	return 0;
}

__noinline answer_t least_conn_choose(struct flow *f)
{
	struct poise_service_rec *rec;
	struct pick best = {};
	struct turn *turn;

	if (!f)
		return DROP(BROKEN);
	rec = service_record(f->service, f->record);
	turn = turn_get(f);
	if (!rec || !turn)
		return DROP(BROKEN);
	best.draw = turn_draw(turn, f) >> 32;
	for (__u32 k = 0; k < LEAST_CONN_CALLS; k++) {
		if (k * LEAST_CONN_STRIDE >= rec->cycle_size)
			break;
		least_conn_some(f, &best, k * LEAST_CONN_STRIDE);
	}
	return best.id;
}

#endif
