/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many packets of our own making are sent: a flood of what has to be refused must not become
 * a flood of refusals, and one source's flood must not leave others unanswered. So there are two
 * limits, the instance's and, tighter, one for each source. Each CPU has an equal share of both, so
 * that none waits for another: what comes by one CPU alone is answered at that CPU's share.
 *
 * A bucket is kept as one number, the time up to which its tokens are spent (the virtual scheduling
 * of ITU-T I.371): at rest that is the burst ago, each answer moves it on, and while it is ahead of
 * the clock nothing is sent. Times are seconds with 32 bits behind the point.
 *
 * Sources are without number, the memory for them is not. Their buckets are cells of a sketch: a
 * cell in each row, by a keyed hash, shared with whoever's hash says so. What a source has spent is
 * the least of its cells, and no cell is moved further than that asks for (the count-min sketch of
 * Cormode and Muthukrishnan, 2005, with the conservative update of Estan and Varghese, 2002). So
 * nobody gets more than is his, whoever else sends, and nobody gets less but who shares a cell with
 * a flood in every row.
 */
#ifndef POISE_LIMIT_H
#define POISE_LIMIT_H

#include "packet.h"

#define LIMIT_RATE	   1000 /* answers of a kind per second, of all CPUs, unless told otherwise */
#define LIMIT_BURST	   50	/* at once, after a rest, of all CPUs */
#define LIMIT_SOURCES	   10 /* for one source a part of that: ten of them are a flood, not one */
#define LIMIT_SOURCE_BURST 20 /* what a browser or a traceroute asks for at once, and more */
#define LIMIT_SECOND	   (1ull << 32)

/* 8 KiB a CPU. Ten floods spend all there is: of other sources one in 2,600 meets two of them. */
#define LIMIT_ROWS  2
#define LIMIT_CELLS 512 /* a power of two */

enum limit_kind {
	LIMIT_RST,
	LIMIT_ICMP,
	LIMIT_KINDS, /* a power of two */
};

struct limit {
	__u64 spent[LIMIT_KINDS];
	__u64 source[LIMIT_ROWS][LIMIT_CELLS];
};

/* Not pinned: a new program begins with full buckets. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct limit);
} limits SEC(".maps");

static __always_inline __u64 limit_rate(const struct poise_meta *m, __u32 kind)
{
	__u32 rate = kind == LIMIT_RST ? m->reset_rate : m->icmp_rate;

	return rate ? rate : LIMIT_RATE;
}

/* Differences, so that the clock may wrap. */
static __always_inline bool limit_before(__u64 a, __u64 b)
{
	return (__s64)(a - b) < 0;
}

/* May one more be sent of what is spent so far, at so many a second and such a burst? Then *spent
 * is what it will be. */
static __always_inline bool limit_step(__u64 *spent, __u64 now, __u64 rate, __u64 burst, __u32 cpus)
{
	__u64 each = LIMIT_SECOND / rate, rest = now - (burst - 1) * each;

	if (limit_before(*spent, rest))
		*spent = rest;
	if (limit_before(now, *spent))
		return false;
	*spent += each * cpus;
	return true;
}

/* May one more be sent to this source? That is an IPv4 address, or the half of an IPv6 address that
 * names a network: whoever has one of its addresses has them all. */
__noinline int limit_take(__u32 kind, __u64 source)
{
	__u32 zero = 0;
	struct limit *l = bpf_map_lookup_elem(&limits, &zero);
	struct poise_meta *m = bpf_map_lookup_elem(&meta, &zero);
	__u64 hash = poise_mix(poise_mix(source ^ poise_key0) + kind + poise_key1);
	__u64 now = bpf_jiffies64() * poise_jiffies_mult;
	__u32 first = hash, second = hash >> 32;
	__u64 all, one, rate;

	if (!l || !m)
		return 0;
	rate = limit_rate(m, kind);
	BOUND(kind, LIMIT_KINDS - 1);
	BOUND(first, LIMIT_CELLS - 1);
	BOUND(second, LIMIT_CELLS - 1);
	all = l->spent[kind];
	one = l->source[0][first];
	if (limit_before(l->source[1][second], one))
		one = l->source[1][second];
	if (!limit_step(&one, now, (rate + LIMIT_SOURCES - 1) / LIMIT_SOURCES, LIMIT_SOURCE_BURST,
			m->cpus) ||
	    !limit_step(&all, now, rate, LIMIT_BURST, m->cpus))
		return 0;
	l->spent[kind] = all;
	if (limit_before(l->source[0][first], one))
		l->source[0][first] = one;
	if (limit_before(l->source[1][second], one))
		l->source[1][second] = one;
	return 1;
}

#endif
