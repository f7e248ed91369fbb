/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mode local: the backend is on this host, a container's or the host's own socket. A client's
 * packet gets its address and port, keeps its source, and passes to the host's stack, which knows
 * the way. The answer gets the service's address back where it leaves the host (local.bpf.c); it
 * finds the slot by a second link (links.h). All else is as in mode nat. local_send.h sends.
 *
 * The same way go flows of mode nat to a backend that no attached device leads to (maps/nat.h).
 */
#ifndef POISE_BPF_LOCAL_H
#define POISE_BPF_LOCAL_H

#include "links.h"

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

/* Where the source is to be the client's with this slot's port: does the client itself talk to the
 * backend from that port? */
static __always_inline bool local_clashes(struct scratch *n, __u32 at)
{
	__u32 other = 0;
	__u64 hash;

	if (LIKELY(!n->sent.sent || !(n->way.source.q[0] | n->way.source.q[1])))
		return false;
	n->sent.ports = (n->sent.ports & 0xffff0000) | bpf_htons(at % POISE_PORTS);
	hash = talk_hash(&n->sent);
	return link_find(link_bucket(hash), hash, &n->sent, -1, &other) >= 0;
}

/* Would the backend hear from itself? It has another's address then, the service's, and the flow is
 * found as in mode nat. */
static __always_inline bool local_hears_itself(const struct poise_member *m, const struct talk *t)
{
	return m->addr.q[1] == t->client.q[1] && m->addr.q[0] == t->client.q[0];
}

/* Has it, in the flow of this slot? */
static __always_inline bool local_returns(const struct poise_slot *s, const struct poise_way *w)
{
	return w->source.q[1] == s->address.q[1] && w->source.q[0] == s->address.q[0];
}

/* Does a flow that begins go to this member by the host's stack? */
static __always_inline bool local_leads(const struct poise_member *m)
{
	return m->mode == POISE_LOCAL || ONCE(m->nexthop) == POISE_NEXTHOP_LOCAL;
}

/* Does the slot's flow? */
static __always_inline bool local_is(__u32 at)
{
	struct poise_slot *s = slot_get(at);
	struct poise_way *w = way_get(at);
	struct poise_member *m = s ? member_get(POISE_WORD_MEMBER(ONCE(s->head))) : NULL;

	return m && w && sent_by_stack(s, w, m);
}

#endif
