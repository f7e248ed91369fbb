/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ICMP errors about a packet that is not forwarded, or got lost behind us (relay.h): port or host
 * unreachable, time exceeded, too big (RFC 792, RFC 4443). The packet moves back and becomes the
 * quotation, as much of it as fits into 576 bytes (RFC 1812, 4.3.2.3) or 1280.
 */
#ifndef POISE_ANSWER_ICMP_H
#define POISE_ANSWER_ICMP_H

#include "asked.h"

#define ERROR_BYTES	8   /* of header */
#define ERROR4_TOTAL	576 /* of the whole answer */
#define ERROR6_TOTAL	1280
#define ERROR4_TOS	0xc0 /* internetwork control (RFC 1812, 4.3.2.5) */
#define ERROR4_MTU_MIN	68   /* RFC 1191, section 3: no path is narrower */
#define ERROR6_MTU_MIN	1280 /* RFC 8200, section 5, likewise */
#define ERROR_SUM_WORDS ((ERROR6_TOTAL - sizeof(struct outer6)) / 4)

struct answer_error {
	__be16 type; /* and code */
	__u16 check;
	__be32 rest; /* the MTU, where there is one to be told */
};

/* The sum of n bytes from `at` on, folded but not turned over; 0xffffffff: out of bounds. */
__noinline __u32 answer_sum(struct xdp_md *ctx, __u32 at, __u32 n)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 words = n / 4, rest = n & 3, word = 0;
	__u64 sum = 0;

	BOUND(at, 0x7f);
	for (__u32 i = 0; i < ERROR_SUM_WORDS && i < words; i++) {
		__u32 *w = data + at + i * 4;

		if ((void *)(w + 1) > end)
			return ~0u;
		sum += *w;
	}
	at += words * 4;
	for (__u32 i = 0; i < 3 && i < rest; i++) {
		__u32 offset = at + i;
		__u8 *byte;

		BOUND(offset, 0x7ff);
		byte = data + offset;
		if ((void *)(byte + 1) > end)
			return ~0u;
		word |= (__u32)*byte << 8 * i;
	}
	return checksum_fold(sum + word);
}

/* Whether it is the protocol that nobody here knows. */
static __always_inline bool answer_protocol(const struct asked *a, __u32 reason)
{
	return reason == POISE_R_NO_LISTENER && a->proto != IPPROTO_UDP;
}

static __always_inline void answer_fill4(struct answer_error *e, const struct asked *a,
					 __u32 reason, __u32 mtu)
{
	e->type = bpf_htons(3 << 8 | 3); /* unreachable: port */
	e->rest = 0;
	if (answer_protocol(a, reason))
		e->type = bpf_htons(3 << 8 | 2); /* unreachable: protocol */
	if (reason == POISE_R_NO_NEXT_HOP)
		e->type = bpf_htons(3 << 8 | 1); /* unreachable: host */
	if (reason == POISE_R_TTL)
		e->type = bpf_htons(11 << 8); /* time exceeded in transit */
	if (reason == POISE_R_TOO_BIG) {
		e->type = bpf_htons(3 << 8 | 4); /* unreachable: fragmentation needed */
		e->rest = bpf_htonl(mtu > ERROR4_MTU_MIN ? mtu : ERROR4_MTU_MIN);
	}
}

static __always_inline void answer_fill6(struct answer_error *e, const struct asked *a,
					 __u32 reason, __u32 mtu)
{
	e->type = bpf_htons(1 << 8 | 4); /* unreachable: port */
	e->rest = 0;
	if (answer_protocol(a, reason)) {
		e->type = bpf_htons(4 << 8 | 1); /* parameter problem: next header unknown, */
		e->rest = bpf_htonl(offsetof(struct ipv6hdr, nexthdr));
	}
	if (reason == POISE_R_NO_NEXT_HOP)
		e->type = bpf_htons(1 << 8 | 3); /* unreachable: address */
	if (reason == POISE_R_TTL)
		e->type = bpf_htons(3 << 8); /* time exceeded in transit */
	if (reason == POISE_R_TOO_BIG) {
		e->type = bpf_htons(2 << 8);
		e->rest = bpf_htonl(mtu > ERROR6_MTU_MIN ? mtu : ERROR6_MTU_MIN);
	}
}

static __always_inline struct answer_error *
answer_headers(struct xdp_md *ctx, const struct asked *a, answer_t why, __u32 bytes)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 l3 = a->l3;
	struct answer_error *e;

	BOUND(l3, ASKED_L3);
	if (a->v6) {
		struct outer6 *o = data + l3;

		e = (void *)(o + 1);
		if ((void *)(e + 1) > end)
			return NULL;
		asked_ip6(a, o, IPPROTO_ICMPV6, bytes);
		answer_fill6(e, a, DROP_REASON(why), DROP_MTU(why));
	} else {
		struct outer4 *o = data + l3;

		e = (void *)(o + 1);
		if ((void *)(e + 1) > end)
			return NULL;
		asked_ip4(a, o, IPPROTO_ICMP, ERROR4_TOS, bytes, ASKED_WHOLE);
		answer_fill4(e, a, DROP_REASON(why), DROP_MTU(why));
	}
	e->check = 0;
	return e;
}

/* 0, or not to be had. */
__noinline int answer_icmp(struct xdp_md *ctx, struct asked *a, answer_t why)
{
	__u32 header, bytes, room, sum;
	struct answer_error *e;

	if (!a)
		return -1;
	header = a->v6 ? sizeof(struct outer6) : sizeof(struct outer4);
	room = (a->v6 ? ERROR6_TOTAL : ERROR4_TOTAL) - header - ERROR_BYTES;
	bytes = a->length < room ? a->length : room;
	if (!asked_turn(ctx, a, bytes, header + ERROR_BYTES))
		return -1;
	bytes += ERROR_BYTES;
	e = answer_headers(ctx, a, why, bytes);
	if (!e)
		return -1;
	sum = answer_sum(ctx, a->l3 + header, bytes);
	if (sum > 0xffff)
		return -1;
	e->check = ~checksum_fold(sum + (a->v6 ? asked_pseudo(a, IPPROTO_ICMPV6, bytes) : 0));
	return 0;
}

#endif
