/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps that are mapped as they are used: the pool of tables (128 MB by default), the flow table
 * (32 MB), latencies (27 MB), and mode nat's. Most commands look at those of one service or none,
 * poised never at flows; the kernel fills the page tables of all that is mapped, some 10 ms of CPU
 * for the pool.
 */
#ifndef POISE_MAPS_TABLE_H
#define POISE_MAPS_TABLE_H

#include "instance.h"

/* All of the flow table in force, flow_buckets of them; one of them by instance_bucket. */
struct poise_bucket *instance_flow_table(const struct instance *i);
struct poise_slot *instance_slots(const struct instance *i, __u32 slot, __u32 n);

/* Entries at, at + 1, ... at + n - 1 of the pool, to be read and changed until the instance is
 * closed. They must lie inside the pool. */
__u32 *instance_table(const struct instance *i, __u32 at, __u32 n);

struct poise_latency *instance_latencies(const struct instance *i, __u32 member, __u32 n);
struct poise_way *instance_ways(const struct instance *i, __u32 slot, __u32 n);
/* All of mode nat's; none: NULL. */
struct poise_bucket *instance_links(const struct instance *i);
/* For who goes by all maps at once. */
void instance_map_all(const struct instance *i);

/* Whom the backend of this slot's flow sees: the source address and port (network order) of its
 * packets. */
__u16 instance_slot_source(const struct instance *i, __u32 slot, union poise_addr *source);

#endif
