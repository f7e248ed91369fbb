/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Policy least-conn: of all members the one of least load. A service of more members than
 * POISE_LEAST_CONN_MOST has p2c with many choices instead (maps/derived.c).
 */
#ifndef POISE_LEAST_CONN_H
#define POISE_LEAST_CONN_H

#include "load.h"

#define LEAST_CONN_STRIDE 64 /* members a call of least_conn_some, which costs as much as five */

/* Sixteen slots at once: a roster begins where a value of the map does. */
static __always_inline bool least_conn_words(struct pick *best, struct loads *loads, struct flow *f,
					     __u32 first, __u32 left)
{
	__u32 value = first / POISE_WORDS;
	const struct poise_words *slots = bpf_map_lookup_elem(&table, &value);

	if (!slots)
		return false;
	for (__u32 k = 0; k < POISE_WORDS && k < left; k++)
		if (!load_compare(best, loads, f, ONCE(slots->w[k])))
			return false;
	return true;
}

/* The members from slot `first` on, of which `left` are left. */
__noinline int least_conn_some(struct flow *f, struct pick *best, __u32 first, __u32 left)
{
	struct loads loads;

	if (!f || !best || !loads_get(&loads, best->row / POISE_WORDS))
		return 0;
	for (__u32 k = 0; k < LEAST_CONN_STRIDE && k < left; k += POISE_WORDS)
		if (!least_conn_words(best, &loads, f, first + k, left - k))
			break;
	return 0;
}

static __always_inline void least_conn_scan(struct flow *f, struct poise_service_rec *rec,
					    struct pick *best)
{
	for (__u32 at = 0; at < POISE_LEAST_CONN_MOST && at < rec->cycle_size;
	     at += LEAST_CONN_STRIDE)
		least_conn_some(f, best, rec->cycle_at + at, rec->cycle_size - at);
}

__noinline answer_t least_conn_choose(struct flow *f)
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
		least_conn_scan(f, rec, best);
		if (pick_over(best, f))
			break;
	}
	return best->id;
}

#endif
