// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Changing the listeners' hash while packets read it. See listener.h for what an entry's fields
 * say, bpf/ for the reading side: seed, then slot, then compare, then service.
 *
 * Order of stores:
 *  - a new entry: `retired` 0, key, service last. Nobody reads it before its seed leads there, or,
 *    if the seed already does, before the service is stored.
 *  - a bucket's new seed: first all its keys in free slots under that seed, then the seed, then the
 *    old entries' `retired`.
 *  - removal: `retired` before service 0, so that the slot cannot be taken for one never used; a
 *    bucket's last key takes the seed with it first.
 */
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "hosts.h"
#include "listener.h"

/* Retired but not yet graced entries make free slots rare, and every try more likely to fail. */
#define GRACE_ABOVE(slots) ((slots) / 8)

struct listener_index {
	__u32 *head;   /* [seeds]: slot + 1 of a bucket's first entry, 0 none */
	__u32 *next;   /* [slots] */
	__u32 waiting; /* retired, not yet graced */
	__u64 graced;  /* meta.graced when it was read: slots may have become free since */
};

static __u64 hash_of(const struct poise_listener *e)
{
	return poise_listener_hash(&e->addr, e->port, e->proto);
}

static __u32 bucket_of(const struct instance *i, __u64 hash)
{
	return (__u32)hash & (i->meta->listener_seeds - 1);
}

static __u32 slot_of(const struct instance *i, __u64 hash, __u32 seed)
{
	return poise_listener_slot(hash, seed) & (i->meta->listener_slots - 1);
}

static bool same_key(const struct poise_listener *e, const struct poise_listener_conf *l)
{
	return !memcmp(&e->addr, &l->addr, sizeof(e->addr)) && e->port == l->port &&
	       e->proto == l->proto;
}

struct poise_listener *listener_find(const struct instance *i, const struct poise_listener_conf *l)
{
	__u64 hash = poise_listener_hash(&l->addr, l->port, l->proto);
	__u32 seed = i->listener_seeds[bucket_of(i, hash)];
	struct poise_listener *e = &i->listeners[slot_of(i, hash, seed)];

	return seed && e->service && same_key(e, l) ? e : NULL;
}

bool listener_reachable(const struct instance *i, __u32 slot)
{
	const struct poise_listener *e = &i->listeners[slot];
	__u64 hash = hash_of(e);
	__u32 seed = i->listener_seeds[bucket_of(i, hash)];

	return e->service && seed && slot_of(i, hash, seed) == slot;
}

/* ---- the index --------------------------------------------------------------------------------*/

static void link_slot(struct listeners *ls, __u32 slot)
{
	__u32 bucket = bucket_of(ls->i, hash_of(&ls->i->listeners[slot]));

	ls->index->next[slot] = ls->index->head[bucket];
	ls->index->head[bucket] = slot + 1;
}

/* Moved keys' old entries lose their service once no packet can be reading them. */
static void build_index(struct listeners *ls)
{
	struct instance *i = ls->i;
	__u32 slots = i->meta->listener_slots;

	ls->index = calloc(1, sizeof(*ls->index));
	if (!ls->index)
		abort();
	ls->index->graced = i->meta->graced;
	ls->index->head = calloc(i->meta->listener_seeds, sizeof(__u32));
	ls->index->next = calloc(slots, sizeof(__u32));
	if (!ls->index->head || !ls->index->next)
		abort();
	for (__u32 slot = 0; slot < slots; slot++) {
		struct poise_listener *e = &i->listeners[slot];

		if (e->retired && !store_graced(i, e->retired))
			ls->index->waiting++;
		else if (e->retired && e->service && !listener_reachable(i, slot))
			store32(&e->service, 0);
		if (e->service)
			link_slot(ls, slot);
	}
}

void listeners_end(struct listeners *ls)
{
	if (!ls->index)
		return;
	free(ls->index->head);
	free(ls->index->next);
	free(ls->index);
	ls->index = NULL;
}

static void need_index(struct listeners *ls)
{
	if (ls->index && ls->index->waiting > GRACE_ABOVE(ls->i->meta->listener_slots))
		instance_grace(ls->i);
	if (ls->index && ls->index->graced != ls->i->meta->graced)
		listeners_end(ls);
	if (!ls->index)
		build_index(ls);
}

/* ---- changing ---------------------------------------------------------------------------------*/

static bool is_free(const struct instance *i, __u32 slot)
{
	const struct poise_listener *e = &i->listeners[slot];

	return !e->service && store_graced(i, e->retired);
}

static void write_entry(struct instance *i, __u32 slot, const struct poise_listener *key,
			__u32 service)
{
	struct poise_listener *e = &i->listeners[slot];
	struct poise_listener fresh = {
		.addr = key->addr, .port = key->port, .proto = key->proto, .flags = key->flags};

	store_words(e, &fresh, sizeof(fresh));
	store32(&e->service, service);
}

static void retire(struct listeners *ls, __u32 slot)
{
	store32(&ls->i->listeners[slot].retired, store_stamp32(ls->i));
	if (ls->index)
		ls->index->waiting++;
}

#define NOWHERE	   0xffffffffu
#define STALES_MAX 64 /* more are waited for */

/* What a new seed has to do with: keys that must find room, and places that must not be hit. */
struct bucket {
	struct poise_listener key[LISTENER_BUCKET_MAX];
	__u32 from[LISTENER_BUCKET_MAX]; /* slot it stands in, or NOWHERE */
	__u32 to[LISTENER_BUCKET_MAX];
	int keys;
	struct poise_listener stale[STALES_MAX]; /* moved away earlier, not yet graced */
	__u32 stale_at[STALES_MAX];
	int stales;
};

/* Planning keeps a bucket's keys, the one to come included, below the limit. */
static bool gather(struct listeners *ls, __u32 number, struct bucket *b)
{
	const struct listener_index *x = ls->index;

	b->keys = 0;
	b->stales = 0;
	for (__u32 s = x->head[number]; s; s = x->next[s - 1]) {
		const struct poise_listener *e = &ls->i->listeners[s - 1];

		if (listener_reachable(ls->i, s - 1)) {
			b->key[b->keys] = *e;
			b->from[b->keys++] = s - 1;
		} else if (e->service) {
			if (b->stales == STALES_MAX)
				return false;
			b->stale[b->stales] = *e;
			b->stale_at[b->stales++] = s - 1;
		}
	}
	return true;
}

static bool seed_fits(const struct instance *i, struct bucket *b, __u32 seed)
{
	for (int k = 0; k < b->keys; k++) {
		b->to[k] = slot_of(i, hash_of(&b->key[k]), seed);
		if (!is_free(i, b->to[k]))
			return false;
		for (int before = 0; before < k; before++)
			if (b->to[before] == b->to[k])
				return false;
	}
	/* a removed key must not come back by way of the entry it once moved away from */
	for (int k = 0; k < b->stales; k++)
		if (slot_of(i, hash_of(&b->stale[k]), seed) == b->stale_at[k])
			return false;
	return true;
}

static void move_bucket(struct listeners *ls, __u32 number, struct bucket *b)
{
	struct instance *i = ls->i;
	__u32 seed = i->listener_seeds[number];

	do
		seed = seed + 1 ? seed + 1 : 1; /* 0 says that the bucket is empty */
	while (!seed_fits(i, b, seed));
	for (int k = 0; k < b->keys; k++)
		write_entry(i, b->to[k], &b->key[k], b->key[k].service);
	store32(&i->listener_seeds[number], seed);
	for (int k = 0; k < b->keys; k++) {
		if (b->from[k] != NOWHERE)
			retire(ls, b->from[k]);
		link_slot(ls, b->to[k]);
	}
}

static void insert(struct listeners *ls, const struct poise_listener *key)
{
	struct instance *i = ls->i;
	__u64 hash = hash_of(key);
	__u32 number = bucket_of(i, hash), seed = i->listener_seeds[number];
	struct bucket b;

	need_index(ls);
	if (seed && is_free(i, slot_of(i, hash, seed))) {
		write_entry(i, slot_of(i, hash, seed), key, key->service);
		link_slot(ls, slot_of(i, hash, seed));
		return;
	}
	while (!gather(ls, number, &b)) {
		instance_grace(i);
		need_index(ls);
	}
	b.key[b.keys] = *key;
	b.from[b.keys++] = NOWHERE;
	move_bucket(ls, number, &b);
}

void listener_put(struct listeners *ls, const struct poise_listener_conf *l, __u32 service,
		  __u8 flags)
{
	struct poise_listener *e = listener_find(ls->i, l);
	struct poise_listener key = {.addr = l->addr,
				     .port = l->port,
				     .proto = l->proto,
				     .flags = flags,
				     .service = service};

	if (!e) {
		insert(ls, &key);
		return;
	}
	store8(&e->flags, flags);
	store32(&e->service, service);
}

static bool last_of_bucket(const struct listeners *ls, __u32 number, __u32 slot)
{
	const struct listener_index *x = ls->index;

	for (__u32 s = x->head[number]; s; s = x->next[s - 1])
		if (s - 1 != slot && listener_reachable(ls->i, s - 1))
			return false;
	return true;
}

void listener_del(struct listeners *ls, const struct poise_listener_conf *l, __u32 service)
{
	struct poise_listener *e = listener_find(ls->i, l);
	__u32 slot, number;

	if (!e || e->service != service)
		return;
	need_index(ls);
	slot = (__u32)(e - ls->i->listeners);
	number = bucket_of(ls->i, hash_of(e));
	retire(ls, slot);
	if (last_of_bucket(ls, number, slot))
		store32(&ls->i->listener_seeds[number], 0);
	store32(&e->service, 0);
}

void listener_repair(struct listeners *ls)
{
	static const struct poise_listener empty;
	struct instance *i = ls->i;

	for (__u32 slot = 0; slot < i->meta->listener_slots; slot++) {
		struct poise_listener *e = &i->listeners[slot];

		if (e->retired || listener_reachable(i, slot))
			continue;
		if (e->service)
			retire(ls, slot);
		else
			store_words(e, &empty, sizeof(empty));
	}
}

/* Do all these keys, and those of their addresses, find room in their buckets? */
static bool crowded(const struct instance *i, const struct config *cfg, __u32 total)
{
	__u8 *keys = calloc(i->meta->listener_seeds, 1);
	struct hosts hosts;
	bool is = false;

	if (!keys)
		abort();
	hosts_init(&hosts, total);
	for (size_t s = 0; s < cfg->services; s++) {
		const struct poise_service_conf *conf = &cfg->service[s]->conf;

		for (int l = 0; l < conf->listeners && !is; l++) {
			const struct poise_listener_conf *c = &conf->listener[l];
			__u64 hash = poise_listener_hash(&c->addr, c->port, c->proto);

			hosts_add(&hosts, c, 1);
			is = ++keys[bucket_of(i, hash)] > LISTENER_BUCKET_MAX;
		}
	}
	for (size_t a = 0; a < cfg->addresses; a++)
		hosts_add_address(&hosts, &cfg->address[a].conf.addr);
	for (size_t n = 0; n < hosts.slots && !is; n++) {
		const struct poise_listener_conf *c = &hosts.slot[n].key;
		__u64 hash = poise_listener_hash(&c->addr, c->port, c->proto);

		if (hosts.slot[n].service)
			is = ++keys[bucket_of(i, hash)] > LISTENER_BUCKET_MAX;
	}
	hosts_free(&hosts);
	free(keys);
	return is;
}

int listener_plan(const struct instance *i, const struct config *cfg, struct poise_error *err)
{
	__u32 total = 0, limit = i->meta->listeners;

	for (size_t s = 0; s < cfg->services; s++)
		total += cfg->service[s]->conf.listeners;
	if (total <= limit && !crowded(i, cfg, total))
		return 0;
	poise_fail(err, POISE_E_FULL, "%u listeners are %s %u", total,
		   total <= limit ? "spread too badly over a hash made for"
				  : "more than this instance's",
		   limit);
	return poise_error_remedy(err, "remove listeners, or raise limits: listeners, which counts "
				       "when the maps are created");
}
