/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mode nat, from the client to the backend: the packet of a flow that has its slot goes on from the
 * slot's source and port. One of an established flow that changes nothing there is sent by the
 * pipeline itself, as packets of other modes are; whatever else goes through nat.h first.
 */
#ifndef POISE_NAT_SEND_H
#define POISE_NAT_SEND_H

#include "hop.h"
#include "latency.h"
#include "links.h"
#include "nat_begin.h"
#include "translate.h"

#define NAT_CLOSELY (-1) /* in place of a verdict */

/* A flow's slot, and what stands beside it. */
struct spot {
	struct poise_slot *s;
	struct poise_way *w;
	struct poise_member *m;
	__u32 at;
	__u32 member;
};

static __always_inline bool spot_get(__u32 at, struct spot *is)
{
	is->at = at;
	is->s = slot_get(at);
	is->w = way_get(at);
	if (!is->s || !is->w)
		return false;
	is->member = POISE_WORD_MEMBER(ONCE(is->s->head));
	is->m = member_get(is->member);
	return is->m;
}

/* Jumps to the program that sends by the host's own stack (local.h). */
static __always_inline int nat_go_local(struct xdp_md *ctx, __u32 at)
{
	struct scratch *n = scratch_get();

	if (!n)
		return XDP_DROP;
	n->at = at;
	bpf_tail_call(ctx, &tails, POISE_TAIL_LOCAL);
	return drop(0, DROP(BROKEN));
}

/* Does a packet fit into the path as what it becomes? One that does not the backend never gets, so
 * it is not to be waited for. */
static __always_inline bool nat_fits(const struct packet *p, const struct rewrite *is,
				     const struct poise_path *path)
{
	__u32 grows = is->six && !p->v6 ? sizeof(struct outer6) - sizeof(struct outer4) : 0;

	return !path->mtu || p->length + grows <= path->mtu;
}

/* To the backend, from the slot's source and port; XDP_*, or why not, which is negative. */
static __always_inline int nat_send(struct xdp_md *ctx, const struct packet *p,
				    const struct spot *from, bool sums)
{
	struct rewrite is = {};
	struct hop hop;
	answer_t failed;

	if (UNLIKELY(sent_by_stack(from->s, from->w, from->m)))
		return nat_go_local(ctx, from->at);
	failed = hop_find(from->m, &hop);
	if (failed)
		return (int)failed;
	sent_as(from->at, from->s, from->w, from->m, &is);
	if (UNLIKELY(latency_begins(p, from->s, from->member)) && nat_fits(p, &is, hop.path))
		latency_open(ctx, from->at, from->member, LATENCY_HEADERS(p));
	failed = translate(ctx, p, hop.path, hop.nexthop, &is, sums);
	if (UNLIKELY(failed))
		return (int)failed;
	count_packet(from->member, p->length);
	return hop_leave(ctx, &hop, p->service);
}

/* ---- an established flow ----------------------------------------------------------------------*/

/* Did this frame come the way that is known? */
static __always_inline bool nat_way_is(struct xdp_md *ctx, const struct poise_way *w)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	return data + ETH_HLEN <= end && w->ifindex == ctx->ingress_ifindex &&
	       w->mac0 == *(__u16 *)data && w->mac12 == *(__u32 *)(data + 2) &&
	       w->mac34 == *(__u32 *)(data + 6) && w->mac5 == *(__u16 *)(data + 10);
}

/* The slot that the packet's link leads to; false: there is no such link. */
static __always_inline bool nat_spot(const struct packet *p, struct spot *is)
{
	struct poise_bucket *b = link_bucket(p->hash);
	__u64 word = 0;

	if (!b)
		return false;
	for (int i = 0; i < POISE_BUCKET_WORDS; i++) {
		word = ONCE(b->word[i]);
		if (POISE_LINK_TAG(word) == POISE_LINK_TAG(p->hash))
			break;
	}
	return POISE_LINK_TAG(word) == POISE_LINK_TAG(p->hash) &&
	       spot_get(POISE_LINK_SLOT(word), is);
}

/* Is this a packet of an established flow, which changes nothing of it? Then is.at is not 0. */
static __always_inline bool nat_goes_on(struct xdp_md *ctx, const struct packet *p,
					const struct poise_service_rec *rec, struct spot *is)
{
	bool udp = p->proto == IPPROTO_UDP;
	__u64 head;

	if (p->ttl <= 1 || !packet_plain(p) || rec->flags & (POISE_S_RANGES | POISE_S_QUIC) ||
	    !nat_spot(p, is))
		return false;
	head = ONCE(is->s->head);
	return (head & 0xffff) == stamp_low(POISE_FLOW_EST, stamp_timeout(rec, POISE_FLOW_EST, udp),
					    stamp_seconds()) &&
	       POISE_WORD_MEMBER(head) == is->member &&
	       slot_is_of(is->s, head, &p->src, &p->dst, p->ports, udp) && nat_way_is(ctx, is->w) &&
	       member_keeps(is->m, p->service, udp);
}

/* XDP_*, or NAT_CLOSELY: the packet must be looked at closely, and is as it was. */
static __always_inline int nat_quickly(struct xdp_md *ctx, const struct packet *p,
				       const struct poise_service_rec *rec)
{
	struct spot is;

	return nat_goes_on(ctx, p, rec, &is) ? nat_send(ctx, p, &is, false) : NAT_CLOSELY;
}

/* ---- the same in the pipeline -----------------------------------------------------------------*/

#define NAT_V6	   0x1
#define NAT_UDP	   0x2
#define NAT_RECORD 0x4 /* the second copy of the service's record is in force */

/* What nat_in_place may be asked to send, as it wants it described; negative: nothing for it. */
static __always_inline int nat_plain(const struct packet *p)
{
	if (p->ttl <= 1 || p->l3 != ETH_HLEN || !packet_plain(p))
		return NAT_CLOSELY;
	return !!p->v6 * NAT_V6 | (p->proto == IPPROTO_UDP) * NAT_UDP | p->record * NAT_RECORD;
}

/* Where the headers are in such a frame. */
struct headers {
	__u16 *eth;
	struct iphdr *ip;
	struct ipv6hdr *ip6;
	__u32 *l4;
};

/* Reads what parse() has found to be there, without another look. Of UDP, what is too short for TCP
 * is left to others: 6.1's verifier wants one bound. */
static __always_inline bool headers_read(struct xdp_md *ctx, struct packet *p, struct headers *h)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	p->l3 = ETH_HLEN;
	h->eth = data;
	h->ip = data + ETH_HLEN;
	h->ip6 = data + ETH_HLEN;
	if (p->v6) {
		h->l4 = (void *)(h->ip6 + 1);
		if ((void *)h->l4 + sizeof(struct tcphdr) > end || h->ip6->nexthdr != p->proto)
			return false;
		addr_copy(&p->src, &h->ip6->saddr);
		addr_copy(&p->dst, &h->ip6->daddr);
		p->length = sizeof(*h->ip6) + bpf_ntohs(h->ip6->payload_len);
	} else {
		h->l4 = (void *)(h->ip + 1);
		if ((void *)h->l4 + sizeof(struct tcphdr) > end || h->ip->ihl != sizeof(*h->ip) / 4)
			return false;
		p->src.q[1] = addr_mapped(h->ip->saddr);
		p->dst.q[1] = addr_mapped(h->ip->daddr);
		p->length = bpf_ntohs(h->ip->tot_len);
	}
	p->ports = *h->l4;
	if (p->proto == IPPROTO_TCP)
		p->tcp = ((__u8 *)h->l4)[13];
	return (long)end - (long)data <= (long)(ETH_HLEN + p->length + FRAME_PAD);
}

/* Writes the addresses and what they change. */
static __always_inline void headers_write(const struct packet *p, const struct headers *h,
					  const struct spot *to, const struct hop *hop)
{
	__u32 ports = bpf_htons(to->at % POISE_PORTS) | (__u32)sent_port(to->m, p->ports) << 16;
	__u64 change = rewrite_sum_not(&p->src, p->v6) + rewrite_sum_not(&p->dst, p->v6) +
		       rewrite_sum(&to->w->source, p->v6) + rewrite_sum(&to->m->addr, p->v6);

	h->eth[0] = hop->nexthop;
	*(__u32 *)(h->eth + 1) = hop->nexthop >> 16;
	*(__u32 *)(h->eth + 3) = *(const __u32 *)hop->path->smac;
	h->eth[5] = *(const __u16 *)(hop->path->smac + 4);
	if (p->v6) {
		__builtin_memcpy(&h->ip6->saddr, &to->w->source, sizeof(to->w->source));
		__builtin_memcpy(&h->ip6->daddr, &to->m->addr, sizeof(to->m->addr));
		h->ip6->hop_limit--;
	} else {
		h->ip->saddr = to->w->source.w[3];
		h->ip->daddr = to->m->addr.w[3];
		h->ip->ttl--;
		/* A hop less is 0x0100 less, and so its complement more. */
		h->ip->check = rewrite_check(h->ip->check, change + (__u16)~bpf_htons(0x0100));
	}
	change += (__u32)~p->ports + (__u64)ports;
	h->l4[0] = ports;
	if (p->proto == IPPROTO_TCP) {
		struct tcphdr *tcp = (void *)h->l4;

		tcp->check = rewrite_check(tcp->check, change);
	} else {
		struct udphdr *udp = (void *)h->l4;

		if (udp->check)
			udp->check = rewrite_check_udp(udp->check, change);
	}
}

/*
 * As nat_quickly, of most packets: they come and go without tags and options, by one device, and
 * stay of their family. All is where it always is, and nothing moves. Called by the pipeline, which
 * has no stack for this; it reads for itself what would cost more to be told. how: nat_plain.
 */
__noinline int nat_in_place(struct xdp_md *ctx, __u64 hash, __u32 service, __u32 how)
{
	struct packet p = {
		.hash = hash,
		.service = service,
		.v6 = how & NAT_V6,
		.proto = how & NAT_UDP ? IPPROTO_UDP : IPPROTO_TCP,
		.ttl = 2, /* or more */
	};
	struct poise_service_rec *rec = service_record(service, how / NAT_RECORD & 1);
	struct headers h;
	struct spot to;
	struct hop hop;

	if (!rec || !headers_read(ctx, &p, &h) || !nat_goes_on(ctx, &p, rec, &to) ||
	    hop_find(to.m, &hop))
		return NAT_CLOSELY;
	if (to.m->mode != POISE_NAT || sent_by_stack(to.s, to.w, to.m) || hop.path->vlans ||
	    hop.path->ifindex != ctx->ingress_ifindex || p.length > hop.path->mtu ||
	    !(to.m->flags & POISE_F_V6) != !p.v6)
		return NAT_CLOSELY;
	if (UNLIKELY(latency_begins(&p, to.s, to.member)))
		latency_open(ctx, to.at, to.member, LATENCY_HEADERS(&p));
	headers_write(&p, &h, &to, &hop);
	count_packet(to.member, p.length);
	return XDP_TX;
}

#endif
