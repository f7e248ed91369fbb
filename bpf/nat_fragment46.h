/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fragments between families, of mode nat (RFC 7915, sections 4.1 and 5.1): place and number go
 * from the IPv4 header to IPv6's header for fragments and back, of the number the low 16 bits. The
 * checksum of the whole datagram, in its first fragment, is repaired as ever; one that IPv4 did not
 * have cannot be made of a part. Extension headers that are fragmented, too, have no IPv4 to go to.
 */
#ifndef POISE_NAT_FRAGMENT46_H
#define POISE_NAT_FRAGMENT46_H

#include "nat_fragment.h"

/* What of a fragment is the same in both families. */
struct piece46 {
	__u32 begins; /* where that lies which it carries */
	__u32 behind; /* how many bytes of it there are */
	__u32 place;  /* of it in the datagram, in 8 bytes */
	__u32 more;   /* it is not the last */
	__u32 id;
};

static __always_inline bool piece46_read4(struct xdp_md *ctx, __u32 l3, __u32 l4, struct piece46 *x)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct iphdr *ip;
	__u32 place;

	BOUND(l3, 0x1f);
	ip = data + l3;
	if ((void *)(ip + 1) > end)
		return false;
	place = bpf_ntohs(ip->frag_off);
	x->begins = l4;
	x->place = place & IP4_FRAGMENT_AFTER;
	x->more = !!(place & IP4_FRAGMENT_MORE);
	x->id = bpf_ntohs(ip->id);
	return true;
}

static __always_inline bool piece46_read6(struct xdp_md *ctx, __u32 l4, struct piece46 *x)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct fragment6 *header;
	__u32 place;

	BOUND(l4, 0x7ff);
	header = data + l4;
	if ((void *)(header + 1) > end)
		return false;
	place = bpf_ntohs(header->offset);
	x->begins = l4 + sizeof(*header);
	x->place = place >> 3;
	x->more = place & IP6_FRAGMENT_MORE;
	x->id = bpf_ntohl(header->id) & 0xffff;
	return true;
}

/* All that is to be known before anything is overwritten; 0, or why it goes nowhere. */
static __always_inline answer_t piece46_read(struct xdp_md *ctx, struct packet *p, struct piece *f,
					     struct piece46 *x)
{
	__u32 l4;

	if (!parse_ip(ctx, p, &l4) || !fragment_read(ctx, p, l4, f))
		return DROP(BROKEN);
	if (p->v6 ? !piece46_read6(ctx, l4, x) : !piece46_read4(ctx, p->l3, l4, x))
		return DROP(BROKEN);
	if (x->begins > p->l3 + p->length)
		return DROP(BROKEN);
	x->behind = p->l3 + p->length - x->begins;
	if (!p->proto)
		return DROP(UNSUPPORTED);
	if (!f->first)
		return 0;
	if (f->l4 != x->begins || translate_lacks_sum(ctx, p, f->l4))
		return DROP(UNSUPPORTED);
	return piece_ports(ctx, p, f) ? 0 : DROP(BROKEN);
}

static __always_inline bool piece46_to6(struct xdp_md *ctx, const struct packet *p, __u32 l3,
					const struct piece46 *x, const struct rewrite *is)
{
	const struct packet q = {.tos = p->tos, .ttl = p->ttl, .proto = IPPROTO_FRAGMENT};
	struct fragment6 *header;
	void *data, *end;

	if (!translate_to6(ctx, &q, l3, x->behind + sizeof(*header), is))
		return false;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	header = data + l3 + sizeof(struct outer6);
	if ((void *)(header + 1) > end)
		return false;
	header->next = p->proto;
	header->reserved = 0;
	header->offset = bpf_htons(x->place << 3 | x->more);
	header->id = bpf_htonl(x->id);
	return true;
}

static __always_inline bool piece46_to4(struct xdp_md *ctx, const struct packet *p, __u32 l3,
					const struct piece46 *x, const struct rewrite *is)
{
	__be16 flags = bpf_htons(x->place | x->more * IP4_FRAGMENT_MORE), id = bpf_htons(x->id);
	void *data, *end;
	struct outer4 *o;

	if (!translate_to4(ctx, p, l3, x->behind, is))
		return false;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	o = data + l3;
	if ((void *)(o + 1) > end)
		return false;
	o->check = rewrite_check(o->check, (__u64)(__u16)~o->flags + flags + id);
	o->flags = flags;
	o->id = id;
	return true;
}

static __always_inline answer_t piece46_write(struct xdp_md *ctx, const struct packet *p,
					      const struct piece *f, const struct piece46 *x,
					      const struct nat_hop *hop)
{
	const struct rewrite was = {.src = p->src, .dst = p->dst, .ports = p->ports, .six = p->v6};
	const struct rewrite *is = &hop->is;
	__u32 header = x->begins - p->l3, becomes = sizeof(struct outer4), l3;
	__be16 type = is->six ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	answer_t failed;

	if (is->six)
		becomes = sizeof(struct outer6) + sizeof(struct fragment6);
	if (hop->path.mtu && x->behind + becomes > hop->path.mtu)
		return DROP_TOO_BIG(hop->path.mtu + header - becomes);
	failed = frame_open(ctx, p, &hop->path, hop->nexthop, becomes - header, type, &l3);
	if (failed)
		return failed;
	BOUND(l3, 0x1f);
	if (is->six ? !piece46_to6(ctx, p, l3, x, is) : !piece46_to4(ctx, p, l3, x, is))
		return DROP(BROKEN);
	BARRIER(ctx); /* to read `data` anew: what is kept is kept as 32 bits */
	if (f->first && !translate_l4(ctx, p, l3 + becomes, rewrite_change(&was, is), is))
		return DROP(BROKEN);
	return 0;
}

/* XDP_*, or why not, which is negative. found: a slot, with NAT_BACK. */
__noinline int piece_cross(struct xdp_md *ctx, __u32 found)
{
	struct nat_hop hop = {};
	struct piece46 x = {};
	struct packet p = {};
	struct piece f = {};
	answer_t failed = piece46_read(ctx, &p, &f, &x);

	if (!failed)
		failed = nat_hop_find(found, &hop);
	if (!failed && hop.local)
		failed = DROP(UNSUPPORTED);
	if (!failed && p.ttl <= 1)
		failed = DROP(TTL);
	if (!failed && hop.member && fragment_denied(&p, hop.service))
		failed = DROP(SOURCE);
	if (!failed)
		failed = piece46_write(ctx, &p, &f, &x, &hop);
	return failed ? (int)failed : nat_hop_gone(ctx, &p, &hop, POISE_R_FRAGMENTS);
}

static __always_inline int nat_fragment(struct xdp_md *ctx)
{
	struct scratch *n = scratch_get();
	answer_t found, failed = 0;
	int verdict;
	__u32 at;

	if (!n)
		return XDP_DROP;
	at = n->at;
	found = at ? at : piece_forth(ctx, n);
	if (at & NAT_BACK)
		failed = piece_back(ctx, at & ~NAT_BACK);
	if (failed)
		found = failed;
	verdict = IS_DROP(found) ? (int)found : piece_send(ctx, found);
	if (verdict == PIECE_CROSS)
		verdict = piece_cross(ctx, found);
	return verdict < 0 ? piece_not(ctx, at, verdict) : verdict;
}

#endif
