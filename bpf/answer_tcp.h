/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection refused: the reset that a host without a listener sends (RFC 9293, 3.5.2). It
 * stands where the packet's own headers were, without options.
 */
#ifndef POISE_ANSWER_TCP_H
#define POISE_ANSWER_TCP_H

#include "asked.h"

struct reset {
	__u32 ports;
	__be32 seq;
	__be32 ack;
	__be16 flags; /* header length and flags */
	__be16 window;
	__u16 check;
	__be16 urgent;
};

/* To what carries an acknowledgement: its number, and none of ours. To what does not: number 0, all
 * of it acknowledged, for else it would be taken for anybody's. */
static __always_inline void reset_fill(struct reset *r, const struct asked *a)
{
	__u32 flags = TCP_RST, end = a->seq + a->payload;
	__u64 sum;

	end += !!(a->flags & TCP_SYN) + !!(a->flags & TCP_FIN);
	r->ports = a->ports << 16 | a->ports >> 16;
	r->seq = a->ack;
	r->ack = 0;
	if (!(a->flags & TCP_ACK)) {
		flags |= TCP_ACK;
		r->seq = 0;
		r->ack = bpf_htonl(end);
	}
	r->flags = bpf_htons(sizeof(*r) / 4 << 12 | flags);
	r->window = 0;
	r->urgent = 0;
	sum = asked_pseudo(a, IPPROTO_TCP, sizeof(*r)) + r->ports + r->seq;
	sum += (__u64)r->ack + r->flags;
	r->check = ~checksum_fold(sum);
}

/* 0, or not to be had. */
__noinline int answer_tcp(struct xdp_md *ctx, struct asked *a)
{
	void *data, *end;
	__u32 header, l3;

	if (!a)
		return -1;
	header = a->v6 ? sizeof(struct outer6) : sizeof(struct outer4);
	if (!asked_turn(ctx, a, header + sizeof(struct reset), 0))
		return -1;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	l3 = a->l3;
	BOUND(l3, ASKED_L3);
	if (a->v6) {
		struct outer6 *o = data + l3;
		struct reset *r = (void *)(o + 1);

		if ((void *)(r + 1) > end)
			return -1;
		asked_ip6(a, o, IPPROTO_TCP, sizeof(*r));
		reset_fill(r, a);
	} else {
		struct outer4 *o = data + l3;
		struct reset *r = (void *)(o + 1);

		if ((void *)(r + 1) > end)
			return -1;
		asked_ip4(a, o, IPPROTO_TCP, 0, sizeof(*r), ASKED_WHOLE);
		reset_fill(r, a);
	}
	return 0;
}

#endif
