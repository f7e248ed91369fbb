/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Step 1: what is in the frame. Answers false for all that is no whole packet of TCP or UDP: not
 * IP, fragments, other protocols, headers cut short, lengths beyond the frame; rare.h looks
 * closer. The IP length counts, never the frame's: short frames are padded.
 *
 * Inlined: Ethernet, IPv4 with or without options, IPv6. Called: VLAN tags, extension headers.
 */
#ifndef POISE_PARSE_H
#define POISE_PARSE_H

#include "packet.h"

#define IP4_FRAGMENT	   0x3fff /* more fragments, or an offset */
#define IP4_FRAGMENT_AFTER 0x1fff /* an offset: not the first */
#define IP6_FRAGMENT_AFTER 0xfff8
#define IP4_FRAGMENT_MORE  0x2000
#define IP6_FRAGMENT_MORE  0x0001
#define IP6_EXTENSIONS	   6 /* RFC 8200 section 4.1 names six kinds, each at most once or twice */
#define IP6_CHAIN_MAX	   512 /* bytes of extension headers looked through */

struct vlan_tag {
	__be16 tci;
	__be16 type; /* of what follows */
};

struct extension {
	__u8 next;
	__u8 length; /* in 8 bytes, without the first 8 */
	__u8 type;
	__u8 left;
};

struct fragment6 {
	__u8 next;
	__u8 reserved;
	__be16 offset; /* in bytes; bit 0: more to come */
	__be32 id;
};

static __always_inline bool is_vlan(__be16 type)
{
	return type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD);
}

/* Skips up to two tags; the offset of what follows them, with its type in the high half. */
__noinline __u32 parse_tags(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct vlan_tag *tag = (void *)(eth + 1);
	__u32 type;

	if ((void *)(tag + 1) > end)
		return 0;
	type = tag->type;
	if (!is_vlan(type))
		return type << 16 | (sizeof(*eth) + sizeof(*tag));
	if ((void *)(tag + 2) > end)
		return 0;
	type = tag[1].type;
	return type << 16 | (sizeof(*eth) + 2 * sizeof(*tag));
}

/* Follows IPv6 extension headers from offset `at`, where a header of kind `next` begins, to the
 * first that cannot be stepped over: its offset with its number in the high half. 0 if it is too
 * far, or if the destination is only a station on the way. */
__noinline __u32 parse_extensions(struct xdp_md *ctx, __u32 at, __u32 next)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 limit = at + IP6_CHAIN_MAX;

	for (int i = 0; i <= IP6_EXTENSIONS; i++) {
		struct extension *e;

		if (at > limit || at > IP6_CHAIN_MAX * 2)
			return 0;
		if (next != IPPROTO_HOPOPTS && next != IPPROTO_DSTOPTS && next != IPPROTO_ROUTING)
			return next << 16 | at;
		e = data + at;
		if ((void *)(e + 1) > end)
			return 0;
		if (next == IPPROTO_ROUTING && e->left)
			return 0;
		next = e->next;
		at += (e->length + 1) * 8;
	}
	return 0;
}

/* The transport header at offset l4; room is what the IP length leaves for it. */
static __always_inline bool parse_l4(struct xdp_md *ctx, struct packet *p, __u32 l4, __s32 room)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *at = data + l4;

	if (p->proto == IPPROTO_TCP) {
		struct tcphdr *tcp = at;

		if (room < (__s32)sizeof(*tcp) || (void *)(tcp + 1) > end)
			return false;
		p->ports = *(__u32 *)at;
		p->tcp = ((__u8 *)at)[13];
		return true;
	}
	if (p->proto == IPPROTO_UDP) {
		struct udphdr *udp = at;

		if (room < (__s32)sizeof(*udp) || (void *)(udp + 1) > end)
			return false;
		p->ports = *(__u32 *)at;
		p->tcp = 0;
		return true;
	}
	return false;
}

/* The second half of ::ffff:a.b.c.d, made in a register: two stores that one load reads back would
 * have to wait for one another. */
static __always_inline __u64 addr_mapped(__be32 addr)
{
	return (__u64)addr << 32 | bpf_htonl(0xffff);
}

/* The IPv4 header; *l4 is where it ends. whole: fragments are refused. */
static __always_inline bool parse_ip4(struct xdp_md *ctx, struct packet *p, __u32 *l4, bool whole)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct iphdr *ip = data + p->l3;

	if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl < 5)
		return false;
	if (whole && ip->frag_off & bpf_htons(IP4_FRAGMENT))
		return false;
	*l4 = p->l3 + ip->ihl * 4;
	p->length = bpf_ntohs(ip->tot_len);
	/* As numbers: 6.12's verifier knows no range of a byte-swapped one, and takes no such
	 * offset. */
	if (end - (void *)ip < p->length)
		return false;
	p->src.q[1] = addr_mapped(ip->saddr);
	p->dst.q[1] = addr_mapped(ip->daddr);
	p->proto = ip->protocol;
	p->tos = ip->tos;
	p->ttl = ip->ttl;
	return true;
}

static __always_inline void addr_copy(union poise_addr *to, const struct in6_addr *from)
{
	__builtin_memcpy(to, from, sizeof(*to));
}

/* The IPv6 header and its extensions; *l4 is where they end. */
static __always_inline bool parse_ip6(struct xdp_md *ctx, struct packet *p, __u32 *l4)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ipv6hdr *ip = data + p->l3;
	__u32 length;

	if ((void *)(ip + 1) > end || ip->version != 6)
		return false;
	length = sizeof(*ip) + bpf_ntohs(ip->payload_len);
	if (length > 0xffff || end - (void *)ip < length)
		return false;
	p->v6 = 1;
	p->length = length;
	addr_copy(&p->src, &ip->saddr);
	addr_copy(&p->dst, &ip->daddr);
	p->proto = ip->nexthdr;
	p->tos = bpf_ntohs(*(__be16 *)ip) >> 4 & 0xff;
	p->ttl = ip->hop_limit;
	*l4 = p->l3 + sizeof(*ip);
	if (UNLIKELY(p->proto != IPPROTO_TCP && p->proto != IPPROTO_UDP)) {
		__u32 found = parse_extensions(ctx, *l4, p->proto);

		p->proto = found >> 16;
		*l4 = found & 0x7ff;
	}
	return true;
}

/* The link header: p->l3, and the type of what follows; 0: for nobody here. */
static __always_inline __be16 parse_link(struct xdp_md *ctx, struct packet *p)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	__be16 type;

	if ((void *)(eth + 1) > end)
		return 0;
	/* Sent to a group: unicast IP in such a frame is nobody's to forward (RFC 1122, 3.3.6). */
	if (eth->h_dest[0] & 1)
		return 0;
	type = *(__be16 *)(data + offsetof(struct ethhdr, h_proto));
	p->l3 = sizeof(*eth);
	if (UNLIKELY(is_vlan(type))) {
		__u32 found = parse_tags(ctx);

		type = found >> 16;
		p->l3 = found & 0x1f;
	}
	return type;
}

/* Of a packet of any kind, fragments too, the IP header; *l4 is where it ends. */
static __always_inline bool parse_ip(struct xdp_md *ctx, struct packet *p, __u32 *l4)
{
	__be16 type = parse_link(ctx, p);

	if (type == bpf_htons(ETH_P_IP))
		return parse_ip4(ctx, p, l4, false);
	return type == bpf_htons(ETH_P_IPV6) && parse_ip6(ctx, p, l4);
}

static __always_inline bool parse(struct xdp_md *ctx, struct packet *p)
{
	__be16 type = parse_link(ctx, p);
	__u32 l4;

	if (type == bpf_htons(ETH_P_IP)) {
		if (!parse_ip4(ctx, p, &l4, true))
			return false;
	} else if (type != bpf_htons(ETH_P_IPV6) || !parse_ip6(ctx, p, &l4)) {
		return false;
	}
	return parse_l4(ctx, p, l4, p->l3 + p->length - l4);
}

#endif
