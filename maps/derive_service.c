// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One service: its members' words, its table, its record, in an order in which a packet between
 * any two stores finds a backend if it would have found one before or after.
 *
 *  1. members that get better, and new ones; then server ids, which name them
 *  2. bounds of source ranges, and a table in slots of its own (first, or of a new size or hash):
 *     complete before anybody reads; likewise a cycle, which takes new slots whenever its members
 *     change
 *  3. the record, published by one store of `active`; when the rung gets worse this comes before
 *     the members get worse, so that those below the old rung may be chosen in time
 *  4. members that get worse: avoided from the next packet on
 *  5. a table that is in use: entry by entry, each one store
 */
#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "derive.h"
#include "events.h"
#include "server_ids.h"
#include "sizes.h"
#include "table.h"

static bool is_active(const struct poise_service *s)
{
	return !(s->active & POISE_SERVICE_GONE) &&
	       (s->rec[s->active & 1].flags & POISE_S_PUBLISHED);
}

static const struct poise_service_rec *active_rec(const struct poise_service *s)
{
	return is_active(s) ? &s->rec[s->active & 1] : NULL;
}

static void publish(struct instance *i, const struct derived *d)
{
	struct poise_service *s = &i->services[d->id];
	const struct poise_service_rec *now = active_rec(s);
	__u32 copy = !(s->active & 1);

	if (now && !memcmp(now, &d->rec, sizeof(d->rec)))
		return;
	store_need_graced(i, s->retired);
	store_words(&s->rec[copy], &d->rec, sizeof(d->rec));
	/* before the flip: a copy must never seem free while packets read it */
	store32(&s->retired, store_stamp32(i));
	store32(&s->active, copy);
}

/* ---- the table --------------------------------------------------------------------------------*/

/* Do packets read these slots now, as table or as base? */
static bool in_use(const struct poise_service_rec *now, __u32 at)
{
	return now && (now->table_at == at || (now->base_size && now->base_at == at));
}

enum table_is {
	TABLE_FRESH, /* nobody has read these slots, whatever they hold */
	TABLE_READ,  /* by packets, which may mark an entry as mixed at any time */
	TABLE_MIXED, /* likewise, and from now on flows of any slot may have words */
};

static void store_table(struct instance *i, const struct derived *d, enum table_is is)
{
	__u32 *entry = instance_table(i, d->conf->table_at, d->conf->table_slots);

	for (__u32 s = 0; s < d->conf->table_slots; s++) {
		__u32 old = __atomic_load_n(&entry[s], __ATOMIC_RELAXED), want;

		if (is == TABLE_FRESH) {
			store32(&entry[s],
				derived_entry(d, s, POISE_ENTRY(DERIVE_NOBODY, DERIVE_NOBODY)));
			continue;
		}
		do {
			want = derived_entry(d, s, old);
			if (is == TABLE_MIXED)
				want = (want | POISE_ENTRY_MIXED) & ~POISE_ENTRY_AGING;
		} while (!store32_if(&entry[s], &old, want));
	}
}

/* Aside while the record in force names others; else only weights differ, each one store. */
static void store_cycle(struct instance *i, const struct derived *d)
{
	__u32 *slot = instance_table(i, d->conf->cycle_at, derive_cycle_slots(d->conf));

	for (__u32 s = 0; s < derive_cycle_slots(d->conf); s++)
		if (slot[s] != d->cycle[s])
			store32(&slot[s], d->cycle[s]);
}

/* Until now every flow was looked up, now those of mixed slots are: all must be mixed, for words
 * say what they like. */
static bool mixes(const struct poise_service_rec *now, const struct derived *d)
{
	return now && d->rec.track == POISE_TRACK_AUTO &&
	       (now->track == POISE_TRACK_ALWAYS || (now->base_size && !d->rec.base_size));
}

/* In a separate base table an ordinal whose member is gone must not wait for its next owner. */
static void clear_base(struct instance *i, const struct derived *d)
{
	__u32 *entry = instance_table(i, d->conf->base_at, d->conf->base_size);

	for (__u32 s = 0; s < d->conf->base_size; s++) {
		__u32 base = POISE_ENTRY_BASE(entry[s]);

		if (base >= d->rec.members || !d->present[base])
			store32(&entry[s], POISE_ENTRY(DERIVE_NOBODY, DERIVE_NOBODY));
	}
}

/* ---- source ranges ----------------------------------------------------------------------------*/

/* In places of their own, unless packets read these very bounds already. */
static void store_bounds(struct instance *i, const struct derived *d)
{
	store_words(&i->bounds[d->rec.bounds_at], d->bound,
		    (d->rec.bounds & POISE_BOUNDS_COUNT) * sizeof(*d->bound));
}

/* ---- members ----------------------------------------------------------------------------------*/

/* worse: only those whose rank gets worse; else only the others. */
static void store_members(struct instance *i, const struct derived *d, bool worse)
{
	for (size_t m = 0; m < d->members; m++) {
		const struct poise_member *now = &i->members[d->member[m].id];
		struct poise_member want;
		bool sinks;

		derived_member(d, m, &want);
		sinks = now->service == want.service &&
			(want.live & POISE_L_RANK) > (now->live & POISE_L_RANK);
		if (sinks == worse)
			derive_member_use(i, d->member[m].id, &want);
	}
}

/* An id's new owner has dropped nothing yet. Nobody counts under an id that no listener leads to; a
 * failure would leave wrong counts and is no reason to stop here. */
static void clear_drops(const struct instance *i, __u16 id)
{
	struct poise_drops *zero;
	__u32 key = id;

	if (i->drops_fd < 0 || !i->services[id].retired)
		return;
	zero = calloc(sizes_cpus(), sizeof(*zero));
	if (!zero)
		abort();
	bpf_map_update_elem(i->drops_fd, &key, zero, BPF_ANY);
	free(zero);
}

/* ---- the service ------------------------------------------------------------------------------*/

/* Before anything of the service changes: whoever sees a change must not find it calm. */
static void end_calm(struct poise_service *s)
{
	store32(&s->changes, s->changes + 1);
	store32(&s->calm, 0);
}

void derive_service(struct instance *i, __u16 id)
{
	const struct poise_service_rec *now = active_rec(&i->services[id]);
	const struct poise_service_rec was = now ? *now : (struct poise_service_rec){0};
	struct derived d;
	bool later;

	end_calm(&i->services[id]);
	if (!now)
		clear_drops(i, id);
	derived_make(i, id, &d);
	/* The rung gets better: the old record, under which everybody who may be chosen now may be
	 * chosen too, holds until the table is right; unless the table is not its own. */
	later = now && d.rec.rung < now->rung && d.rec.members == now->members &&
		now->table_at == d.conf->table_at;
	store_members(i, &d, false);
	store_bounds(i, &d);
	if ((now && now->flags & POISE_S_QUIC) || d.conf->quic)
		server_ids_derive(i, id, &d);
	if (!in_use(now, d.conf->table_at))
		store_table(i, &d, TABLE_FRESH);
	else if (mixes(now, &d))
		store_table(i, &d, TABLE_MIXED);
	else if (now->table_at != d.conf->table_at)
		store_table(i, &d, TABLE_READ);
	store_cycle(i, &d);
	if (!later)
		publish(i, &d);
	store_members(i, &d, true);
	store_table(i, &d, TABLE_READ);
	if (later)
		publish(i, &d);
	clear_base(i, &d);
	events_of_service(i, id, &was, &d.ladder);
	derived_free(&d);
}

void derive_service_gone(struct instance *i, __u16 id)
{
	struct poise_service *s = &i->services[id];

	if (!is_active(s))
		return;
	if (active_rec(s)->flags & POISE_S_QUIC)
		server_ids_derive(i, id, NULL);
	store32(&s->retired, store_stamp32(i));
	store32(&s->active, s->active | POISE_SERVICE_GONE);
}
