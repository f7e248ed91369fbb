/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mode ipip: the packet inside another of the backend's family: 4in4 (RFC 2003), 6in6 and 4in6 (RFC
 * 2473), 6in4 (RFC 4213). The inner packet stays as it is; DSCP and ECN are copied out (RFC 6040,
 * normal mode); DF too, and an IPv6 packet, which routers never fragment, sets it.
 *
 * With entropy the low 16 bits of the outer source address are the flow's hash, so that a receiver
 * that spreads by outer addresses alone uses all its queues; the source then has to be an address
 * with 65,536 neighbours to spare. An outer IPv6 header carries the hash in its flow label anyway
 * (RFC 6438).
 */
#ifndef POISE_IPIP_H
#define POISE_IPIP_H

#include "checksum.h"
#include "frame.h"

#define IPIP_TTL   64
#define IP4_DF	   0x4000
#define FLOW_LABEL 0xfffff

/* The outer header as words, in network order. */
struct outer4 {
	__be32 head; /* version, header length, TOS, total length */
	__be16 id;
	__be16 flags;
	__u8 ttl;
	__u8 proto;
	__u16 check;
	__be32 src;
	__be32 dst;
};

struct outer6 {
	__be32 head; /* version, traffic class, flow label */
	__be32 rest; /* payload length, next header, hop limit */
	__u32 src[4];
	__u32 dst[4];
};

static __always_inline answer_t ipip_outer4(struct xdp_md *ctx, const struct packet *p,
					    const struct poise_member *m,
					    const struct poise_path *path, __u32 l3)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct outer4 *o = data + l3;
	const struct iphdr *inner = (void *)(o + 1);
	__be32 src = path->src4;
	__u64 sum;

	if ((void *)(inner + 1) > end)
		return DROP(BROKEN);
	if (m->flags & POISE_F_ENTROPY)
		src = (src & bpf_htonl(0xffff0000)) | bpf_htonl(p->hash & 0xffff);
	o->head = bpf_htonl(0x45000000 | p->tos << 16 | (p->length + sizeof(*o)));
	o->id = 0;
	o->flags = bpf_htons(IP4_DF);
	if (!p->v6 && !(inner->frag_off & bpf_htons(IP4_DF))) {
		/* It may be fragmented on its way: the inner number is as unique as ever. */
		o->id = inner->id;
		o->flags = 0;
	}
	o->ttl = IPIP_TTL;
	o->proto = p->v6 ? IPPROTO_IPV6 : IPPROTO_IPIP;
	o->check = 0;
	o->src = src;
	o->dst = m->addr.w[3];
	sum = (__u64)o->head + o->id + o->flags + (__u32)(o->dst) + (__u64)src;
	sum += bpf_htons(IPIP_TTL << 8 | o->proto);
	o->check = ~checksum_fold(sum);
	return 0;
}

static __always_inline answer_t ipip_outer6(struct xdp_md *ctx, const struct packet *p,
					    const struct poise_member *m,
					    const struct poise_path *path, __u32 l3)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct outer6 *o = data + l3;
	__u32 next = p->v6 ? IPPROTO_IPV6 : IPPROTO_IPIP;

	if ((void *)(o + 1) > end)
		return DROP(BROKEN);
	o->head = bpf_htonl(6u << 28 | p->tos << 20 | (__u32)(p->hash >> 16 & FLOW_LABEL));
	o->rest = bpf_htonl((__u32)p->length << 16 | next << 8 | IPIP_TTL);
	for (int i = 0; i < 4; i++) {
		o->src[i] = path->src6.w[i];
		o->dst[i] = m->addr.w[i];
	}
	if (m->flags & POISE_F_ENTROPY)
		o->src[3] = (o->src[3] & bpf_htonl(0xffff0000)) | bpf_htonl(p->hash & 0xffff);
	return 0;
}

static __always_inline answer_t ipip_forward(struct xdp_md *ctx, const struct packet *p,
					     const struct poise_member *m,
					     const struct poise_path *path, __u64 nexthop)
{
	bool six = m->flags & POISE_F_V6;
	__u32 extra = six ? sizeof(struct outer6) : sizeof(struct outer4);
	__be16 type = six ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	answer_t failed;
	__u32 l3;

	if (p->length + extra > path->mtu)
		return DROP(TOO_BIG);
	if (six ? !(path->src6.q[0] | path->src6.q[1]) : !path->src4)
		return DROP(NO_SOURCE);
	failed = frame_open(ctx, p, path, nexthop, extra, type, &l3);
	if (failed)
		return failed;
	return six ? ipip_outer6(ctx, p, m, path, l3) : ipip_outer4(ctx, p, m, path, l3);
}

#endif
