/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is counted: a line per member and CPU, and per service the reasons for drops. Gauges are
 * changed by atomic additions, since a packet may interrupt the sweeper on its CPU; packets and
 * bytes only ever by packets.
 */
#ifndef POISE_COUNT_H
#define POISE_COUNT_H

#include "packet.h"

/* This CPU's place of a member in counters. */
static __always_inline __u32 count_place(__u32 member)
{
	return bpf_get_smp_processor_id() * poise_members + member;
}

/* This CPU's loads, of all members: ids are bounded by poise_row_mask. */
static __always_inline struct poise_loads *loads_row(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return row_lookup(&loads, &cpu, poise_row_mask + 1);
}

/* This CPU's counters of a member. */
static __always_inline struct poise_counter *count_line(__u32 member)
{
	__u32 place = count_place(member);

	return bpf_map_lookup_elem(&counters, &place);
}

static __always_inline void count_packet(__u32 member, __u32 bytes)
{
	struct poise_counter *c = count_line(member);

	if (!c)
		return;
	c->packets++;
	c->bytes += bytes;
}

/* signal: enum poise_signal. Only ever by packets, as packets and bytes. */
static __always_inline void count_signal(__u32 member, __u32 signal)
{
	struct poise_counter *c = count_line(member);

	if (c)
		c->signal[signal & (POISE_SIGNALS - 1)]++;
}

/* The count of all CPUs, where there is one (hold.h). */
static __always_inline void count_held(__u32 member, __s32 more)
{
	__u32 *count = word_lookup(&held, member);

	if (count)
		__sync_fetch_and_add(count, more);
}

static __always_inline void count_gauge(__u32 member, bool opened, bool placed)
{
	struct poise_counter *c = count_line(member);
	struct poise_loads *row = loads_row();
	__s32 more = opened ? 1 : -1;
	__u64 before;

	if (!c || !row)
		return;
	before = __sync_fetch_and_add(opened ? &c->opened : &c->closed, 1);
	__sync_fetch_and_add(&row[member & poise_row_mask].own, more);
	if (!(before & POISE_COUNT_HELD))
		more = 0;
	if (UNLIKELY(more - placed))
		count_held(member, more - placed);
}

/* placed: the flow is in the count of all CPUs already. */
static __always_inline void count_opened(__u32 member, bool placed)
{
	count_gauge(member, true, placed);
}

static __always_inline void count_closed(__u32 member)
{
	count_gauge(member, false, false);
}

static __always_inline void count_reason(__u32 service, __u32 reason)
{
	struct poise_drops *d = bpf_map_lookup_elem(&drops, &service);

	if (d && reason < POISE_REASON_SLOTS)
		d->count[reason]++;
}

static __always_inline int drop(__u32 service, answer_t why)
{
	count_reason(service, DROP_REASON(why));
	return XDP_DROP;
}

#endif
