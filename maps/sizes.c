// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Limits, as users say them, become entries of maps.
 */
#include <bpf/libbpf.h>
#include <string.h>
#include <unistd.h>

#include "sizes.h"

#define FIELD(name, type)                                                                          \
	{                                                                                          \
#name, offsetof(struct instance, name), sizeof(type)                               \
	}
#define WORDS(name) FIELD(name, struct poise_words)

const struct instance_map instance_maps[] = {
	FIELD(meta, struct poise_meta),
	FIELD(service_conf, struct poise_service_slot),
	FIELD(member_conf, struct poise_member_slot),
	FIELD(listeners, struct poise_listener),
	WORDS(listener_seeds),
	FIELD(services, struct poise_service),
	FIELD(members, struct poise_member),
	WORDS(table),
	FIELD(paths, struct poise_path),
	FIELD(flows, struct poise_bucket),
	FIELD(counters, struct poise_counter),
	FIELD(loads, struct poise_loads),
	FIELD(rates, struct poise_rate),
	FIELD(checks, struct poise_check_result),
	FIELD(events, struct poise_event),
	FIELD(address_conf, struct poise_address_slot),
	FIELD(server_ids, struct poise_server_ids),
	FIELD(fragments, struct poise_bucket),
	WORDS(held),
	FIELD(range_conf, struct poise_range),
	FIELD(bounds, struct poise_bound),
	FIELD(probes, struct poise_probe),
	FIELD(slots, struct poise_slot),
	FIELD(ways, struct poise_way),
	FIELD(links, struct poise_bucket),
	FIELD(ports, struct poise_bucket),
	FIELD(latencies, struct poise_latency),
	FIELD(cluster, struct poise_cluster),
};
const size_t instance_maps_count = sizeof(instance_maps) / sizeof(instance_maps[0]);

/* Half of the listeners' slots stay free, so that a seed fits after few tries, though each may have
 * an address of its own, which has two entries, and others are claimed; two keys a bucket on
 * average. A small table is
 * spread by chance, so the smallest is not small. */
#define LISTENER_SLOTS_LEAST 1024
#define LISTENERS_PER_SEED   2
#define KEYS_PER_LISTENER    3
#define NAT_LOW		     1024 /* below are those of well-known services */

static __u32 power_of_two(__u32 least)
{
	__u32 power = 1;

	while (power < least && power << 1)
		power <<= 1;
	return power;
}

void sizes_fill(struct poise_meta *meta, const struct config_limits *limits)
{
	__u32 slots = power_of_two(2 * (KEYS_PER_LISTENER * limits->listeners + POISE_ADDRESSES));

	meta->services = limits->services + 1; /* id 0 is nobody's */
	meta->members = limits->backends + 1;
	meta->flow_buckets =
		power_of_two((limits->flow_slots + POISE_BUCKET_WORDS - 1) / POISE_BUCKET_WORDS);
	meta->table_slots = limits->table_slots;
	meta->listener_slots = slots < LISTENER_SLOTS_LEAST ? LISTENER_SLOTS_LEAST : slots;
	meta->listener_seeds = meta->listener_slots / 2 / LISTENERS_PER_SEED;
	meta->paths = limits->paths + 1;
	meta->listeners = limits->listeners;
	meta->ranges = limits->ranges;
	meta->reset_rate = limits->reset_rate;
	meta->icmp_rate = limits->icmp_rate;
	meta->nat_low = limits->nat_low ? limits->nat_low : NAT_LOW;
	meta->nat_high = limits->nat_high ? limits->nat_high : POISE_PORTS - 1;
	meta->groups = limits->nat_groups ? power_of_two(limits->nat_groups) : 0;
}

/* A map has one entry at least. */
static __u32 links(const struct poise_meta *meta)
{
	return meta->groups ? POISE_LINK_BUCKETS(meta->groups) : 1;
}

__u32 sizes_cpus(void)
{
	int cpus = libbpf_num_possible_cpus();

	return cpus > 0 ? (__u32)cpus : (__u32)sysconf(_SC_NPROCESSORS_CONF);
}

static __u32 entries(const struct poise_meta *meta, const char *name)
{
	const struct {
		const char *name;
		__u32 entries;
	} table[] = {
		{"meta", 1},
		{"service_conf", meta->services},
		{"member_conf", meta->members},
		{"listeners", meta->listener_slots},
		{"listener_seeds", poise_words_entries(meta->listener_seeds)},
		{"services", meta->services},
		{"members", meta->members},
		{"table", poise_words_entries(meta->table_slots)},
		{"paths", meta->paths},
		{"devmap", meta->paths}, /* a path's device at the path's index */
		{"flows", meta->flow_buckets},
		{"counters", meta->cpus * meta->members},
		{"loads", meta->cpus},
		{"drops", meta->services},
		{"rates", meta->members},
		{"checks", meta->members},
		{"events", POISE_EVENT_RING},
		{"address_conf", POISE_ADDRESSES},
		{"server_ids", poise_server_id_buckets(meta->members)},
		{"fragments", POISE_FRAGMENT_BUCKETS},
		{"held", poise_words_entries(meta->members)},
		{"range_conf", poise_range_entries(meta->ranges)},
		{"bounds", 2 * poise_range_entries(meta->ranges)},
		{"probes", POISE_PROBE_PORTS},
		{"slots", meta->groups ? meta->groups * POISE_PORTS : 1},
		{"ways", meta->groups ? meta->groups * POISE_PORTS : 1},
		{"links", links(meta)},
		{"ports", POISE_PORT_ENTRIES(meta->groups)},
		{"tails", POISE_TAILS},
		{"latencies", meta->members},
		{"cluster", 1},
	};

	for (size_t t = 0; t < sizeof(table) / sizeof(table[0]); t++)
		if (!strcmp(name, table[t].name))
			return table[t].entries;
	return 0;
}

__u32 instance_map_entries(const char *map, const struct config_limits *limits, __u32 cpus)
{
	struct poise_meta meta = {.cpus = cpus};

	sizes_fill(&meta, limits);
	return entries(&meta, map);
}

bool sizes_is_flows(const struct instance_map *map)
{
	return map->field == offsetof(struct instance, flows);
}

struct mapping **sizes_windows(struct instance *i, const struct instance_map *map)
{
	if (map->field == offsetof(struct instance, table))
		return &i->table_windows;
	if (map->field == offsetof(struct instance, latencies))
		return &i->latency_windows;
	if (map->field == offsetof(struct instance, slots))
		return &i->slot_windows;
	if (map->field == offsetof(struct instance, links))
		return &i->link_windows;
	return map->field == offsetof(struct instance, ways) ? &i->way_windows : NULL;
}

__u32 sizes_held(const struct instance *i, const struct instance_map *map)
{
	return i->meta ? entries(i->meta, map->name) : 1;
}

__u32 sizes_value(const struct instance *i, const struct instance_map *map)
{
	bool row = map->field == offsetof(struct instance, loads);

	return map->value * (row ? poise_loads_row(i->meta->members) : 1);
}

size_t sizes_bytes(const struct instance *i, const struct instance_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), value = (sizes_value(i, map) + 7u) & ~7u;

	return (sizes_held(i, map) * value + page - 1) / page * page;
}
