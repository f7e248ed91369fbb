/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mode nat: where what belongs to a slot's flow and is no whole packet of it goes, in either
 * direction, and as what: ICMP errors (nat_icmp.h) and fragments (nat_fragment.h).
 */
#ifndef POISE_NAT_HOP_H
#define POISE_NAT_HOP_H

#include "nat_back.h"

/* Beside a slot's place: it goes back to the client. */
#define NAT_BACK 0x40000000u

/* Where it goes, and as what. */
struct nat_hop {
	struct rewrite is;
	struct poise_path path;
	__u64 nexthop;
	__u32 service;
	__u32 member; /* that it goes to; 0: to the client */
	__u32 local;  /* it goes on by the host's own stack */
};

/* found: a slot, with NAT_BACK; 0, or why it goes nowhere. */
static __always_inline answer_t nat_hop_find(__u32 found, struct nat_hop *hop)
{
	__u32 at = found & ~NAT_BACK;
	struct poise_slot *s = slot_get(at);
	struct poise_way *w = way_get(at);
	struct poise_member *m;
	struct hop way;
	answer_t failed;

	if (!s || !w)
		return DROP(BROKEN);
	hop->service = s->service;
	if (found & NAT_BACK) {
		hop->nexthop = back_becomes(s, w, &hop->path, &hop->is);
		return 0;
	}
	hop->member = POISE_WORD_MEMBER(ONCE(s->head));
	m = member_get(hop->member);
	if (!m || m->service != s->service)
		return DROP(NO_FLOW);
	sent_as(at, s, w, m, &hop->is);
	if (sent_by_stack(s, w, m)) {
		hop->local = !local_returns(s, w);
		if (!hop->local) /* local_send.h */
			hop->nexthop = back_way(s, w, &hop->path);
		return 0;
	}
	failed = hop_find(m, &way);
	if (failed)
		return failed;
	hop->nexthop = way.nexthop;
	hop->path = *way.path;
	return 0;
}

/* It goes, which this event counts; XDP_*. */
static __always_inline int nat_hop_gone(struct xdp_md *ctx, const struct packet *p,
					const struct nat_hop *hop, __u32 event)
{
	count_reason(hop->service, event);
	if (hop->member)
		count_packet(hop->member, p->length);
	else
		count_reason(hop->service, POISE_R_REPLY);
	if (hop->local)
		return XDP_PASS;
	if (LIKELY(hop->path.ifindex == ctx->ingress_ifindex))
		return XDP_TX;
	return bpf_redirect(hop->path.ifindex, 0);
}

#endif
