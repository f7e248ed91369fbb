/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A service's table: who stands at a place, and who is chosen for a new flow when the one who
 * stands there may not be: eight alternates, then the whole service, down the ladder.
 */
#ifndef POISE_TABLE_H
#define POISE_TABLE_H

#include "admit.h"
#include "count.h"
#include "listener.h"

#define SCAN_STRIDE 16 /* members looked at per call of scan_some */

/* Where a table of `size` slots from `at` on says who stands at a place; NULL if it is empty. */
static __always_inline __u32 *table_slot(__u32 at, __u32 size, __u64 place)
{
	return size ? word_lookup(&table, at + poise_table_slot(place, size)) : NULL;
}

static __always_inline __u32 table_entry(__u32 at, __u32 size, __u64 place)
{
	__u32 *entry = table_slot(at, size, place);

	return entry ? ONCE(*entry) : 0;
}

/* Poised waits for the slot's words to come out of use. */
static __always_inline bool table_rests(__u32 entry)
{
	return entry & POISE_ENTRY_AGING && POISE_ENTRY_CURRENT(entry) == POISE_ENTRY_BASE(entry);
}

/* The member that stands at a place now; 0 if the table is empty. */
static __always_inline __u32 table_current(struct poise_service_rec *rec, __u32 entry)
{
	return rec->table_size ? member_of_ordinal(rec, POISE_ENTRY_CURRENT(entry)) : 0;
}

/* The member under which untracked flows of this place were born. */
static __always_inline __u32 table_base(struct poise_service_rec *rec, const struct flow *f,
					__u32 entry)
{
	if (UNLIKELY(rec->base_size))
		entry = table_entry(rec->base_at, rec->base_size, f->base);
	else if (!rec->table_size)
		return 0;
	return member_of_ordinal(rec, POISE_ENTRY_BASE(entry));
}

struct scan {
	__u32 service;
	__u32 record;
	__u32 next; /* ordinal */
	__u32 left;
	__u32 best; /* member, 0 none yet */
	__u32 rank; /* of best */
	__u32 rung;
	__u16 has;  /* FLOW_* */
	__u16 full; /* the best rank of those who are full: nobody of a worse one comes instead */
};

/* Callback of bpf_loop, which costs ten times what looking at a member does: hence strides. */
static long scan_some(__u32 index, struct scan *s)
{
	struct poise_service_rec *rec = service_record(s->service, s->record);

	(void)index;
	if (!rec)
		return 1;
	for (int i = 0; i < SCAN_STRIDE && s->left; i++) {
		__u32 id = member_of_ordinal(rec, s->next);
		struct poise_member *m = member_get(id);

		s->left--;
		s->next = s->next + 1 < rec->members ? s->next + 1 : 0;
		if (!member_usable(m, s->service, POISE_RANK_NEVER - 1))
			continue;
		if (hold_full(m, id, s->has)) {
			if ((ONCE(m->live) & POISE_L_RANK) < s->full)
				s->full = ONCE(m->live) & POISE_L_RANK;
			continue;
		}
		if (s->best && (ONCE(m->live) & POISE_L_RANK) >= s->rank)
			continue;
		s->best = id;
		s->rank = ONCE(m->live) & POISE_L_RANK;
		if (s->rank <= s->rung)
			return 1;
	}
	return !s->left;
}

/* The first usable member from a place on, else the first of the best rank below the rung. */
static __always_inline answer_t table_scan(const struct flow *f, struct poise_service_rec *rec)
{
	struct scan s = {
		.service = f->service,
		.record = f->record,
		.next = poise_table_slot(f->place, rec->members),
		.left = rec->members,
		.rank = POISE_RANK_NEVER,
		.rung = rec->rung,
		.has = f->has,
		.full = POISE_RANK_NEVER,
	};

	bpf_loop(rec->members / SCAN_STRIDE + 1, scan_some, &s, 0);
	if (s.full < s.rank)
		return DROP(FULL);
	return s.best ? s.best : DROP(NO_BACKEND);
}

/* The member for a new flow, by the table. */
__noinline answer_t table_choose(struct flow *f)
{
	struct poise_service_rec *rec;
	answer_t scanned;
	__u64 place;

	if (!f)
		return DROP(BROKEN);
	rec = service_record(f->service, f->record);
	if (!rec)
		return DROP(BROKEN);
	place = f->place;
	for (__u32 k = 0; k <= POISE_ALTERNATES; k++) {
		__u64 at = k ? poise_alternate(place, k) : place;
		__u32 entry = table_entry(rec->table_at, rec->table_size, at);
		__u32 id = table_current(rec, entry);

		if (!admitted(f, rec, id, member_get(id), 0))
			continue;
		if (k)
			count_reason(f->service, POISE_R_ALTERNATE);
		return id;
	}
	scanned = table_scan(f, rec);
	if (!IS_DROP(scanned))
		count_reason(f->service, POISE_R_ALTERNATE);
	return scanned;
}

#endif
