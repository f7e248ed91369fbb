/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The addresses, with a protocol, that have listeners, and whose these are: what the listeners'
 * hash says of fragments (POISE_PROTO_HOST). Worked out from all services at once, in memory.
 */
#ifndef POISE_HOSTS_H
#define POISE_HOSTS_H

#include "store.h"

struct host {
	struct poise_listener_conf key; /* as in the listeners' hash */
	__u32 service;			/* id, POISE_HOST_SHARED; 0: the slot is empty */
};

struct hosts {
	struct host *slot;
	size_t slots; /* power of two */
};

/* Empty, with room for the addresses of so many listeners. */
void hosts_init(struct hosts *h, size_t listeners);
/* Those of all services in force. */
void hosts_of(const struct instance *i, struct hosts *h);
void hosts_add(struct hosts *h, const struct poise_listener_conf *l, __u32 service);
/* The key of a listener's address. */
struct poise_listener_conf hosts_key(const struct poise_listener_conf *l);
/* Where such a key leads; 0: nobody listens there. */
__u32 hosts_service(const struct hosts *h, const struct poise_listener_conf *key);
void hosts_free(struct hosts *h);

#endif
