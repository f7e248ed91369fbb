/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mode nat: a new flow gets a source address and a port of it. The addresses that packets to a
 * backend may come from are a chain of paths, which differ in nothing else (maps/path.c); each has
 * a group of ports of its own there, if there are as many groups. The flow's hash says which one is
 * asked first, the others follow in turn. Only if none has a free port one is had of a flow that is
 * over, in the same order: what rests may be remembered by the backend, a free one is not. Nor is
 * one had for what is met in its middle, the last packets of a flow that lost its port, say: by
 * another port no backend knows it, and each would take one more.
 */
#ifndef POISE_BPF_NAT_TAKE_H
#define POISE_BPF_NAT_TAKE_H

#include "local.h"
#include "scratch.h"
#include "slots.h"

#define NAT_FROM_SHIFT 40 /* bits of a hash that neither bucket nor backend go by */

/* The address that packets to this member come from by a path; all zero: there is none. */
static __always_inline void nat_source(const struct poise_member *m, const struct poise_path *path,
				       union poise_addr *source)
{
	source->q[0] = source->q[1] = 0;
	if (m->flags & POISE_F_V6)
		*source = path->src6;
	else if (path->src4)
		source->q[1] = addr_mapped(path->src4);
}

static __always_inline __u32 nat_group(const struct scratch *n, const struct poise_member *m)
{
	return poise_port_group(&m->addr, sent_port(m, n->talk.ports),
				n->talk.udp ? IPPROTO_UDP : IPPROTO_TCP, &n->way.source,
				poise_groups, poise_key0, poise_key1);
}

#define LOCAL_TRIES 4 /* ports that prove to be the client's own, before there is none */

/* By the host's stack: the source is the client's as a rule, or, in mode local, the service's own
 * address. */
static __always_inline answer_t nat_take_local(struct scratch *n, struct poise_member *m)
{
	__u32 group, taken = 0;

	if (m->mode == POISE_LOCAL && local_hears_itself(m, &n->talk)) {
		n->way.source = n->talk.address;
		group = nat_group(n, m);
	} else {
		local_source(m, &n->talk, &n->sent, &n->way.source);
		group = local_group(n->flow.hash);
		if (IS_DROP(group))
			return group;
	}
	for (int i = 0; i < LOCAL_TRIES; i++) {
		taken = slot_take(group, &n->birth, false);
		if (UNLIKELY(!taken))
			taken = slot_take(group, &n->birth, true);
		if (LIKELY(!taken || !local_clashes(n, taken & ~SLOT_ANEW)))
			break;
		slot_unused(taken & ~SLOT_ANEW, n->birth.seconds);
		taken = 0;
	}
	if (taken)
		return taken;
	ports_refused(group);
	return DROP(NO_PORT);
}

static __always_inline struct poise_path *nat_path(__u32 at)
{
	return bpf_map_lookup_elem(&paths, &at);
}

/* The path that is asked first, of `sources` from `first` on. */
static __always_inline __u32 nat_first(__u32 first, __u32 sources, __u64 hash)
{
	__u32 at = first, steps = sources ? (__u32)(hash >> NAT_FROM_SHIFT) % sources : 0;

	for (__u32 i = 0; i < POISE_SOURCES && i < steps; i++) {
		struct poise_path *path = nat_path(at);

		at = path && path->more ? path->more : first;
	}
	return at;
}

/* Takes a slot for a new flow to this member, and notes its source: as slot_take, or why there is
 * none. */
__noinline answer_t nat_take(struct scratch *n, __u32 member)
{
	struct poise_member *m = member_get(member);
	__u32 first, at, sources, looks, asked = 0;
	struct poise_path *path;

	if (!n || !m)
		return DROP(BROKEN);
	n->sent.sent = 0;
	n->birth.member = member;
	if (local_leads(m))
		return nat_take_local(n, m);
	first = ONCE(m->nexthop) >> 48;
	path = nat_path(first);
	sources = path ? path->sources : 0;
	at = nat_first(first, sources, n->flow.hash);
	sources += !sources;
	looks = n->flow.kind == PACKET_SYN || n->flow.kind == PACKET_UDP ? 2 * sources : sources;
	for (__u32 i = 0; i < 2 * POISE_SOURCES && i < looks; i++) {
		__u32 group, taken;

		path = nat_path(at);
		if (path)
			nat_source(m, path, &n->way.source);
		if (!path || !(n->way.source.q[0] | n->way.source.q[1]))
			return DROP(NO_SOURCE);
		group = nat_group(n, m);
		if (!i)
			asked = group;
		taken = slot_take(group, &n->birth, i >= sources);
		if (LIKELY(taken))
			return taken;
		at = path->more ? path->more : first;
	}
	ports_refused(asked);
	return DROP(NO_PORT);
}

#endif
