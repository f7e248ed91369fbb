/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mode nat: fragments, both ways, and of mode local those of clients, which go on to the host's
 * stack. The first has ports: it finds or begins its flow as a whole packet does, and leaves that
 * flow's slot in the table of fragments (fragment.h) for those that follow, of which the addresses
 * alone change; between families, the header (nat_fragment46.h). Numbers are kept: who puts the
 * datagram together may get two of one number from us at a time, by two clients, and tells them
 * apart by the checksum, as behind any other translator.
 *
 * What comes before its first is dropped and counted, or, from a backend, the host's: to whom it
 * belongs nobody knows, and nobody is to get what is another's. Nor does a backend's fragment that
 * comes after the last one of its number go by that one's slot: it may be of the next datagram.
 */
#ifndef POISE_NAT_FRAGMENT_H
#define POISE_NAT_FRAGMENT_H

#include "fragment.h"
#include "nat_hop.h"

/* A slot's place is twice what a word holds: the port and its group stand in a word each, of tags
 * that differ from the datagram's own. */
#define PIECE_PORT  (1ull << 32)
#define PIECE_GROUP (2ull << 32)

/* Beside a slot's place: the last fragment of that number was seen before. */
#define PIECE_OVER 0x80000000u

/* Remembers by which slot a datagram goes. */
__noinline int piece_put(__u64 datagram, __u32 at, __u32 service)
{
	__u32 seconds = stamp_seconds();

	fragment_put(datagram ^ PIECE_PORT, at % POISE_PORTS, service, BY_FIRST, seconds);
	fragment_put(datagram ^ PIECE_GROUP, at / POISE_PORTS, service, BY_FIRST, seconds);
	return 0;
}

/* The slot that a datagram went by, with PIECE_OVER; 0: nobody remembers. */
__noinline __u32 piece_get(__u64 datagram, int look)
{
	__u32 seconds = stamp_seconds(), at;
	__u64 port = fragment_get(datagram ^ PIECE_PORT, seconds, look);
	__u64 group = fragment_get(datagram ^ PIECE_GROUP, seconds, look);

	if (!port || !group)
		return 0;
	at = POISE_WORD_MEMBER(group) * POISE_PORTS + POISE_WORD_MEMBER(port);
	if (POISE_WORD_STATE(port) == POISE_FRAGMENT_GUESS)
		at |= PIECE_OVER;
	return at;
}

static __always_inline bool piece_ends(const union poise_addr *a, const union poise_addr *b)
{
	return a->q[0] == b->q[0] && a->q[1] == b->q[1];
}

/* The slot with the direction if it is still of a flow between these two; else 0. */
static __always_inline __u32 piece_of(const struct packet *p, __u32 found)
{
	__u32 at = found & ~PIECE_OVER;
	struct poise_slot *s = slot_get(at);
	struct poise_way *w = way_get(at);
	struct poise_member *m;
	__u64 head;

	if (!found || !s || !w)
		return 0;
	head = ONCE(s->head);
	m = member_get(POISE_WORD_MEMBER(head));
	if (!m || !slot_found(head) || m->service != s->service)
		return 0;
	if (piece_ends(&p->src, &s->client) && piece_ends(&p->dst, &s->address))
		return at;
	if (found & PIECE_OVER || !piece_ends(&p->src, &m->addr) ||
	    !piece_ends(&p->dst, &w->source))
		return 0;
	return at | NAT_BACK;
}

/* The ports of a first fragment. */
static __always_inline bool piece_ports(struct xdp_md *ctx, struct packet *p, const struct piece *f)
{
	__u32 l4 = f->l4;

	BOUND(l4, 0x7ff);
	return parse_l4(ctx, p, l4, p->l3 + p->length - l4);
}

/* Is this a fragment of a flow that has a slot, or the first of an answer? Then that is noted. Of a
 * client's first its listener has to be asked. */
static __always_inline bool piece_known(struct xdp_md *ctx, struct packet *p, const struct piece *f)
{
	struct scratch *n = scratch_get();

	if (!n)
		return false;
	n->at = 0;
	if (!slot_range())
		return false;
	if (!f->first)
		n->at = piece_of(p, piece_get(f->datagram, f->last ? LOOK_LAST : LOOK_LATER));
	else if (piece_ports(ctx, p, f))
		n->at = back_find(p);
	if (n->at && f->first)
		n->at |= NAT_BACK;
	return n->at;
}

/* ---- the first --------------------------------------------------------------------------------*/

/* Reads a fragment again. */
static __always_inline bool piece_read(struct xdp_md *ctx, struct packet *p, struct piece *f)
{
	__u32 l4;

	return parse_ip(ctx, p, &l4) && fragment_read(ctx, p, l4, f) &&
	       (!f->first || piece_ports(ctx, p, f));
}

/* Notes what a client's first fragment says of its flow, as nat_read. */
__noinline answer_t piece_note(struct xdp_md *ctx)
{
	struct scratch *n = scratch_get();
	struct poise_service_rec *rec;
	struct packet p = {};
	struct piece f = {};

	if (!n || !piece_read(ctx, &p, &f))
		return DROP(BROKEN);
	rec = listener_find(&p);
	if (!rec || !(rec->flags & POISE_S_LINKS))
		return DROP(BROKEN);
	n->datagram = f.datagram;
	return nat_note(ctx, n, &p, rec, f.l4);
}

/* The slot of a client's first fragment; or why there is none. */
static __always_inline answer_t piece_forth(struct xdp_md *ctx, struct scratch *n)
{
	answer_t at = piece_note(ctx);

	if (at)
		return at;
	if (n->flow.client)
		beside_bring(&n->flow);
	at = nat_find(n);
	if (!IS_DROP(at))
		piece_put(n->datagram, at, n->flow.service);
	return at;
}

/* The slot of a backend's first fragment goes on; 0, or why the fragment does not. */
__noinline answer_t piece_back(struct xdp_md *ctx, __u32 at)
{
	struct poise_slot *s = slot_get(at);
	struct packet p = {};
	struct piece f = {};
	__u32 kind;

	if (!s || !piece_read(ctx, &p, &f))
		return DROP(BROKEN);
	if (!f.first)
		return 0;
	if (p.ttl <= 1)
		return DROP(TTL);
	kind = packet_kind(&p);
	if (p.tcp & TCP_SYN)
		kind += PACKET_KINDS;
	if (ONCE(s->head) & POISE_SLOT_TIMED)
		latency_close(ctx, at, LATENCY_HEADERS(&p));
	piece_put(f.datagram, at, s->service);
	return back_go_on(at, kind, stamp_seconds());
}

/* ---- the way ----------------------------------------------------------------------------------*/

/* Another source and destination; in the first of a datagram other ports, too. */
static __always_inline bool piece_translate(struct xdp_md *ctx, const struct packet *p,
					    const struct piece *f, __u32 l3,
					    const struct rewrite *is)
{
	const struct rewrite was = {.src = p->src, .dst = p->dst, .ports = p->ports, .six = p->v6};

	return translate_ip(ctx, p, l3, is) &&
	       (!f->first ||
		translate_l4(ctx, p, l3 + f->l4 - p->l3, rewrite_change(&was, is), is));
}

/* A verdict beyond all: it is of the other family. */
#define PIECE_CROSS 0x100

/* XDP_*, or PIECE_CROSS, or why not, which is negative. found: a slot, with NAT_BACK. */
__noinline int piece_send(struct xdp_md *ctx, __u32 found)
{
	struct nat_hop hop = {};
	struct packet p = {};
	struct piece f = {};
	answer_t failed;
	__u32 l3;

	if (!piece_read(ctx, &p, &f))
		return (int)DROP(BROKEN);
	failed = nat_hop_find(found, &hop);
	if (failed)
		return (int)failed;
	if (hop.is.six != p.v6)
		return PIECE_CROSS;
	if (p.ttl <= 1)
		return (int)DROP(TTL);
	if (hop.member && fragment_denied(&p, hop.service))
		return (int)DROP(SOURCE);
	if (hop.path.mtu && p.length > hop.path.mtu)
		return (int)DROP_TOO_BIG(hop.path.mtu);
	l3 = p.l3;
	failed = hop.local ? 0
			   : frame_open(ctx, &p, &hop.path, hop.nexthop, 0,
					p.v6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP), &l3);
	if (failed)
		return (int)failed;
	if (!piece_translate(ctx, &p, &f, l3, &hop.is))
		return (int)DROP(BROKEN);
	return nat_hop_gone(ctx, &p, &hop, POISE_R_FRAGMENTS);
}

/* A fragment that does not go; XDP_*. at: its slot, 0: of its listener's service. */
__noinline int piece_not(struct xdp_md *ctx, __u32 at, answer_t why)
{
	struct poise_slot *s = slot_get(at & ~NAT_BACK);
	struct packet p = {};
	struct piece f = {};

	if (!piece_read(ctx, &p, &f))
		return XDP_DROP;
	if (at && s)
		p.service = s->service;
	else
		listener_find(&p);
	return answer(ctx, p.service, why, ASKED(&p));
}

#endif
