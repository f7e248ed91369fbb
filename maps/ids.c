// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ids. Members take theirs in extents of their service, so that an ordinal becomes an id by one
 * addition and a scan needs no list; extents double, so that twelve hold any service.
 *
 * An id is not given while anything may still mean its last owner: a flow word (ashes, until a
 * sweep), or a packet under way with an old service record (until a grace period).
 */
#include <stdlib.h>
#include <string.h>

#include "derive.h"
#include "plan.h"

#define MEMBER_IDS 65535 /* of a 16-bit id, 0 is nobody */

static __u32 extent_total(const struct poise_service_conf *conf)
{
	__u32 total = 0;

	for (int e = 0; e < conf->extents; e++)
		total += conf->extent[e].count;
	return total;
}

static bool id_is_free(const struct plan *p, __u32 id)
{
	return store_member_id_free(p->i, store_member(p->i, id));
}

/* ---- what is taken ----------------------------------------------------------------------------*/

static void take_extents(struct plan *p, const struct poise_extent *extent, int extents)
{
	for (int e = 0; e < extents && e < POISE_EXTENTS; e++)
		if ((__u32)extent[e].first + extent[e].count <= p->i->meta->members)
			memset(p->taken + extent[e].first, 1, extent[e].count);
}

/* Extents that packets may still read: of both copies until the older is past its grace period. */
static void take_published(struct plan *p, __u32 id)
{
	const struct poise_service *s = &p->i->services[id];
	bool graced = store_graced(p->i, s->retired);
	bool gone = s->active & POISE_SERVICE_GONE;

	for (int copy = 0; copy < 2; copy++) {
		bool active = !gone && (s->active & 1) == (__u32)copy;

		if (active || !graced)
			take_extents(p, s->rec[copy].extent, s->rec[copy].extents);
	}
}

static void find_taken(struct plan *p)
{
	const struct poise_meta *meta = p->i->meta;

	p->taken = calloc(meta->members, 1);
	if (!p->taken)
		abort();
	p->taken[0] = 1;
	for (__u32 id = 1; id < meta->members; id++)
		p->taken[id] = !id_is_free(p, id);
	for (__u32 id = 1; id < meta->services; id++) {
		const struct poise_service_conf *conf = store_service(p->i, id);

		take_published(p, id);
		if (p->cfg->part && conf->r.state == POISE_REC_USED &&
		    !config_service_by_id(p->cfg, (__u16)id))
			take_extents(p, conf->extent, conf->extents);
	}
	for (size_t s = 0; s < p->cfg->services; s++) {
		const struct poise_service_conf *conf = &p->cfg->service[s]->conf;

		take_extents(p, conf->extent, conf->extents);
	}
	p->hint = 0;
}

/* The first run of count ids, 0 if there is none. */
static __u32 find_run(struct plan *p, __u32 count)
{
	__u32 members = p->i->meta->members, run = 0;

	while (p->hint < members && p->taken[p->hint])
		p->hint++;
	for (__u32 id = p->hint; id < members; id++) {
		run = p->taken[id] ? 0 : run + 1;
		if (run == count)
			return id + 1 - count;
	}
	return 0;
}

/* ---- extents ----------------------------------------------------------------------------------*/

static int no_ids(struct plan *p, const struct config_service *svc, __u32 need,
		  struct poise_error *err)
{
	__u32 left = 0, members = p->i->meta->members - 1;

	for (__u32 id = 1; id <= members; id++)
		left += !p->taken[id];
	poise_fail(err, POISE_E_FULL, "%u more backend%s, %u of %u ids are free%s", need,
		   need == 1 ? " needs an id" : "s need ids", left, members,
		   left < need ? "" : ", too scattered for one service");
	poise_error_about(err, "service \"%s\"", svc->conf.name);
	return poise_error_remedy(err, "remove backends in a change of its own first, or raise "
				       "limits: backends, which counts when the maps are created");
}

/* Ids for `need` members and as many as there are already, so that twelve extents hold any service;
 * when ids are short, no more than needed. */
static __u32 extent_size(const struct plan *p, __u32 total, __u32 need)
{
	__u32 size = need;

	if (!p->tight) {
		if (size < total)
			size = total;
		size = (size + POISE_EXTENT_MIN - 1) / POISE_EXTENT_MIN * POISE_EXTENT_MIN;
	}
	return total + size > POISE_ORDINAL_MAX ? POISE_ORDINAL_MAX - total : size;
}

/* Adds an extent for at most `need` members, or fewer if ids are scattered. */
static int add_extent(struct plan *p, struct config_service *svc, __u32 need,
		      struct poise_error *err)
{
	struct poise_service_conf *conf = &svc->conf;
	__u32 want = extent_size(p, extent_total(conf), need), first = 0;

	if (!p->taken)
		find_taken(p);
	/* room to grow is dropped first, then contiguity */
	while (want && !(first = find_run(p, want)))
		want = want / 2 > need || want <= need ? want / 2 : need;
	if (!first || conf->extents == POISE_EXTENTS)
		return no_ids(p, svc, need, err);
	conf->extent[conf->extents].first = (__u16)first;
	conf->extent[conf->extents].count = (__u16)want;
	conf->extents++;
	memset(p->taken + first, 1, want);
	return 0;
}

/* Gives back ids at the end that nobody needs: they must not stay with a service that was big once.
 * Ordinals before them stay what they are. */
static void trim_extents(const struct plan *p, struct config_service *svc, const __u8 *used)
{
	struct poise_service_conf *conf = &svc->conf;
	__u32 total = extent_total(conf);

	while (conf->extents) {
		struct poise_extent *last = &conf->extent[conf->extents - 1];

		while (last->count && !used[total - 1] &&
		       id_is_free(p, last->first + last->count - 1u)) {
			last->count--;
			total--;
		}
		if (last->count)
			return;
		last->first = 0;
		conf->extents--;
	}
}

/* ---- ordinals ---------------------------------------------------------------------------------*/

static int place_members(struct plan *p, struct config_service *svc, __u8 *used, size_t lacking,
			 struct poise_error *err)
{
	__u32 ordinal = 0, total = extent_total(&svc->conf), known = total;

	for (size_t m = 0; m < svc->members; m++) {
		struct config_member *member = &svc->member[m];

		if (member->id)
			continue;
		while (ordinal < known &&
		       (used[ordinal] ||
			!id_is_free(p, derive_id(svc->conf.extent, svc->conf.extents, ordinal))))
			ordinal++;
		if (ordinal == total) {
			if (add_extent(p, svc, (__u32)lacking, err))
				return -1;
			total = extent_total(&svc->conf);
		}
		member->id = derive_id(svc->conf.extent, svc->conf.extents, ordinal);
		member->conf.ordinal = (__u16)ordinal;
		ordinal++;
		lacking--;
	}
	return 0;
}

/* By ordinal: which the configuration's members have. */
static __u8 *used_ordinals(const struct config_service *svc)
{
	__u8 *used = calloc(extent_total(&svc->conf) + 1, 1);

	if (!used)
		abort();
	for (size_t m = 0; m < svc->members; m++)
		if (svc->member[m].id)
			used[svc->member[m].conf.ordinal] = 1;
	return used;
}

static int plan_members(struct plan *p, struct config_service *svc, struct poise_error *err)
{
	size_t lacking = 0;
	__u8 *used;
	int rc = 0;

	for (size_t m = 0; m < svc->members; m++) {
		struct config_member *member = &svc->member[m];

		if (member->id && !p->old_member[member->id])
			member->id = 0; /* of an attempt before this one */
		member->conf.service = svc->id;
		lacking += !member->id;
	}
	if (!lacking && !p->tight)
		return 0;
	used = used_ordinals(svc);
	if (p->tight)
		trim_extents(p, svc, used);
	if (lacking)
		rc = place_members(p, svc, used, lacking, err);
	free(used);
	return rc;
}

/* ---- services ---------------------------------------------------------------------------------*/

static bool service_id_free(const struct plan *p, __u32 id)
{
	return store_service(p->i, id)->r.state == POISE_REC_FREE &&
	       store_graced(p->i, p->i->services[id].retired);
}

/* Those that go with this change keep their ids until packets have let go of them. */
static int no_service_ids(const struct plan *p, struct poise_error *err)
{
	__u32 fresh = 0, left = 0, limit = p->i->meta->services;

	for (size_t s = 0; s < p->cfg->services; s++)
		fresh += !p->service[s].old;
	for (__u32 id = 1; id < limit; id++)
		left += service_id_free(p, id);
	poise_fail(err, POISE_E_FULL, "%u new services need ids, %u of %u are free", fresh, left,
		   limit - 1);
	return poise_error_remedy(err, "remove services in a change of its own first, or raise "
				       "limits: services, which counts when the maps are created");
}

static int plan_service_ids(struct plan *p, struct poise_error *err)
{
	__u32 id = 1, limit = p->i->meta->services;

	for (size_t s = 0; s < p->cfg->services; s++) {
		struct plan_service *ps = &p->service[s];

		if (ps->old)
			continue;
		while (id < limit && !service_id_free(p, id))
			id++;
		if (id == limit)
			return no_service_ids(p, err);
		ps->svc->id = (__u16)id++;
	}
	return 0;
}

/* Runtime fields are what is in force, whatever the caller's record says. */
static void start_over(struct plan_service *ps)
{
	struct poise_service_conf *conf = &ps->svc->conf;

	memset(conf->extent, 0, sizeof(conf->extent));
	conf->extents = 0;
	if (ps->old) {
		memcpy(conf->extent, ps->old->extent, sizeof(conf->extent));
		conf->extents = ps->old->extents;
	} else {
		ps->svc->id = 0;
	}
}

int plan_ids(struct plan *p, struct poise_error *err)
{
	_Static_assert(MEMBER_IDS >= POISE_ORDINAL_MAX, "a service's members all have ids");
	free(p->taken);
	p->taken = NULL;
	for (size_t s = 0; s < p->cfg->services; s++)
		start_over(&p->service[s]);
	if (plan_service_ids(p, err))
		return -1;
	for (size_t s = 0; s < p->cfg->services; s++)
		if (plan_members(p, p->service[s].svc, err))
			return -1;
	return 0;
}
