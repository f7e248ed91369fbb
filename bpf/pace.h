/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many new flows a second a service takes. The bucket is one number as in limit.h, the time up
 * to which its tokens are spent, but one for all CPUs: shares of each CPU would give a service
 * whose packets come by one of them that share alone. New flows alone take from it, and one that is
 * refused only reads it, so that CPUs do not fight for its line under a flood.
 *
 * The clock is the jiffies', which costs nothing and ticks every 1 to 10 ms. What is due between
 * two ticks is therefore taken at the later one: a bucket always holds a tick's worth beside its
 * burst, or else that would be lost and the rate be too low.
 */
#ifndef POISE_PACE_H
#define POISE_PACE_H

#include "limit.h"
#include "listener.h"

/* A line for each service, so that their CPUs do not wait for each other's. */
struct pace {
	__u64 spent;
	__u64 spare[7];
};

/* Not pinned: a new program begins with full buckets. [service] */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pace);
} paces SEC(".maps");

/* What a flow takes, a time: rounded to nearest, so that 10,000,000 a second are right to 0.2 %. */
static __always_inline __u64 pace_each(const struct poise_service_rec *rec)
{
	return (LIMIT_SECOND + rec->rate / 2) / rec->rate;
}

static __always_inline struct pace *pace_get(__u32 service)
{
	/* On the stack, where 6.1 wants keys to be, and not in the flow. */
	BARRIER(service);
	return bpf_map_lookup_elem(&paces, &service);
}

/* May one more flow begin? Then it has taken what is its own from the service's rate. */
__noinline int pace_take(struct flow *f)
{
	struct poise_service_rec *rec;
	__u64 each, now, rest, spent;
	struct pace *p;

	if (!f)
		return true;
	rec = service_record(f->service, f->record);
	p = pace_get(f->service);
	if (!rec || !p)
		return true;
	each = pace_each(rec);
	now = bpf_jiffies64() * poise_jiffies_mult;
	rest = now - poise_jiffies_mult - (rec->burst - 1ull) * each;
	spent = ONCE(p->spent);
	if (limit_before(now, spent))
		return false;
	/* Who loses this race has lost it to another that did the same. */
	if (limit_before(spent, rest))
		__sync_bool_compare_and_swap(&p->spent, spent, rest);
	spent = __sync_fetch_and_add(&p->spent, each);
	if (limit_before(now, spent)) {
		__sync_fetch_and_add(&p->spent, -each);
		return false;
	}
	f->has |= FLOW_PACED;
	return true;
}

/* The flow did not begin: it gives back what it took. */
__noinline int pace_return(struct flow *f)
{
	struct poise_service_rec *rec;
	struct pace *p;

	if (!f)
		return 0;
	rec = service_record(f->service, f->record);
	p = pace_get(f->service);
	if (rec && p)
		__sync_fetch_and_add(&p->spent, -pace_each(rec));
	return 0;
}

#endif
