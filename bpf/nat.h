/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mode nat, from the client to the backend: the packet goes on from an address of the balancer, by
 * a port that stands for the flow, so that the answer comes back here (nat_back.h) and a backend
 * needs nothing. Whom a new flow gets is asked as in every other mode (new_flow.h); that it has
 * begun stands in its slot (slots.h, links.h), and nowhere else.
 *
 * All of it is a program of its own, which the pipeline jumps to: it begins anew, with the stack
 * and the verifier's patience to itself, for what a policy takes of either is about all there is.
 */
#ifndef POISE_BPF_NAT_H
#define POISE_BPF_NAT_H

#include "answer.h"
#include "latency.h"
#include "links.h"
#include "local.h"
#include "new_flow.h"
#include "translate.h"

#define NAT_TRIES 4 /* lost races before a packet is dropped */
/* Beyond every reason: */
#define NAT_AGAIN  (DROP_BIT | (POISE_REASON_SLOTS + 1)) /* look again */
#define NAT_AFRESH (DROP_BIT | (POISE_REASON_SLOTS + 2)) /* a flow begins */

/* What it takes to begin a flow: a line per CPU, as in scratch.h. */
struct nat {
	struct flow flow;
	struct birth birth; /* or its end */
	struct talk talk;
	struct talk sent;     /* mode local: what it becomes, else sent.sent is 0 */
	struct poise_way way; /* but for the source */
	__u16 vlan[POISE_PATH_MAX_VLANS];
	__u16 tpid[POISE_PATH_MAX_VLANS];
	__u32 at; /* the slot, for POISE_TAIL_LOCAL */
	__u32 spare;
};

/* [cpu]. Not pinned. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nat);
} nats SEC(".maps");

static __always_inline struct nat *nat_get(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&nats, &cpu);
}

/* ---- where the client's frames come from ------------------------------------------------------*/

/* Did this frame come the way that is known? */
static __always_inline bool nat_way_is(struct xdp_md *ctx, const struct poise_way *w)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	return data + ETH_HLEN <= end && w->ifindex == ctx->ingress_ifindex &&
	       w->mac0 == *(__u16 *)data && w->mac12 == *(__u32 *)(data + 2) &&
	       w->mac34 == *(__u32 *)(data + 6) && w->mac5 == *(__u16 *)(data + 10);
}

/* Notes in n which way this frame came. */
static __always_inline void nat_way(struct xdp_md *ctx, struct nat *n, __u32 l3)
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
static __always_inline void nat_way_put(struct nat *n, struct poise_slot *s, struct poise_way *w)
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

/* The address that packets to this member come from; all zero: there is none. */
static __always_inline void nat_source(const struct poise_member *m, union poise_addr *source)
{
	__u32 at = ONCE(m->nexthop) >> 48;
	struct poise_path *path = bpf_map_lookup_elem(&paths, &at);

	source->q[0] = source->q[1] = 0;
	if (!path)
		return;
	if (m->flags & POISE_F_V6)
		*source = path->src6;
	else if (path->src4)
		source->q[1] = addr_mapped(path->src4);
}

/* What may come back to the client without being too big for it: known if it leaves by the device
 * that packets to the member leave by. */
static __always_inline __u16 nat_mtu(const struct nat *n, const struct poise_member *m)
{
	__u32 at = ONCE(m->nexthop) >> 48;
	struct poise_path *path = bpf_map_lookup_elem(&paths, &at);

	return path && path->ifindex == n->way.ifindex ? path->mtu : 0;
}

/* The group of ports that the flow's is to be of, its source noted; or why there is none. */
static __always_inline answer_t nat_group(struct nat *n, struct poise_member *m)
{
	n->sent.sent = 0;
	if (m->mode == POISE_LOCAL && !local_hears_itself(m, &n->talk)) {
		local_source(m, &n->talk, &n->sent, &n->way.source);
		return local_group(n->flow.hash);
	}
	if (m->mode == POISE_LOCAL)
		n->way.source = n->talk.address;
	else
		nat_source(m, &n->way.source);
	if (!(n->way.source.q[0] | n->way.source.q[1]))
		return DROP(NO_SOURCE);
	return poise_port_group(&m->addr, sent_port(m, n->talk.ports),
				n->talk.udp ? IPPROTO_UDP : IPPROTO_TCP, &n->way.source,
				poise_groups, poise_key0, poise_key1);
}

/* Fills a slot for the flow, with this member, and publishes it: its place, or why there is none.
 */
__noinline answer_t nat_open(struct nat *n, __u32 member, __u32 state, __u32 timeout)
{
	struct poise_member *m = member_get(member);
	struct poise_slot *s;
	struct poise_way *w;
	__u64 head, filling;
	__u32 at, group, taken;

	if (!n || !m)
		return DROP(BROKEN);
	group = nat_group(n, m);
	if (IS_DROP(group))
		return group;
	taken = slot_take(group, &n->birth);
	at = taken & ~SLOT_ANEW;
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
static __always_inline __u32 nat_moves(const struct nat *n, const struct poise_service_rec *rec,
				       __u64 old)
{
	bool live = n->talk.udp ? flow_is_live(old) : POISE_WORD_STATE(old) == POISE_FLOW_NEW;

	return live && !stamp_expired(old, slot_timeout(rec, old), n->flow.seconds) ? FLOW_MOVES
										    : 0;
}

/* Links for both directions, if mode local needs the other. */
static __always_inline enum recorded nat_links(struct nat *n, __u32 at)
{
	enum recorded recorded =
		link_put(n->flow.hash, &n->talk, at, n->flow.service, n->flow.seconds);

	if (recorded != RECORDED || !n->sent.sent)
		return recorded;
	return link_put(talk_hash(&n->sent), &n->sent, at, n->flow.service, n->flow.seconds);
}

/* A flow begins, in place of the one that has the slot `was` and this head, if that is not 0. */
static __always_inline answer_t nat_begin(struct nat *n, const struct poise_service_rec *rec,
					  __u32 was, __u64 old)
{
	__u32 state = flow_born(n->flow.kind), seconds = n->flow.seconds;
	enum recorded recorded;
	answer_t member, at;

	if (!state)
		return DROP(NO_FLOW);
	n->flow.has = (n->flow.has & ~FLOW_MOVES) | nat_moves(n, rec, old);
	if (UNLIKELY(n->flow.held)) /* by a try before this one */
		hold_return(&n->flow);
	member = nat_choose(&n->flow, rec);
	if (IS_DROP(member))
		return member;
	at = nat_open(n, member, state, stamp_timeout(rec, state, n->talk.udp));
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

/* ---- a flow goes on ---------------------------------------------------------------------------*/

/* The flow is over, since its backend is down (on-down reset): as track_reset. */
static __always_inline answer_t nat_reset(struct nat *n, struct poise_slot *s, __u64 head)
{
	if (flow_is_live(head) &&
	    !flow_swap(&s->head, head,
		       slot_moved(head, POISE_FLOW_RST, POISE_RST_SECONDS, n->flow.seconds), 0))
		return NAT_AGAIN;
	return DROP(DOWN);
}

/* What a client's packet makes of a head that stays its flow's. */
static __always_inline __u64 nat_next(const struct nat *n, const struct poise_service_rec *rec,
				      __u64 head, __u32 cell)
{
	/* The backend has reset it: what the client had sent before that brings nothing back. */
	if (POISE_WORD_STATE(head) == POISE_FLOW_RST && head & POISE_SLOT_FIN_SERVER)
		return head;
	if (n->flow.kind == PACKET_FIN)
		head |= POISE_SLOT_FIN_CLIENT;
	if (cell & CELL_KEEP)
		return head;
	return slot_moved(head, cell,
			  slot_timeout(rec, (head & ~0xffffull) | cell << POISE_WORD_STATE_SHIFT),
			  n->flow.seconds);
}

/* Its slot, as it goes on; or NAT_*, or why it does not. */
static __always_inline answer_t nat_go_on(struct nat *n, const struct poise_service_rec *rec,
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
__noinline answer_t nat_find(struct nat *n)
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

/* The slot of an established flow that this packet does not change; 0: look closer. */
static __always_inline __u32 nat_slot(struct xdp_md *ctx, const struct packet *p,
				      const struct poise_service_rec *rec)
{
	bool udp = p->proto == IPPROTO_UDP;
	struct poise_bucket *b = link_bucket(p->hash);
	struct poise_slot *s;
	struct poise_way *w;
	__u64 word = 0, head;
	__u32 at, low;

	if (!b || p->ttl <= 1 || !packet_plain(p) || rec->flags & (POISE_S_RANGES | POISE_S_QUIC))
		return 0;
	for (int i = 0; i < POISE_BUCKET_WORDS; i++) {
		word = ONCE(b->word[i]);
		if (POISE_LINK_TAG(word) == POISE_LINK_TAG(p->hash))
			break;
	}
	if (POISE_LINK_TAG(word) != POISE_LINK_TAG(p->hash))
		return 0;
	at = POISE_LINK_SLOT(word);
	s = slot_get(at);
	w = way_get(at);
	if (!s || !w)
		return 0;
	head = ONCE(s->head);
	low = stamp_low(POISE_FLOW_EST, stamp_timeout(rec, POISE_FLOW_EST, udp), stamp_seconds());
	if ((head & 0xffff) != low || !slot_is_of(s, head, &p->src, &p->dst, p->ports, udp) ||
	    !nat_way_is(ctx, w))
		return 0;
	return member_keeps(member_get(POISE_WORD_MEMBER(head)), p->service, udp) ? at : 0;
}

/* A packet that is not translated; XDP_*. Reads it again: who calls has no room for it. */
__noinline int nat_not(struct xdp_md *ctx, answer_t why)
{
	struct packet p = {};

	if (!parse(ctx, &p))
		return XDP_DROP;
	listener_find(&p);
	return answer(ctx, p.service, why, ASKED(&p));
}

/* Jumps to the program that sends by the host's own stack (local.h). */
static __always_inline int nat_go_local(struct xdp_md *ctx, __u32 at)
{
	struct nat *n = nat_get();

	if (!n)
		return XDP_DROP;
	n->at = at;
	bpf_tail_call(ctx, &tails, POISE_TAIL_LOCAL);
	return drop(0, DROP(BROKEN));
}

/* To the backend, from the slot's source and port; XDP_*, or why not, which is negative. */
static __always_inline int nat_send(struct xdp_md *ctx, const struct packet *p, __u32 at, bool sums)
{
	struct poise_slot *s = slot_get(at);
	struct poise_way *w = way_get(at);
	struct poise_member *m;
	struct poise_path *path;
	struct rewrite is = {};
	__u32 member, out;
	answer_t failed;
	__u64 nexthop;

	if (!s || !w)
		return drop(p->service, DROP(BROKEN));
	member = POISE_WORD_MEMBER(ONCE(s->head));
	m = member_get(member);
	if (!m || m->service != p->service)
		return drop(p->service, DROP(BROKEN));
	if (UNLIKELY(m->mode == POISE_LOCAL))
		return nat_go_local(ctx, at);
	nexthop = ONCE(m->nexthop);
	if (!nexthop)
		return drop(p->service, DROP(NO_NEXT_HOP));
	out = nexthop >> 48;
	path = bpf_map_lookup_elem(&paths, &out);
	if (!path)
		return drop(p->service, DROP(BROKEN));
	sent_as(at, s, w, m, &is);
	if (UNLIKELY(latency_begins(p, s, member)))
		latency_open(ctx, at, member, LATENCY_HEADERS(p));
	failed = translate(ctx, p, path, nexthop, &is, sums);
	if (UNLIKELY(failed))
		return (int)failed;
	count_packet(member, p->length);
	if (LIKELY(path->ifindex == ctx->ingress_ifindex))
		return XDP_TX;
	if (bpf_redirect_map(&devmap, out, XDP_DROP) == XDP_REDIRECT)
		return XDP_REDIRECT;
	return drop(p->service, DROP(BROKEN));
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
static __always_inline void nat_birth(struct xdp_md *ctx, struct nat *n, const struct packet *p)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 l4 = p->l3 + translate_header(ctx, p);
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

/* What is known of a packet's flow, in this CPU's line; NULL, or why it is not forwarded. */
static __always_inline struct nat *nat_read(struct xdp_md *ctx, answer_t *why)
{
	struct poise_service_rec *rec;
	struct nat *n = nat_get();
	struct packet p = {};

	*why = DROP(BROKEN);
	if (!n || !parse(ctx, &p))
		return NULL;
	rec = listener_find(&p);
	if (!rec || !(rec->flags & POISE_S_LINKS))
		return NULL;
	*why = p.ttl <= 1 ? DROP(TTL) : DROP(SOURCE);
	if (p.ttl <= 1 || ranges_denied(&p, rec))
		return NULL;
	choose_hash(&p);
	n->flow = find_flow(&p, rec, stamp_seconds());
	n->talk.client = p.src;
	n->talk.address = p.dst;
	n->talk.ports = p.ports;
	n->talk.udp = p.proto == IPPROTO_UDP;
	n->talk.sent = 0;
	nat_way(ctx, n, p.l3);
	nat_birth(ctx, n, &p);
	if (rec->flags & POISE_S_QUIC && n->talk.udp)
		quic_bind(ctx, &n->flow, p.l3 | (p.v6 ? QUIC_V6 : 0), p.length);
	return n;
}

/* The slot of the packet's flow, looked at closely; or why there is none. */
static __always_inline answer_t nat_closely(struct xdp_md *ctx)
{
	answer_t why;
	struct nat *n = nat_read(ctx, &why);

	if (!n)
		return why;
	if (n->flow.client)
		beside_bring(&n->flow);
	return nat_find(n);
}

__noinline int nat_closely_send(struct xdp_md *ctx, __u32 at)
{
	struct packet p = {};

	if (!parse(ctx, &p) || !listener_find(&p))
		return XDP_DROP;
	return nat_send(ctx, &p, at, true);
}

/* Was the packet that this CPU looks at closely IPv4, so that it may lack a checksum now? */
static __always_inline bool nat_was4(void)
{
	const struct nat *n = nat_get();

	return n && !n->talk.client.q[0] && n->talk.client.w[2] == bpf_htonl(0xffff);
}

#endif
