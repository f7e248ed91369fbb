/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a client's packet is sent on as, in the modes that translate. Mode nat sends from an address
 * of the balancer by the slot's port. Mode local leaves the client's address and port as they are:
 * then the slot's way names no source. Where two flows of one client would be the same to the
 * backend the second has the slot's port, and a backend that is its own client hears from the
 * service's address: then the way names that source.
 */
#ifndef POISE_SENT_H
#define POISE_SENT_H

#include "rewrite.h"
#include "slots.h"

/* The port in network order that a member of this listener's port has. */
static __always_inline __u16 sent_port(const struct poise_member *m, __u32 ports)
{
	return m->port ? m->port : ports >> 16;
}

static __always_inline bool sent_keeps_source(const struct poise_way *w)
{
	return !(w->source.q[0] | w->source.q[1]);
}

/* Do packets of this slot's client go on by the host's own stack? In mode local; and in mode nat,
 * if no attached device led to the backend when the flow began (maps/nat.h), which shows by a
 * source that is the client's. It stays so, whatever leads there by and by. */
static __always_inline bool sent_by_stack(const struct poise_slot *s, const struct poise_way *w,
					  const struct poise_member *m)
{
	return m->mode == POISE_LOCAL || sent_keeps_source(w) ||
	       (w->source.q[1] == s->client.q[1] && w->source.q[0] == s->client.q[0]);
}

/* What a packet of the slot's client becomes. */
static __always_inline void sent_as(__u32 at, const struct poise_slot *s, const struct poise_way *w,
				    const struct poise_member *m, struct rewrite *is)
{
	bool kept = sent_keeps_source(w);

	is->src = kept ? s->client : w->source;
	is->dst = m->addr;
	is->ports = (kept ? s->ports & 0xffff : bpf_htons(at % POISE_PORTS)) |
		    (__u32)sent_port(m, s->ports) << 16;
	is->six = !!(m->flags & POISE_F_V6);
}

#endif
