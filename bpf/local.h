/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mode local: the backend is on this host, a container's or the host's own socket. A client's
 * packet gets its address and port, keeps its source, and passes to the host's stack, which knows
 * the way. The answer gets the service's address back where it leaves the host (local.bpf.c); it
 * finds the slot by a second link (links.h). All else is as in mode nat.
 */
#ifndef POISE_BPF_LOCAL_H
#define POISE_BPF_LOCAL_H

#include "latency.h"
#include "links.h"
#include "translate.h"

/* Any will do: a port of it is all that the slot's place says, and mostly stands for nothing. */
static __always_inline answer_t local_group(__u64 hash)
{
	return poise_groups ? (__u32)(hash >> 32) % poise_groups : DROP(NO_PORT);
}

/* Where packets of a flow that begins come from, and what they become. */
static __always_inline void local_source(const struct poise_member *m, struct talk *talk,
					 struct talk *sent, union poise_addr *source)
{
	struct poise_slot *s;
	__u64 hash;
	__u32 at = 0;

	source->q[0] = source->q[1] = 0;
	sent->client = talk->client;
	sent->address = m->addr;
	sent->ports = (talk->ports & 0xffff) | (__u32)sent_port(m, talk->ports) << 16;
	sent->udp = talk->udp;
	sent->sent = 1;
	hash = talk_hash(sent);
	if (LIKELY(link_find(link_bucket(hash), hash, sent, -1, &at) < 0))
		return;
	s = slot_get(at);
	if (!s ||
	    !slot_is_of(s, ONCE(s->head), &talk->client, &talk->address, talk->ports, talk->udp))
		*source = talk->client;
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
	if (is.six != p.v6)
		return drop(s->service, DROP(UNSUPPORTED));
	if (UNLIKELY(latency_begins(&p, s, member)))
		latency_open(ctx, at, member, LATENCY_HEADERS(&p));
	change = rewrite_sum_not(&p.src, p.v6) + rewrite_sum_not(&p.dst, p.v6) + (__u32)~p.ports;
	change += rewrite_sum(&is.src, p.v6) + rewrite_sum(&is.dst, p.v6) + is.ports;
	if (!translate_ip(ctx, &p, p.l3, &is) || !translate_l4(ctx, &p, p.l3 + header, change, &is))
		return drop(s->service, DROP(BROKEN));
	count_packet(member, p.length);
	return XDP_PASS;
}

/* Is the slot's flow one of mode local? */
static __always_inline bool local_is(__u32 at)
{
	struct poise_slot *s = slot_get(at);
	struct poise_member *m = s ? member_get(POISE_WORD_MEMBER(ONCE(s->head))) : NULL;

	return m && m->mode == POISE_LOCAL;
}

#endif
