/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mode nat, from the backend back to the client: what comes to an address and port that a slot
 * stands for, from the backend that it stands for, leaves from the address that the client knows,
 * the way the client's own packets came. Whatever else comes there is the host's, above all what
 * comes for a flow that is over: the host refuses it, and so the backend hears of it.
 *
 * A slot whose SYN is answered by a bare ACK, or a FIN, has met a connection that the backend
 * remembers, of somebody who had the port before (TIME_WAIT, or a crash of ours). The client would
 * reset that, and send its SYN again; since it cannot know what was meant, the reset is ours
 * (answer.h). If the old connection is met once more the port is given up, and the next SYN gets
 * another.
 */
#ifndef POISE_NAT_BACK_H
#define POISE_NAT_BACK_H

#include "address.h"
#include "nat.h"

/* The slot that this packet is an answer of; 0: none. */
static __always_inline __u32 back_find(const struct packet *p)
{
	__u32 group = poise_port_group(&p->src, p->ports & 0xffff, p->proto, &p->dst, poise_groups,
				       poise_key0, poise_key1);
	__u32 at = group * POISE_PORTS + bpf_ntohs(p->ports >> 16);
	struct poise_slot *s = slot_get(at);
	struct poise_way *w = way_get(at);
	struct poise_member *m;
	__u64 head;

	if (!s || !w)
		return 0;
	head = ONCE(s->head);
	m = member_get(POISE_WORD_MEMBER(head));
	if (!m || (m->mode == POISE_LOCAL && !local_returns(s, w)) || !slot_found(head) ||
	    m->service != s->service || flow_is_udp(head) != (p->proto == IPPROTO_UDP))
		return 0;
	if (m->addr.q[1] != p->src.q[1] || m->addr.q[0] != p->src.q[0] ||
	    sent_port(m, s->ports) != (p->ports & 0xffff) || w->source.q[1] != p->dst.q[1] ||
	    w->source.q[0] != p->dst.q[0])
		return 0;
	return POISE_SLOT_COUNT(ONCE(s->head)) == POISE_SLOT_COUNT(head) ? at : 0;
}

/* Is this packet, which has no SYN unless so said, of an older connection by the same port? */
static __always_inline bool back_is_older(__u64 head, __u32 kind, bool syn)
{
	return POISE_WORD_STATE(head) == POISE_FLOW_NEW && !syn && !(head & POISE_SLOT_ANSWERED) &&
	       (kind == PACKET_DATA || kind == PACKET_FIN);
}

static __always_inline __u64 back_met(__u64 head, __u32 seconds)
{
	if (head & POISE_SLOT_MET)
		return slot_moved(head, POISE_SLOT_REST, POISE_REST_SECONDS, seconds);
	return head | POISE_SLOT_MET;
}

/* What an answer makes of a head. */
static __always_inline __u64 back_next(__u64 head, const struct poise_service_rec *rec, __u32 kind,
				       __u32 seconds)
{
	__u32 state = POISE_WORD_STATE(head);

	if (state == POISE_FLOW_RST)
		return head;
	if (kind == PACKET_RST) {
		state = POISE_FLOW_RST;
		head |= POISE_SLOT_FIN_SERVER;
	} else if (kind == PACKET_FIN) {
		state = POISE_FLOW_FIN;
		head |= POISE_SLOT_FIN_SERVER;
	} else if (state == POISE_FLOW_NEW || kind == PACKET_UDP) {
		head |= POISE_SLOT_ANSWERED;
	}
	head = slot_ending(head, kind == PACKET_FIN);
	return slot_moved(head, state,
			  slot_timeout(rec, (head & ~0xffffull) | state << POISE_WORD_STATE_SHIFT),
			  seconds);
}

/* The answer's slot goes on; 0, or why the packet does not. kind: with PACKET_KINDS added if it is
 * a SYN of the backend's. */
__noinline answer_t back_go_on(__u32 at, __u32 kind, __u32 seconds)
{
	struct poise_slot *s = slot_get(at);
	struct poise_service_rec *rec;
	bool syn = kind >= PACKET_KINDS;
	struct poise_service *service;
	__u32 id;

	if (!s)
		return DROP(BROKEN);
	id = s->service;
	service = bpf_map_lookup_elem(&services, &id);
	rec = service ? service_record(id, ONCE(service->active) & 1) : NULL;
	if (!rec)
		return DROP(BROKEN);
	if (syn)
		kind -= PACKET_KINDS;
	for (int i = 0; i < NAT_TRIES; i++) {
		__u64 head = ONCE(s->head), next;
		bool older;

		if (!slot_found(head))
			return DROP(NO_FLOW);
		older = back_is_older(head, kind, syn);
		next = older ? back_met(head, seconds) : back_next(head, rec, kind, seconds);
		if (next == head || flow_swap(&s->head, head, next, 0))
			return older ? DROP(PORT_BUSY) : 0;
	}
	return 0;
}

/* Nothing of the head changes for this packet. */
static __always_inline bool back_plain(const struct packet *p, __u64 head)
{
	__u32 seconds = stamp_seconds();
	__u32 stamp = head & POISE_WORD_UNIT ? seconds >> STAMP_LONG_SHIFT : seconds;

	return POISE_WORD_STATE(head) == POISE_FLOW_EST && packet_plain(p) && p->ttl > 1 &&
	       !((stamp ^ (__u32)head) & POISE_WORD_STAMP);
}

/* The slot of an established flow that this answer does not change; 0: look closer. */
static __always_inline __u32 back_slot(const struct packet *p)
{
	__u32 at = back_find(p);
	struct poise_slot *s = slot_get(at);

	return at && s && back_plain(p, ONCE(s->head)) ? at : 0;
}

/* How packets leave for the slot's client, the way its own came: the next hop. */
static __always_inline __u64 back_way(const struct poise_slot *s, const struct poise_way *w,
				      struct poise_path *path)
{
	path->ifindex = w->ifindex;
	path->mtu = s->mtu;
	path->vlans = !!s->tpid[0] + !!s->tpid[1];
	for (int i = 0; i < POISE_PATH_MAX_VLANS; i++) {
		path->vlan[i] = s->vlan[i];
		path->tpid[i] = s->tpid[i];
	}
	*(__u32 *)path->smac = w->mac12 << 16 | w->mac0;
	*(__u16 *)(path->smac + 4) = w->mac12 >> 16;
	return (__u64)w->mac5 << 32 | w->mac34;
}

/* What a backend's packet becomes, and how it leaves: the next hop. */
static __always_inline __u64 back_becomes(const struct poise_slot *s, const struct poise_way *w,
					  struct poise_path *path, struct rewrite *is)
{
	is->src = s->address;
	is->dst = s->client;
	is->ports = s->ports >> 16 | s->ports << 16;
	is->six = s->client.q[0] || s->client.w[2] != bpf_htonl(0xffff);
	return back_way(s, w, path);
}

/* Back to the client; XDP_*, or why not, which is negative. */
static __always_inline int back_send(struct xdp_md *ctx, const struct packet *p, __u32 at,
				     bool sums)
{
	struct poise_slot *s = slot_get(at);
	struct poise_way *w = way_get(at);
	struct poise_path path = {};
	struct rewrite is = {};
	answer_t failed;
	__u64 nexthop;

	if (!s || !w)
		return (int)DROP(BROKEN);
	nexthop = back_becomes(s, w, &path, &is);
	if (UNLIKELY(ONCE(s->head) & POISE_SLOT_TIMED))
		latency_close(ctx, at, LATENCY_HEADERS(p));
	failed = translate(ctx, p, &path, nexthop, &is, sums);
	if (UNLIKELY(failed))
		return (int)failed;
	count_reason(s->service, POISE_R_REPLY);
	if (LIKELY(path.ifindex == ctx->ingress_ifindex))
		return XDP_TX;
	return bpf_redirect(path.ifindex, 0);
}

#define BACK_SERVICE(found) ((__u32)((found) >> 32))

/* The slot of an answer, as it goes on, or why the packet does not, below its service; 0: it is
 * none. */
__noinline __u64 back_closely(struct xdp_md *ctx)
{
	struct packet p = {};
	struct poise_slot *s;
	answer_t failed;
	__u32 at, kind;
	__u64 service;

	if (!parse(ctx, &p))
		return 0;
	at = back_find(&p);
	s = slot_get(at);
	if (!at || !s)
		return 0;
	service = (__u64)s->service << 32;
	if (p.ttl <= 1)
		return service | DROP(TTL);
	kind = packet_kind(&p);
	if (p.tcp & TCP_SYN)
		kind += PACKET_KINDS;
	failed = back_go_on(at, kind, stamp_seconds());
	return service | (failed ? failed : at);
}

/* Beside a verdict: the answer was IPv4. */
#define BACK_WAS4 0x100

__noinline int back_closely_send(struct xdp_md *ctx, __u32 at)
{
	struct packet p = {};

	int verdict = parse(ctx, &p) ? back_send(ctx, &p, at, true) : XDP_DROP;

	return verdict > 0 && !p.v6 ? verdict | BACK_WAS4 : verdict;
}

/* It cannot go back, or is no answer; XDP_*. They read it again: who calls has no room for it. */
__noinline int back_not(struct xdp_md *ctx, __u32 service, answer_t why)
{
	struct packet p = {};

	return parse(ctx, &p) ? answer(ctx, service, why, ASKED(&p)) : XDP_DROP;
}

__noinline int back_none(struct xdp_md *ctx)
{
	struct packet p = {};

	if (!parse(ctx, &p))
		return XDP_PASS;
	p.refusing = listener_more() >> 32 != 0;
	return address_refuse(ctx, &p);
}

/* May a packet that no service takes be such an answer? Asked of every packet of the host. */
static __always_inline bool nat_may_come_back(const struct packet *p)
{
	__u32 zero = 0, range, port = bpf_ntohs(p->ports >> 16);
	struct poise_meta *m = bpf_map_lookup_elem(&meta, &zero);

	range = m ? ONCE(m->nat_ports) : 0;
	return UNLIKELY(range) && port >= (range & 0xffff) && port <= range >> 16;
}

/* A service of every port may be asked at the very address that its packets come from: then answers
 * look like clients'. */
static __always_inline bool back_mistaken(const struct packet *p,
					  const struct poise_service_rec *rec)
{
	return rec->flags & POISE_S_ANY_PORT && nat_may_come_back(p) && back_find(p);
}

#endif
