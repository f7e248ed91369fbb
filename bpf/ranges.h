/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Step 2b, for services that have source ranges: may this client reach it at all. Prefixes are user
 * space's business; here is a search in the sorted addresses where the verdict changes, of which
 * those at or below the client's are odd or even in number.
 */
#ifndef POISE_BPF_RANGES_H
#define POISE_BPF_RANGES_H

#include "listener.h"

_Static_assert(2 * (POISE_RANGES_MAX + 1) < 1 << POISE_BOUNDS_STEPS,
	       "a search halves what is left, and one of a service's bounds goes each time");

/* Bounds of a record at or below an address, in host order. */
static __always_inline __u32 ranges_below(const struct poise_service_rec *rec, __u64 high,
					  __u64 low)
{
	__u32 left = rec->bounds & POISE_BOUNDS_COUNT, below = 0;

	for (int i = 0; i < POISE_BOUNDS_STEPS && left; i++) {
		__u32 half = left / 2, at = rec->bounds_at + below + half;
		const struct poise_bound *b = bpf_map_lookup_elem(&bounds, &at);

		if (!b)
			break;
		if (b->high < high || (b->high == high && b->low <= low)) {
			below += half + 1;
			left -= half + 1;
		} else {
			left = half;
		}
	}
	return below;
}

/* A function of its own, so that the rest has no more to carry. The address as it stands in a
 * packet. */
__noinline int ranges_deny(__u32 service, __u32 record, __u64 first, __u64 second)
{
	struct poise_service_rec *rec = service_record(service, record);
	bool deny, turned;

	if (!rec)
		return true;
	deny = rec->bounds & POISE_BOUNDS_DENY;
	turned = ranges_below(rec, __builtin_bswap64(first), __builtin_bswap64(second)) & 1;
	return deny != turned;
}

/* Whether p's client is denied by the service that p is for. */
static __always_inline bool ranges_denied(const struct packet *p,
					  const struct poise_service_rec *rec)
{
	return UNLIKELY(rec->flags & POISE_S_RANGES) &&
	       ranges_deny(p->service, p->record, p->src.q[0], p->src.q[1]);
}

#endif
