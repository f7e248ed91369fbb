// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What is mapped by windows (mapping.h), and how one asks for it; see table.h.
 */
#include <arpa/inet.h>
#include <stdint.h>

#include "mapping.h"
#include "table.h"

struct poise_bucket *instance_bucket(const struct instance *i, __u32 bucket)
{
	bool beside = bucket >= i->flow_buckets;
	size_t at = beside ? bucket - i->flow_buckets : bucket;
	struct poise_bucket *table = beside ? i->flows_beside : i->flows;

	mapping_need(beside ? i->beside_windows : i->flow_windows, at * sizeof(*table),
		     (at + 1) * sizeof(*table));
	return &table[at];
}

struct poise_bucket *instance_flow_table(const struct instance *i)
{
	mapping_need(i->flow_windows, 0, SIZE_MAX);
	return i->flows;
}

struct poise_slot *instance_slots(const struct instance *i, __u32 slot, __u32 n)
{
	mapping_need(i->slot_windows, (size_t)slot * sizeof(*i->slots),
		     ((size_t)slot + n) * sizeof(*i->slots));
	return &i->slots[slot];
}

__u64 instance_word(const struct instance *i, __u32 bucket, int n)
{
	__u64 head;
	__u32 state;

	if (bucket < instance_table_buckets(i))
		return __atomic_load_n(&instance_bucket(i, bucket)->word[n], __ATOMIC_RELAXED);
	head = __atomic_load_n(&instance_slots(i, instance_slot(i, bucket, n), 1)->head,
			       __ATOMIC_RELAXED);
	state = POISE_WORD_STATE(head);
	return state >= POISE_FLOW_NEW && state <= POISE_FLOW_RST ? head : 0;
}

__u32 *instance_table(const struct instance *i, __u32 at, __u32 n)
{
	mapping_need(i->table_windows, (size_t)at * sizeof(*i->table),
		     ((size_t)at + n) * sizeof(*i->table));
	return i->table + at;
}

struct poise_latency *instance_latencies(const struct instance *i, __u32 member, __u32 n)
{
	mapping_need(i->latency_windows, (size_t)member * sizeof(*i->latencies),
		     ((size_t)member + n) * sizeof(*i->latencies));
	return &i->latencies[member];
}

struct poise_way *instance_ways(const struct instance *i, __u32 slot, __u32 n)
{
	mapping_need(i->way_windows, (size_t)slot * sizeof(*i->ways),
		     ((size_t)slot + n) * sizeof(*i->ways));
	return &i->ways[slot];
}

__u16 instance_slot_source(const struct instance *i, __u32 slot, union poise_addr *source)
{
	*source = instance_ways(i, slot, 1)->source;
	if (source->q[0] || source->q[1])
		return htons((__u16)(slot % POISE_PORTS));
	*source = instance_slots(i, slot, 1)->client; /* mode local leaves it (bpf/sent.h) */
	return (__u16)i->slots[slot].ports;
}

struct poise_bucket *instance_links(const struct instance *i)
{
	if (!i->meta->groups)
		return NULL;
	mapping_need(i->link_windows, 0, SIZE_MAX);
	return i->links;
}

void instance_map_all(const struct instance *i)
{
	mapping_need(i->flow_windows, 0, SIZE_MAX);
	mapping_need(i->beside_windows, 0, SIZE_MAX);
	mapping_need(i->slot_windows, 0, SIZE_MAX);
	mapping_need(i->table_windows, 0, SIZE_MAX);
	mapping_need(i->latency_windows, 0, SIZE_MAX);
	mapping_need(i->way_windows, 0, SIZE_MAX);
	mapping_need(i->link_windows, 0, SIZE_MAX);
}
