// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A hash with open addressing, never more than half full.
 *
 * An address is answered for if all that is known says that it is not the host's own: the notes in
 * the records of its listeners, and of its claim; and if anybody means all of it, not only a port,
 * or what is left to the host would loop.
 */
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "hosts.h"

#define KEYS_EACH 2 /* of a listener's address: with its protocol, and by itself */

void hosts_init(struct hosts *h, size_t listeners)
{
	*h = (struct hosts){.slots = 1};
	while (h->slots <= 2 * (KEYS_EACH * listeners + POISE_ADDRESSES))
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

struct poise_listener_conf hosts_address(const union poise_addr *addr)
{
	return (struct poise_listener_conf){.addr = *addr, .proto = POISE_PROTO_HOST};
}

static bool same_key(const struct poise_listener_conf *a, const struct poise_listener_conf *b)
{
	return !memcmp(&a->addr, &b->addr, sizeof(a->addr)) && a->proto == b->proto;
}

/* The slot of a key, or the empty one where it would be. */
static struct host *slot_of(const struct hosts *h, const struct poise_listener_conf *key)
{
	size_t at = poise_listener_hash(&key->addr, key->port, key->proto) & (h->slots - 1);

	while (h->slot[at].service && !same_key(&h->slot[at].key, key))
		at = (at + 1) & (h->slots - 1);
	return &h->slot[at];
}

static struct host *add(struct hosts *h, struct poise_listener_conf key, __u32 service)
{
	struct host *slot = slot_of(h, &key);

	if (slot->service && slot->service != service)
		service = POISE_HOST_SHARED;
	if (!slot->service)
		slot->key = key;
	slot->service = service;
	return slot;
}

/* The host's own by one note is the host's own. */
static void note_own(struct host *host, __u8 own)
{
	if (own > host->key.own)
		host->key.own = own;
}

void hosts_add(struct hosts *h, const struct poise_listener_conf *l, __u32 service)
{
	struct host *host;

	add(h, hosts_key(l), service)->wanted = true;
	host = add(h, hosts_address(&l->addr), service);
	note_own(host, l->own);
	host->meant |= !l->alone || l->back == POISE_BACK_GOES;
}

void hosts_add_address(struct hosts *h, const union poise_addr *addr)
{
	struct poise_listener_conf key = hosts_address(addr);

	if (!slot_of(h, &key)->service)
		add(h, key, POISE_HOST_SHARED);
}

bool hosts_wants(const struct hosts *h, const struct poise_listener_conf *key)
{
	return slot_of(h, key)->wanted;
}

/* ---- what packets get -------------------------------------------------------------------------*/

static const struct poise_service_conf *in_force(const struct instance *i, __u32 id)
{
	const struct poise_service_conf *conf = store_service(i, id);

	return conf->r.state == POISE_REC_USED ? conf : NULL;
}

static void add_service(const struct instance *i, struct hosts *h, __u32 id)
{
	const struct poise_service_conf *conf = store_service(i, id);
	const struct poise_service *s = &i->services[id];

	for (int l = 0; l < conf->listeners; l++) {
		struct poise_listener_conf key = hosts_address(&conf->listener[l].addr);

		hosts_add(h, &conf->listener[l], id);
		slot_of(h, &key)->usable |= s->rec[s->active & 1].rung < POISE_RANK_NOBODY;
	}
}

static __u8 flags_of(const struct host *host, const struct poise_address_conf *a)
{
	__u8 flags = 0;

	if (a->put == POISE_PUT_MARKED || a->put == POISE_PUT_UNMARKED)
		flags |= POISE_A_PLACED;
	if (a->other_ports == POISE_OTHER_REFUSE)
		flags |= POISE_A_REFUSE;
	if (a->ping == POISE_PING_YES)
		flags |= POISE_A_ECHO;
	if (a->ping == POISE_PING_USABLE && host->usable)
		flags |= POISE_A_ECHO | POISE_A_USABLE;
	return flags;
}

/* What was set for an address, and that it is claimed though no service listens there. */
static void add_address(struct hosts *h, const struct poise_address_conf *a)
{
	struct poise_listener_conf key = hosts_address(&a->addr);
	struct host *host = slot_of(h, &key);

	if (!host->service && !a->device[0])
		return;
	hosts_add_address(h, &a->addr);
	note_own(host, a->own);
	host->meant = true;
	host->flags = flags_of(host, a);
}

void hosts_of(const struct instance *i, struct hosts *h)
{
	static const struct poise_address_conf unset;
	size_t listeners = 0;

	for (__u32 id = 1; id < i->meta->services; id++)
		if (in_force(i, id))
			listeners += in_force(i, id)->listeners;
	hosts_init(h, listeners);
	for (__u32 id = 1; id < i->meta->services; id++)
		if (in_force(i, id))
			add_service(i, h, id);
	for (size_t n = 0; n < h->slots; n++)
		if (h->slot[n].key.proto == POISE_PROTO_HOST)
			h->slot[n].flags = flags_of(&h->slot[n], &unset);
	for (__u32 slot = 0; slot < POISE_ADDRESSES; slot++)
		if (store_address(i, slot)->r.state == POISE_REC_USED)
			add_address(h, store_address(i, slot));
	for (size_t n = 0; n < h->slots; n++) {
		struct host *host = &h->slot[n];

		if (host->key.proto != POISE_PROTO_HOST || host->key.own != POISE_OWN_NOT ||
		    !host->meant)
			continue;
		host->wanted = true;
		h->answering++;
		h->refusing += !!(host->flags & POISE_A_REFUSE);
	}
}
