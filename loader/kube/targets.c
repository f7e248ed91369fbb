// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selection of endpoints; see targets.h. Candidates of all slices are put in one order, so that
 * what is chosen depends on what they say and not on when they came.
 */
#include <stdlib.h>
#include <string.h>

#include "maps/memory.h"
#include "maps/text.h"
#include "targets.h"

struct candidate {
	const struct kube_slice *slice;
	const struct kube_endpoint *e;
	__u16 port;
};

struct candidates {
	struct candidate *at;
	size_t n, room;
};

/* ---- gathering --------------------------------------------------------------------------------*/

static bool of_family(const struct kube_slice *s, __u8 family)
{
	return s->endpoints &&
	       (poise_addr_is4(&s->endpoint[0].addr) ? KUBE_IPV4 : KUBE_IPV6) == family;
}

static void gather_slice(struct candidates *c, const struct kube_slice *s, __u16 port)
{
	for (size_t i = 0; i < s->endpoints; i++) {
		c->at = memory_grow(c->at, c->n, &c->room, sizeof(*c->at));
		c->at[c->n++] = (struct candidate){s, &s->endpoint[i], port};
	}
}

static void gather(struct candidates *c, const struct kube_entry *e, const struct kube_port *port,
		   __u8 family)
{
	for (size_t i = 0; i < e->slices; i++) {
		const struct kube_slice *s = e->slice[i];

		for (size_t p = 0; p < s->ports && of_family(s, family); p++)
			if (s->port[p].proto == port->proto && !strcmp(s->port[p].name, port->name))
				gather_slice(c, s, s->port[p].port);
	}
}

/* ---- once each --------------------------------------------------------------------------------*/

/* Better is less. */
static int worth(const struct kube_endpoint *e)
{
	if (e->is & KUBE_READY)
		return 0;
	if (e->is & KUBE_SERVING)
		return e->is & KUBE_TERMINATING ? 1 : 2;
	return 3;
}

static int by_age(const struct kube_slice *a, const struct kube_slice *b)
{
	if (a->o.created != b->o.created)
		return a->o.created > b->o.created ? -1 : 1; /* newer first */
	return strcmp(a->o.name, b->o.name);
}

static int by_place(const struct candidate *a, const struct candidate *b)
{
	int order = poise_addr_cmp(&a->e->addr, &b->e->addr);

	return order ? order : a->port - b->port;
}

/* Those of one pod side by side, what the newer slice says first. Who is nobody's pod is not known
 * again: each is another one. */
static int by_pod(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	int order = by_place(a, b);

	if (order)
		return order;
	if (a->e->pod != b->e->pod)
		return a->e->pod < b->e->pod ? -1 : 1;
	order = worth(a->e) - worth(b->e);
	if (a->e->pod && a->slice->o.created != b->slice->o.created)
		order = 0;
	return order ? order : by_age(a->slice, b->slice);
}

/* Is the second the better one for the place of both? */
static bool better(const struct candidate *a, const struct candidate *b)
{
	int order = worth(a->e) - worth(b->e);

	return (order ? order : by_age(a->slice, b->slice)) > 0;
}

/* Of one pod the newer slice counts; of several at one address and port the one that is ready. */
static void unite(struct candidates *c)
{
	size_t kept = 0;

	if (c->n)
		qsort(c->at, c->n, sizeof(*c->at), by_pod);
	for (size_t i = 0; i < c->n; i++) {
		const struct candidate *k = &c->at[i];

		if (i && k->e->pod && k->e->pod == c->at[i - 1].e->pod &&
		    !by_place(&c->at[i - 1], k))
			continue;
		if (!kept || by_place(&c->at[kept - 1], k))
			kept++;
		else if (!better(&c->at[kept - 1], k))
			continue;
		c->at[kept - 1] = *k;
	}
	c->n = kept;
}

/* ---- who is chosen ----------------------------------------------------------------------------*/

/* By which hints, if any, ready ones are chosen. */
enum hints {
	HINTS_NONE,
	HINTS_ZONES,
	HINTS_NODES,
};

static bool is_hinted(const struct candidate *k, enum hints by)
{
	return by == HINTS_ZONES ? k->e->zones != 0 : k->e->is & KUBE_FOR_NODES;
}

/* Whether they are for us. */
static bool is_for_us(const struct candidate *k, enum hints by, const char *zone)
{
	switch (by) {
	case HINTS_ZONES: return kube_slice_hints(k->slice, k->e, zone);
	case HINTS_NODES: return k->e->is & KUBE_FOR_OURS;
	default: return true;
	}
}

/* They count only if whoever is ready has some, and somebody's are for us. */
static bool hints_count(const struct candidates *c, enum hints by, const char *zone)
{
	bool ours = false;

	for (size_t i = 0; i < c->n; i++) {
		if (!(c->at[i].e->is & KUBE_READY))
			continue;
		if (!is_hinted(&c->at[i], by))
			return false;
		ours = ours || is_for_us(&c->at[i], by, zone);
	}
	return ours;
}

/* Those for nodes go before those for zones (KEP-3015: PreferSameNode, then PreferSameZone). */
static enum hints hints_of(const struct candidates *c, const char *zone)
{
	if (hints_count(c, HINTS_NODES, zone))
		return HINTS_NODES;
	return hints_count(c, HINTS_ZONES, zone) ? HINTS_ZONES : HINTS_NONE;
}

static enum poise_admin admin_of(const struct kube_endpoint *e)
{
	if (e->is & KUBE_READY)
		return POISE_ENABLED;
	return worth(e) == 1 ? POISE_DRAINING : POISE_DISABLED;
}

void targets_of(const struct kube_entry *e, const struct kube_port *port, __u8 family, bool local,
		const char *zone, struct targets *out)
{
	enum hints hints = HINTS_NONE;
	struct candidates c = {0};

	gather(&c, e, port, family);
	unite(&c);
	if (!local)
		hints = hints_of(&c, zone);
	*out = (struct targets){
		.target = memory_alloc(c.n * sizeof(*out->target)),
		.seen = c.n,
	};
	for (size_t i = 0; i < c.n; i++) {
		const struct candidate *k = &c.at[i];
		enum poise_admin admin = admin_of(k->e);

		out->anywhere |= admin != POISE_DISABLED;
		if (local && !(k->e->is & KUBE_LOCAL))
			continue;
		if (admin == POISE_ENABLED && !is_for_us(k, hints, zone))
			continue;
		out->target[out->n++] = (struct target){
			.addr = k->e->addr,
			.port = k->port,
			.admin = (__u8)admin,
			.local = k->e->is & KUBE_LOCAL,
		};
	}
	free(c.at);
}

void targets_free(struct targets *t)
{
	free(t->target);
	memset(t, 0, sizeof(*t));
}

bool targets_equal(const struct targets *a, const struct targets *b)
{
	if (a->n != b->n || a->anywhere != b->anywhere)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct target *x = &a->target[i], *y = &b->target[i];

		if (poise_addr_cmp(&x->addr, &y->addr) || x->port != y->port ||
		    x->admin != y->admin || x->local != y->local)
			return false;
	}
	return true;
}

/* ---- healthCheckNodePort ----------------------------------------------------------------------*/

static int addr_order(const void *a, const void *b)
{
	return poise_addr_cmp(a, b);
}

size_t targets_local(const struct kube_entry *e)
{
	union poise_addr *addr = NULL;
	size_t n = 0, room = 0, different = 0;

	for (size_t i = 0; i < e->slices; i++)
		for (size_t k = 0; k < e->slice[i]->endpoints; k++) {
			const struct kube_endpoint *at = &e->slice[i]->endpoint[k];

			if (!(at->is & KUBE_READY) || !(at->is & KUBE_LOCAL))
				continue;
			addr = memory_grow(addr, n, &room, sizeof(*addr));
			addr[n++] = at->addr;
		}
	if (n)
		qsort(addr, n, sizeof(*addr), addr_order);
	for (size_t i = 0; i < n; i++)
		different += !i || poise_addr_cmp(&addr[i - 1], &addr[i]) != 0;
	free(addr);
	return different;
}
