/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The pinned maps as the programs see them. Sizes stand at 1 here; attach/ sets the real ones from
 * the instance's limits before it loads, or re-uses the pinned maps.
 */
#ifndef POISE_MAPS_BPF_H
#define POISE_MAPS_BPF_H

#include "../maps/abi.h"

#define POISE_ARRAY(NAME, VALUE)                                                                   \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, 1);                                                            \
		__type(key, __u32);                                                                \
		__type(value, VALUE);                                                              \
	} NAME SEC(".maps")

POISE_ARRAY(meta, struct poise_meta);
POISE_ARRAY(listeners, struct poise_listener);
POISE_ARRAY(listener_seeds, struct poise_words);
POISE_ARRAY(services, struct poise_service);
POISE_ARRAY(members, struct poise_member);
POISE_ARRAY(table, struct poise_words);
POISE_ARRAY(paths, struct poise_path);
POISE_ARRAY(flows, struct poise_bucket);
POISE_ARRAY(flows_beside, struct poise_bucket); /* while the flow table is resized */
POISE_ARRAY(fragments, struct poise_bucket);
POISE_ARRAY(counters, struct poise_counter);
POISE_ARRAY(loads, struct poise_loads); /* a value is a row of them */
POISE_ARRAY(server_ids, struct poise_server_ids);
POISE_ARRAY(held, struct poise_words);
POISE_ARRAY(bounds, struct poise_bound);
POISE_ARRAY(slots, struct poise_slot);
POISE_ARRAY(ways, struct poise_way);
POISE_ARRAY(links, struct poise_bucket);
POISE_ARRAY(ports, struct poise_bucket);
POISE_ARRAY(latencies, struct poise_latency);
/* Packets never read these; they are here so that one object creates every map. */
POISE_ARRAY(service_conf, struct poise_service_slot);
POISE_ARRAY(member_conf, struct poise_member_slot);
POISE_ARRAY(rates, struct poise_rate);
POISE_ARRAY(checks, struct poise_check_result);
POISE_ARRAY(probes, struct poise_probe); /* read at TC (probe.bpf.c) */
POISE_ARRAY(events, struct poise_event);
POISE_ARRAY(address_conf, struct poise_address_slot);
POISE_ARRAY(range_conf, struct poise_range);
POISE_ARRAY(cluster, struct poise_cluster);

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} devmap SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, POISE_TAILS);
	__type(key, __u32);
	__type(value, __u32);
} tails SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct poise_drops);
} drops SEC(".maps");

/* Knobs set at load: constants to the verifier, so that what they turn off costs nothing. */
POISE_KNOB __u64 poise_key0 = 0; /* hash_key[0], [1] of meta */
POISE_KNOB __u64 poise_key1 = 0;
POISE_KNOB __u32 poise_bucket_mask = 0;	   /* meta.flow_buckets - 1 */
POISE_KNOB __u32 poise_beside_buckets = 0; /* of flows_beside; 0: there is none */
POISE_KNOB __u32 poise_slot_mask = 0;	   /* meta.listener_slots - 1 */
POISE_KNOB __u32 poise_seed_mask = 0;	   /* meta.listener_seeds - 1 */
POISE_KNOB __u32 poise_services = 1;	   /* meta.services: stride of turns (turn.h) */
POISE_KNOB __u32 poise_members = 1;	   /* meta.members: stride of counters */
POISE_KNOB __u32 poise_row_mask = 0;	   /* length of a row of loads - 1, a power of two's */
POISE_KNOB __u32 poise_groups = 0;	   /* meta.groups */
POISE_KNOB __u32 poise_link_mask = 0;	   /* buckets of links - 1 */
POISE_KNOB __u32 poise_jiffies_mult = 1;   /* seconds = jiffies64 * mult >> 32 */

#endif
