// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who gets what several want; see allot.h. */
#include <stdlib.h>
#include <string.h>

#include "maps/hash.h"
#include "maps/memory.h"
#include "maps/text.h"
#include "allot.h"

#define LEAST	 256	     /* slots; a power of two */
#define NO_LIMIT (1ll << 40) /* more than anything can be */

/* A listener and whose it is; svc NULL: nobody's. */
struct taken {
	struct poise_listener_conf l;
	const struct config_service *svc;
};

/* ---- listeners --------------------------------------------------------------------------------*/

static bool same(const struct poise_listener_conf *a, const struct poise_listener_conf *b)
{
	return !poise_addr_cmp(&a->addr, &b->addr) && a->port == b->port && a->proto == b->proto;
}

static struct taken *probe(const struct allot *s, const struct poise_listener_conf *l)
{
	size_t at = poise_listener_hash(&l->addr, l->port, l->proto);

	while (s->taken[at & (s->slots - 1)].svc && !same(&s->taken[at & (s->slots - 1)].l, l))
		at++;
	return &s->taken[at & (s->slots - 1)];
}

static void take_listener(struct allot *s, const struct poise_listener_conf *l,
			  const struct config_service *svc)
{
	if (2 * (s->used + 1) > s->slots) {
		struct taken *old = s->taken;
		size_t slots = s->slots;

		s->slots = slots ? 2 * slots : LEAST;
		s->taken = memory_alloc(s->slots * sizeof(*s->taken));
		for (size_t i = 0; i < slots; i++)
			if (old[i].svc)
				*probe(s, &old[i].l) = old[i];
		free(old);
	}
	*probe(s, l) = (struct taken){*l, svc};
	s->used++;
}

static const char *owner_word(const struct config_service *svc)
{
	switch (svc->conf.r.owner) {
	case POISE_OWNER_HAND: return "made by hand";
	case POISE_OWNER_FILE: return "of the file";
	default: return "of another Service";
	}
}

/* Leaves out those that others have. */
static void allot_listeners(struct allot *s, const struct kube_about *about,
			    struct config_service *svc)
{
	char text[POISE_ENDPOINT_TEXT];

	for (size_t i = svc->conf.listeners; i-- > 0;) {
		struct poise_listener_conf l = svc->conf.listener[i];
		const struct config_service *other = s->slots ? probe(s, &l)->svc : NULL;

		if (!other)
			continue;
		kube_find(s->findings, about, KUBE_R_CONFLICT, "",
			  "not served on %s: there listens poise service \"%s\", %s",
			  poise_format_listener(&l, text, sizeof(text)), other->conf.name,
			  owner_word(other));
		config_unlisten(svc, &l, NULL);
	}
}

/* ---- room -------------------------------------------------------------------------------------*/

static void room_of(struct allot *s)
{
	const struct config_limits *l = &s->live->limits;

	s->room = (struct room){l->services,	l->backends, l->listeners,
				l->table_slots, l->ranges,   POISE_ADDRESSES};
	for (size_t i = 0; i < s->live->services; i++) {
		const struct config_service *svc = s->live->service[i];

		if (svc->conf.r.owner == POISE_OWNER_KUBERNETES)
			continue;
		allot_room(&s->room, svc, -1);
		for (size_t k = 0; k < svc->conf.listeners; k++)
			take_listener(s, &svc->conf.listener[k], svc);
	}
	for (size_t i = 0; i < s->live->addresses; i++)
		s->room.addresses -= s->live->address[i].conf.r.owner != POISE_OWNER_KUBERNETES;
}

void allot_room(struct room *r, const struct config_service *svc, int sign)
{
	r->services += sign;
	r->backends += sign * (__s64)config_members_in(svc);
	r->listeners += sign * (__s64)svc->conf.listeners;
	r->slots += sign * (__s64)config_table_size(svc);
	r->ranges += sign * (__s64)(svc->allow.n + svc->deny.n);
}

bool allot_room_left(const struct room *r)
{
	return r->services >= 0 && r->backends >= 0 && r->listeners >= 0 && r->slots >= 0 &&
	       r->ranges >= 0;
}

/* Keeps so many: first those that take new flows, of them those of the first addresses. */
static void shorten(struct config_service *svc, size_t keep)
{
	static const enum poise_admin order[] = {POISE_ENABLED, POISE_DRAINING, POISE_DISABLED};
	size_t kept[POISE_DISABLED + 1] = {0}, n = 0;

	for (size_t i = 0; i < svc->members; i++)
		kept[svc->member[i].conf.admin]++;
	for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); k++) {
		if (kept[order[k]] > keep)
			kept[order[k]] = keep;
		keep -= kept[order[k]];
	}
	for (size_t i = 0; i < svc->members; i++) {
		if (!kept[svc->member[i].conf.admin])
			continue;
		kept[svc->member[i].conf.admin]--;
		svc->member[n++] = svc->member[i];
	}
	svc->members = n;
}

/* Whether services that translate can be served at all. */
static bool translates(const struct allot *s)
{
	return !s->live || !s->live->has_limits || s->live->limits.nat_groups;
}

/* Members up to what is left; else nothing of it. Returns whether there is room. */
static bool allot_limits(struct allot *s, const struct kube_about *about,
			 struct config_service *svc)
{
	struct room left = s->room;
	size_t members = svc->members;
	bool fits;

	if (config_translates(svc->conf.forward) && !translates(s)) {
		kube_find(s->findings, about, KUBE_R_FULL, "",
			  "\"%s\" is not served: this instance has no ports for forward nat and "
			  "local (limits: nat-groups)",
			  svc->conf.name);
		return false;
	}
	if (members && left.backends <= 0) {
		s->short_of = true;
		kube_find(s->findings, about, KUBE_R_FULL, "",
			  "\"%s\" is not served: this instance has no room for more backends "
			  "(limits: backends)",
			  svc->conf.name);
		return false;
	}
	if ((__s64)members > left.backends) {
		s->short_of = true;
		shorten(svc, (size_t)left.backends);
		kube_find(s->findings, about, KUBE_R_FULL, "",
			  "\"%s\" has %zu of its %zu backends: this instance has no room for more "
			  "(limits: backends)",
			  svc->conf.name, svc->members, members);
	}
	allot_room(&left, svc, -1);
	fits = allot_room_left(&left);
	if (fits) {
		s->room = left;
		return true;
	}
	s->short_of = true;
	kube_find(s->findings, about, KUBE_R_FULL, "",
		  "\"%s\" is not served: this instance has no room for more %s", svc->conf.name,
		  left.services < 0    ? "services (limits: services)"
		  : left.listeners < 0 ? "listeners (limits: listeners)"
		  : left.slots < 0     ? "tables (limits: table-slots)"
				       : "ranges (limits: source-ranges)");
	return false;
}

/* ---- the whole --------------------------------------------------------------------------------*/

void allot_begin(struct allot *s, const struct config *live, const char *claim,
		 struct kube_findings *findings)
{
	*s = (struct allot){
		.cfg = config_new(),
		.live = live,
		.claim = claim,
		.findings = findings,
		.room = {NO_LIMIT, NO_LIMIT, NO_LIMIT, NO_LIMIT, NO_LIMIT, POISE_ADDRESSES},
	};
	if (live)
		room_of(s);
	if (live && !live->has_limits)
		s->room = (struct room){NO_LIMIT, NO_LIMIT, NO_LIMIT,
					NO_LIMIT, NO_LIMIT, s->room.addresses};
}

/* Whose the name is already: somebody else's here, or, of two long ones, the older Service's. */
static const struct config_service *namesake(const struct allot *s, const char *name)
{
	const struct config_service *other = s->live ? config_service_named(s->live, name) : NULL;

	if (other && other->conf.r.owner != POISE_OWNER_KUBERNETES)
		return other;
	return config_service_named(s->cfg, name);
}

bool allot_service(struct allot *s, const struct kube_about *about, struct config_service *svc)
{
	const struct config_service *other = namesake(s, svc->conf.name);

	if (other)
		kube_find(s->findings, about, KUBE_R_NAME, "",
			  "not served: there is a poise service \"%s\", %s", svc->conf.name,
			  owner_word(other));
	else
		allot_listeners(s, about, svc);
	if (other || !svc->conf.listeners || !allot_limits(s, about, svc)) {
		config_service_free(svc);
		return false;
	}
	config_service_put(s->cfg, svc);
	for (size_t i = 0; i < svc->conf.listeners; i++)
		take_listener(s, &svc->conf.listener[i], svc);
	return true;
}

void allot_claims(struct allot *s, const struct kube_about *about, const union poise_addr *addr,
		  size_t n)
{
	char text[POISE_ADDR_TEXT];

	for (size_t i = 0; i < n && s->claim; i++) {
		const struct config_address *now =
			s->live ? config_address_at(s->live, &addr[i]) : NULL;
		struct config_address *a;

		if (config_address_at(s->cfg, &addr[i]) ||
		    (now && now->conf.r.owner != POISE_OWNER_KUBERNETES))
			continue; /* somebody else sees to it */
		if (s->room.addresses <= 0) {
			kube_find(s->findings, about, KUBE_R_FULL, "",
				  "%s is not claimed: at most %d addresses are",
				  poise_format_addr(&addr[i], text, sizeof(text)), POISE_ADDRESSES);
			continue;
		}
		a = config_address_add(s->cfg, &addr[i], NULL);
		if (!a || config_address_device(a, s->claim, NULL))
			continue;
		a->conf.r.owner = POISE_OWNER_KUBERNETES;
		s->room.addresses--;
	}
}

struct config *allot_end(struct allot *s)
{
	free(s->taken);
	s->taken = NULL;
	return s->cfg;
}
