/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many packets of our own making are sent: a flood of what has to be refused must not become
 * a flood of refusals. The limit is the instance's; each CPU has an equal share of it, so that
 * none waits for another: what comes by one CPU alone is answered at that CPU's share.
 *
 * The bucket is kept as one number, the time up to which its tokens are spent (the virtual
 * scheduling of ITU-T I.371): at rest that is the burst ago, each answer moves it on, and while it
 * is ahead of the clock nothing is sent. Times are seconds with 32 bits behind the point.
 */
#ifndef POISE_LIMIT_H
#define POISE_LIMIT_H

#include "packet.h"

#define LIMIT_RATE   1000 /* answers of a kind per second, of all CPUs */
#define LIMIT_BURST  50	  /* at once, after a rest, of all CPUs */
#define LIMIT_SECOND (1ull << 32)
#define LIMIT_EACH   (LIMIT_SECOND / LIMIT_RATE)

enum limit_kind {
	LIMIT_RST,
	LIMIT_ICMP,
	LIMIT_KINDS, /* a power of two */
};

struct limit {
	__u64 spent[LIMIT_KINDS];
};

/* Not pinned: a new program begins with full buckets. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct limit);
} limits SEC(".maps");

/* May one more be sent? */
static __always_inline bool limit_take(enum limit_kind kind)
{
	__u32 zero = 0;
	struct limit *l = bpf_map_lookup_elem(&limits, &zero);
	struct poise_meta *m = bpf_map_lookup_elem(&meta, &zero);
	__u64 now = bpf_jiffies64() * poise_jiffies_mult;
	__u64 rest = now - (LIMIT_BURST - 1) * LIMIT_EACH;
	__u32 at = kind;
	__u64 spent;

	if (!l || !m)
		return false;
	BOUND(at, LIMIT_KINDS - 1);
	spent = l->spent[at];
	/* Differences, so that the clock may wrap. */
	if ((__s64)(spent - rest) < 0)
		spent = rest;
	if ((__s64)(spent - now) > 0)
		return false;
	l->spent[at] = spent + LIMIT_EACH * m->cpus;
	return true;
}

#endif
