/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A packet that is to be answered, and what every answer has in common: the frame turned round and
 * an IP header from whom the packet was sent to.
 */
#ifndef POISE_ASKED_H
#define POISE_ASKED_H

#include "checksum.h"
#include "frame.h"
#include "limit.h"
#include "ipip.h"

#define ANSWER_TTL 64

/* Offsets, as the verifier is to know them: 22 bytes of link header; 512 of extensions. */
#define ASKED_L3 0x1f
#define ASKED_L4 0x7ff

/* A packet for answer(): where its IP packet begins, and its length. */
#define ASKED(p) ((__u32)(p)->length << 16 | (p)->l3)

struct asked {
	union poise_addr src; /* IPv4: the last word alone */
	union poise_addr dst;
	__u32 l3;
	__u32 l4;
	__u32 length; /* of the IP packet */
	__u8 v6;
	__u8 proto;
	__u8 df;
	__u8 flags; /* TCP from here on */
	__u32 ports;
	__u32 seq; /* host order */
	__be32 ack;
	__s32 payload;
};

/* The link header's half-words, with room for all tags. */
#define LINK_HALVES ((ETH_HLEN + POISE_PATH_MAX_VLANS * sizeof(struct vlan_tag)) / 2)

struct link {
	__u16 half[LINK_HALVES];
};

static __always_inline bool link_read(struct xdp_md *ctx, struct link *l)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u16 *half = data;

	if ((void *)(half + LINK_HALVES) > end)
		return false;
	for (__u32 i = 0; i < LINK_HALVES; i++)
		l->half[i] = half[i];
	return true;
}

/* Back to whom it came from. What is behind a shorter link header is written over next. */
static __always_inline bool link_write(struct xdp_md *ctx, const struct link *l)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u16 *half = data;

	if ((void *)(half + LINK_HALVES) > end)
		return false;
	for (int i = 0; i < 3; i++) {
		half[i] = l->half[i + 3];
		half[i + 3] = l->half[i];
	}
	for (__u32 i = 6; i < LINK_HALVES; i++)
		half[i] = l->half[i];
	return true;
}

/* Keeps so many bytes of the IP packet, makes room for `extra` in front of it, and turns the link
 * header round. */
static __always_inline bool asked_turn(struct xdp_md *ctx, const struct asked *a, __u32 keep,
				       __u32 extra)
{
	struct link l;

	return link_read(ctx, &l) && !frame_trim(ctx, a->l3 + keep) &&
	       (!extra || !bpf_xdp_adjust_head(ctx, -(int)extra)) && link_write(ctx, &l);
}

static __always_inline void asked_ip4(const struct asked *a, struct outer4 *o, __u32 proto,
				      __u32 tos, __u32 bytes)
{
	__u64 sum;

	/* Not to be fragmented, so that 0 will do for a number (RFC 6864). */
	o->head = bpf_htonl(0x45000000 | tos << 16 | (sizeof(*o) + bytes));
	o->id = 0;
	o->flags = bpf_htons(IP4_DF);
	o->ttl = ANSWER_TTL;
	o->proto = proto;
	o->src = a->dst.w[3];
	o->dst = a->src.w[3];
	sum = (__u64)o->head + o->flags + bpf_htons(ANSWER_TTL << 8 | proto);
	sum += (__u64)a->src.w[3] + a->dst.w[3];
	o->check = ~checksum_fold(sum);
}

static __always_inline void asked_ip6(const struct asked *a, struct outer6 *o, __u32 next,
				      __u32 bytes)
{
	o->head = bpf_htonl(6u << 28);
	o->rest = bpf_htonl(bytes << 16 | next << 8 | ANSWER_TTL);
	for (int i = 0; i < 4; i++) {
		o->src[i] = a->dst.w[i];
		o->dst[i] = a->src.w[i];
	}
}

/* The pseudo header's part of a checksum. */
static __always_inline __u64 asked_pseudo(const struct asked *a, __u32 proto, __u32 bytes)
{
	__u64 sum = bpf_htonl(bytes) + (__u64)bpf_htonl(proto);

	sum += (__u64)a->src.w[3] + a->dst.w[3];
	if (a->v6)
		for (int i = 0; i < 3; i++)
			sum += (__u64)a->src.w[i] + a->dst.w[i];
	return sum;
}

#endif
