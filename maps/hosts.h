/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The addresses that have listeners, or are claimed, and what the listeners' hash says of each
 * (POISE_PROTO_HOST): by protocol whose its listeners are, which is asked for fragments, and what
 * packets for the address get that are for no service. Worked out from all records at once, in
 * memory.
 */
#ifndef POISE_HOSTS_H
#define POISE_HOSTS_H

#include "store.h"

struct host {
	struct poise_listener_conf key; /* as in the listeners' hash; `own` as far as is known */
	__u32 service;			/* id, POISE_HOST_SHARED; 0: the slot is empty */
	__u8 flags;			/* POISE_A_* */
	bool usable;			/* a service on it has somebody who may be chosen */
	bool meant;			/* all of it, not only the ports of its listeners */
	bool wanted;			/* stands in the listeners' hash */
};

struct hosts {
	struct host *slot;
	size_t slots;		   /* power of two */
	__u32 answering, refusing; /* as in meta */
};

/* Empty, with room for the addresses of so many listeners and for claimed ones. */
void hosts_init(struct hosts *h, size_t listeners);
/* Those of all services and claims in force. Services must be derived. */
void hosts_of(const struct instance *i, struct hosts *h);
void hosts_add(struct hosts *h, const struct poise_listener_conf *l, __u32 service);
/* One that is claimed, whatever else it is. */
void hosts_add_address(struct hosts *h, const union poise_addr *addr);
/* The key of a listener's address and protocol, and of an address itself. */
struct poise_listener_conf hosts_key(const struct poise_listener_conf *l);
struct poise_listener_conf hosts_address(const union poise_addr *addr);
/* Whether such a key stands in the listeners' hash. */
bool hosts_wants(const struct hosts *h, const struct poise_listener_conf *key);
void hosts_free(struct hosts *h);

#endif
