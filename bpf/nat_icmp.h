/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mode nat: ICMP errors. What they quote is a packet of ours, translated, so quote and error are
 * translated back: from the client's side an error about an answer becomes one about the backend's
 * own packet, from the backend's side one about a forwarded packet becomes one about the client's.
 * The error is then from us: what routers there are behind a balancer is nobody's business. The
 * flow stays as it is.
 */
#ifndef POISE_NAT_ICMP_H
#define POISE_NAT_ICMP_H

#include "icmp.h"
#include "nat_hop.h"

/* Does this ICMP packet quote one that we sent to a backend? Asked in the pipeline, where it may be
 * the host's. The slot, or 0. */
__noinline __u32 nat_icmp_back(struct xdp_md *ctx)
{
	struct packet p = {};
	__u32 l4;

	if (!slot_range() || !parse_ip(ctx, &p, &l4) ||
	    p.proto != (p.v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP) || !icmp_reverse(ctx, &p, l4))
		return 0;
	return back_find(&p);
}

/* Does it quote one that we sent to a client? The slot; 0, and counted: it goes nowhere. */
__noinline __u32 nat_icmp_forth(struct xdp_md *ctx)
{
	struct scratch *n = scratch_get();
	struct packet p = {};
	__u32 l4, at = 0;
	__u64 hash;

	if (!n || !parse_ip(ctx, &p, &l4) || !icmp_reverse(ctx, &p, l4) || !listener_find(&p))
		return 0;
	n->talk.client = p.src;
	n->talk.address = p.dst;
	n->talk.ports = p.ports;
	n->talk.udp = p.proto == IPPROTO_UDP;
	n->talk.sent = 0;
	hash = poise_flow_hash(&p.src, &p.dst, p.ports, p.proto, poise_key0, poise_key1);
	if (link_find(link_bucket(hash), hash, &n->talk, -1, &at) < 0)
		count_reason(p.service, POISE_R_NO_FLOW);
	return at;
}

/* Writes a half-word; what a checksum over it changes by. */
static __always_inline __u64 icmp_put(__u16 *at, __u16 value)
{
	__u64 change = (__u64)(__u16) ~*at + value;

	*at = value;
	return change;
}

/* The quoted IP header at `at` gets other addresses; what checksums over it change by. */
static __always_inline __u64 icmp_quote_ip(struct xdp_md *ctx, __u32 at, bool v6,
					   const struct rewrite *was, const struct rewrite *is)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u64 change = rewrite_sum_not(&was->src, v6) + rewrite_sum_not(&was->dst, v6) +
		       rewrite_sum(&is->src, v6) + rewrite_sum(&is->dst, v6);
	struct ipv6hdr *ip6;
	struct iphdr *ip;

	BOUND(at, 0x7ff);
	ip = data + at;
	ip6 = data + at;
	if (v6) {
		if ((void *)(ip6 + 1) > end)
			return 0;
		__builtin_memcpy(&ip6->saddr, &is->src, sizeof(is->src));
		__builtin_memcpy(&ip6->daddr, &is->dst, sizeof(is->dst));
		return change;
	}
	if ((void *)(ip + 1) > end)
		return 0;
	ip->saddr = is->src.w[3];
	ip->daddr = is->dst.w[3];
	return change + icmp_put(&ip->check, rewrite_check(ip->check, change));
}

/* The quoted transport header at `at`, of which 8 bytes are there: likewise. */
static __always_inline __u64 icmp_quote_l4(struct xdp_md *ctx, __u32 at, __u32 proto,
					   const struct rewrite *was, const struct rewrite *is)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u64 change = (__u64)(__u32)~was->ports + is->ports;
	struct tcphdr *tcp;
	struct udphdr *udp;

	BOUND(at, 0x7ff);
	udp = data + at;
	tcp = data + at;
	if ((void *)(udp + 1) > end)
		return 0;
	*(__u32 *)(void *)udp = is->ports;
	if (proto == IPPROTO_UDP) {
		if (!udp->check)
			return change;
		return change + icmp_put(&udp->check,
					 rewrite_check_udp(udp->check, rewrite_change(was, is)));
	}
	if ((void *)&tcp->check + sizeof(tcp->check) > end)
		return change;
	return change + icmp_put(&tcp->check, rewrite_check(tcp->check, rewrite_change(was, is)));
}

/* The ICMP message at l4 of p, within its family. */
static __always_inline bool icmp_translate(struct xdp_md *ctx, const struct packet *p, __u32 l4,
					   __u32 quoted, __u32 proto, const struct rewrite *was,
					   const struct rewrite *outer)
{
	const struct rewrite is = {.src = outer->dst,
				   .dst = outer->src,
				   .ports = outer->ports >> 16 | outer->ports << 16,
				   .six = outer->six};
	void *data, *end;
	__u64 change;
	__u16 *check;

	change = icmp_quote_ip(ctx, l4 + ICMP_HEADER, p->v6, was, &is);
	change += icmp_quote_l4(ctx, quoted, proto, was, &is);
	/* ICMPv6 has a pseudo header. */
	if (p->v6)
		change += rewrite_sum_not(&p->src, true) + rewrite_sum_not(&p->dst, true) +
			  rewrite_sum(&outer->src, true) + rewrite_sum(&outer->dst, true);
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	BOUND(l4, 0x7ff);
	check = data + l4 + 2;
	if ((void *)(check + 1) > end)
		return false;
	*check = rewrite_check(*check, change);
	return true;
}

/* What the error quotes: its addresses and ports; the offset of its transport header, its protocol
 * in the high half. */
static __always_inline __u32 icmp_quoted(struct xdp_md *ctx, const struct packet *p, __u32 l4,
					 struct rewrite *was)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 at = l4 + ICMP_HEADER, found, port;

	found = p->v6 ? icmp_quote6(ctx, at) : icmp_quote4(ctx, at);
	if (!found || !icmp_ends(ctx, at, p->v6, &was->src, &was->dst))
		return 0;
	port = found;
	BOUND(port, 0x7ff);
	if (data + port + ICMP_QUOTED > end)
		return 0;
	was->ports = *(__u32 *)(data + port);
	was->six = p->v6;
	return found;
}

/* A verdict beyond all: it is of the other family (nat_icmp46.h). */
#define NAT_ICMP_CROSS 0x100

/* XDP_*, or NAT_ICMP_CROSS. found: a slot, with NAT_BACK. */
__noinline int nat_icmp_send(struct xdp_md *ctx, __u32 found)
{
	struct rewrite was = {};
	struct nat_hop hop = {};
	struct packet p = {};
	__u32 l4, l3, quoted;
	answer_t failed;

	if (!parse_ip(ctx, &p, &l4))
		return drop(0, DROP(BROKEN));
	failed = nat_hop_find(found, &hop);
	if (failed)
		return drop(hop.service, failed);
	quoted = icmp_quoted(ctx, &p, l4, &was);
	if (hop.is.six != p.v6)
		return NAT_ICMP_CROSS;
	if (!quoted)
		return drop(hop.service, DROP(UNSUPPORTED));
	if (p.ttl <= 1)
		return drop(hop.service, DROP(TTL));
	l3 = p.l3;
	failed = hop.local ? 0
			   : frame_open(ctx, &p, &hop.path, hop.nexthop, 0,
					p.v6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP), &l3);
	if (failed)
		return drop(hop.service, failed);
	l4 += l3 - p.l3;
	if (!translate_ip(ctx, &p, l3, &hop.is) ||
	    !icmp_translate(ctx, &p, l4, (quoted & 0xffff) + l3 - p.l3, quoted >> 16, &was,
			    &hop.is))
		return drop(hop.service, DROP(BROKEN));
	return nat_hop_gone(ctx, &p, &hop, POISE_R_ICMP_ERROR);
}

#endif
