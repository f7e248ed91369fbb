/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An echo request becomes its reply where it stands (RFC 792, RFC 4443 section 4.2): back to where
 * it came from, from the address that was asked, with a TTL of its own. The checksum changes by
 * what the type does, so that a request that came broken is a broken reply and never a whole one.
 *
 * IPv4 options and IPv6 extension headers are left out. Number and DF are the request's: its
 * sender chose whether it may be fragmented, and gives no number twice.
 *
 * There is no limit: an answer for a question, and no larger.
 */
#ifndef POISE_ECHO_H
#define POISE_ECHO_H

#include "answer.h"

#define ECHO_REQUEST4 bpf_htons(8 << 8) /* type and code */
#define ECHO_REPLY4   0
#define ECHO_REQUEST6 bpf_htons(128 << 8)
#define ECHO_REPLY6   bpf_htons(129 << 8)
#define ECHO_DSCP     0xfc /* of TOS or traffic class; no congestion to tell of (RFC 3168, 5) */

struct echo {
	__be16 type;
	__u16 check;
	__u32 id; /* and sequence number */
};

static __always_inline struct echo *echo_at(struct xdp_md *ctx, __u32 at)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct echo *e;

	BOUND(at, ASKED_L4);
	e = data + at;
	return (void *)(e + 1) > end ? NULL : e;
}

static __always_inline bool echo_asks(struct xdp_md *ctx, const struct packet *p, __u32 l4)
{
	struct echo *e = echo_at(ctx, l4);

	return e && l4 + sizeof(*e) <= p->l3 + p->length &&
	       e->type == (p->v6 ? ECHO_REQUEST6 : ECHO_REQUEST4);
}

/* The first two words of an IP header. */
static __always_inline bool echo_words(struct xdp_md *ctx, __u32 l3, __u32 words[2])
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 *word;

	BOUND(l3, ASKED_L3);
	word = data + l3;
	if ((void *)(word + 2) > end)
		return false;
	words[0] = word[0];
	words[1] = word[1];
	return true;
}

/* The IP header, right before the message. */
static __always_inline bool echo_header(struct xdp_md *ctx, const struct asked *a,
					const __u32 asked[2], __u32 bytes)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 l3 = a->l3;

	BOUND(l3, ASKED_L3);
	if (a->v6) {
		struct outer6 *o = data + l3;

		if ((void *)(o + 1) > end)
			return false;
		asked_ip6(a, o, IPPROTO_ICMPV6, bytes);
		o->head |= asked[0] & bpf_htonl(ECHO_DSCP << 20);
	} else {
		struct outer4 *o = data + l3;

		if ((void *)(o + 1) > end)
			return false;
		asked_ip4(a, o, IPPROTO_ICMP, asked[0] >> 8 & ECHO_DSCP, bytes,
			  asked[1] & (0xffff | bpf_htons(IP4_DF) << 16));
	}
	return true;
}

/* All words 0 but for the sum: only ones will do for it. Elsewhere they do as well as zeroes. */
static __always_inline __u16 echo_check(__u16 check, bool v6)
{
	check = v6 ? checksum_repair(check, ECHO_REQUEST6, ECHO_REPLY6)
		   : checksum_repair(check, ECHO_REQUEST4, ECHO_REPLY4);
	return check ? check : 0xffff;
}

/* Answers a whole request; XDP_*. where: ASKED(). */
__noinline int echo(struct xdp_md *ctx, __u32 service, __u32 where)
{
	struct asked a = {.l3 = where & ASKED_L3, .length = where >> 16};
	__u32 words[2], header, before;
	struct echo *e;

	if (!answer_read_ip(ctx, &a) || !echo_words(ctx, a.l3, words))
		return drop(service, DROP(NO_ECHO));
	header = a.v6 ? sizeof(struct outer6) : sizeof(struct outer4);
	before = a.l4 - a.l3;
	if (before < header || before + sizeof(*e) > a.length ||
	    !asked_turn(ctx, &a, a.length, header - before) ||
	    !echo_header(ctx, &a, words, a.length - before))
		return drop(service, DROP(NO_ECHO));
	e = echo_at(ctx, a.l3 + header);
	if (!e)
		return drop(service, DROP(NO_ECHO));
	e->type = a.v6 ? ECHO_REPLY6 : ECHO_REPLY4;
	e->check = echo_check(e->check, a.v6);
	count_reason(service, POISE_R_ECHO);
	return XDP_TX;
}

#endif
