// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The configuration in force, read from the records. A record in force is not written again before
 * another generation is committed, so a reader that finds meta.committed unchanged at the end has
 * seen one state; otherwise it reads again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "derive.h"
#include "listener.h"
#include "memory.h"
#include "text.h"

/* Writers that commit faster than we read: after so many tries we ask them to wait. */
#define TRIES 4

static int corrupt(struct poise_error *err, const char *kind, __u32 id)
{
	poise_fail(err, POISE_E_CORRUPT, "record %u of %s does not match its checksum", id, kind);
	return poise_error_remedy(err, "poise map check lists every difference; poise reset and "
				       "poise apply FILE make the maps anew");
}

static size_t count_members(const struct instance *i, __u16 service,
			    const struct poise_extent *extent)
{
	size_t count = 0;

	for (__u32 id = extent->first; id < (__u32)extent->first + extent->count; id++) {
		const struct poise_member_conf *m = store_member(i, id);

		count += store_is_member(m) && m->service == service;
	}
	return count;
}

static int load_extent(const struct instance *i, struct config_service *svc,
		       const struct poise_extent *extent, struct poise_error *err)
{
	for (__u32 id = extent->first;
	     id < (__u32)extent->first + extent->count && svc->members < svc->room; id++) {
		const struct poise_member_conf *conf = store_member(i, id);
		struct config_member *m = &svc->member[svc->members];

		if (!store_is_member(conf) || conf->service != svc->id)
			continue;
		m->conf = *conf;
		if (!store_member_intact(&m->conf))
			return corrupt(err, "member_conf", id);
		m->id = (__u16)id;
		svc->members++;
	}
	return 0;
}

static int load_members(const struct instance *i, struct config_service *svc,
			struct poise_error *err)
{
	const struct poise_service_conf *conf = &svc->conf;

	for (int e = 0; e < conf->extents && e < POISE_EXTENTS; e++) {
		if ((__u32)conf->extent[e].first + conf->extent[e].count > i->meta->members)
			return corrupt(err, "service_conf", svc->id);
		svc->room += count_members(i, svc->id, &conf->extent[e]);
	}
	svc->member = calloc(svc->room ? svc->room : 1, sizeof(*svc->member));
	if (!svc->member)
		abort();
	for (int e = 0; e < conf->extents && e < POISE_EXTENTS; e++)
		if (load_extent(i, svc, &conf->extent[e], err))
			return -1;
	return 0;
}

/* Each of the two lists is in order, since the run is. */
static int load_ranges(const struct instance *i, struct config_service *svc,
		       struct poise_error *err)
{
	const struct poise_service_conf *conf = &svc->conf;
	const struct poise_range *range = store_ranges(i, conf);
	size_t denied = 0;

	if (!store_ranges_intact(i, conf))
		return corrupt(err, "service_conf", svc->id);
	for (size_t r = 0; r < conf->ranges; r++)
		denied += range[r].deny;
	svc->allow.range = calloc(conf->ranges - denied + 1, sizeof(*range));
	svc->deny.range = calloc(denied + 1, sizeof(*range));
	if (!svc->allow.range || !svc->deny.range)
		abort();
	for (size_t r = 0; r < conf->ranges; r++) {
		struct ranges *list = range[r].deny ? &svc->deny : &svc->allow;

		list->range[list->n++] = range[r];
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct config_member *x = a, *y = b;
	int order = memcmp(&x->conf.addr, &y->conf.addr, sizeof(x->conf.addr));

	return order ? order : memcmp(&x->conf.port, &y->conf.port, sizeof(x->conf.port));
}

static int load_service(const struct instance *i, struct config *cfg, __u32 id,
			const struct poise_service_conf *conf, struct poise_error *err)
{
	struct config_service *svc = calloc(1, sizeof(*svc));

	if (!svc)
		abort();
	svc->id = (__u16)id;
	svc->conf = *conf;
	cfg->service[cfg->services++] = svc;
	if (!store_service_intact(&svc->conf))
		return corrupt(err, "service_conf", id);
	if (load_members(i, svc, err) || load_ranges(i, svc, err))
		return -1;
	if (svc->members)
		qsort(svc->member, svc->members, sizeof(*svc->member), by_address);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct config_service *const *)a)->conf.name,
		      (*(struct config_service *const *)b)->conf.name);
}

static void load_identity(const struct instance *i, struct config *cfg)
{
	const struct poise_meta *meta = i->meta;

	cfg->has_hash_key = true;
	memcpy(cfg->hash_key, meta->hash_key, sizeof(cfg->hash_key));
	cfg->has_limits = true;
	cfg->limits = (struct config_limits){
		.services = meta->services - 1,
		.backends = meta->members - 1,
		.listeners = meta->listeners,
		.flow_slots = meta->flow_buckets * POISE_BUCKET_WORDS,
		.table_slots = meta->table_slots,
		.paths = meta->paths - 1,
		.ranges = meta->ranges,
		.nat_groups = meta->groups,
		.nat_low = meta->nat_low,
		.nat_high = meta->nat_high,
		.reset_rate = meta->reset_rate,
		.icmp_rate = meta->icmp_rate,
	};
}

static int load_addresses(const struct instance *i, struct config *cfg, struct poise_error *err)
{
	for (__u32 slot = 0; slot < POISE_ADDRESSES; slot++) {
		struct config_address *a;
		struct poise_address_conf conf = *store_address(i, slot);

		if (conf.r.state == POISE_REC_FREE)
			continue;
		if (!store_address_intact(&conf))
			return corrupt(err, "address_conf", slot);
		a = config_address_add(cfg, &conf.addr, err);
		if (!a)
			return -1;
		a->conf = conf;
	}
	return 0;
}

static int load_once(const struct instance *i, struct config *cfg, struct poise_error *err)
{
	cfg->generation = __atomic_load_n(&i->meta->committed, __ATOMIC_ACQUIRE);
	load_identity(i, cfg);
	cfg->room = 0;
	for (__u32 id = 1; id < i->meta->services; id++)
		cfg->room += store_service(i, id)->r.state == POISE_REC_USED;
	cfg->service = calloc(cfg->room + 1, sizeof(struct config_service *));
	if (!cfg->service)
		abort();
	for (__u32 id = 1; id < i->meta->services && cfg->services < cfg->room; id++) {
		const struct poise_service_conf *conf = store_service(i, id);

		if (conf->r.state == POISE_REC_USED && load_service(i, cfg, id, conf, err))
			return -1;
	}
	qsort(cfg->service, cfg->services, sizeof(struct config_service *), by_name);
	return load_addresses(i, cfg, err);
}

bool instance_has_addresses(const struct instance *i)
{
	for (__u32 slot = 0; slot < POISE_ADDRESSES; slot++)
		if (store_address(i, slot)->r.state != POISE_REC_FREE)
			return true;
	return false;
}

int instance_load(struct instance *i, struct config **cfg, struct poise_error *err)
{
	bool locked = false;
	int rc;

	for (int attempt = 0;; attempt++) {
		if (attempt == TRIES && !i->anonymous && !i->locked)
			locked = !flock(i->lock_fd, LOCK_SH);
		*cfg = config_new();
		rc = load_once(i, *cfg, err);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if ((*cfg)->generation == __atomic_load_n(&i->meta->committed, __ATOMIC_ACQUIRE) ||
		    locked)
			break;
		config_free(*cfg);
	}
	if (locked)
		flock(i->lock_fd, LOCK_UN);
	if (rc) {
		config_free(*cfg);
		*cfg = NULL;
	}
	return rc;
}

static __u32 find_service(const struct instance *i, const char *text)
{
	struct poise_listener_conf l;
	const struct poise_listener *e;

	for (__u32 id = 1; id < i->meta->services; id++) {
		const struct poise_service_conf *conf = store_service(i, id);

		if (conf->r.state == POISE_REC_USED && !strcmp(conf->name, text))
			return id;
	}
	e = poise_parse_listener(text, &l, NULL) ? NULL : listener_find(i, &l);
	return e && e->service < i->meta->services ? e->service : 0;
}

/* ids: services that are there. */
static int load_part(struct instance *i, const __u32 *ids, size_t n, struct config **cfg,
		     struct poise_error *err)
{
	struct config *part = config_new();
	int rc = 0;

	part->generation = i->meta->committed;
	load_identity(i, part);
	/* Sums over all services cannot be told from some; the pools are as strict. */
	part->has_limits = false;
	part->part = true;
	part->room = n;
	part->service = calloc(n, sizeof(struct config_service *));
	if (!part->service)
		abort();
	for (size_t k = 0; k < n && !rc; k++)
		rc = load_service(i, part, ids[k], store_service(i, ids[k]), err);
	qsort(part->service, part->services, sizeof(struct config_service *), by_name);
	if (rc) {
		config_free(part);
		part = NULL;
	}
	*cfg = part;
	return rc;
}

int instance_load_service(struct instance *i, const char *text, struct config **cfg,
			  struct poise_error *err)
{
	__u32 id = find_service(i, text);

	return id ? load_part(i, &id, 1, cfg, err) : instance_load(i, cfg, err);
}

int instance_load_services(struct instance *i, const char *const *name, size_t n,
			   struct config **cfg, struct poise_error *err)
{
	__u32 *ids = memory_alloc(n * sizeof(*ids));
	size_t found = 0;
	int rc;

	while (found < n && (ids[found] = find_service(i, name[found])))
		found++;
	rc = n && found == n ? load_part(i, ids, n, cfg, err) : instance_load(i, cfg, err);
	free(ids);
	return rc;
}
