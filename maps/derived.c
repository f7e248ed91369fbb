// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What packets should see of one service: a pure function of the records in force and the hash key.
 * Deriving stores it, checking compares with it.
 */
#include <stdlib.h>
#include <string.h>

#include "derive.h"
#include "fade.h"
#include "hash.h"
#include "maglev.h"
#include "plan.h"

__u16 derive_id(const struct poise_extent *extent, int extents, __u32 ordinal)
{
	for (int e = 0; e < extents && e < POISE_EXTENTS; e++) {
		if (ordinal < extent[e].count)
			return (__u16)(extent[e].first + ordinal);
		ordinal -= extent[e].count;
	}
	return 0;
}

/* ---- the service record -----------------------------------------------------------------------*/

/* Rounded up, and within what a stamp of 12 bits can tell apart. */
static __u32 seconds(__u32 ms, __u32 most)
{
	__u64 s = ((__u64)ms + 999) / 1000;

	return s > most ? most : s ? (__u32)s : 1;
}

#define IDLE_MOST  (16 * 3600) /* 12 bits of 16 s are 18 h */
#define SHORT_MOST 3600	       /* 12 bits of 1 s are 68 min */

/* Whether a packet need ask nothing else where the entry of its place is not mixed. */
static bool table_suffices(const struct poise_service_rec *rec)
{
	return rec->track == POISE_TRACK_AUTO && rec->table_size && !rec->base_size &&
	       !(rec->flags & (POISE_S_QUIC | POISE_S_RANGES));
}

/* Of very many members least-conn compares a few at random, which is what p2c does. */
static void fill_cycle_rec(struct poise_service_rec *rec, const struct poise_service_conf *conf)
{
	__u32 members = conf->cycle_slots;
	bool many = conf->policy == POISE_LEAST_CONN && members > POISE_LEAST_CONN_MOST;

	rec->cycle_at = conf->cycle_at;
	rec->cycle_size = members;
	if (many)
		rec->policy = POISE_P2C;
	if (rec->policy != POISE_P2C || !members)
		return;
	rec->choices = many	       ? POISE_CHOICES_MAX
		       : conf->choices ? conf->choices
				       : POISE_CHOICES_AUTO;
	if (rec->choices > members)
		rec->choices = (__u8)members;
	if (rec->choices > 1)
		rec->arc = ((members - 1) << 16) / (rec->choices - 1u) +
			   !!(((members - 1) << 16) % (rec->choices - 1u));
}

#define BURST_SHARE 10 /* of a second */
#define BURST_LEAST 5  /* connections of one browser */

static void fill_rate(struct poise_service_rec *rec, const struct poise_service_conf *conf)
{
	__u32 burst = conf->rate / BURST_SHARE;

	rec->rate = conf->rate;
	if (!rec->rate)
		return;
	rec->burst = conf->rate_burst	   ? conf->rate_burst
		     : burst > BURST_LEAST ? burst
					   : BURST_LEAST;
}

static void fill_affinity(struct poise_service_rec *rec, const struct poise_service_conf *conf)
{
	if (!conf->affinity)
		return;
	rec->affinity = (__u16)seconds(conf->affinity_timeout, IDLE_MOST);
	rec->affinity_len4 = conf->affinity_prefix4;
	rec->affinity_len6 = conf->affinity_prefix6;
}

/*
 * How long a flow that was met in its middle is remembered. Where it may have been going on by the
 * table alone it must be, until it is over: once the base is given up nothing else knows of it.
 * Else no longer than one that begins, since it may be nobody's, and counts in the gauges by which
 * others choose.
 */
static bool pickup(const struct poise_service_conf *conf)
{
	return !config_translates(conf->forward) &&
	       (config_by_hash(conf) || conf->untracked & POISE_UNTRACKED_TCP);
}

static void fill_rec(struct derived *d)
{
	const struct poise_service_conf *conf = d->conf;
	struct poise_service_rec *rec = &d->rec;

	rec->flags = POISE_S_PUBLISHED;
	if (conf->on_nobody == POISE_NOBODY_DROP)
		rec->flags |= POISE_S_SILENT;
	rec->table_at = conf->table_at;
	rec->table_size = rec->rung == POISE_RANK_NOBODY && !d->keeps ? 0 : conf->table_slots;
	rec->base_at = conf->base_at;
	rec->base_size = conf->base_size;
	rec->policy = conf->policy;
	rec->base_hash = conf->base_size ? conf->base_policy : plan_hash(conf->policy);
	rec->track = config_records_all(conf) ? POISE_TRACK_ALWAYS : conf->track;
	for (int l = 0; l < conf->listeners; l++)
		if (!conf->listener[l].port)
			rec->flags |= POISE_S_ANY_PORT;
	if (config_translates(conf->forward))
		rec->flags |= POISE_S_LINKS;
	if (conf->untracked & POISE_UNTRACKED_UDP)
		rec->flags |= POISE_S_UNTRACKED;
	if (conf->quic) {
		rec->flags |= POISE_S_QUIC;
		rec->quic_offset = conf->quic_offset;
		rec->quic_length = conf->quic_length;
	}
	fill_cycle_rec(rec, conf);
	fill_affinity(rec, conf);
	fill_rate(rec, conf);
	rec->extents = conf->extents;
	memcpy(rec->extent, conf->extent, sizeof(rec->extent));
	for (int e = 0; e < conf->extents; e++)
		rec->members += conf->extent[e].count;
	rec->idle = seconds(conf->idle, IDLE_MOST);
	rec->syn = (__u16)seconds(conf->syn, SHORT_MOST);
	rec->pickup = pickup(conf) ? rec->idle : rec->syn;
	rec->closing = (__u16)seconds(conf->closing, SHORT_MOST);
	rec->udp = (__u16)seconds(conf->udp, SHORT_MOST);
}

/* Ranges that deny nobody are none to packets. */
static void fill_bounds(const struct instance *i, struct derived *d)
{
	const struct poise_service_conf *conf = d->conf;
	size_t count;
	bool deny;

	d->bound = calloc(RANGES_BOUNDS((size_t)conf->ranges), sizeof(*d->bound));
	if (!d->bound)
		abort();
	count = ranges_bounds(store_ranges(i, conf), conf->ranges, d->bound, &deny);
	if (!count && !deny)
		return;
	d->rec.flags |= POISE_S_RANGES;
	d->rec.bounds = (__u16)(count | (deny ? POISE_BOUNDS_DENY : 0));
	d->rec.bounds_at = 2 * conf->range_at;
}

/* ---- members and table ------------------------------------------------------------------------*/

static void collect(const struct instance *i, struct derived *d)
{
	const struct poise_service_conf *conf = d->conf;
	size_t room = 0;

	for (int e = 0; e < conf->extents; e++)
		room += conf->extent[e].count;
	d->member = calloc(room + 1, sizeof(*d->member));
	d->present = calloc(room + 1, 1);
	if (!d->member || !d->present)
		abort();
	d->members = 0;
	for (__u32 ordinal = 0; ordinal < room; ordinal++) {
		__u16 id = derive_id(conf->extent, conf->extents, ordinal);
		const struct poise_member_conf *m = store_member(i, id);

		if (!store_is_member(m) || m->service != d->id)
			continue;
		d->member[d->members++] = (struct derive_members){m, id};
		d->present[ordinal] = 1;
	}
}

/* Which rung the service is on, and what follows from that for all of it. */
static void climb(const struct instance *i, struct derived *d)
{
	ladder_begin(&d->ladder, d->conf, instance_standing(i, d->id));
	for (size_t m = 0; m < d->members; m++)
		ladder_count(&d->ladder, d->member[m].conf);
	d->rec.rung = ladder_rung(&d->ladder);
	d->rec.standing = ladder_standing(&d->ladder);
	for (size_t m = 0; m < d->members; m++) {
		__u32 live = ladder_live(&d->ladder, d->member[m].conf);

		d->keeps |= (live & (POISE_L_HIT_TCP | POISE_L_HIT_UDP)) != 0;
		if ((live & POISE_L_RANK) == POISE_RANK_UP)
			d->weights += d->member[m].conf->weight;
	}
}

static bool is_chosen(const struct derived *d, const struct poise_member_conf *m)
{
	return ladder_rank(&d->ladder, m) == d->rec.rung;
}

static void fill_table(const struct instance *i, struct derived *d)
{
	struct maglev_member *chosen = calloc(d->members + 1, sizeof(*chosen));
	size_t n = 0;

	d->table = malloc((d->conf->table_slots + 1) * sizeof(*d->table));
	if (!chosen || !d->table)
		abort();
	for (size_t m = 0; m < d->members; m++) {
		const struct poise_member_conf *conf = d->member[m].conf;

		if (is_chosen(d, conf))
			chosen[n++] =
				(struct maglev_member){.addr = conf->addr,
						       .port = conf->port,
						       .ordinal = conf->ordinal,
						       .weight = conf->weight ? conf->weight : 1};
	}
	if (n)
		maglev_fill(d->table, d->conf->table_slots, chosen, n, i->meta->hash_key);
	else
		for (__u32 s = 0; s < d->conf->table_slots; s++)
			d->table[s] = DERIVE_NOBODY;
	free(chosen);
}

struct cycle_member derive_cycle_member(const struct poise_member_conf *m, __u16 id)
{
	return (struct cycle_member){.id = id, .weight = m->weight ? m->weight : 1};
}

static void fill_cycle(struct derived *d)
{
	struct cycle_member *chosen = calloc(d->members + 1, sizeof(*chosen));
	size_t n = 0;

	d->cycle = calloc(derive_cycle_slots(d->conf) + 1, sizeof(*d->cycle));
	if (!chosen || !d->cycle)
		abort();
	for (size_t m = 0; m < d->members && d->conf->cycle_slots; m++)
		if (is_chosen(d, d->member[m].conf))
			chosen[n++] = derive_cycle_member(d->member[m].conf, d->member[m].id);
	if (n)
		cycle_fill(d->conf->policy, chosen, n, d->cycle, d->conf->cycle_slots);
	free(chosen);
}

void derived_make(const struct instance *i, __u16 id, struct derived *d)
{
	*d = (struct derived){.id = id, .conf = store_service(i, id)};
	collect(i, d);
	climb(i, d);
	fill_rec(d);
	fill_bounds(i, d);
	if (table_suffices(&d->rec))
		d->rec.flags |= POISE_S_TABLE;
	fill_table(i, d);
	fill_cycle(d);
}

void derived_free(struct derived *d)
{
	free(d->member);
	free(d->present);
	free(d->table);
	free(d->cycle);
	free(d->bound);
}

void derived_member(const struct derived *d, size_t m, struct poise_member *out)
{
	const struct poise_member_conf *conf = d->member[m].conf;
	__u32 live = ladder_live(&d->ladder, conf);
	bool fades = conf->fades && (live & POISE_L_RANK) == POISE_RANK_UP;

	*out = (struct poise_member){
		.addr = conf->addr,
		.live = live,
		.service = d->id,
		.ordinal = conf->ordinal,
		.weight = conf->weight,
		.max_conns = config_max_conns(d->conf, conf),
		.port = conf->port,
		.mode = conf->forward_set ? conf->forward : d->conf->forward,
		.flags = (conf->addr.q[0] || conf->addr.w[2] != __builtin_bswap32(0xffff)
				  ? POISE_F_V6
				  : 0) |
			 (d->conf->entropy ? POISE_F_ENTROPY : 0) |
			 (d->conf->gue_checksum ? POISE_F_UDP_CHECKSUM : 0) |
			 (config_watches(d->conf) ? POISE_F_WATCHED : 0),
		.gue_port = __builtin_bswap16(d->conf->gue_port),
		.fade = fades ? fade_share(&d->rec, fade_ratio(d->conf, 0), conf->weight,
					   d->weights)
			      : 0,
		.fade_cap = fades ? fade_cap(&d->rec, conf->weight, d->weights) : 0,
	};
}

/* Did nothing happen to the slot that starts its clock anew? */
static bool ages_on(__u32 old, __u32 now)
{
	bool differs = POISE_ENTRY_CURRENT(now) != POISE_ENTRY_BASE(now);
	bool differed = POISE_ENTRY_CURRENT(old) != POISE_ENTRY_BASE(old);

	if (!(old & POISE_ENTRY_AGING))
		return false;
	if (differs && differed)
		return POISE_ENTRY_BASE(now) == POISE_ENTRY_BASE(old);
	return now == (old & ~POISE_ENTRY_AGING) && now & POISE_ENTRY_MIXED;
}

/*
 * An entry changes its current only; mixed says that flows may stand recorded because current and
 * base differed once. A base whose member is gone answers nobody: it follows current; so does that
 * of a service that tracks nothing, whose flows all go by current.
 */
__u32 derived_entry(const struct derived *d, __u32 s, __u32 old)
{
	__u32 current = d->table[s], base = POISE_ENTRY_BASE(old), entry;
	bool off = d->rec.track == POISE_TRACK_OFF;

	if (off || base >= d->rec.members || !d->present[base])
		base = current;
	entry = POISE_ENTRY(current, base);
	if (current != base || (old & POISE_ENTRY_MIXED && !off))
		entry |= POISE_ENTRY_MIXED;
	return ages_on(old, entry) ? entry | POISE_ENTRY_AGING : entry;
}
