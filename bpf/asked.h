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
	__u8 fragment; /* then nothing below is known */
	__u8 flags;    /* TCP from here on */
	__u32 ports;
	__u32 seq; /* host order */
	__be32 ack;
	__s32 payload;
};

/* May its source be answered? Only if that is a single host's address (RFC 1122, 3.2.2; RFC 4443,
 * 2.4). */
static __always_inline bool asked_by_host(const struct asked *a)
{
	__u8 first = a->src.b[12];

	if (!a->v6)
		return first && first != 127 && first < 224 && a->src.w[3] != a->dst.w[3];
	/* ::/64 holds what is unspecified, loopback, or an IPv4 address in disguise. */
	return a->src.b[0] != 0xff && a->src.q[0] &&
	       (a->src.q[0] != a->dst.q[0] || a->src.q[1] != a->dst.q[1]);
}

/* What of its source the limit of answers goes by. */
static __always_inline __u64 asked_source(const struct asked *a)
{
	return a->v6 ? a->src.q[0] : a->src.w[3];
}

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

/* Writes so many bytes of it: 14, 18 or all 22. */
static __always_inline bool link_write(struct xdp_md *ctx, const struct link *l, __u32 bytes)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u16 *half = data;

	if ((void *)(half + LINK_HALVES) > end)
		return false;
	for (int i = 0; i < 7; i++)
		half[i] = l->half[i];
	if (bytes > 14) {
		half[7] = l->half[7];
		half[8] = l->half[8];
	}
	if (bytes > 18) {
		half[9] = l->half[9];
		half[10] = l->half[10];
	}
	return true;
}

/* Back to whom it came from. */
static __always_inline void link_turn(struct link *l)
{
	for (int i = 0; i < 3; i++) {
		__u16 half = l->half[i];

		l->half[i] = l->half[i + 3];
		l->half[i + 3] = half;
	}
}

/* Keeps so many bytes of the IP packet, makes room for `extra` in front of it, and turns the link
 * header round. */
static __always_inline bool asked_turn(struct xdp_md *ctx, const struct asked *a, __u32 keep,
				       __u32 extra)
{
	struct link l;

	if (!link_read(ctx, &l))
		return false;
	link_turn(&l);
	return !frame_trim(ctx, a->l3 + keep) &&
	       (!extra || !bpf_xdp_adjust_head(ctx, -(int)extra)) && link_write(ctx, &l, a->l3);
}

/* Not to be fragmented, so that 0 will do for a number (RFC 6864). */
#define ASKED_WHOLE ((__u32)bpf_htons(IP4_DF) << 16)

/* number: the header's second word, with flags. */
static __always_inline void asked_ip4(const struct asked *a, struct outer4 *o, __u32 proto,
				      __u32 tos, __u32 bytes, __u32 number)
{
	__u64 sum;

	o->head = bpf_htonl(0x45000000 | tos << 16 | (sizeof(*o) + bytes));
	o->id = number;
	o->flags = number >> 16;
	o->ttl = ANSWER_TTL;
	o->proto = proto;
	o->src = a->dst.w[3];
	o->dst = a->src.w[3];
	sum = (__u64)o->head + number + bpf_htons(ANSWER_TTL << 8 | proto);
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
