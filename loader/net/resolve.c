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
#include "overlay.h"
#include "socket.h"

struct net_want net_want_of(const struct instance *i, const struct config_service *svc,
			    const struct config_member *m)
{
	struct net_want want = {.dst = m->conf.addr,
				.mode = config_mode(svc, m),
				.source4 = svc->conf.source4,
				.source6 = svc->conf.source6,
				.overlay = __atomic_load_n(&i->meta->overlay, __ATOMIC_RELAXED)};

	for (unsigned int l = 0; l < svc->conf.listeners; l++)
		want.crosses |=
			poise_addr_is4(&svc->conf.listener[l].addr) != poise_addr_is4(&want.dst);
	return want;
}

static struct hop_want hop_want(const struct net_want *want)
{
	const union poise_addr *pool = poise_addr_is4(&want->dst) ? want->source4 : want->source6;
	struct hop_want w = {.dst = want->dst,
			     .mode = want->mode,
			     .crosses = want->crosses,
			     .overlay = want->overlay,
			     .attached = want->attached,
			     .count = want->count};

	if (want->mode != POISE_L2)
		w.source = *pool;
	if (want->mode == POISE_NAT)
		w.pool = pool;
	return w;
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

int net_hop(struct net *n, const struct net_want *want, struct net_hop *hop,
	    struct poise_error *err)
{
	const struct hop_want w = hop_want(want);

	if (n->stale && net_dump(n, err) < 0)
		return -1;
	return hop_find(n, &w, net_now(), hop, err);
}

static struct net_change *plan_add(struct net_plan *plan)
{
	plan->change = memory_grow(plan->change, plan->count, &plan->room, sizeof(*plan->change));
	return &plan->change[plan->count++];
}

static int plan_member(struct net *n, const struct instance *i, const struct config_service *svc,
		       const struct config_member *m, const struct net_want *where, __u64 now,
		       struct net_plan *plan, struct poise_error *err)
{
	struct net_seen *seen = &plan->seeing;
	struct net_want want;
	struct hop_want w;
	struct net_hop hop;

	if (!m->id || config_mode(svc, m) == POISE_LOCAL) /* local: this host's own routing */
		return 0;
	want = net_want_of(i, svc, m);
	want.attached = where->attached;
	want.count = where->count;
	w = hop_want(&want);
	if (hop_find(n, &w, now, &hop, err) < 0)
		return -1;
	seen->unresolved += hop.why[0] != '\0';
	seen->by_stack += hop.by_stack;
	seen->nats += want.count && want.mode == POISE_NAT;
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
	plan->at_service = plan->at_member = 0;
	plan->seeing = (struct net_seen){.whole = true};
}

int net_plan(struct net *n, const struct instance *i, const struct config *cfg,
	     const unsigned int *attached, size_t count, unsigned int budget, struct net_plan *plan,
	     struct poise_error *err)
{
	struct net_want where = {.attached = attached, .count = count};
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
			if (plan_member(n, i, svc, &svc->member[plan->at_member], &where, now, plan,
					err) < 0)
				return -1;
		}
	}
	plan->seen = plan->seeing;
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
	if (c->hop.by_stack) {
		events_backend(i, before ? POISE_EVENT_HOP_MOVED : POISE_EVENT_HOP_FOUND,
			       c->member->id, "the host's own way by %s, translated", device);
		return;
	}
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

/* Without room for a path this member is unresolved; others may go on. */
static int settle(struct instance *i, struct net_hop *hop, struct poise_error *err)
{
	__u16 path;

	hop->nexthop = hop->by_stack ? POISE_NEXTHOP_LOCAL : 0;
	if (hop->why[0])
		hop->nexthop = 0;
	if (hop->why[0] || hop->by_stack)
		return 0;
	path = instance_path_chain(i, &hop->path, hop->source, hop->sources, err);
	if (!path)
		return -1;
	hop->nexthop = INSTANCE_NEXTHOP(hop->mac, path);
	return 0;
}

int net_apply(struct instance *i, struct net_plan *plan, struct poise_error *err)
{
	int rc = 0;

	for (size_t k = 0; k < plan->count; k++) {
		struct net_change *c = &plan->change[k];
		__u64 before = i->members[c->member->id].nexthop;

		if (!still_its(i, c))
			continue;
		if (settle(i, &c->hop, err))
			rc = -1;
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

/* A plan, and a second one if the first has shown that the host's stack is, or is no more, to take
 * some. */
static int plan_all(struct net *n, struct instance *i, const struct config *cfg,
		    const unsigned int *attached, size_t count, struct net_plan *plan,
		    struct poise_error *err)
{
	struct poise_error ignored = {0}; /* meta says so, and `poise status` */
	struct overlay overlay = {0};

	if (net_plan(n, i, cfg, attached, count, 0, plan, err))
		return -1;
	if (cfg->part && !plan->seen.by_stack) /* others may need it */
		return 0;
	if (!overlay_settle(&overlay, i, &plan->seen, &ignored))
		return 0;
	return net_plan(n, i, cfg, attached, count, 0, plan, err);
}

int net_resolve(struct net *n, struct instance *i, const struct config *cfg,
		const unsigned int *attached, size_t count, struct poise_error *err)
{
	struct net_plan plan = {0};
	bool held = i->locked;
	int rc;

	rc = plan_all(n, i, cfg, attached, count, &plan, err);
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
		rc = plan.seen.unresolved;
	net_plan_free(&plan);
	return rc;
}
