/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mode nat, from the client to the backend: the packet goes on from an address of the balancer, by
 * a port that stands for the flow, so that the answer comes back here (nat_back.h) and a backend
 * needs nothing. Here is whatever the flow is to be looked up for, moved on or begun
 * (nat_begin.h); what changes nothing is sent by nat_send.h alone.
 *
 * It is a program of its own, which the pipeline jumps to: it begins anew, with the stack and the
 * verifier's patience to itself, for what a policy takes of either is about all there is.
 */
#ifndef POISE_BPF_NAT_H
#define POISE_BPF_NAT_H

#include "answer.h"
#include "nat_begin.h"
#include "nat_send.h"

#define NAT_TRIES 4 /* lost races before a packet is dropped */

/* ---- a flow goes on ---------------------------------------------------------------------------*/

/* The flow is over, since its backend is down (on-down reset): as track_reset. */
static __always_inline answer_t nat_reset(struct scratch *n, struct poise_slot *s, __u64 head)
{
	if (flow_is_live(head) &&
	    !flow_swap(&s->head, head,
		       slot_moved(head, POISE_FLOW_RST, POISE_RST_SECONDS, n->flow.seconds), 0))
		return NAT_AGAIN;
	return DROP(DOWN);
}

/* What a client's packet makes of a head that stays its flow's. */
static __always_inline __u64 nat_next(const struct scratch *n, const struct poise_service_rec *rec,
				      __u64 head, __u32 cell)
{
	/* The backend has reset it: what the client had sent before that brings nothing back. */
	if (POISE_WORD_STATE(head) == POISE_FLOW_RST && head & POISE_SLOT_FIN_SERVER)
		return head;
	if (n->flow.kind == PACKET_FIN)
		head |= POISE_SLOT_FIN_CLIENT;
	head = slot_ending(head, n->flow.kind == PACKET_FIN);
	if (cell & CELL_KEEP)
		return head;
	return slot_moved(head, cell,
			  slot_timeout(rec, (head & ~0xffffull) | cell << POISE_WORD_STATE_SHIFT),
			  n->flow.seconds);
}

/* Its slot, as it goes on; or NAT_*, or why it does not. */
static __always_inline answer_t nat_go_on(struct scratch *n, const struct poise_service_rec *rec,
					  __u32 at)
{
	struct poise_slot *s = slot_get(at);
	struct poise_way *w = way_get(at);
	struct flow *f = &n->flow;
	struct poise_member *m;
	__u64 head, next;
	__u32 cell;

	if (!s || !w)
		return DROP(BROKEN);
	head = ONCE(s->head);
	m = member_get(POISE_WORD_MEMBER(head));
	if (!slot_is_of(s, head, &n->talk.client, &n->talk.address, n->talk.ports, n->talk.udp))
		return NAT_AGAIN;
	if (!n->talk.udp && f->kind != PACKET_SYN && member_resets(m, f->service))
		return nat_reset(n, s, head);
	if (!member_keeps(m, f->service, n->talk.udp) ||
	    (f->bound && f->bound != POISE_WORD_MEMBER(head)))
		return NAT_AFRESH;
	cell = flow_transition(head, f->kind, f->seconds, slot_timeout(rec, head),
			       member_usable(m, f->service, rec->rung));
	if (cell & CELL_AFRESH)
		return NAT_AFRESH;
	next = nat_next(n, rec, head, cell);
	if (next != head && !flow_swap(&s->head, head, next, 0))
		return NAT_AGAIN;
	if (f->kind == PACKET_FIN) {
		s->seq = n->birth.seq;
		s->stamp = n->birth.stamp;
	}
	nat_way_put(n, s, w);
	return at;
}

/* The slot of the packet's flow, which begins if need be; or why there is none. */
__noinline answer_t nat_find(struct scratch *n)
{
	answer_t answer = NAT_AGAIN;
	struct poise_service_rec *rec;

	if (!n)
		return DROP(BROKEN);
	rec = service_record(n->flow.service, n->flow.record);
	if (!rec)
		return DROP(BROKEN);
	for (int i = 0; i < NAT_TRIES; i++) {
		struct poise_slot *s;
		__u32 at = 0;

		answer = NAT_AFRESH;
		if (link_find(link_bucket(n->flow.hash), n->flow.hash, &n->talk, -1, &at) >= 0)
			answer = nat_go_on(n, rec, at);
		s = slot_get(at);
		if (answer == NAT_AFRESH && s)
			answer = nat_begin(n, rec, at, at ? ONCE(s->head) : 0);
		if (answer != NAT_AGAIN && answer != NEW_FLOW_AGAIN)
			break;
	}
	new_flow_over(&n->flow);
	if (answer == NEW_FLOW_AGAIN)
		return DROP(FULL);
	return answer == NAT_AGAIN ? DROP(BROKEN) : answer;
}

/* ---- the packet's way -------------------------------------------------------------------------*/

/* A packet that is not translated; XDP_*. Reads it again: who calls has no room for it. */
__noinline int nat_not(struct xdp_md *ctx, answer_t why)
{
	struct packet p = {};

	if (!parse(ctx, &p))
		return XDP_DROP;
	listener_find(&p);
	return answer(ctx, p.service, why, ASKED(&p));
}

#define NAT_OPTIONS  20 /* looked through, of TCP: at most 40 bytes, two each but for padding */
#define NAT_STAMPED  (1ull << 32)
#define TCP_OPT_END  0
#define TCP_OPT_NOP  1
#define TCP_OPT_TIME 8

/* The timestamp of the TCP header at l4 (RFC 7323), with NAT_STAMPED; 0: it has none. */
__noinline __u64 nat_stamp(struct xdp_md *ctx, __u32 l4)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 at = sizeof(struct tcphdr), header;
	struct tcphdr *tcp;

	BOUND(l4, 0x7ff);
	tcp = data + l4;
	if ((void *)(tcp + 1) > end)
		return 0;
	header = tcp->doff * 4;
	for (int i = 0; i < NAT_OPTIONS && at < header; i++) {
		__u8 *option;

		BOUND(at, 0x3f);
		option = (void *)tcp + at;
		if ((void *)(option + 1) > end || *option == TCP_OPT_END)
			return 0;
		if (*option == TCP_OPT_NOP) {
			at++;
			continue;
		}
		if ((void *)(option + 6) > end || option[1] < 2)
			return 0;
		if (*option == TCP_OPT_TIME)
			return NAT_STAMPED | (__u32)option[2] << 24 | option[3] << 16 |
			       option[4] << 8 | option[5];
		at += option[1];
	}
	return 0;
}

/* When the flow begins, or its client ends it, by its own account. */
static __always_inline void nat_birth(struct xdp_md *ctx, struct scratch *n, __u32 l4)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct tcphdr *tcp;
	__u64 stamp;

	n->birth = (struct birth){.seconds = n->flow.seconds};
	if (n->talk.udp)
		return;
	BOUND(l4, 0x7ff);
	tcp = data + l4;
	if ((void *)(tcp + 1) > end)
		return;
	n->birth.seq = bpf_ntohl(tcp->seq);
	stamp = nat_stamp(ctx, l4);
	n->birth.stamp = stamp;
	n->birth.stamped = !!(stamp & NAT_STAMPED);
}

/* Notes what p, whose transport header is at l4, says of its flow; 0, or why it is not forwarded.
 */
static __always_inline answer_t nat_note(struct xdp_md *ctx, struct scratch *n, struct packet *p,
					 const struct poise_service_rec *rec, __u32 l4)
{
	if (p->ttl <= 1)
		return DROP(TTL);
	if (ranges_denied(p, rec))
		return DROP(SOURCE);
	choose_hash(p);
	n->flow = find_flow(p, rec, stamp_seconds());
	n->talk.client = p->src;
	n->talk.address = p->dst;
	n->talk.ports = p->ports;
	n->talk.udp = p->proto == IPPROTO_UDP;
	n->talk.sent = 0;
	nat_way(ctx, n, p->l3);
	nat_birth(ctx, n, l4);
	return 0;
}

/* Notes what is known of a packet's flow, for this CPU; 0, or why it is not forwarded. */
__noinline answer_t nat_read(struct xdp_md *ctx)
{
	struct poise_service_rec *rec;
	struct scratch *n = scratch_get();
	struct packet p = {};
	answer_t failed;

	if (!n || !parse(ctx, &p))
		return DROP(BROKEN);
	rec = listener_find(&p);
	if (!rec || !(rec->flags & POISE_S_LINKS))
		return DROP(BROKEN);
	failed = nat_note(ctx, n, &p, rec, p.l3 + translate_header(ctx, &p));
	if (!failed && rec->flags & POISE_S_QUIC && n->talk.udp)
		quic_bind(ctx, &n->flow, p.l3 | (p.v6 ? QUIC_V6 : 0), p.length);
	return failed;
}

/* The slot of the packet's flow, looked at closely; or why there is none. */
static __always_inline answer_t nat_closely(struct xdp_md *ctx)
{
	answer_t why = nat_read(ctx);
	struct scratch *n = scratch_get();

	if (why || !n)
		return why ? why : DROP(BROKEN);
	if (n->flow.client)
		beside_bring(&n->flow);
	return nat_find(n);
}

__noinline int nat_closely_send(struct xdp_md *ctx, __u32 at)
{
	struct packet p = {};
	struct spot from;

	if (!parse(ctx, &p) || !listener_find(&p))
		return XDP_DROP;
	if (!spot_get(at, &from) || from.m->service != p.service)
		return drop(p.service, DROP(BROKEN));
	return nat_send(ctx, &p, &from, true);
}

/* Was the packet that this CPU looks at closely IPv4, so that it may lack a checksum now? */
static __always_inline bool nat_was4(void)
{
	const struct scratch *n = scratch_get();

	return n && !n->talk.client.q[0] && n->talk.client.w[2] == bpf_htonl(0xffff);
}

#endif
