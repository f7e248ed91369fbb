/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Members as packets see them, and the two questions asked of one: may it be chosen, and does a
 * flow that is bound to it go on there.
 */
#ifndef POISE_MEMBER_H
#define POISE_MEMBER_H

#include "packet.h"

static __always_inline struct poise_member *member_get(__u32 id)
{
	return bpf_map_lookup_elem(&members, &id);
}

/* Chosen for new flows: this service's, at most at its rung, with a next hop. */
static __always_inline bool member_usable(const struct poise_member *m, __u32 service, __u32 rung)
{
	return m && m->service == service && (ONCE(m->live) & POISE_L_RANK) <= rung &&
	       ONCE(m->nexthop);
}

/* A flow bound to it goes on, whatever new flows do. */
static __always_inline bool member_keeps(const struct poise_member *m, __u32 service, bool udp)
{
	__u32 flag = udp ? POISE_L_HIT_UDP : POISE_L_HIT_TCP;

	return m && m->service == service && (ONCE(m->live) & flag);
}

/* Else it may be that whoever sends for such a flow is to be told that it is over. */
static __always_inline bool member_resets(const struct poise_member *m, __u32 service)
{
	return m && m->service == service && (ONCE(m->live) & POISE_L_RESET);
}

static __always_inline bool member_fades(const struct poise_member *m)
{
	return m && (ONCE(m->live) & POISE_L_FADING);
}

/* The id of an ordinal beyond the first extent; 0 if there is none. */
static __noinline __u32 member_of_later_extent(struct poise_service_rec *rec, __u32 ordinal)
{
	for (int i = 0; i < POISE_EXTENTS; i++) {
		if (i >= rec->extents)
			return 0;
		if (ordinal < rec->extent[i].count)
			return rec->extent[i].first + ordinal;
		ordinal -= rec->extent[i].count;
	}
	return 0;
}

static __always_inline __u32 member_of_ordinal(struct poise_service_rec *rec, __u32 ordinal)
{
	if (LIKELY(ordinal < rec->extent[0].count))
		return rec->extent[0].first + ordinal;
	return member_of_later_extent(rec, ordinal);
}

#endif
