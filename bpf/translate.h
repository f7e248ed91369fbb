/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A packet becomes one of other addresses and ports, and, where these are of the other family, of
 * another header (RFC 7915): then options and extension headers are left behind, and an IPv4 header
 * says that it must not be fragmented, so that 0 will do for its number (RFC 6864). One hop fewer,
 * every checksum repaired and none worked out anew, so that what came broken stays broken; but that
 * of UDP over IPv4 that has none has to be made for IPv6.
 */
#ifndef POISE_TRANSLATE_H
#define POISE_TRANSLATE_H

#include "frame.h"
#include "outer.h"
#include "rewrite.h"
#include "sum.h"

/* Bytes of the IP header with its options or extension headers; 0: it is not to be had. */
static __always_inline __u32 translate_header(struct xdp_md *ctx, const struct packet *p)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ipv6hdr *ip6 = data + p->l3;
	struct iphdr *ip = data + p->l3;
	__u32 found;

	if (!p->v6)
		return (void *)(ip + 1) > end ? 0 : ip->ihl * 4;
	if ((void *)(ip6 + 1) > end)
		return 0;
	if (LIKELY(ip6->nexthdr == p->proto))
		return sizeof(*ip6);
	found = parse_extensions(ctx, p->l3 + sizeof(*ip6), ip6->nexthdr) & 0x7ff;
	return found > p->l3 ? found - p->l3 : 0;
}

/* The same header with other addresses. */
static __always_inline bool translate_ip(struct xdp_md *ctx, const struct packet *p, __u32 l3,
					 const struct rewrite *is)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ipv6hdr *ip6 = data + l3;
	struct iphdr *ip = data + l3;
	__u16 *pair = (void *)&ip->ttl; /* TTL and protocol: one word of the checksum */
	__u64 change;

	if (p->v6) {
		if ((void *)(ip6 + 1) > end)
			return false;
		__builtin_memcpy(&ip6->saddr, &is->src, sizeof(is->src));
		__builtin_memcpy(&ip6->daddr, &is->dst, sizeof(is->dst));
		ip6->hop_limit = p->ttl - 1;
		return true;
	}
	if ((void *)(ip + 1) > end)
		return false;
	change = (__u64)(__u32)~ip->saddr + (__u32)~ip->daddr + (__u16) ~*pair;
	ip->saddr = is->src.w[3];
	ip->daddr = is->dst.w[3];
	ip->ttl = p->ttl - 1;
	change += (__u64)ip->saddr + ip->daddr + *pair;
	ip->check = rewrite_check(ip->check, change);
	return true;
}

static __always_inline bool translate_to6(struct xdp_md *ctx, const struct packet *p, __u32 l3,
					  __u32 payload, const struct rewrite *is)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct outer6 *o = data + l3;

	if ((void *)(o + 1) > end)
		return false;
	o->head = bpf_htonl(6u << 28 | p->tos << 20);
	o->rest = bpf_htonl(payload << 16 | p->proto << 8 | (p->ttl - 1));
	for (int i = 0; i < 4; i++) {
		o->src[i] = is->src.w[i];
		o->dst[i] = is->dst.w[i];
	}
	return true;
}

static __always_inline bool translate_to4(struct xdp_md *ctx, const struct packet *p, __u32 l3,
					  __u32 payload, const struct rewrite *is)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct outer4 *o = data + l3;
	__u64 sum;

	if ((void *)(o + 1) > end)
		return false;
	o->head = bpf_htonl(0x45000000 | p->tos << 16 | (payload + sizeof(*o)));
	o->id = 0;
	o->flags = bpf_htons(IP4_DF);
	o->ttl = p->ttl - 1;
	o->proto = p->proto;
	o->src = is->src.w[3];
	o->dst = is->dst.w[3];
	sum = (__u64)o->head + o->flags + o->src + o->dst;
	sum += bpf_htons((p->ttl - 1) << 8 | p->proto);
	o->check = ~checksum_fold(sum);
	return true;
}

/* Ports and checksum of the transport header at l4. */
static __always_inline bool translate_l4(struct xdp_md *ctx, const struct packet *p, __u32 l4,
					 __u64 change, const struct rewrite *is)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct tcphdr *tcp;
	struct udphdr *udp;

	BOUND(l4, 0x7ff);
	tcp = data + l4;
	udp = data + l4;
	if (p->proto == IPPROTO_TCP) {
		if ((void *)(tcp + 1) > end)
			return false;
		*(__u32 *)(void *)tcp = is->ports;
		tcp->check = rewrite_check(tcp->check, change);
		return true;
	}
	if ((void *)(udp + 1) > end)
		return false;
	*(__u32 *)(void *)udp = is->ports;
	if (udp->check)
		udp->check = rewrite_check_udp(udp->check, change);
	return true;
}

/* Has UDP over IPv4, its header at l4, no checksum? */
static __always_inline bool translate_lacks_sum(struct xdp_md *ctx, const struct packet *p,
						__u32 l4)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct udphdr *udp;

	if (p->v6 || p->proto != IPPROTO_UDP)
		return false;
	BOUND(l4, 0x7ff);
	udp = data + l4;
	return (void *)(udp + 1) <= end && !udp->check;
}

/* p, found whole by parse(), becomes what `is` says and leaves by this path; 0, or why not. sums:
 * the caller makes the checksum that IPv6 wants and IPv4 did not have (translate_sum); else such a
 * packet stays as it is. */
static __always_inline answer_t translate(struct xdp_md *ctx, const struct packet *p,
					  const struct poise_path *path, __u64 nexthop,
					  const struct rewrite *is, bool sums)
{
	const struct rewrite was = {.src = p->src, .dst = p->dst, .ports = p->ports, .six = p->v6};
	__be16 type = is->six ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	__u32 header = translate_header(ctx, p), becomes = header, payload, l3;
	answer_t failed;
	bool done;

	if (!header || header > p->length)
		return DROP(BROKEN);
	if (!sums && is->six && translate_lacks_sum(ctx, p, p->l3 + header))
		return DROP(UNSUPPORTED);
	payload = p->length - header;
	if (is->six != p->v6)
		becomes = is->six ? sizeof(struct outer6) : sizeof(struct outer4);
	if (path->mtu && payload + becomes > path->mtu && !frame_is_many(p->length))
		return DROP_TOO_BIG(path->mtu + header - becomes);
	failed = frame_open(ctx, p, path, nexthop, becomes - header, type, &l3);
	if (failed)
		return failed;
	if (is->six == p->v6)
		done = translate_ip(ctx, p, l3, is);
	else if (is->six)
		done = translate_to6(ctx, p, l3, payload, is);
	else
		done = translate_to4(ctx, p, l3, payload, is);
	if (!done || !translate_l4(ctx, p, l3 + becomes, rewrite_change(&was, is), is))
		return DROP(BROKEN);
	return 0;
}

/* UDP over IPv6 without a checksum gets one. Reads the packet again, and all of it. */
__noinline int translate_sum(struct xdp_md *ctx)
{
	void *data, *end;
	struct packet p = {};
	struct udphdr *udp;
	__u32 l4, bytes;
	__u64 sum;

	if (!parse(ctx, &p) || !p.v6 || p.proto != IPPROTO_UDP)
		return 0;
	bytes = p.length - sizeof(struct ipv6hdr);
	l4 = p.l3 + sizeof(struct ipv6hdr); /* translated, it has no other header */
	sum = sum_xdp(ctx, l4, bytes) + bpf_htonl(bytes) + bpf_htonl(IPPROTO_UDP) +
	      rewrite_sum(&p.src, true) + rewrite_sum(&p.dst, true);
	BOUND(l4, 0x7ff);
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	udp = data + l4;
	if ((void *)(udp + 1) > end || udp->check)
		return 0;
	udp->check = ~checksum_fold(sum);
	if (!udp->check)
		udp->check = 0xffff;
	return 0;
}

#endif
