/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The outer IP header of the modes that encapsulate, over either family whatever is inside. The
 * inner packet stays as it is; DSCP and ECN are copied out (RFC 6040, normal mode); DF too, and an
 * IPv6 packet, which routers never fragment, sets it. Between the two headers there may be one of
 * the mode's own (`between` bytes).
 *
 * With entropy the low 16 bits of the outer source address are the flow's hash, so that a receiver
 * that spreads by outer addresses alone uses all its queues; the source then has to be an address
 * with 65,536 neighbours to spare. An outer IPv6 header carries the hash in its flow label anyway
 * (RFC 6438).
 */
#ifndef POISE_OUTER_H
#define POISE_OUTER_H

#include "checksum.h"
#include "frame.h"

#define OUTER_TTL  64
#define IP4_DF	   0x4000
#define FLOW_LABEL 0xfffff

/* Headers as words, in network order. */
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

static __always_inline bool outer_is6(const struct poise_member *m)
{
	return m->flags & POISE_F_V6;
}

static __always_inline __u32 outer_bytes(const struct poise_member *m)
{
	return outer_is6(m) ? sizeof(struct outer6) : sizeof(struct outer4);
}

/* The header in front of `between` bytes and the inner packet, `next` the kind of what follows. */
static __always_inline answer_t outer4_write(struct xdp_md *ctx, const struct packet *p,
					     const struct poise_member *m,
					     const struct poise_path *path, __u32 l3, __u32 between,
					     __u8 next)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct outer4 *o = data + l3;
	const struct iphdr *inner = (void *)(o + 1) + between;
	__be32 src = path->src4;
	__u64 sum;

	if ((void *)(inner + 1) > end)
		return DROP(BROKEN);
	if (m->flags & POISE_F_ENTROPY)
		src = (src & bpf_htonl(0xffff0000)) | bpf_htonl(p->hash & 0xffff);
	o->head = bpf_htonl(0x45000000 | p->tos << 16 | (p->length + between + sizeof(*o)));
	o->id = 0;
	o->flags = bpf_htons(IP4_DF);
	if (!p->v6 && !(inner->frag_off & bpf_htons(IP4_DF))) {
		/* It may be fragmented on its way: the inner number is as unique as ever, or, of
		 * fragments of one packet, number and offset. */
		o->id = inner->id ^ (inner->frag_off & bpf_htons(IP4_FRAGMENT_AFTER));
		o->flags = 0;
	}
	o->ttl = OUTER_TTL;
	o->proto = next;
	o->check = 0;
	o->src = src;
	o->dst = m->addr.w[3];
	sum = (__u64)o->head + o->id + o->flags + (__u32)(o->dst) + (__u64)src;
	sum += bpf_htons(OUTER_TTL << 8 | next);
	o->check = ~checksum_fold(sum);
	return 0;
}

static __always_inline answer_t outer6_write(struct xdp_md *ctx, const struct packet *p,
					     const struct poise_member *m,
					     const struct poise_path *path, __u32 l3, __u32 between,
					     __u32 next)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct outer6 *o = data + l3;

	if ((void *)(o + 1) > end)
		return DROP(BROKEN);
	o->head = bpf_htonl(6u << 28 | p->tos << 20 | (__u32)(p->hash >> 16 & FLOW_LABEL));
	o->rest = bpf_htonl((__u32)(p->length + between) << 16 | next << 8 | OUTER_TTL);
	for (int i = 0; i < 4; i++) {
		o->src[i] = path->src6.w[i];
		o->dst[i] = m->addr.w[i];
	}
	if (m->flags & POISE_F_ENTROPY)
		o->src[3] = (o->src[3] & bpf_htonl(0xffff0000)) | bpf_htonl(p->hash & 0xffff);
	return 0;
}

/* Checks size and sources, makes room, and writes link and IP header; *l3 is where the latter
 * begins. `next` is the kind of what follows it. */
static __always_inline answer_t outer(struct xdp_md *ctx, const struct packet *p,
				      const struct poise_member *m, const struct poise_path *path,
				      __u64 nexthop, __u32 between, __u8 next, __u32 *l3)
{
	bool six = outer_is6(m);
	__u32 extra = outer_bytes(m) + between;
	__be16 type = six ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	answer_t failed;

	if (p->length + extra > path->mtu)
		return frame_too_big(path, extra);
	if (six ? !(path->src6.q[0] | path->src6.q[1]) : !path->src4)
		return DROP(NO_SOURCE);
	failed = frame_open(ctx, p, path, nexthop, extra, type, l3);
	if (failed)
		return failed;
	return six ? outer6_write(ctx, p, m, path, *l3, between, next)
		   : outer4_write(ctx, p, m, path, *l3, between, next);
}

#endif
