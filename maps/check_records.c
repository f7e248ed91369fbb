// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checking what everything else is derived from: meta, and both copies of every record.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* ---- meta -------------------------------------------------------------------------------------*/

static void check_spares(struct check *c)
{
	const struct poise_meta *m = c->i->meta;

	check_zero(c, "meta", 0, m->spare1, sizeof(m->spare1), "unused part of the identity");
	check_zero(c, "meta", 0, m->spare2, sizeof(m->spare2), "unused part of what packets read");
	check_zero(c, "meta", 0, m->spare3, sizeof(m->spare3), "unused part of the generations");
	check_zero(c, "meta", 0, m->spare6, sizeof(m->spare6), "unused end");
}

/* 2^32 / HZ, rounded up, of an HZ that kernels are built with; 0: never measured. */
static bool is_tick(__u32 mult)
{
	static const __u32 ticks[] = {100, 250, 300, 1000};

	for (size_t n = 0; n < sizeof(ticks) / sizeof(ticks[0]); n++)
		if (mult == ((1ull << 32) + ticks[n] - 1) / ticks[n])
			return true;
	return !mult;
}

/* The identity may be wrong since before the instance was opened: what else says the same? Sizes
 * are compared with the maps' own when they are opened. */
static void check_identity(struct check *c)
{
	const struct poise_meta *m = c->i->meta;
	char end[sizeof(m->instance) + 16];
	size_t length;

	if (!is_tick(m->jiffies_mult))
		check_say(c, "meta", "jiffies_mult is %u, the tick of no kernel", m->jiffies_mult);
	if (c->i->anonymous)
		return;
	length = (size_t)snprintf(end, sizeof(end), "/%.*s/v%d", (int)sizeof(m->instance) - 1,
				  m->instance, POISE_ABI);
	if (length > strlen(c->i->dir) || strcmp(c->i->dir + strlen(c->i->dir) - length, end) != 0)
		check_say(c, "meta", "instance \"%s\" is not that of %s", m->instance, c->i->dir);
}

bool check_meta(struct check *c)
{
	const struct poise_meta *m = c->i->meta;
	const size_t identity = offsetof(struct poise_meta, spare1);

	if (memcmp(m, &c->i->identity, identity) != 0) {
		check_say(c, "meta", "identity or limits changed since the instance was opened");
		return false;
	}
	check_identity(c);
	check_spares(c);
	if (m->opened > m->committed)
		check_say(c, "meta",
			  "generation %llu was begun and not committed; the next change undoes it",
			  m->opened);
	else if (m->opened < m->committed)
		check_say(c, "meta", "generation %llu is in force but only %llu was begun",
			  m->committed, m->opened);
	if (m->applied != m->committed)
		check_say(c, "meta",
			  "generation %llu is in force, but packets see %llu; the next change "
			  "finishes it",
			  m->committed, m->applied);
	if (m->sequence & 1)
		check_say(c, "meta", "a change of what packets read was not finished");
	if (m->swept > m->committed)
		check_say(c, "meta", "swept up to generation %llu, but only %llu are committed",
			  m->swept, m->committed);
	return true;
}

/* ---- copies -----------------------------------------------------------------------------------*/

static void check_copy(struct check *c, const char *map, __u32 id, const struct poise_record *r,
		       size_t size, bool intact)
{
	if (!r->generation)
		check_zero(c, map, id, r, size, "a copy that was never written");
	else if (!intact)
		check_say(c, map, "entry %u: a copy does not match its checksum", id);
	else if (r->generation > c->i->meta->committed)
		check_say(c, map, "entry %u: a copy of generation %llu was not committed", id,
			  r->generation);
	else if (r->state > POISE_REC_ASHES)
		check_say(c, map, "entry %u: state %u is none", id, r->state);
}

static bool sane_service(const struct poise_meta *m, const struct poise_service_conf *conf)
{
	if (conf->listeners > POISE_LISTENERS_MAX || conf->extents > POISE_EXTENTS ||
	    memchr(conf->name, 0, sizeof(conf->name)) == NULL)
		return false;
	for (int e = 0; e < conf->extents; e++)
		if ((__u32)conf->extent[e].first + conf->extent[e].count > m->members)
			return false;
	return (__u64)conf->table_at + conf->table_slots <= m->table_slots &&
	       (__u64)conf->base_at + conf->base_size <= m->table_slots &&
	       conf->cycle_at % POISE_WORDS == 0 &&
	       (__u64)conf->cycle_at + derive_cycle_slots(conf) <= m->table_slots;
}

/* A run is checked while a record in force names it; then each prefix is what it seems. */
static bool sane_ranges(const struct instance *i, const struct poise_service_conf *conf)
{
	const struct poise_range *range = store_ranges(i, conf);

	if (!store_ranges_intact(i, conf))
		return false;
	for (int r = 0; r < conf->ranges; r++)
		if (range[r].length > RANGE_BITS || range[r].deny > 1)
			return false;
	return true;
}

/* A member's record stands at the id that its service's extents give its ordinal. */
static void check_place(struct check *c, __u32 id, const struct poise_member_conf *m)
{
	const struct poise_service_conf *svc;

	if (!store_is_member(m))
		return;
	svc = m->service < c->i->meta->services ? store_service(c->i, m->service) : NULL;
	if (!svc || svc->r.state != POISE_REC_USED)
		check_say(c, "member_conf", "entry %u: a member of service %u, which is none", id,
			  m->service);
	else if (derive_id(svc->extent, svc->extents, m->ordinal) != id)
		check_say(c, "member_conf", "entry %u: ordinal %u of service \"%s\" is elsewhere",
			  id, m->ordinal, svc->name);
}

/* What is derived of them bears with anything: a bad one spoils no other check. */
static void check_addresses(struct check *c)
{
	for (__u32 slot = 0; slot < POISE_ADDRESSES; slot++) {
		const struct poise_address_slot *s = &c->i->address_conf[slot];
		const struct poise_address_conf *conf = store_address(c->i, slot);

		for (int copy = 0; copy < 2; copy++)
			check_copy(c, "address_conf", slot, &s->copy[copy].r, sizeof(s->copy[copy]),
				   store_address_intact(&s->copy[copy]));
		if (conf->r.state != POISE_REC_FREE &&
		    (!memchr(conf->device, 0, sizeof(conf->device)) ||
		     !memchr(conf->was, 0, sizeof(conf->was)) || conf->put > POISE_PUT_FOREIGN ||
		     conf->was_put > POISE_PUT_MARKED || conf->ping > POISE_PING_USABLE ||
		     conf->other_ports > POISE_OTHER_PASS ||
		     conf->announce > POISE_ANNOUNCE_ALWAYS ||
		     conf->announced > POISE_WITHDRAWN_DETACHED || conf->own > POISE_OWN_HOST))
			check_say(c, "address_conf", "entry %u: a record that contradicts itself",
				  slot);
	}
}

bool check_records(struct check *c)
{
	const struct instance *i = c->i;
	bool sane = true;

	for (__u32 id = 0; id < i->meta->services; id++) {
		const struct poise_service_slot *slot = &i->service_conf[id];

		for (int copy = 0; copy < 2; copy++)
			check_copy(c, "service_conf", id, &slot->copy[copy].r,
				   sizeof(slot->copy[copy]),
				   store_service_intact(&slot->copy[copy]));
		if (!sane_service(i->meta, store_service(i, id)) ||
		    !sane_ranges(i, store_service(i, id))) {
			check_say(c, "service_conf", "entry %u: a record that contradicts itself",
				  id);
			sane = false;
		}
	}
	for (__u32 id = 0; id < i->meta->members; id++) {
		const struct poise_member_slot *slot = &i->member_conf[id];

		for (int copy = 0; copy < 2; copy++)
			check_copy(c, "member_conf", id, &slot->copy[copy].r,
				   sizeof(slot->copy[copy]),
				   store_member_intact(&slot->copy[copy]));
	}
	check_addresses(c);
	for (__u32 id = 0; id < i->meta->members && sane; id++)
		check_place(c, id, store_member(i, id));
	return sane;
}
