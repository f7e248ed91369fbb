/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The way out to a member: its next hop, and the path that leads there.
 */
#ifndef POISE_HOP_H
#define POISE_HOP_H

#include "count.h"
#include "member.h"

struct hop {
	struct poise_path *path;
	__u64 nexthop; /* as struct poise_member's */
};

/* 0, or why there is none. */
static __always_inline answer_t hop_find(const struct poise_member *m, struct hop *hop)
{
	__u32 out;

	hop->nexthop = ONCE(m->nexthop);
	out = hop->nexthop >> 48;
	if (!out) /* none, or not by a path of ours (POISE_NEXTHOP_LOCAL) */
		return DROP(NO_NEXT_HOP);
	hop->path = bpf_map_lookup_elem(&paths, &out);
	return hop->path ? 0 : DROP(BROKEN);
}

/* The frame, written for this way, leaves; XDP_*. */
static __always_inline int hop_leave(struct xdp_md *ctx, const struct hop *hop, __u32 service)
{
	if (LIKELY(hop->path->ifindex == ctx->ingress_ifindex))
		return XDP_TX;
	if (bpf_redirect_map(&devmap, hop->nexthop >> 48, XDP_DROP) == XDP_REDIRECT)
		return XDP_REDIRECT;
	return drop(service, DROP(BROKEN));
}

#endif
