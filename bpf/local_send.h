/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mode local: a client's packet, its slot known, goes on to the host's stack; or, if the backend is
 * its own client, back where it came from, for the stack takes no packet from and to one address.
 */
#ifndef POISE_LOCAL_SEND_H
#define POISE_LOCAL_SEND_H

#include "nat_back.h"

/* Back to its sender, by the way its frames come; XDP_*. */
static __always_inline int local_return(struct xdp_md *ctx, const struct packet *p,
					const struct poise_slot *s, const struct poise_way *w,
					const struct rewrite *is)
{
	struct poise_path path = {};
	__u64 nexthop = back_way(s, w, &path);
	answer_t failed = translate(ctx, p, &path, nexthop, is, false);

	if (failed)
		return drop(s->service, failed);
	count_packet(POISE_WORD_MEMBER(ONCE(s->head)), p->length);
	if (LIKELY(path.ifindex == ctx->ingress_ifindex))
		return XDP_TX;
	return bpf_redirect(path.ifindex, 0);
}

/* Is the flow one that began while its backend was of another mode? From an address of this host
 * the stack takes nothing; and what was of mode local is answered only as long as answers are
 * looked at. */
static __always_inline bool local_strays(const struct poise_slot *s, const struct poise_way *w,
					 const struct poise_member *m)
{
	__u32 zero = 0;
	struct poise_meta *known = bpf_map_lookup_elem(&meta, &zero);

	if (m->mode == POISE_NAT)
		return known && !ONCE(known->locals) &&
		       ONCE(known->overlay) != POISE_OVERLAY_STANDS;
	return !sent_keeps_source(w) && !local_returns(s, w) &&
	       (w->source.q[1] != s->client.q[1] || w->source.q[0] != s->client.q[0]);
}

/* To the host's stack; XDP_*. */
static __always_inline int local_send(struct xdp_md *ctx, __u32 at)
{
	struct poise_slot *s = slot_get(at);
	struct poise_way *w = way_get(at);
	struct poise_member *m;
	struct rewrite is = {};
	struct packet p = {};
	__u32 header, member;
	__u64 change;

	if (!s || !w || !parse(ctx, &p))
		return XDP_DROP;
	member = POISE_WORD_MEMBER(ONCE(s->head));
	m = member_get(member);
	header = translate_header(ctx, &p);
	if (!m || !header)
		return drop(s->service, DROP(BROKEN));
	sent_as(at, s, w, m, &is);
	if (UNLIKELY(is.six != p.v6 || local_strays(s, w, m))) {
		slot_rest(at, stamp_seconds());
		return drop(s->service, DROP(UNSUPPORTED));
	}
	if (UNLIKELY(local_returns(s, w)))
		return local_return(ctx, &p, s, w, &is);
	if (UNLIKELY(latency_begins(&p, s, member)))
		latency_open(ctx, at, member, LATENCY_HEADERS(&p));
	change = rewrite_sum_not(&p.src, p.v6) + rewrite_sum_not(&p.dst, p.v6) + (__u32)~p.ports;
	change += rewrite_sum(&is.src, p.v6) + rewrite_sum(&is.dst, p.v6) + is.ports;
	if (!translate_ip(ctx, &p, p.l3, &is) || !translate_l4(ctx, &p, p.l3 + header, change, &is))
		return drop(s->service, DROP(BROKEN));
	count_packet(member, p.length);
	return XDP_PASS;
}

#endif
