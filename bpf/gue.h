/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mode gue: the packet behind a UDP header, Generic UDP Encapsulation variant 1
 * (draft-ietf-intarea-gue, section 4): no header of GUE's own, the first bits of an IP header say
 * the variant and which IP follows. Routers and network cards spread UDP by its ports, so the
 * source port is the flow's hash, in the range of RFC 6335's dynamic ports.
 *
 * The checksum is off unless the service asks for it, also over IPv6 (RFC 6935: what is inside
 * carries checksums of its own). It never takes a look at the payload: what a TCP or UDP header
 * with a right checksum and all behind it add up to is known from its pseudo header, so that
 * everything cancels but a few words (local checksum offload). An inner packet that came with a
 * wrong checksum so gets a wrong one outside. Where the inner packet has none (UDP over IPv4 may),
 * or IPv6 extension headers stand before it, it stays off.
 */
#ifndef POISE_GUE_H
#define POISE_GUE_H

#include "outer.h"

#define GUE_PORT_FIRST 0xc000 /* 49152 */
#define GUE_PORT_MASK  0x3fff

/* Whether a checksum covers all behind the IP header: `length` bytes of kind `proto` at l4. */
static __always_inline bool gue_covers(void *l4, void *end, __u8 proto, __u16 length)
{
	struct udphdr *udp = l4;

	if (proto == IPPROTO_TCP)
		return true;
	return proto == IPPROTO_UDP && (void *)(udp + 1) <= end && udp->check &&
	       bpf_ntohs(udp->len) == length;
}

/* What the inner packet adds up to; 0 if that is not known. */
static __always_inline __u64 gue_inner_sum(void *inner, void *end)
{
	struct iphdr *ip = inner;
	struct ipv6hdr *ip6 = inner;
	const __u32 *word = inner;
	__u32 header;

	if ((void *)(ip + 1) > end)
		return 0;
	if (ip->version == 4) {
		__u16 length = bpf_ntohs(ip->tot_len) - ip->ihl * 4;

		if (ip->frag_off & bpf_htons(IP4_FRAGMENT))
			return 0; /* what its checksum covers is in several packets */
		header = ip->ihl * 4;
		BOUND(header, 0x3c);
		if (!gue_covers(inner + header, end, ip->protocol, length))
			return 0;
		/* The header adds up to nothing, the rest to what its pseudo header lacks. */
		return (__u16)~checksum_fold((__u64)ip->saddr + ip->daddr + bpf_htons(length) +
					     bpf_htons(ip->protocol));
	}
	if ((void *)(ip6 + 1) > end ||
	    !gue_covers(ip6 + 1, end, ip6->nexthdr, bpf_ntohs(ip6->payload_len)))
		return 0;
	/* Likewise, but the addresses in header and pseudo header cancel. */
	return (__u64)word[0] + word[1] +
	       (__u16)~checksum_fold((__u64)ip6->payload_len + bpf_htons(ip6->nexthdr));
}

/* What the outer header's addresses add up to. */
static __always_inline __u64 gue_outer_sum(void *l3, void *end, bool six)
{
	const struct outer4 *o4 = l3;
	const struct outer6 *o6 = l3;
	__u64 sum = 0;

	if (!six)
		return (void *)(o4 + 1) > end ? 0 : (__u64)o4->src + o4->dst;
	if ((void *)(o6 + 1) > end)
		return 0;
	for (int i = 0; i < 4; i++)
		sum += (__u64)o6->src[i] + o6->dst[i];
	return sum;
}

/* The checksum of the UDP header behind the outer IP header at l3. */
__noinline int gue_checksum(struct xdp_md *ctx, __u32 l3, bool six)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct udphdr *udp;
	__u64 sum;
	__u16 check;

	BOUND(l3, 0x1f);
	udp = data + l3 + (six ? sizeof(struct outer6) : sizeof(struct outer4));
	if ((void *)(udp + 1) > end)
		return 0;
	sum = gue_inner_sum(udp + 1, end);
	if (!sum)
		return 0;
	sum += gue_outer_sum(data + l3, end, six);
	sum += (__u64)udp->source + udp->dest + udp->len + udp->len + bpf_htons(IPPROTO_UDP);
	check = ~checksum_fold(sum);
	udp->check = check ?: 0xffff; /* 0 would say that there is none */
	return 0;
}

static __always_inline answer_t gue_forward(struct xdp_md *ctx, const struct packet *p,
					    const struct poise_member *m,
					    const struct poise_path *path, __u64 nexthop)
{
	struct udphdr *udp;
	answer_t failed;
	__u32 l3 = 0;

	failed = outer(ctx, p, m, path, nexthop, sizeof(*udp), IPPROTO_UDP, &l3);
	if (failed)
		return failed;
	udp = (void *)(long)ctx->data + l3 + outer_bytes(m);
	if ((void *)(udp + 1) > (void *)(long)ctx->data_end)
		return DROP(BROKEN);
	udp->source = bpf_htons(GUE_PORT_FIRST | (p->hash & GUE_PORT_MASK));
	udp->dest = m->gue_port;
	udp->len = bpf_htons(p->length + sizeof(*udp));
	udp->check = 0;
	if (UNLIKELY(m->flags & POISE_F_UDP_CHECKSUM))
		gue_checksum(ctx, l3, outer_is6(m));
	return 0;
}

#endif
