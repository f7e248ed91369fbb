// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checking services, members and tables against a fresh derivation.
 */
#include <string.h>

#include "check.h"
#include "table.h"

/* ---- tables -----------------------------------------------------------------------------------*/

/* Current must be as rebuilt. The base is history, but it names a member, and where it differs
 * from current the entry says so. */
static void check_table(struct check *c, const struct derived *d)
{
	const __u32 *entry = instance_table(c->i, d->conf->table_at, d->conf->table_slots);

	for (__u32 s = 0; s < d->conf->table_slots; s++) {
		if (entry[s] == derived_entry(d, s, entry[s]))
			continue;
		check_say(c, "table", "service \"%s\": slot %u (entry %u) is 0x%08x, not 0x%08x",
			  d->conf->name, s, d->conf->table_at + s, entry[s],
			  derived_entry(d, s, entry[s]));
	}
}

static void check_base(struct check *c, const struct derived *d)
{
	const __u32 *entry = instance_table(c->i, d->conf->base_at, d->conf->base_size);

	for (__u32 s = 0; s < d->conf->base_size; s++) {
		__u32 base = POISE_ENTRY_BASE(entry[s]);

		if (base != DERIVE_NOBODY && (base >= d->rec.members || !d->present[base]))
			check_say(c, "table",
				  "service \"%s\": base slot %u (entry %u) names ordinal %u, "
				  "nobody's",
				  d->conf->name, s, d->conf->base_at + s, base);
	}
}

static void check_cycle(struct check *c, const struct derived *d)
{
	const __u32 *slot = instance_table(c->i, d->conf->cycle_at, derive_cycle_slots(d->conf));

	for (__u32 s = 0; s < derive_cycle_slots(d->conf); s++)
		if (slot[s] != d->cycle[s])
			check_say(c, "table",
				  "service \"%s\": slot %u of its cycle (entry %u) is 0x%08x, not "
				  "0x%08x",
				  d->conf->name, s, d->conf->cycle_at + s, slot[s], d->cycle[s]);
}

/* ---- source ranges ----------------------------------------------------------------------------*/

static void check_bounds(struct check *c, const struct derived *d)
{
	const struct poise_bound *now = c->i->bounds + d->rec.bounds_at;

	for (__u32 b = 0; b < (d->rec.bounds & POISE_BOUNDS_COUNT); b++)
		if (memcmp(&now[b], &d->bound[b], sizeof(now[b])) != 0)
			check_say(c, "bounds",
				  "service \"%s\": bound %u (entry %u) is 0x%016llx%016llx, not "
				  "0x%016llx%016llx",
				  d->conf->name, b, d->rec.bounds_at + b, now[b].high, now[b].low,
				  d->bound[b].high, d->bound[b].low);
}

/* ---- services ---------------------------------------------------------------------------------*/

static void check_member(struct check *c, const struct derived *d, size_t m)
{
	__u16 id = d->member[m].id;
	struct poise_member want, now = c->i->members[id];

	derived_member(d, m, &want);
	want.nexthop = now.nexthop;
	/* the daemon's: a share above 0 while the member fades in */
	if (want.fade && now.fade && (now.live & POISE_L_FADING)) {
		want.fade = now.fade;
		want.fade_cap = now.fade_cap;
		want.fade_until = now.fade_until;
		want.live |= POISE_L_FADING;
	} else {
		want.fade = want.fade_cap = 0;
	}
	for (size_t b = 0; b < sizeof(now); b++)
		if (((const __u8 *)&now)[b] != ((const __u8 *)&want)[b]) {
			check_say(c, "members",
				  "entry %u: byte %zu of a backend of service \"%s\" is 0x%02x, "
				  "not 0x%02x",
				  id, b, d->conf->name, ((const __u8 *)&now)[b],
				  ((const __u8 *)&want)[b]);
			return;
		}
}

static void check_service(struct check *c, __u16 id)
{
	const struct poise_service *s = &c->i->services[id];
	const __u8 *rec = (const __u8 *)&s->rec[s->active & 1];
	struct derived d;

	derived_make(c->i, id, &d);
	if (s->active > 1)
		check_say(c, "services", "entry %u: service \"%s\" is not published (active 0x%x)",
			  id, d.conf->name, s->active);
	for (size_t b = 0; b < sizeof(d.rec); b++)
		if (rec[b] != ((const __u8 *)&d.rec)[b]) {
			check_say(c, "services",
				  "entry %u: byte %zu of service \"%s\" is 0x%02x, not 0x%02x", id,
				  b, d.conf->name, rec[b], ((const __u8 *)&d.rec)[b]);
			break;
		}
	for (size_t m = 0; m < d.members; m++)
		check_member(c, &d, m);
	check_bounds(c, &d);
	check_table(c, &d);
	check_base(c, &d);
	check_cycle(c, &d);
	derived_free(&d);
}

void check_services(struct check *c)
{
	for (__u32 id = 0; id < c->i->meta->services; id++) {
		const struct poise_service *s = &c->i->services[id];

		check_stamp(c, "services", id, s->retired);
		if (s->calm > 1)
			check_say(c, "services", "entry %u: calm is %u", id, s->calm);
		if (store_service(c->i, id)->r.state == POISE_REC_USED)
			check_service(c, (__u16)id);
		else if ((s->active & ~1u) != POISE_SERVICE_GONE)
			check_zero(c, "services", id, s, sizeof(*s), "a service that is none");
	}
}

/* ---- members of nobody ------------------------------------------------------------------------*/

static void check_nobody(struct check *c, __u32 id)
{
	const struct poise_member *m = &c->i->members[id];
	const struct poise_member_conf *conf = store_member(c->i, id);
	struct poise_member rest = *m;

	if (m->service)
		check_say(c, "members", "entry %u: belongs to service %u, but is nobody's", id,
			  m->service);
	if (m->live != POISE_RANK_NEVER)
		check_say(c, "members", "entry %u: is nobody's, but may be chosen", id);
	check_zero(c, "members", id, &m->spare, sizeof(m->spare), "unused end");
	if (conf->r.state == POISE_REC_ASHES) {
		if (m->nexthop && conf->r.generation <= c->i->meta->swept)
			check_say(c, "members", "entry %u: is nobody's, but has a next hop", id);
		return;
	}
	rest.live = 0;
	rest.service = 0;
	rest.watched = 0;
	check_zero(c, "members", id, &rest, sizeof(rest), "a backend that is none");
}

void check_members(struct check *c)
{
	for (__u32 id = 0; id < c->i->meta->members; id++)
		if (!store_is_member(store_member(c->i, id)))
			check_nobody(c, id);
}
