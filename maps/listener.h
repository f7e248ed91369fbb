/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The listeners' hash. Hash and displace: a key's bucket has a seed, and hash and seed name the one
 * slot where the key can be.
 *
 * A slot is free when its service is 0 and its `retired` is 0 or past a grace period. A key that
 * moves (because its bucket got another seed) leaves its old entry behind as it was, retired: a
 * packet that read the old seed still finds it there, and nobody else does.
 */
#ifndef POISE_LISTENER_H
#define POISE_LISTENER_H

#include "store.h"

/* Keys of one bucket. Two is the mean; so many do not meet by chance, and every one of them halves
 * the chance that a seed fits. */
#define LISTENER_BUCKET_MAX 24

struct listener_index; /* every entry by bucket, in memory; made when first needed */

struct listeners {
	struct instance *i;
	struct listener_index *index;
};

/* Refuses a configuration with more listeners than the hash was made for. */
int listener_plan(const struct instance *i, const struct config *cfg, struct poise_error *err);
/* The entry of a key, NULL if it is not there. */
struct poise_listener *listener_find(const struct instance *i, const struct poise_listener_conf *l);
/* Makes the key lead to the service, with these flags, whether it was there or not. */
void listener_put(struct listeners *ls, const struct poise_listener_conf *l, __u32 service,
		  __u8 flags);
/* Removes the key if it leads to the service. */
void listener_del(struct listeners *ls, const struct poise_listener_conf *l, __u32 service);
/* Retires every entry that no seed leads to, empties every half-written one: what a writer killed
 * while adding or moving keys left. */
void listener_repair(struct listeners *ls);
void listeners_end(struct listeners *ls);
/* True if the bucket's seed leads to this slot for the key that stands there. */
bool listener_reachable(const struct instance *i, __u32 slot);

#endif
