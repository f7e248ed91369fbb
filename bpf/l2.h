/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mode l2: the packet goes to the backend's MAC address as it is, one hop poorer. The backend has
 * the virtual address itself and answers the client directly.
 */
#ifndef POISE_L2_H
#define POISE_L2_H

#include "checksum.h"
#include "frame.h"

static __always_inline answer_t l2_forward(struct xdp_md *ctx, const struct packet *p,
					   const struct poise_member *m,
					   const struct poise_path *path, __u64 nexthop)
{
	__be16 type = p->v6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	void *data, *end;
	answer_t failed;
	__u32 l3;

	(void)m;
	if (p->length > path->mtu)
		return frame_too_big(path, 0);
	failed = frame_open(ctx, p, path, nexthop, 0, type, &l3);
	if (failed)
		return failed;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (p->v6) {
		struct ipv6hdr *ip = data + l3;

		if ((void *)(ip + 1) > end)
			return DROP(BROKEN);
		ip->hop_limit = p->ttl - 1;
	} else {
		struct iphdr *ip = data + l3;
		__u16 *pair = (void *)&ip->ttl; /* TTL and protocol: one word of the checksum */
		__u16 was;

		if ((void *)(ip + 1) > end)
			return DROP(BROKEN);
		was = *pair;
		ip->ttl = p->ttl - 1;
		ip->check = checksum_repair(ip->check, was, *pair);
	}
	return 0;
}

#endif
