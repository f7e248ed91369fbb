/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mode nat: a flow begins. Whom it gets is asked as in every other mode (new_flow.h); then it gets
 * a port (nat_take.h), by which its answers find it, and a link (links.h), by which its packets do.
 * That it has begun stands in its slot and nowhere else.
 */
#ifndef POISE_NAT_BEGIN_H
#define POISE_NAT_BEGIN_H

#include "links.h"
#include "nat_take.h"
#include "new_flow.h"
#include "scratch.h"

/* Beyond every reason: */
#define NAT_AGAIN  (DROP_BIT | (POISE_REASON_SLOTS + 1)) /* look again */
#define NAT_AFRESH (DROP_BIT | (POISE_REASON_SLOTS + 2)) /* a flow begins */

/* ---- where the client's frames come from ------------------------------------------------------*/

/* Notes in n which way this frame came. */
static __always_inline void nat_way(struct xdp_md *ctx, struct scratch *n, __u32 l3)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u16 *half = data;

	n->vlan[0] = n->vlan[1] = n->tpid[0] = n->tpid[1] = 0;
	if ((void *)(half + 11) > end)
		return;
	n->way.ifindex = ctx->ingress_ifindex;
	n->way.mac0 = half[0];
	n->way.mac12 = half[1] | (__u32)half[2] << 16;
	n->way.mac34 = half[3] | (__u32)half[4] << 16;
	n->way.mac5 = half[5];
	if (l3 > ETH_HLEN) {
		n->tpid[0] = half[6];
		n->vlan[0] = half[7];
	}
	if (l3 > ETH_HLEN + sizeof(struct vlan_tag)) {
		n->tpid[1] = half[8];
		n->vlan[1] = half[9];
	}
}

/* Answers go where the client's last packet came from: it may have another router by now. */
static __always_inline void nat_way_put(struct scratch *n, struct poise_slot *s,
					struct poise_way *w)
{
	w->ifindex = n->way.ifindex;
	w->mac0 = n->way.mac0;
	w->mac12 = n->way.mac12;
	w->mac34 = n->way.mac34;
	w->mac5 = n->way.mac5;
	for (int i = 0; i < POISE_PATH_MAX_VLANS; i++) {
		s->vlan[i] = n->vlan[i];
		s->tpid[i] = n->tpid[i];
	}
}

/* ---- a flow begins ----------------------------------------------------------------------------*/

/* What may come back to the client without being too big for it: known if it leaves by the device
 * that packets to the member leave by. */
static __always_inline __u16 nat_mtu(const struct scratch *n, const struct poise_member *m)
{
	__u32 at = ONCE(m->nexthop) >> 48;
	struct poise_path *path = bpf_map_lookup_elem(&paths, &at);

	return path && path->ifindex == n->way.ifindex ? path->mtu : 0;
}

/* Fills the slot that was taken for the flow, with this member, and publishes it: its place, or why
 * there is none. */
__noinline answer_t nat_open(struct scratch *n, __u32 taken, __u32 member, __u32 state,
			     __u32 timeout)
{
	struct poise_member *m = member_get(member);
	struct poise_slot *s;
	struct poise_way *w;
	__u32 at = taken & ~SLOT_ANEW;
	__u64 head, filling;

	if (!n || !m)
		return DROP(BROKEN);
	s = slot_get(at);
	w = way_get(at);
	if (!at || !s || !w)
		return DROP(NO_PORT);
	if (UNLIKELY(taken & SLOT_ANEW))
		links_drop(at, ONCE(s->head));
	if (n->sent.sent && (n->way.source.q[0] | n->way.source.q[1])) {
		n->sent.client = n->way.source;
		n->sent.ports = (n->sent.ports & 0xffff0000) | bpf_htons(at % POISE_PORTS);
	}
	s->client = n->talk.client;
	s->address = n->talk.address;
	s->ports = n->talk.ports;
	s->service = n->flow.service;
	s->mtu = nat_mtu(n, m);
	s->seq = n->birth.seq;
	s->stamp = n->birth.stamp;
	w->source = n->way.source;
	nat_way_put(n, s, w);
	filling = ONCE(s->head);
	head = flow_word(n->talk.udp ? POISE_TAG_UDP : 0, member,
			 stamp_low(state, timeout, n->flow.seconds));
	head |= filling & ~(POISE_SLOT_FILLED - 1);
	if (n->birth.stamped)
		head |= POISE_SLOT_STAMPED;
	if (state == POISE_FLOW_FIN)
		head |= POISE_SLOT_FIN_CLIENT;
	flow_swap(&s->head, filling, head,
		  SWAP_FLOW | SWAP_SLOT | (n->flow.held ? SWAP_PLACED : 0));
	return at;
}

static __always_inline answer_t nat_choose(struct flow *f, const struct poise_service_rec *rec)
{
	if (f->bound)
		return f->bound;
	if (f->kind == PACKET_SYN || f->kind == PACKET_UDP)
		return new_flow(f, rec, 0);
	return table_choose(f);
}

/* Does the flow begin because its member lets it go? */
static __always_inline __u32 nat_moves(const struct scratch *n, const struct poise_service_rec *rec,
				       __u64 old)
{
	bool live = n->talk.udp ? flow_is_live(old) : POISE_WORD_STATE(old) == POISE_FLOW_NEW;

	return live && !stamp_expired(old, slot_timeout(rec, old), n->flow.seconds) ? FLOW_MOVES
										    : 0;
}

/* Links for both directions, if mode local needs the other. */
static __always_inline enum recorded nat_links(struct scratch *n, __u32 at)
{
	enum recorded recorded =
		link_put(n->flow.hash, &n->talk, at, n->flow.service, n->flow.seconds);

	if (recorded != RECORDED || !n->sent.sent)
		return recorded;
	return link_put(talk_hash(&n->sent), &n->sent, at, n->flow.service, n->flow.seconds);
}

/* A flow begins, in place of the one that has the slot `was` and this head, if that is not 0. */
static __always_inline answer_t nat_begin(struct scratch *n, const struct poise_service_rec *rec,
					  __u32 was, __u64 old)
{
	__u32 state = flow_born(n->flow.kind), seconds = n->flow.seconds;
	enum recorded recorded;
	answer_t member, taken, at;

	if (!state)
		return DROP(NO_FLOW);
	n->flow.has = (n->flow.has & ~FLOW_MOVES) | nat_moves(n, rec, old);
	if (UNLIKELY(n->flow.held)) /* by a try before this one */
		hold_return(&n->flow);
	member = nat_choose(&n->flow, rec);
	if (IS_DROP(member))
		return member;
	taken = nat_take(n, member);
	if (IS_DROP(taken))
		return taken;
	at = nat_open(n, taken, member, state, stamp_timeout(rec, state, n->talk.udp));
	if (IS_DROP(at))
		return at;
	n->flow.held = 0;
	if (was) {
		link_drop(n->flow.hash, was);
		if (was != at) /* when ports are short, its own may have been taken anew */
			slot_rest(was, seconds);
	}
	recorded = nat_links(n, at);
	if (recorded == RECORDED) {
		new_flow_begun(&n->flow);
		return at;
	}
	if (recorded != RECORD_WITHDRAWN)
		slot_rest(at, seconds);
	if (recorded != RECORD_FULL)
		return NAT_AGAIN;
	count_reason(n->flow.service, POISE_R_UNRECORDED);
	return DROP(NO_PORT);
}

#endif
