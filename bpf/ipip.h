/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mode ipip: the packet inside another of the backend's family: 4in4 (RFC 2003), 6in6 and 4in6 (RFC
 * 2473), 6in4 (RFC 4213).
 */
#ifndef POISE_IPIP_H
#define POISE_IPIP_H

#include "outer.h"

static __always_inline answer_t ipip_forward(struct xdp_md *ctx, const struct packet *p,
					     const struct poise_member *m,
					     const struct poise_path *path, __u64 nexthop)
{
	__u32 l3;

	return outer(ctx, p, m, path, nexthop, 0, p->v6 ? IPPROTO_IPV6 : IPPROTO_IPIP, &l3);
}

#endif
