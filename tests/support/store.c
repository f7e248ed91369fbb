// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Instances in plain memory for tests. See store.h.
 */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/listener.h"
#include "maps/sizes.h"
#include "maps/table.h"
#include "maps/text.h"
#include "store.h"

struct instance *store_tiny(void)
{
	const struct config_limits limits = {.services = 12,
					     .backends = 48,
					     .listeners = 64,
					     .flow_slots = 64,
					     .table_slots = 1024,
					     .paths = 4,
					     .ranges = 16};

	return instance_anonymous(&limits);
}

struct instance *store_full(void)
{
	const struct config_limits limits = {.services = 4096,
					     .backends = 32768,
					     .listeners = 65536,
					     .flow_slots = 1 << 16,
					     .table_slots = 32 << 20,
					     .paths = 1024,
					     .ranges = 16384};

	return instance_anonymous(&limits);
}

/* ---- changes ----------------------------------------------------------------------------------*/

static void must(int rc, const struct poise_error *err, const char *what)
{
	char text[1024];

	cr_assert(!rc, "%s: %s", what, poise_error_text(err, text, sizeof(text)));
}

int store_try(struct instance *i, store_edit edit, unsigned long argument, struct poise_error *err)
{
	struct instance_change change;
	struct config *cfg;
	int rc;

	must(instance_lock(i, err), err, "lock");
	must(instance_load(i, &cfg, err), err, "load");
	edit(cfg, argument);
	rc = instance_commit(i, cfg, &change, err);
	config_free(cfg);
	instance_unlock(i);
	return rc;
}

void store_change(struct instance *i, store_edit edit, unsigned long argument)
{
	struct poise_error err = {0};

	must(store_try(i, edit, argument, &err), &err, "commit");
}

void store_listen(struct config *cfg, struct config_service *svc, const char *listener)
{
	struct poise_listener_conf l = {0};
	struct poise_error err = {0};

	must(poise_parse_listener(listener, &l, &err), &err, listener);
	must(config_listen(cfg, svc, &l, &err), &err, listener);
}

struct config_member *store_add_member(struct config_service *svc, const char *address)
{
	struct poise_error err = {0};
	struct config_member *m;
	union poise_addr addr;
	__u16 port;

	must(poise_parse_endpoint(address, &addr, &port, &err), &err, address);
	m = config_member_add(svc, &addr, port, &err);
	cr_assert(m, "%s: %s", address, err.message);
	return m;
}

struct config_service *store_add_service(struct config *cfg, const char *name, unsigned int n,
					 unsigned int first, unsigned int backends)
{
	struct poise_error err = {0};
	struct config_service *svc = config_service_add(cfg, name, POISE_OWNER_HAND, &err);
	char text[64];

	cr_assert(svc, "%s: %s", name, err.message);
	svc->conf.forward = POISE_IPIP;
	snprintf(text, sizeof(text), "192.0.%u.%u:80", 2 + n / 256, n % 256);
	store_listen(cfg, svc, text);
	for (unsigned int b = 0; b < backends; b++) {
		snprintf(text, sizeof(text), "10.0.%u.%u", (first + b) / 250,
			 (first + b) % 250 + 1);
		store_add_member(svc, text);
	}
	return svc;
}

/* ---- images -----------------------------------------------------------------------------------*/

/* What happened is history, which no transaction reads, and larger than all the rest. */
static size_t image_bytes(const struct instance *i, const struct instance_map *map)
{
	return strcmp(map->name, "events") != 0 ? sizes_bytes(i, map) : 0;
}

static size_t image_size(const struct instance *i)
{
	size_t size = 1; /* never 0 */

	for (size_t m = 0; m < instance_maps_count; m++)
		size += image_bytes(i, &instance_maps[m]);
	return size;
}

void *store_image(const struct instance *i)
{
	struct instance copy = *i;
	char *image = malloc(image_size(i)), *at = image;

	cr_assert(image);
	instance_map_all(i);
	for (size_t m = 0; m < instance_maps_count; m++) {
		size_t size = image_bytes(i, &instance_maps[m]);

		memcpy(at, *sizes_field(&copy, &instance_maps[m]), size);
		at += size;
	}
	return image;
}

void store_restore(struct instance *i, const void *image)
{
	const char *at = image;

	instance_map_all(i);
	for (size_t m = 0; m < instance_maps_count; m++) {
		size_t size = image_bytes(i, &instance_maps[m]);

		memcpy(*sizes_field(i, &instance_maps[m]), at, size);
		at += size;
	}
	i->locked = false;
}

/* ---- texts ------------------------------------------------------------------------------------*/

static struct config *load(struct instance *i)
{
	struct poise_error err = {0};
	struct config *cfg;

	must(instance_load(i, &cfg, &err), &err, "load");
	return cfg;
}

char *store_config_text(struct instance *i)
{
	struct config *cfg = load(i);
	char *saved = config_save(cfg, CONFIG_SAVE_ALL), *text = NULL, address[POISE_ENDPOINT_TEXT];
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	fputs(saved, out);
	free(saved);
	for (size_t s = 0; s < cfg->services; s++)
		for (size_t m = 0; m < cfg->service[s]->members; m++) {
			const struct poise_member_conf *c = &cfg->service[s]->member[m].conf;

			poise_format_endpoint(&c->addr, c->port, address, sizeof(address));
			fprintf(out, "# %s %s: state %u admin %u health %u deadline %llu\n",
				cfg->service[s]->conf.name, address, c->r.state, c->admin,
				c->health, c->deadline);
		}
	for (size_t a = 0; a < cfg->addresses; a++) {
		const struct poise_address_conf *c = &cfg->address[a].conf;

		fprintf(out, "# %s: state %u put %u was %s %u\n",
			poise_format_addr(&c->addr, address, sizeof(address)), c->r.state, c->put,
			c->was, c->was_put);
	}
	fclose(out);
	config_free(cfg);
	return text;
}

struct sentences {
	char text[2048];
	size_t used;
};

static void collect(void *ctx, const char *map, const char *sentence)
{
	struct sentences *s = ctx;

	if (s->used < sizeof(s->text))
		s->used += (size_t)snprintf(s->text + s->used, sizeof(s->text) - s->used,
					    "\n  %s: %s", map, sentence);
}

void store_check(struct instance *i, const char *when)
{
	struct poise_error err = {0};
	struct sentences found = {0};
	int differences = instance_check(i, collect, &found, &err);

	cr_assert(differences == 0, "%s: %d differences:%s", when, differences, found.text);
}

/* ---- comparing without history ----------------------------------------------------------------*/

static const struct poise_service_rec *rec_of(const struct instance *i, __u16 id)
{
	const struct poise_service *s = &i->services[id];

	return &s->rec[s->active & 1];
}

/* The address that answers slot s; NULL nobody. */
static const union poise_addr *answer(const struct instance *i, const struct poise_service_rec *rec,
				      __u32 s)
{
	__u32 ordinal = POISE_ENTRY_CURRENT(*instance_table(i, rec->table_at + s, 1));

	for (int e = 0; e < rec->extents; e++) {
		if (ordinal < rec->extent[e].count)
			return &i->members[rec->extent[e].first + ordinal].addr;
		ordinal -= rec->extent[e].count;
	}
	return NULL;
}

static void same_table(struct instance *a, struct instance *b, const struct poise_service_rec *x,
		       const struct poise_service_rec *y, const char *when)
{
	for (__u32 s = 0; s < x->table_size; s++) {
		const union poise_addr *p = answer(a, x, s), *q = answer(b, y, s);

		cr_assert(p && q ? !poise_addr_cmp(p, q) : p == q, "%s: slot %u differs", when, s);
	}
}

static void same_service(struct instance *a, struct instance *b, const struct config_service *s,
			 const struct config_service *t, const char *when)
{
	struct poise_service_rec x = *rec_of(a, s->id), y = *rec_of(b, t->id);

	same_table(a, b, &x, &y, when);
	cr_assert_eq(s->members, t->members, "%s", when);
	for (size_t m = 0; m < s->members; m++) {
		struct poise_member p = a->members[s->member[m].id];
		struct poise_member q = b->members[t->member[m].id];

		p.ordinal = q.ordinal;
		p.service = q.service;
		p.nexthop = q.nexthop; /* the network's */
		cr_assert(!memcmp(&p, &q, sizeof(p)), "%s: backend %zu of %s differs", when, m,
			  s->conf.name);
	}
	cr_assert_eq(s->conf.listeners, t->conf.listeners, "%s", when);
	for (int l = 0; l < s->conf.listeners; l++) {
		struct poise_listener *p = listener_find(a, &s->conf.listener[l]);
		struct poise_listener *q = listener_find(b, &s->conf.listener[l]);

		cr_assert(p && q && p->service == s->id && q->service == t->id, "%s: listener %d",
			  when, l);
	}
	/* where things lie, and what the past left to be kept, may differ */
	memset(x.extent, 0, sizeof(x.extent));
	memset(y.extent, 0, sizeof(y.extent));
	x.table_at = y.table_at = x.extents = y.extents = x.members = y.members = 0;
	x.cycle_at = y.cycle_at = x.bounds_at = y.bounds_at = 0;
	x.flags &= (__u8)~POISE_S_UNTRACKED;
	y.flags &= (__u8)~POISE_S_UNTRACKED;
	x.base_at = y.base_at = x.base_size = y.base_size = x.base_hash = y.base_hash = 0;
	for (size_t k = 0; k < sizeof(x); k++)
		cr_assert_eq(((__u8 *)&x)[k], ((__u8 *)&y)[k], "%s: byte %zu of the record of %s",
			     when, k, s->conf.name);
}

void store_same(struct instance *a, struct instance *b, const char *when)
{
	struct config *x = load(a), *y = load(b);

	cr_assert_eq(x->services, y->services, "%s", when);
	cr_assert_eq(a->meta->any_port, b->meta->any_port, "%s", when);
	cr_assert_eq(a->meta->answering, b->meta->answering, "%s", when);
	cr_assert_eq(a->meta->refusing, b->meta->refusing, "%s", when);
	for (size_t s = 0; s < x->services; s++) {
		cr_assert_str_eq(x->service[s]->conf.name, y->service[s]->conf.name, "%s", when);
		same_service(a, b, x->service[s], y->service[s], when);
	}
	config_free(x);
	config_free(y);
}

struct instance *store_afresh(struct instance *i)
{
	struct config *cfg = load(i);
	struct instance *fresh = instance_anonymous(&cfg->limits);
	struct instance_change change;
	struct poise_error err = {0};

	cfg->generation = 0;
	for (size_t s = 0; s < cfg->services; s++) {
		cfg->service[s]->id = 0;
		for (size_t m = 0; m < cfg->service[s]->members; m++)
			cfg->service[s]->member[m].id = 0;
	}
	must(instance_lock(fresh, &err), &err, "lock");
	must(instance_commit(fresh, cfg, &change, &err), &err, "commit afresh");
	instance_unlock(fresh);
	config_free(cfg);
	return fresh;
}
