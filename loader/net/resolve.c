/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Next hops for every member. A pass compares what each member's word says with what routes and
 * neighbours ask for now; the kernel is asked only for what is not known, and the lock is needed
 * only if something changes. 16,384 unchanged members are a walk over two hash tables.
 */
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../maps/memory.h"
#include "../../maps/events.h"
#include "../../maps/text.h"
#include "hop.h"
#include "socket.h"

static void want_of(struct hop_want *want, const union poise_addr *dst, enum poise_mode mode,
		    const union poise_addr *source4, const union poise_addr *source6)
{
	want->dst = *dst;
	want->mode = mode;
	memset(&want->source, 0, sizeof(want->source));
	want->pool = NULL;
	if (mode != POISE_L2)
		want->source = poise_addr_is4(dst) ? *source4 : *source6;
	if (mode == POISE_NAT)
		want->pool = poise_addr_is4(dst) ? source4 : source6;
}

/* Decides, asking the kernel for what is not known. */
static int hop_find(struct net *n, const struct hop_want *want, __u64 now, struct net_hop *hop,
		    struct poise_error *err)
{
	struct net_route *r = net_route(&n->cache.routes, &want->dst, &want->source);
	struct net_neigh *e;

	if (net_ask_route(n, r, now, err) < 0)
		return -1;
	r->pass = n->pass;
	e = hop_decide(&n->cache, r, want, now, hop);
	if (!e)
		return 0;
	e->pass = n->pass;
	return net_neigh_ask(e, now) ? net_ask_neigh(n, e, true, err) : 0;
}

int net_hop(struct net *n, struct instance *i, const union poise_addr *dst, enum poise_mode mode,
	    const union poise_addr *source4, const union poise_addr *source6,
	    const unsigned int *attached, size_t count, struct net_hop *hop,
	    struct poise_error *err)
{
	struct hop_want want = {.attached = attached, .count = count};
	__u16 path;

	want_of(&want, dst, mode, source4, source6);
	if (n->stale && net_dump(n, err) < 0)
		return -1;
	if (hop_find(n, &want, net_now(), hop, err) < 0)
		return -1;
	if (!i || hop->why[0])
		return 0;
	path = instance_path_chain(i, &hop->path, hop->source, hop->sources, err);
	if (!path)
		return -1;
	hop->nexthop = INSTANCE_NEXTHOP(hop->mac, path);
	return 0;
}

static struct net_change *plan_add(struct net_plan *plan)
{
	plan->change = memory_grow(plan->change, plan->count, &plan->room, sizeof(*plan->change));
	return &plan->change[plan->count++];
}

static int plan_member(struct net *n, const struct instance *i, const struct config_service *svc,
		       const struct config_member *m, struct hop_want *want, __u64 now,
		       struct net_plan *plan, struct poise_error *err)
{
	enum poise_mode mode = config_mode(svc, m);
	struct net_hop hop;

	if (!m->id || mode == POISE_LOCAL) /* local: this host's own routing */
		return 0;
	want_of(want, &m->conf.addr, mode, svc->conf.source4, svc->conf.source6);
	if (hop_find(n, want, now, &hop, err) < 0)
		return -1;
	plan->seen_unresolved += hop.why[0] != '\0';
	if (!hop_is(i, i->members[m->id].nexthop, &hop))
		*plan_add(plan) = (struct net_change){.svc = svc, .member = m, .hop = hop};
	return 0;
}

/* After a full pass: what no member wants any more. */
static void let_go(struct net *n)
{
	for (size_t k = 0; k < NET_NEIGH_HEADS; k++)
		for (struct net_neigh *e = n->cache.neighs.head[k]; e; e = e->next)
			if (e->ours && e->pass != n->pass) {
				net_ask_neigh(n, e, false, NULL);
				e->pass = 0;
			}
	net_routes_drop(&n->cache.routes, n->pass);
}

static void plan_begin(struct net *n, struct net_plan *plan)
{
	if (plan->more)
		return;
	n->pass++;
	plan->at_service = plan->at_member = plan->seen_unresolved = 0;
}

int net_plan(struct net *n, const struct instance *i, const struct config *cfg,
	     const unsigned int *attached, size_t count, unsigned int budget, struct net_plan *plan,
	     struct poise_error *err)
{
	struct hop_want want = {.attached = attached, .count = count};
	__u32 end = n->queries * NET_QUERY_COST + budget;
	__u64 now = net_now();
	__u32 seen = 0;

	plan->count = 0;
	plan_begin(n, plan);
	plan->more = false;
	if (n->stale && net_dump(n, err) < 0)
		return -1;
	for (; plan->at_service < cfg->services; plan->at_service++, plan->at_member = 0) {
		const struct config_service *svc = cfg->service[plan->at_service];

		for (; plan->at_member < svc->members; plan->at_member++) {
			if (budget && (__s32)(n->queries * NET_QUERY_COST + seen++ - end) >= 0) {
				plan->more = true;
				return 0;
			}
			if (plan_member(n, i, svc, &svc->member[plan->at_member], &want, now, plan,
					err) < 0)
				return -1;
		}
	}
	plan->unresolved = plan->seen_unresolved;
	let_go(n);
	return 0;
}

#define TOLD 64 /* next hops of one pass that are events; who brings thousands knows it */

static void tell(struct instance *i, const struct net_change *c, __u64 before)
{
	const __u8 *m = c->hop.mac;
	char device[IF_NAMESIZE] = "?";

	if (!c->hop.nexthop) {
		events_backend(i, POISE_EVENT_HOP_LOST, c->member->id, "%s%s%s", c->hop.why,
			       c->hop.remedy[0] ? "; try: " : "", c->hop.remedy);
		return;
	}
	if_indextoname(c->hop.path.ifindex, device);
	events_backend(i, before ? POISE_EVENT_HOP_MOVED : POISE_EVENT_HOP_FOUND, c->member->id,
		       "%02x:%02x:%02x:%02x:%02x:%02x on %s", m[0], m[1], m[2], m[3], m[4], m[5],
		       device);
}

/* True if the id still belongs to whom the plan was made for. */
static bool still_its(const struct instance *i, const struct net_change *c)
{
	const struct poise_member *rec = &i->members[c->member->id];

	return rec->service == c->svc->id &&
	       !memcmp(&rec->addr, &c->member->conf.addr, sizeof(rec->addr));
}

int net_apply(struct instance *i, struct net_plan *plan, struct poise_error *err)
{
	int rc = 0;

	for (size_t k = 0; k < plan->count; k++) {
		struct net_change *c = &plan->change[k];
		__u64 before = i->members[c->member->id].nexthop;
		__u16 path;

		if (!still_its(i, c))
			continue;
		c->hop.nexthop = 0;
		if (!c->hop.why[0]) {
			/* Without room for a path this member is unresolved; others may go on. */
			path = instance_path_chain(i, &c->hop.path, c->hop.source, c->hop.sources,
						   err);
			if (path)
				c->hop.nexthop = INSTANCE_NEXTHOP(c->hop.mac, path);
			else
				rc = -1;
		}
		instance_set_nexthop(i, c->member->id, c->hop.nexthop);
		if (before != c->hop.nexthop && k < TOLD)
			tell(i, c, before);
	}
	return rc;
}

void net_plan_free(struct net_plan *plan)
{
	free(plan->change);
	memset(plan, 0, sizeof(*plan));
}

int net_resolve(struct net *n, struct instance *i, const struct config *cfg,
		const unsigned int *attached, size_t count, struct poise_error *err)
{
	struct net_plan plan = {0};
	bool held = i->locked;
	int rc;

	rc = net_plan(n, i, cfg, attached, count, 0, &plan, err);
	if (rc < 0 || !plan.count)
		goto out;
	if (!held && instance_lock(i, err) < 0) {
		rc = -1;
		goto out;
	}
	rc = net_apply(i, &plan, err);
	if (!held)
		instance_unlock(i);
out:
	if (rc == 0)
		rc = plan.unresolved;
	net_plan_free(&plan);
	return rc;
}
