// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who gets which address. Holders of an address hang in a chain of a hash table, and so do the
 * ports that those who share it have there; the next free address of a family is looked for where
 * the last was found, for none becomes free on the way. So it takes n log n, and a pool of 2^64
 * addresses no longer than one of ten.
 */
#include "pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "maps/hash.h"
#include "maps/memory.h"
#include "maps/text.h"

#define NONE	     UINT32_MAX
#define FAMILIES     2
#define FIELD_STATUS "status.loadBalancer"
#define FIELD_WANT   "poise.dev/addresses" /* spec.loadBalancerIP, too, is read as it */

static const char *const family_word[FAMILIES] = {"IPv4", "IPv6"};

struct holder {
	union poise_addr addr;
	const struct kube_pool_claim *claim; /* NULL: reserved */
	__u32 next;
};

/* A port of an address that is shared. */
struct held_port {
	union poise_addr addr;
	struct kube_pool_port port;
	__u32 holder, next;
};

/* Where the next free address of a family may be. */
struct cursor {
	size_t range;
	union poise_addr at;
	bool begun; /* `at` lies in range */
};

struct assigning {
	const struct kube_pool *pool;
	struct kube_pool_claim **claim; /* the older first */
	struct kube_pool_claim **alike; /* by word shared; those without are not in it */
	size_t claims, alikes;
	struct holder *holder;
	__u32 *head; /* [mask + 1] */
	__u32 holders, mask;
	struct held_port *port;
	__u32 *port_head; /* [port_mask + 1] */
	__u32 ports, port_mask;
	struct cursor cursor[FAMILIES];
	struct kube_findings *findings;
};

/* An array, never of none. */
static void *some(size_t count, size_t size)
{
	return memory_alloc((count + 1) * size);
}

static int family_of(const union poise_addr *a)
{
	return poise_addr_is4(a) ? 0 : 1;
}

/* ---- who holds what ---------------------------------------------------------------------------*/

static __u32 *chain(const struct assigning *a, const union poise_addr *addr)
{
	return &a->head[poise_listener_hash(addr, 0, 0) & a->mask];
}

static __u32 *port_chain(const struct assigning *a, const union poise_addr *addr,
			 const struct kube_pool_port *p)
{
	return &a->port_head[poise_listener_hash(addr, p->port, p->proto) & a->port_mask];
}

static void hold_ports(struct assigning *a, const union poise_addr *addr,
		       const struct kube_pool_claim *c, __u32 holder)
{
	for (size_t k = 0; k < c->ports; k++) {
		__u32 *head = port_chain(a, addr, &c->port[k]);

		a->port[a->ports] = (struct held_port){*addr, c->port[k], holder, *head};
		*head = a->ports++;
	}
}

static void hold(struct assigning *a, const union poise_addr *addr, const struct kube_pool_claim *c)
{
	__u32 *head = chain(a, addr);

	if (c && c->share)
		hold_ports(a, addr, c, a->holders);
	a->holder[a->holders] = (struct holder){*addr, c, *head};
	*head = a->holders++;
}

/* Who has a port of the claim at that address already; NULL: nobody. */
static const struct holder *collision(const struct assigning *a, const union poise_addr *addr,
				      const struct kube_pool_claim *c)
{
	for (size_t k = 0; k < c->ports; k++)
		for (__u32 n = *port_chain(a, addr, &c->port[k]); n != NONE; n = a->port[n].next) {
			const struct held_port *h = &a->port[n];

			if (h->port.port == c->port[k].port && h->port.proto == c->port[k].proto &&
			    !poise_addr_cmp(&h->addr, addr))
				return &a->holder[h->holder];
		}
	return NULL;
}

static bool says_the_same(const struct kube_pool_claim *a, const struct kube_pool_claim *b)
{
	return a->share && b && b->share && !strcmp(a->share, b->share);
}

/* A holder that bars a claim from an address; NULL: it may have it. All who have it say the same
 * word, else they would not. */
static const struct holder *barrier(const struct assigning *a, const union poise_addr *addr,
				    const struct kube_pool_claim *c)
{
	for (__u32 k = *chain(a, addr); k != NONE; k = a->holder[k].next) {
		const struct holder *h = &a->holder[k];

		if (!poise_addr_cmp(&h->addr, addr))
			return says_the_same(c, h->claim) ? collision(a, addr, c) : h;
	}
	return NULL;
}

/* ---- one claim --------------------------------------------------------------------------------*/

static bool has_got(const struct kube_pool_claim *c, int family)
{
	for (size_t k = 0; k < c->gots; k++)
		if (family_of(&c->got[k]) == family)
			return true;
	return false;
}

static void give(struct assigning *a, struct kube_pool_claim *c, const union poise_addr *addr)
{
	c->got[c->gots++] = *addr;
	hold(a, addr, c);
}

static bool wants(const struct kube_pool_claim *c, int family)
{
	for (size_t k = 0; k < c->wants; k++)
		if (family_of(&c->want[k]) == family)
			return true;
	return false;
}

static bool has_asked_for(const struct kube_pool_claim *c, const union poise_addr *addr)
{
	for (size_t k = 0; k < c->wants; k++)
		if (!poise_addr_cmp(&c->want[k], addr))
			return true;
	return false;
}

/* What its status says and may stay; `asked`: though others were asked for. */
static void keep(struct assigning *a, struct kube_pool_claim *c, bool asked)
{
	for (size_t k = 0; k < c->haves; k++) {
		const union poise_addr *addr = &c->have[k];
		int family = family_of(addr);

		if (c->need[family] && !has_got(c, family) && kube_pool_has(a->pool, addr) &&
		    (asked || !wants(c, family) || has_asked_for(c, addr)) && !barrier(a, addr, c))
			give(a, c, addr);
	}
}

/* One address that was asked for. */
static void grant_one(struct assigning *a, struct kube_pool_claim *c, const union poise_addr *addr)
{
	int family = family_of(addr);
	const struct holder *by;
	char text[POISE_ADDR_TEXT];

	poise_format_addr(addr, text, sizeof(text));
	if (!c->need[family])
		kube_find(a->findings, &c->about, KUBE_R_POOL_FAMILY, FIELD_WANT,
			  "%s was asked for, but the Service is not of %s", text,
			  family_word[family]);
	else if (!kube_pool_has(a->pool, addr))
		kube_find(a->findings, &c->about, KUBE_R_POOL_OUTSIDE, FIELD_WANT,
			  "%s was asked for and is not in the address pool", text);
	else if (!(by = barrier(a, addr, c)))
		give(a, c, addr);
	else if (by->claim)
		kube_find(a->findings, &c->about, KUBE_R_POOL_TAKEN, FIELD_WANT,
			  "%s was asked for and is that of Service %s/%s", text,
			  by->claim->about.ns, by->claim->about.name);
	else
		kube_find(a->findings, &c->about, KUBE_R_POOL_TAKEN, FIELD_WANT,
			  "%s was asked for and is that of a node or of the API server", text);
}

static void grant(struct assigning *a, struct kube_pool_claim *c)
{
	for (size_t k = 0; k < c->wants; k++)
		if (!has_got(c, family_of(&c->want[k])))
			grant_one(a, c, &c->want[k]);
}

/* ---- any address ------------------------------------------------------------------------------*/

/* False behind the last one of all addresses. */
static bool step(union poise_addr *a)
{
	for (int byte = sizeof(a->b) - 1; byte >= 0; byte--)
		if (++a->b[byte])
			return true;
	return false;
}

static bool next_range(const struct kube_pool *p, struct cursor *at, int family)
{
	for (; at->range < p->ranges; at->range++)
		if (family_of(&p->range[at->range].first) == family) {
			at->at = p->range[at->range].first;
			at->begun = true;
			return true;
		}
	return false;
}

static const union poise_addr *first_free(struct assigning *a, int family)
{
	static const struct kube_pool_claim alone; /* who shares nothing */
	struct cursor *c = &a->cursor[family];

	while (c->begun || next_range(a->pool, c, family)) {
		if (!barrier(a, &c->at, &alone))
			return &c->at;
		if (!poise_addr_cmp(&c->at, &a->pool->range[c->range].last) || !step(&c->at)) {
			c->range++;
			c->begun = false;
		}
	}
	return NULL;
}

static int by_share(const void *a, const void *b)
{
	return strcmp((*(struct kube_pool_claim *const *)a)->share,
		      (*(struct kube_pool_claim *const *)b)->share);
}

/* An address of those that say the same word. */
static const union poise_addr *shared(const struct assigning *a, const struct kube_pool_claim *c,
				      int family)
{
	struct kube_pool_claim *const *at, *const *end = a->alike + a->alikes;

	if (!c->share)
		return NULL;
	at = bsearch(&c, a->alike, a->alikes, sizeof(*at), by_share);
	while (at > a->alike && !strcmp(at[-1]->share, c->share))
		at--;
	for (; at < end && !strcmp((*at)->share, c->share); at++)
		for (size_t k = 0; k < (*at)->gots; k++)
			if (family_of(&(*at)->got[k]) == family && !barrier(a, &(*at)->got[k], c))
				return &(*at)->got[k];
	return NULL;
}

static bool has_family(const struct kube_pool *p, int family)
{
	for (size_t k = 0; k < p->ranges; k++)
		if (family_of(&p->range[k].first) == family)
			return true;
	return false;
}

static void fill(struct assigning *a, struct kube_pool_claim *c, int family)
{
	const union poise_addr *addr;

	if (!c->need[family] || has_got(c, family) || wants(c, family))
		return;
	addr = shared(a, c, family);
	if (!addr)
		addr = first_free(a, family);
	if (addr)
		give(a, c, addr);
	else if (c->need[family] == KUBE_POOL_LIKED)
		return;
	else if (has_family(a->pool, family))
		kube_find(a->findings, &c->about, KUBE_R_POOL_EXHAUSTED, FIELD_STATUS,
			  "no %s address of the address pool is free", family_word[family]);
	else
		kube_find(a->findings, &c->about, KUBE_R_POOL_FAMILY, FIELD_STATUS,
			  "the address pool has no %s address", family_word[family]);
}

/* ---- all claims -------------------------------------------------------------------------------*/

static int by_age(const void *a, const void *b)
{
	const struct kube_pool_claim *one = *(struct kube_pool_claim *const *)a;
	const struct kube_pool_claim *other = *(struct kube_pool_claim *const *)b;
	int order;

	if (one->created != other->created)
		return one->created < other->created ? -1 : 1;
	order = strcmp(one->about.ns, other->about.ns);
	return order ? order : strcmp(one->about.name, other->about.name);
}

/* Heads of chains, all NONE, for so many things. */
static __u32 *heads(size_t things, __u32 *mask)
{
	size_t slots = 1;
	__u32 *head;

	while (slots < things)
		slots *= 2;
	*mask = (__u32)slots - 1;
	head = some(slots, sizeof(*head));
	memset(head, 0xff, slots * sizeof(*head)); /* NONE */
	return head;
}

static void begin(struct assigning *a, struct kube_pool_claim *claim, size_t reserves)
{
	const size_t holders = FAMILIES * a->claims + reserves;
	size_t ports = 0;

	for (size_t k = 0; k < a->claims; k++)
		ports += claim[k].share ? FAMILIES * claim[k].ports : 0;
	a->head = heads(holders, &a->mask);
	a->holder = some(holders, sizeof(*a->holder));
	a->port_head = heads(ports, &a->port_mask);
	a->port = some(ports, sizeof(*a->port));
	a->claim = some(a->claims, sizeof(struct kube_pool_claim *));
	a->alike = some(a->claims, sizeof(struct kube_pool_claim *));
	for (size_t k = 0; k < a->claims; k++) {
		claim[k].gots = 0;
		a->claim[k] = &claim[k];
		if (claim[k].share)
			a->alike[a->alikes++] = &claim[k];
	}
	qsort(a->claim, a->claims, sizeof(struct kube_pool_claim *), by_age);
	qsort(a->alike, a->alikes, sizeof(struct kube_pool_claim *), by_share);
}

static void order_families(struct kube_pool_claim *c)
{
	union poise_addr first = c->got[0];

	if (c->gots < FAMILIES || poise_addr_is4(&first))
		return;
	c->got[0] = c->got[1];
	c->got[1] = first;
}

void kube_pool_assign(const struct kube_pool *p, struct kube_pool_claim *claim, size_t claims,
		      const union poise_addr *reserved, size_t reserves,
		      struct kube_findings *findings)
{
	struct assigning a = {.pool = p, .claims = claims, .findings = findings};

	begin(&a, claim, reserves);
	for (size_t k = 0; k < reserves; k++)
		hold(&a, &reserved[k], NULL);
	for (size_t k = 0; k < claims; k++)
		keep(&a, a.claim[k], false);
	for (size_t k = 0; k < claims; k++)
		grant(&a, a.claim[k]);
	for (size_t k = 0; k < claims; k++)
		keep(&a, a.claim[k], true);
	for (size_t k = 0; k < claims; k++)
		for (int family = 0; family < FAMILIES; family++)
			fill(&a, a.claim[k], family);
	for (size_t k = 0; k < claims; k++)
		order_families(&claim[k]);
	free(a.claim);
	free(a.alike);
	free(a.holder);
	free(a.head);
	free(a.port);
	free(a.port_head);
}
