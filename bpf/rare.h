/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What parse() refused: no whole packet of TCP or UDP. Nearly all of it is for nobody here, the
 * rest has a step for each kind, which says whom it goes to, and one way out. These are functions
 * of their own, which begin anew: they must not keep the fast path's packet out of the registers,
 * nor have more stack than is left (six deep it is 512 bytes for all).
 */
#ifndef POISE_RARE_H
#define POISE_RARE_H

#include "address.h"
#include "forward.h"
#include "fragment.h"
#include "icmp.h"
#include "nat_fragment.h"
#include "nat_icmp.h"
#include "relay.h"

/* Whom a fragment goes to, 0, or FRAGMENT_*. */
__noinline answer_t rare_fragment(struct xdp_md *ctx)
{
	struct packet p = {};
	struct piece f = {};
	answer_t answer;
	__u32 l4;

	if (!parse_ip(ctx, &p, &l4))
		return 0;
	if (!fragment_read(ctx, &p, l4, &f))
		return FRAGMENT_NONE;
	if (piece_known(ctx, &p, &f))
		return FRAGMENT_NAT;
	answer = fragment(&p, &f);
	if (IS_DROP(answer) && answer != FRAGMENT_FIRST)
		count_reason(p.service, DROP_REASON(answer));
	return answer;
}

/* A first fragment finds its flow like any packet. That takes more stack than a function called
 * from here would have left. */
static __always_inline answer_t rare_first(struct xdp_md *ctx)
{
	struct packet p = {};
	struct piece f = {};
	answer_t answer;
	__u32 l4;

	if (!parse_ip(ctx, &p, &l4) || !fragment_read(ctx, &p, l4, &f))
		return 0;
	answer = fragment_first(ctx, &p, &f);
	if (IS_DROP(answer) && answer != FRAGMENT_NAT)
		count_reason(p.service, DROP_REASON(answer));
	return answer;
}

__noinline answer_t rare_icmp(struct xdp_md *ctx)
{
	struct packet p = {};
	answer_t answer;
	__u32 l4;

	if (!parse_ip(ctx, &p, &l4) || p.proto != (p.v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP))
		return 0;
	answer = icmp_error(ctx, &p, l4);
	if (IS_DROP(answer) && answer != ICMP_NAT)
		count_reason(p.service, DROP_REASON(answer));
	return answer;
}

/* Forwards to a member, with a hash of its own, and counts the event; XDP_*, or why not, which is
 * negative. */
__noinline int rare_send(struct xdp_md *ctx, __u32 member, __u32 event)
{
	struct poise_member *m = member_get(member);
	struct packet p = {};
	int verdict;
	__u32 l4;

	if (!m || !parse_ip(ctx, &p, &l4))
		return XDP_DROP;
	p.service = m->service;
	if (p.ttl <= 1)
		return drop(p.service, DROP(TTL));
	p.hash = poise_flow_hash(&p.src, &p.dst, 0, p.proto, poise_key0, poise_key1);
	verdict = forward(ctx, &p, m, member, false);
	BOUND(event, POISE_REASON_SLOTS - 1);
	if (verdict > XDP_DROP)
		count_reason(p.service, event);
	return verdict;
}

/* The packet as forward_not() wants it described. */
__noinline __u32 rare_asked(struct xdp_md *ctx)
{
	struct packet p = {};
	__u32 l4;

	return parse_ip(ctx, &p, &l4) ? ASKED(&p) : 0;
}

__noinline int rare_count(__u32 member, __u32 event)
{
	struct poise_member *m = member_get(member);

	if (m)
		count_reason(m->service, event);
	return 0;
}

static __always_inline int rare_on(struct xdp_md *ctx, __u32 member, __u32 event)
{
	int verdict = rare_send(ctx, member, event);

	if (verdict >= 0)
		return verdict;
	verdict = forward_not(ctx, member, verdict, rare_asked(ctx));
	if (verdict == XDP_PASS) /* cut in two, it goes on */
		rare_count(member, event);
	return verdict;
}

/* What neither is a fragment nor quotes one of a service's packets may quote one of our own. */
__noinline int rare_outer(struct xdp_md *ctx)
{
	struct relay r = {};
	struct poise_member *m;

	if (!relay_read(ctx, &r))
		return XDP_PASS;
	r.member = relay_member(ctx, r.inner, r.end);
	if (r.member == RELAY_SHORT ? r.proto == IPPROTO_UDP : !relay_judge(ctx, &r))
		return XDP_PASS;
	if (r.why)
		return relay_answer(ctx, &r);
	m = member_get(r.member);
	count_reason(m ? m->service : 0, POISE_R_OUTER_PASSED);
	return XDP_PASS;
}

static __always_inline int rare(struct xdp_md *ctx)
{
	answer_t member = rare_fragment(ctx);
	__u32 event = POISE_R_FRAGMENTS;

	if (member == FRAGMENT_NONE) {
		event = POISE_R_ICMP_ERROR;
		member = rare_icmp(ctx);
		if (UNLIKELY(member == ICMP_NAT || (!member && nat_icmp_back(ctx)))) {
			bpf_tail_call(ctx, &tails, POISE_TAIL_NAT_ICMP);
			return drop(0, DROP(BROKEN));
		}
		if (!member) {
			int verdict = rare_outer(ctx);

			if (verdict != XDP_PASS)
				return verdict;
		}
	} else if (member == FRAGMENT_FIRST) {
		member = rare_first(ctx);
	}
	if (UNLIKELY(member == FRAGMENT_NAT)) {
		bpf_tail_call(ctx, &tails, POISE_TAIL_NAT_FRAGMENT);
		return drop(0, DROP(BROKEN));
	}
	if (!member)
		return address_rest(ctx);
	return IS_DROP(member) ? XDP_DROP : rare_on(ctx, member, event);
}

#endif
