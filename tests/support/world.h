/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A cluster in which anything may happen: a few Services, EndpointSlices and a Node come, change
 * and go at random, the same ones for the same seed; and a cache is told of it as an API server
 * does, with watches that are down for a while, lists that break off, and lists to the end.
 */
#ifndef POISE_TEST_WORLD_H
#define POISE_TEST_WORLD_H

#include "loader/kube/cache.h"

/* The last of so many events ends with whole lists: then the cache knows all there is. */
#define WORLD_ROUND 20

/* Nothing is there yet. */
void world_begin(unsigned long seed);
/* Everything goes; nobody is told. */
void world_end(void);
/* Something happens. */
void world_step(struct kube_cache *c, unsigned int event);
/* Whole lists of all there is. */
void world_tell(struct kube_cache *c);
/* A new cache of all there is, as after a start. */
struct kube_cache *world_fresh(void);

#endif
