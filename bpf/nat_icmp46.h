/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ICMP errors between families (RFC 7915, sections 4.2 and 5.2), of mode nat: both IP headers
 * become those of the other, types and codes what comes nearest. What is behind the quoted header
 * stays, but for its ports and checksum, and what it adds up to follows from the old checksum.
 * Quotes with options or extension headers are not translated, nor is what points into a header.
 */
#ifndef POISE_NAT_ICMP46_H
#define POISE_NAT_ICMP46_H

#include "nat_icmp.h"

#define MTU_GROWS 20   /* an IPv6 header's bytes more than an IPv4 header's */
#define MTU_LEAST 1280 /* of IPv6 */
#define MTU_MOST  0xffff

/* An ICMP header, its checksum aside. */
struct icmp_head {
	__u8 type;
	__u8 code;
	__u32 rest; /* host order */
};

/* Of ICMP over IPv4: unreachable and the codes of it, as bits, that become no route and prohibited;
 * all others are drawn up one by one. */
#define UNREACH4_NO_ROUTE                                                                          \
	(1u << 0 | 1u << 1 | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 8 | 1u << 11 | 1u << 12)
#define UNREACH4_PROHIBITED (1u << 9 | 1u << 10 | 1u << 13 | 1u << 15)

static __always_inline bool icmp_to6(struct icmp_head *h)
{
	__u32 mtu = h->rest & 0xffff, code = h->code & 31;

	if (h->type == 11) {
		*h = (struct icmp_head){3, h->code, 0};
		return true;
	}
	if (h->type != 3)
		return false;
	if (UNREACH4_NO_ROUTE >> code & 1)
		*h = (struct icmp_head){1, 0, 0};
	else if (UNREACH4_PROHIBITED >> code & 1)
		*h = (struct icmp_head){1, 1, 0};
	else if (code == 2) /* protocol: the next header is not known */
		*h = (struct icmp_head){4, 1, 6};
	else if (code == 3)
		*h = (struct icmp_head){1, 4, 0};
	else if (code == 4)
		*h = (struct icmp_head){2, 0,
					mtu + MTU_GROWS < MTU_LEAST ? MTU_LEAST : mtu + MTU_GROWS};
	else
		return false;
	return true;
}

static __always_inline bool icmp_to4(struct icmp_head *h)
{
	__u32 mtu = h->rest > MTU_MOST ? MTU_MOST : h->rest;

	switch (h->type) {
	case 1:
		*h = (struct icmp_head){3, h->code == 1 ? 10 : h->code == 4 ? 3 : 1, 0};
		return true;
	case 2: *h = (struct icmp_head){3, 4, mtu > MTU_GROWS ? mtu - MTU_GROWS : 0}; return true;
	case 3: *h = (struct icmp_head){11, h->code, 0}; return true;
	case 4: *h = (struct icmp_head){3, 2, 0}; return h->code == 1;
	}
	return false;
}

/* The quoted header as it was, and what is kept of it. */
struct icmp_inner {
	__u32 payload; /* bytes behind the header, by its own account */
	__u8 tos;
	__u8 ttl;
	__u8 proto;
	__u64 sum; /* of all its words */
};

static __always_inline bool icmp_read_inner(struct xdp_md *ctx, __u32 at, bool v6,
					    struct icmp_inner *inner)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ipv6hdr *ip6;
	struct iphdr *ip;
	__u32 *word;

	BOUND(at, 0x7ff);
	word = data + at;
	ip = data + at;
	ip6 = data + at;
	inner->sum = 0;
	if (v6) {
		if ((void *)(ip6 + 1) > end)
			return false;
		for (int i = 0; i < 10; i++)
			inner->sum += word[i];
		inner->payload = bpf_ntohs(ip6->payload_len);
		inner->tos = bpf_ntohs(*(__be16 *)(void *)ip6) >> 4;
		inner->ttl = ip6->hop_limit;
		inner->proto = ip6->nexthdr;
		return true;
	}
	if ((void *)(ip + 1) > end)
		return false;
	for (int i = 0; i < 5; i++)
		inner->sum += word[i];
	inner->payload = bpf_ntohs(ip->tot_len) - sizeof(*ip);
	inner->tos = ip->tos;
	inner->ttl = ip->ttl;
	inner->proto = ip->protocol;
	return true;
}

/* Writes the quoted header at `at`, of the other family now; what its words add up to. */
static __always_inline __u64 icmp_write_inner(struct xdp_md *ctx, __u32 at,
					      const struct icmp_inner *inner,
					      const struct rewrite *is)
{
	const struct packet q = {.tos = inner->tos, .ttl = inner->ttl + 1, .proto = inner->proto};
	void *data, *end;
	__u64 sum = 0;
	__u32 *word;

	BOUND(at, 0xff);
	if (is->six ? !translate_to6(ctx, &q, at, inner->payload & 0xffff, is)
		    : !translate_to4(ctx, &q, at, inner->payload & 0xffff, is))
		return 0;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	word = data + at;
	if (is->six) {
		if ((void *)(word + 10) > end)
			return 0;
		for (int i = 0; i < 10; i++)
			sum += word[i];
		return sum;
	}
	if ((void *)(word + 5) > end)
		return 0;
	for (int i = 0; i < 5; i++)
		sum += word[i];
	return sum;
}

/* The ICMP header at `at` as it is, and what everything behind the quoted IP header adds up to. */
static __always_inline bool icmp_read_head(struct xdp_md *ctx, __u32 at, const struct packet *p,
					   __u64 inner, struct icmp_head *h, __u64 *rest)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 bytes = p->l3 + p->length - at;
	__u32 *word;
	__u64 not ;

	BOUND(at, 0x7ff);
	word = data + at;
	if ((void *)(word + 2) > end)
		return false;
	h->type = ((__u8 *)word)[0];
	h->code = ((__u8 *)word)[1];
	h->rest = bpf_ntohl(word[1]);
	/* ~checksum is the sum of all; less what is known of it. */
	not = (word[0] & 0xffff) + (__u64)word[1] + inner;
	if (p->v6)
		not += rewrite_sum(&p->src, true) + rewrite_sum(&p->dst, true) + bpf_htonl(bytes) +
		       bpf_htonl(IPPROTO_ICMPV6);
	*rest = (__u16) ~(word[0] >> 16) + (__u64)(__u16)~checksum_fold(not );
	return true;
}

/* The new ICMP header at `at`, in front of what adds up to `sum`; `bytes` long with all of that. */
static __always_inline bool icmp_write_head(struct xdp_md *ctx, __u32 at, const struct icmp_head *h,
					    __u64 sum, __u32 bytes, const struct rewrite *is)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 *word;

	BOUND(at, 0xff);
	word = data + at;
	if ((void *)(word + 2) > end)
		return false;
	word[0] = h->type | h->code << 8;
	word[1] = bpf_htonl(h->rest);
	sum += word[0] + (__u64)word[1];
	if (is->six)
		sum += rewrite_sum(&is->src, true) + rewrite_sum(&is->dst, true) +
		       bpf_htonl(bytes) + bpf_htonl(IPPROTO_ICMPV6);
	word[0] |= (__u32)(__u16)~checksum_fold(sum) << 16;
	return true;
}

/* A message whose headers are to be written anew. */
struct icmp_cross {
	struct nat_hop hop;
	struct rewrite was; /* of the quote */
	struct icmp_inner inner;
	struct icmp_head head;
	__u64 rest;   /* what is behind the quoted header adds up to */
	__u32 behind; /* how many bytes that is */
	__u32 begins; /* where it begins, from the IP packet's first byte */
	__u32 proto;
};

/* All that is to be known before anything is overwritten; 0, or why it goes nowhere. */
static __always_inline answer_t icmp_cross_read(struct xdp_md *ctx, const struct packet *p,
						__u32 l4, struct icmp_cross *x)
{
	__u32 header = p->v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	__u32 quoted = icmp_quoted(ctx, p, l4, &x->was);

	x->begins = (quoted & 0xffff) - p->l3;
	x->behind = p->length - x->begins;
	x->proto = quoted >> 16;
	if (!quoted || (quoted & 0xffff) != l4 + ICMP_HEADER + header)
		return DROP(UNSUPPORTED);
	if (!icmp_read_inner(ctx, l4 + ICMP_HEADER, p->v6, &x->inner) ||
	    !icmp_read_head(ctx, l4, p, x->inner.sum, &x->head, &x->rest))
		return DROP(BROKEN);
	return (p->v6 ? icmp_to4(&x->head) : icmp_to6(&x->head)) ? 0 : DROP(UNSUPPORTED);
}

static __always_inline answer_t icmp_cross_write(struct xdp_md *ctx, struct packet *p,
						 struct icmp_cross *x)
{
	const struct rewrite *is = &x->hop.is;
	const struct rewrite inner = {.src = is->dst,
				      .dst = is->src,
				      .ports = is->ports >> 16 | is->ports << 16,
				      .six = is->six};
	__u32 header = is->six ? sizeof(struct outer6) : sizeof(struct outer4), l3, payload;
	__be16 type = is->six ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	answer_t failed;
	__u64 sum;

	failed = frame_open(ctx, p, &x->hop.path, x->hop.nexthop,
			    2 * header + ICMP_HEADER - x->begins, type, &l3);
	if (failed)
		return failed;
	payload = ICMP_HEADER + header + x->behind;
	p->proto = is->six ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	BOUND(l3, 0x1f);
	if (is->six ? !translate_to6(ctx, p, l3, payload, is)
		    : !translate_to4(ctx, p, l3, payload, is))
		return DROP(BROKEN);
	sum = x->rest + icmp_write_inner(ctx, l3 + header + ICMP_HEADER, &x->inner, &inner);
	sum += icmp_quote_l4(ctx, l3 + 2 * header + ICMP_HEADER, x->proto, &x->was, &inner);
	return icmp_write_head(ctx, l3 + header, &x->head, sum, payload, is) ? 0 : DROP(BROKEN);
}

/* XDP_*. found: as nat_icmp_send. */
__noinline int nat_icmp_cross(struct xdp_md *ctx, __u32 found)
{
	struct icmp_cross x = {};
	struct packet p = {};
	answer_t failed;
	__u32 l4;

	if (!parse_ip(ctx, &p, &l4))
		return drop(0, DROP(BROKEN));
	failed = nat_hop_find(found, &x.hop);
	if (!failed && p.ttl <= 1)
		failed = DROP(TTL);
	if (!failed)
		failed = icmp_cross_read(ctx, &p, l4, &x);
	if (!failed)
		failed = icmp_cross_write(ctx, &p, &x);
	if (failed)
		return drop(x.hop.service, failed);
	return nat_hop_gone(ctx, &p, &x.hop, POISE_R_ICMP_ERROR);
}

static __always_inline int nat_icmp(struct xdp_md *ctx)
{
	__u32 found = nat_icmp_back(ctx);
	int verdict;

	if (found)
		found |= NAT_BACK;
	else
		found = nat_icmp_forth(ctx);
	if (!found)
		return XDP_DROP;
	verdict = nat_icmp_send(ctx, found);
	return verdict == NAT_ICMP_CROSS ? nat_icmp_cross(ctx, found) : verdict;
}

#endif
