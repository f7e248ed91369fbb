// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The datapath as a library (run.h): the programs' own source, included here.
 */
#include <stdlib.h>
#include <string.h>

#include "poise.bpf.c"
#include "run.h"

#define LICENSE license_of_local
#include "local.bpf.c"

#define LINE 64

__u64 native_jiffies;
__u64 native_ns;
__thread __u32 native_cpu;

int native_tail(struct xdp_md *ctx, __u32 program)
{
	switch (program) {
	case POISE_TAIL_NAT: return poise_nat(ctx);
	case POISE_TAIL_NAT_CLOSELY: return poise_nat_closely(ctx);
	case POISE_TAIL_NAT_BACK: return poise_nat_back(ctx);
	case POISE_TAIL_NAT_BACK_CLOSELY: return poise_nat_back_closely(ctx);
	case POISE_TAIL_LOCAL: return poise_local(ctx);
	case POISE_TAIL_RARE: return poise_rare(ctx);
	case POISE_TAIL_NAT_ICMP: return poise_nat_icmp(ctx);
	case POISE_TAIL_NAT_FRAGMENT: return poise_nat_fragment(ctx);
	}
	return XDP_ABORTED;
}

/* Of all CPUs, as the drops are. */
static struct limit limited;

void run_refill(void)
{
	const __u64 rest = native_jiffies * poise_jiffies_mult - LIMIT_SECOND;

	for (int kind = 0; kind < LIMIT_KINDS; kind++)
		limited.spent[kind] = rest;
	for (int cell = 0; cell < LIMIT_CELLS; cell++)
		limited.source[0][cell] = limited.source[1][cell] = rest;
}

/* The maps that an instance has not: zeroed, and gone with the next. */
static struct {
	struct poise_drops *drops;
	struct scratch *scratches;
	struct turn *turns;
	struct pace *paces;
	__u32 *rotors;
	struct timing *timings;
	struct watch *watches;
} unpinned;

/* In whole cache lines, so that what shares one does not depend on who allocated what before. */
static void *zeroed(size_t n, size_t size)
{
	size_t bytes = (n * size + LINE - 1) & ~(LINE - 1ul);
	void *memory = aligned_alloc(LINE, bytes);

	if (!memory)
		abort();
	return memset(memory, 0, bytes);
}

static void use_unpinned(struct instance *i)
{
	const struct poise_meta *m = i->meta;

	unpinned.drops = zeroed(m->services, sizeof(*unpinned.drops));
	unpinned.scratches = zeroed(m->cpus, sizeof(*unpinned.scratches));
	unpinned.turns = zeroed((size_t)m->cpus * m->services, sizeof(*unpinned.turns));
	unpinned.paces = zeroed(m->services, sizeof(*unpinned.paces));
	unpinned.timings = zeroed(1 << TIMING_BITS, sizeof(*unpinned.timings));
	unpinned.watches = zeroed(1 << WATCH_BITS, sizeof(*unpinned.watches));
	unpinned.rotors = zeroed((size_t)m->cpus * m->groups + 1, sizeof(*unpinned.rotors));
	i->drops = unpinned.drops;
	native_map(&drops, unpinned.drops, m->services);
	native_map(&scratches, unpinned.scratches, m->cpus);
	native_map(&turns, unpinned.turns, m->cpus * m->services);
	native_map(&paces, unpinned.paces, m->services);
	native_map(&rotors, unpinned.rotors, m->cpus * m->groups);
	native_map(&timings, unpinned.timings, 1 << TIMING_BITS);
	native_map(&watches, unpinned.watches, 1 << WATCH_BITS);
	native_map(&limits, &limited, 1);
	native_map(&devmap, NULL, m->paths);
}

static void use_pinned(const struct instance *i)
{
	const struct poise_meta *m = i->meta;

	native_map(&meta, i->meta, 1);
	native_map(&listeners, i->listeners, m->listener_slots);
	native_map(&listener_seeds, i->listener_seeds, poise_words_entries(m->listener_seeds));
	native_map(&services, i->services, m->services);
	native_map(&members, i->members, m->members);
	native_map(&table, i->table, poise_words_entries(m->table_slots));
	native_map(&paths, i->paths, m->paths);
	native_map(&flows, i->flows, i->flow_buckets);
	native_map(&flows_beside, i->flows_beside, i->beside_buckets);
	native_map(&fragments, i->fragments, POISE_FRAGMENT_BUCKETS);
	native_map(&counters, i->counters, m->cpus * m->members);
	native_map(&loads, i->loads, m->cpus * poise_loads_row(m->members));
	native_map(&server_ids, i->server_ids, poise_server_id_buckets(m->members));
	native_map(&held, i->held, poise_words_entries(m->members));
	native_map(&bounds, i->bounds, 2 * poise_range_entries(m->ranges));
	native_map(&slots, i->slots, m->groups * POISE_PORTS);
	native_map(&ways, i->ways, m->groups * POISE_PORTS);
	native_map(&links, i->links, POISE_LINK_BUCKETS(m->groups));
	native_map(&latencies, i->latencies, m->members);
	native_map(&ports, i->ports, POISE_PORT_ENTRIES(m->groups));
}

void run_use(struct instance *i)
{
	const struct poise_meta *m;

	free(unpinned.drops);
	free(unpinned.scratches);
	free(unpinned.turns);
	free(unpinned.paces);
	free(unpinned.rotors);
	free(unpinned.timings);
	free(unpinned.watches);
	memset(&unpinned, 0, sizeof(unpinned));
	if (!i)
		return;
	m = i->meta;
	use_pinned(i);
	use_unpinned(i);
	poise_key0 = m->hash_key[0];
	poise_key1 = m->hash_key[1];
	poise_bucket_mask = i->flow_buckets - 1;
	poise_beside_buckets = i->beside_buckets;
	poise_slot_mask = m->listener_slots - 1;
	poise_seed_mask = m->listener_seeds - 1;
	poise_members = m->members;
	poise_row_mask = poise_loads_row(m->members) - 1;
	poise_services = m->services;
	poise_groups = m->groups;
	poise_link_mask = POISE_LINK_BUCKETS(m->groups) - 1;
	poise_jiffies_mult = (1ull << 32) / RUN_HZ;
	run_refill();
}

void run_set_seconds(__u32 seconds)
{
	__atomic_store_n(&native_jiffies, (__u64)seconds * RUN_HZ, __ATOMIC_RELAXED);
}

void run_tick(__u32 ticks)
{
	__atomic_fetch_add(&native_jiffies, ticks, __ATOMIC_RELAXED);
}

void run_set_ns(__u64 ns)
{
	native_ns = ns;
}

void run_set_cpu(__u32 cpu)
{
	native_cpu = cpu;
}

int run_xdp(struct run_frame *f, __u32 ifindex)
{
	struct xdp_md ctx = {
		.data = (unsigned long)f->data,
		.data_end = (unsigned long)f->end,
		.ingress_ifindex = ifindex,
		.start = (unsigned long)f->start,
		.limit = (unsigned long)f->limit,
	};
	int verdict = poise_xdp(&ctx);

	f->data = (__u8 *)ctx.data;
	f->end = (__u8 *)ctx.data_end;
	return verdict;
}

int run_leave(struct run_frame *f)
{
	struct __sk_buff skb = {
		.data = (unsigned long)f->data,
		.data_end = (unsigned long)f->end,
		.len = (__u32)(f->end - f->data),
	};

	return poise_local_out(&skb);
}

void run_sweep(struct poise_sweep *io)
{
	poise_sweep(io);
}

const struct poise_drops *run_drops(__u16 service)
{
	return drops.value + service;
}
