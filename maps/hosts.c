// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A hash with open addressing, never more than half full.
 */
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "hosts.h"

void hosts_init(struct hosts *h, size_t listeners)
{
	h->slots = 1;
	while (h->slots <= 2 * listeners)
		h->slots *= 2;
	h->slot = calloc(h->slots, sizeof(*h->slot));
	if (!h->slot)
		abort();
}

void hosts_free(struct hosts *h)
{
	free(h->slot);
	h->slot = NULL;
}

struct poise_listener_conf hosts_key(const struct poise_listener_conf *l)
{
	return (struct poise_listener_conf){.addr = l->addr, .proto = l->proto | POISE_PROTO_HOST};
}

/* The slot of a key, or the empty one where it would be. */
static struct host *slot_of(const struct hosts *h, const struct poise_listener_conf *key)
{
	size_t at = poise_listener_hash(&key->addr, key->port, key->proto) & (h->slots - 1);

	while (h->slot[at].service && memcmp(&h->slot[at].key, key, sizeof(*key)) != 0)
		at = (at + 1) & (h->slots - 1);
	return &h->slot[at];
}

void hosts_add(struct hosts *h, const struct poise_listener_conf *l, __u32 service)
{
	struct poise_listener_conf key = hosts_key(l);
	struct host *slot = slot_of(h, &key);

	if (slot->service && slot->service != service)
		service = POISE_HOST_SHARED;
	slot->key = key;
	slot->service = service;
}

__u32 hosts_service(const struct hosts *h, const struct poise_listener_conf *key)
{
	return slot_of(h, key)->service;
}

static const struct poise_service_conf *in_force(const struct instance *i, __u32 id)
{
	const struct poise_service_conf *conf = store_service(i, id);

	return conf->r.state == POISE_REC_USED ? conf : NULL;
}

void hosts_of(const struct instance *i, struct hosts *h)
{
	const struct poise_service_conf *conf;
	size_t listeners = 0;

	for (__u32 id = 1; id < i->meta->services; id++)
		if ((conf = in_force(i, id)))
			listeners += conf->listeners;
	hosts_init(h, listeners);
	for (__u32 id = 1; id < i->meta->services; id++) {
		conf = in_force(i, id);
		for (int l = 0; conf && l < conf->listeners; l++)
			hosts_add(h, &conf->listener[l], id);
	}
}
