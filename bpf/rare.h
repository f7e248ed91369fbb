/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What parse() refused: no whole packet of TCP or UDP. Nearly all of it is for nobody here, the
 * rest has a step of its own for each kind. A function of its own, which begins anew: it must not
 * keep the fast path's packet out of the registers.
 */
#ifndef POISE_RARE_H
#define POISE_RARE_H

#include "icmp.h"

/* The verdict. */
__noinline int rare(struct xdp_md *ctx)
{
	struct packet p = {};
	__be16 type = parse_link(ctx, &p);
	__u32 l4;

	if (type == bpf_htons(ETH_P_IP)) {
		if (!parse_ip4(ctx, &p, &l4, true))
			return XDP_PASS;
	} else if (type != bpf_htons(ETH_P_IPV6) || !parse_ip6(ctx, &p, &l4)) {
		return XDP_PASS;
	}
	if (p.proto == (p.v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP))
		return icmp_error(ctx, &p, l4);
	return XDP_PASS;
}

#endif
