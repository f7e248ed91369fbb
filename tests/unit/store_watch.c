// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Packets between any two stores of a change. A listener that has a backend before and after has
 * one all the while, of its own service; also for a packet that began before a few stores of the
 * change and ends after them. What a packet does is written down here once more, plainly, so that
 * the library is judged by something else than itself.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "maps/hash.h"
#include "maps/text.h"
#include "tests/support/kinds.h"

#define HASHES 24 /* packets sent between two stores, each by another hash */
#define BOUNDS 16 /* of a service's source ranges: more than any kind makes */

/* ---- a packet ---------------------------------------------------------------------------------*/

struct packet {
	__u64 listener_hash;
	__u32 seed;    /* as read when it began */
	__u32 service; /* 0: nobody listens */
	__u32 copy;
	struct poise_service_rec rec; /* as it was when it began */
	struct poise_bound bound[BOUNDS];
};

static void packet_seed(const struct instance *i, const struct poise_listener_conf *l,
			struct packet *p)
{
	p->listener_hash = poise_listener_hash(&l->addr, l->port, l->proto);
	p->seed = i->listener_seeds[p->listener_hash & (i->meta->listener_seeds - 1)];
}

static void packet_listener(const struct instance *i, const struct poise_listener_conf *l,
			    struct packet *p)
{
	__u32 slot = poise_listener_slot(p->listener_hash, p->seed) & (i->meta->listener_slots - 1);
	const struct poise_listener *e = &i->listeners[slot];

	p->service = 0;
	if (p->seed && !memcmp(&e->addr, &l->addr, sizeof(e->addr)) && e->port == l->port &&
	    e->proto == l->proto && !(i->services[e->service].active & POISE_SERVICE_GONE))
		p->service = e->service;
	p->copy = i->services[p->service].active & 1;
}

static __u32 id_of(const struct poise_service_rec *rec, __u32 ordinal)
{
	for (int e = 0; e < rec->extents; e++) {
		if (ordinal < rec->extent[e].count)
			return rec->extent[e].first + ordinal;
		ordinal -= rec->extent[e].count;
	}
	return 0;
}

static bool usable(const struct instance *i, __u32 id, __u32 service, __u32 rung)
{
	const struct poise_member *m = &i->members[id];

	return id && m->service == service && (m->live & POISE_L_RANK) <= rung;
}

static const struct poise_service_rec *record(const struct instance *i, const struct packet *p)
{
	return &i->services[p->service].rec[p->copy];
}

/* The member for a new flow; 0 if it finds none. */
static __u32 packet_choose(const struct instance *i, const struct packet *p, __u64 hash)
{
	const struct poise_service_rec *rec = record(i, p);

	for (__u32 k = 0; k <= POISE_ALTERNATES && rec->table_size; k++) {
		__u64 at = k ? poise_alternate(hash, k) : hash;
		__u32 entry = i->table[rec->table_at + poise_table_slot(at, rec->table_size)];
		__u32 id = id_of(rec, POISE_ENTRY_CURRENT(entry));

		if (usable(i, id, p->service, rec->rung))
			return id;
	}
	for (__u32 ordinal = 0; ordinal < rec->members; ordinal++)
		if (usable(i, id_of(rec, ordinal), p->service, POISE_RANK_NEVER - 1))
			return id_of(rec, ordinal);
	return 0;
}

/* ---- watching ---------------------------------------------------------------------------------*/

static struct {
	struct instance *i;
	const char *kind;
	struct poise_listener_conf listener[8];
	int listeners;
	struct packet early[8]; /* began when the last grace period ended */
	__u64 graced;
	unsigned long packets;
} watch;

/* What a packet that began so reads of source ranges; the first of all if it reads none. */
static const struct poise_bound *bounds_of(const struct packet *p)
{
	return watch.i->bounds + p->rec.bounds_at;
}

static void same_bounds(const struct packet *p, unsigned long n)
{
	size_t count = p->rec.bounds & POISE_BOUNDS_COUNT;

	cr_assert_leq(count, BOUNDS);
	cr_assert(!memcmp(bounds_of(p), p->bound, count * sizeof(*p->bound)),
		  "%s: store %lu: bounds changed under a packet", watch.kind, n);
}

static void begin_packets(void)
{
	for (int l = 0; l < watch.listeners; l++) {
		packet_seed(watch.i, &watch.listener[l], &watch.early[l]);
		packet_listener(watch.i, &watch.listener[l], &watch.early[l]);
		watch.early[l].rec = *record(watch.i, &watch.early[l]);
		memcpy(watch.early[l].bound, bounds_of(&watch.early[l]),
		       sizeof(watch.early[l].bound));
	}
	watch.graced = watch.i->meta->graced;
}

static void look(const struct packet *p, unsigned long n, const char *whose)
{
	cr_assert(p->service, "%s: store %lu: %s packet finds no listener", watch.kind, n, whose);
	for (__u64 h = 1; h <= HASHES; h++)
		cr_assert(packet_choose(watch.i, p, poise_mix(h)),
			  "%s: store %lu: %s packet finds no backend", watch.kind, n, whose);
	watch.packets += HASHES;
}

static void between_stores(unsigned long n)
{
	/* packets under way when a grace period began were done when it ended */
	if (watch.graced != watch.i->meta->graced)
		begin_packets();
	for (int l = 0; l < watch.listeners; l++) {
		struct packet now, late = watch.early[l];

		packet_seed(watch.i, &watch.listener[l], &now);
		packet_listener(watch.i, &watch.listener[l], &now);
		look(&now, n, "a new");
		/* read the seed early, all the rest now */
		packet_listener(watch.i, &watch.listener[l], &late);
		look(&late, n, "a slow");
		cr_assert(!memcmp(record(watch.i, &watch.early[l]), &watch.early[l].rec,
				  sizeof(watch.early[l].rec)),
			  "%s: store %lu: a record changed under a packet", watch.kind, n);
		same_bounds(&watch.early[l], n);
		/* knew its service and record early; a service that went took its backends along */
		if (late.service == watch.early[l].service)
			look(&watch.early[l], n, "a very slow");
	}
}

static bool served(struct instance *i, const struct poise_listener_conf *l)
{
	struct packet p;

	packet_seed(i, l, &p);
	packet_listener(i, l, &p);
	return p.service && packet_choose(i, &p, 1);
}

/* Listeners that have a backend before, after the first change, and after the second. */
static void pick_listeners(struct instance *state[3])
{
	struct poise_error err = {0};
	struct config *cfg;

	watch.listeners = 0;
	cr_assert_eq(instance_load(state[0], &cfg, &err), 0);
	for (size_t s = 0; s < cfg->services; s++)
		for (int l = 0; l < cfg->service[s]->conf.listeners; l++) {
			const struct poise_listener_conf *c = &cfg->service[s]->conf.listener[l];

			if (served(state[0], c) && served(state[1], c) && served(state[2], c))
				watch.listener[watch.listeners++] = *c;
		}
	config_free(cfg);
}

/* The first change is watched too: a packet may be so slow that it meets two changes. */
static void watch_kind(const struct kind *kind)
{
	struct instance *state[3] = {kinds_begin(), kinds_begin_for(kind), kinds_begin_for(kind)};

	store_change(state[2], kind->edit, 0);
	pick_listeners(state);
	watch.i = state[0];
	watch.kind = kind->name;
	begin_packets();
	instance_step = between_stores;
	if (kind->first)
		store_change(state[0], kind->first, 0);
	store_change(state[0], kind->edit, 0);
	instance_step = NULL;
	for (int s = 0; s < 3; s++)
		instance_close(state[s]);
}

Test(store_watch, every_kind)
{
	for (size_t k = 0; k < kinds_count; k++)
		watch_kind(&kinds[k]);
	cr_assert_gt(watch.packets, 100000, "only %lu packets", watch.packets);
}
