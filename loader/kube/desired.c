// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What poise should do for the cluster; see desired.h. Plans of single Services (plan.h) are put
 * together here, the older Service first: names and listeners that somebody has already, and the
 * limits of this instance, are allotted in that order, so the same Services win on every node and
 * nobody loses what he has to a newcomer.
 *
 * A plan's shape is what others could want too: names, listeners, claims. While that stays, so does
 * what was allotted, and a change of endpoints or options is one Service's own business.
 */
#include <stdlib.h>
#include <string.h>

#include "allot.h"
#include "fnv.h"
#include "maps/memory.h"
#include "plan.h"

/* What is kept of a Service's plan. */
struct kept {
	struct named at; /* first */
	__u64 shape;
	__s64 created;		       /* the Service: its place among the others */
	struct kube_findings findings; /* of its plan */
	char (*name)[POISE_NAME_MAX];  /* of its poise services that are served */
	size_t names;
	struct kube_health_port health; /* port 0: none */
};

struct kube_plans {
	struct names kept;
	struct kube_findings allotted; /* what came of putting plans together */
	struct room room;	       /* what limits leave */
	bool short_of;		       /* somebody did not get all */
};

/* ---- a plan and its shape ---------------------------------------------------------------------*/

static __u64 shape_of(const struct plan *p)
{
	__u64 h = FNV_BEGIN;

	for (size_t i = 0; i < p->part->services; i++) {
		const struct config_service *svc = p->part->service[i];

		h = fnv(h, svc->conf.name, strlen(svc->conf.name) + 1);
		h = fnv(h, svc->conf.listener, svc->conf.listeners * sizeof(*svc->conf.listener));
	}
	return fnv(h, p->claim, p->claims * sizeof(*p->claim));
}

static struct kept *keep(struct kube_plans *plans, const struct kube_entry *e)
{
	struct kept *k = memory_alloc(sizeof(*k));

	k->at.ns = memory_text(e->at.ns);
	k->at.name = memory_text(e->at.name);
	names_add(&plans->kept, &k->at);
	return k;
}

static void kept_free(struct named *at)
{
	struct kept *k = (struct kept *)at;

	kube_findings_free(&k->findings);
	free(k->name);
	free((char *)k->at.ns);
	free((char *)k->at.name);
	free(k);
}

/* What does not come of other Services: findings and the health port change hands. */
static void keep_own(struct kept *k, struct plan *p)
{
	kube_findings_free(&k->findings);
	k->findings = p->findings;
	p->findings = (struct kube_findings){0};
	k->shape = shape_of(p);
	k->created = p->created;
	k->health = (struct kube_health_port){
		.ns = (char *)k->at.ns,
		.name = (char *)k->at.name,
		.port = p->health_port,
		.local = p->local,
	};
}

/* ---- the whole --------------------------------------------------------------------------------*/

static int by_age(const void *a, const void *b)
{
	const struct kube_entry *const *x = a, *const *y = b;
	int order;

	if ((*x)->service->o.created != (*y)->service->o.created)
		return (*x)->service->o.created < (*y)->service->o.created ? -1 : 1;
	order = strcmp((*x)->at.ns, (*y)->at.ns);
	return order ? order : strcmp((*x)->at.name, (*y)->at.name);
}

static void take_plan(struct kube_desired *d, struct allot *s, const struct kube_entry *e,
		      struct plan *p)
{
	struct kept *k = keep(d->plans, e);
	const struct kube_about about = plan_about(e);

	keep_own(k, p);
	k->name = memory_alloc((p->part->services + 1) * sizeof(*k->name));
	while (p->part->services) {
		struct config_service *svc = p->part->service[0];

		config_service_take(p->part, svc);
		if (allot_service(s, &about, svc))
			memcpy(k->name[k->names++], svc->conf.name, POISE_NAME_MAX);
	}
	allot_claims(s, &about, p->claim, p->claims);
}

/* In the order of names, where plans are in that of age. */
static void tell_findings(struct kube_desired *d)
{
	const struct names *t = &d->plans->kept;

	kube_findings_free(&d->findings);
	for (struct named *i = names_next(t, NULL); i; i = names_next(t, i))
		kube_findings_add(&d->findings, &((struct kept *)i)->findings);
	kube_findings_add(&d->findings, &d->plans->allotted);
	kube_findings_sort(&d->findings);
}

static int by_name(const void *a, const void *b)
{
	const struct kube_health_port *x = a, *y = b;
	int order = strcmp(x->ns, y->ns);

	return order ? order : strcmp(x->name, y->name);
}

static void tell_health(struct kube_desired *d)
{
	const struct names *t = &d->plans->kept;

	free(d->health);
	d->health = memory_alloc((t->n + 1) * sizeof(*d->health));
	d->healths = 0;
	for (struct named *i = names_next(t, NULL); i; i = names_next(t, i))
		if (((struct kept *)i)->health.port)
			d->health[d->healths++] = ((struct kept *)i)->health;
	if (d->healths)
		qsort(d->health, d->healths, sizeof(*d->health), by_name);
}

struct kube_desired *kube_desired(const struct kube_cache *c, const struct kube_options *o,
				  const struct config *live)
{
	struct kube_desired *d = memory_alloc(sizeof(*d));
	const struct kube_entry **entry;
	struct allot s;
	struct plan p;
	size_t n;

	d->plans = memory_alloc(sizeof(*d->plans));
	allot_begin(&s, live, o->claim, &d->plans->allotted);
	entry = kube_cache_services(c, &n);
	if (n)
		qsort(entry, n, sizeof(*entry), by_age);
	for (size_t i = 0; i < n; i++) {
		plan_make(c, o, entry[i], &p);
		if (p.part->services || p.findings.n || p.health_port || p.claims)
			take_plan(d, &s, entry[i], &p);
		plan_free(&p);
	}
	free(entry);
	d->plans->room = s.room;
	d->plans->short_of = s.short_of;
	d->cfg = allot_end(&s);
	tell_findings(d);
	tell_health(d);
	return d;
}

/* ---- after a change of few --------------------------------------------------------------------*/

/* A Service that is looked at again. */
struct fresh {
	struct plan plan;
	struct kept *kept; /* NULL: it asked for nothing, and does not now */
};

/* The service of this name as it is, if it is served. */
static struct config_service *served(const struct kube_desired *d, const struct kept *k,
				     const char *name)
{
	for (size_t i = 0; i < k->names; i++)
		if (!strcmp(k->name[i], name))
			return config_service_named(d->cfg, name);
	return NULL;
}

/* Whether it takes as much as it did. */
static bool same_room(const struct config_service *was, const struct config_service *is)
{
	static const struct room none;
	struct room more = {0};

	allot_room(&more, was, 1);
	allot_room(&more, is, -1);
	return !memcmp(&more, &none, sizeof(more));
}

/* Whether all that was allotted stays so. Where somebody went short, whoever takes more or less
 * than before changes what is left for others. */
static bool stays(const struct kube_desired *d, const struct fresh *f, struct room *room)
{
	const struct config *part = f->plan.part;

	if (!f->kept)
		return !part->services && !f->plan.findings.n && !f->plan.health_port;
	if (shape_of(&f->plan) != f->kept->shape || f->plan.created != f->kept->created)
		return false;
	for (size_t i = 0; i < part->services; i++) {
		const struct config_service *svc = part->service[i];
		const struct config_service *was = served(d, f->kept, svc->conf.name);

		if (d->plans->short_of && (!was || !same_room(was, svc)))
			return false;
		if (!was)
			continue;
		allot_room(room, was, 1);
		allot_room(room, svc, -1);
	}
	return true;
}

static bool service_equal(const struct config_service *a, const struct config_service *b)
{
	if (memcmp(&a->conf, &b->conf, sizeof(a->conf)) || a->members != b->members ||
	    !ranges_equal(&a->allow, &b->allow) || !ranges_equal(&a->deny, &b->deny))
		return false;
	for (size_t i = 0; i < a->members; i++)
		if (memcmp(&a->member[i].conf, &b->member[i].conf, sizeof(a->member[i].conf)))
			return false;
	return true;
}

/* Puts what is new in place of what was, with the listeners that were allotted. */
static void replace(struct kube_desired *d, struct fresh *f, const char ***name, size_t *names,
		    size_t *room)
{
	struct config *part = f->plan.part;

	while (part->services) {
		struct config_service *svc = part->service[0];
		struct config_service *was = served(d, f->kept, svc->conf.name);

		config_service_take(part, svc);
		if (was) {
			memcpy(svc->conf.listener, was->conf.listener, sizeof(was->conf.listener));
			svc->conf.listeners = was->conf.listeners;
		}
		if (!was || service_equal(svc, was)) {
			config_service_free(svc);
			continue;
		}
		config_service_del(d->cfg, was);
		config_service_put(d->cfg, svc);
		*name = memory_grow(*name, *names, room, sizeof(**name));
		(*name)[(*names)++] = svc->conf.name;
	}
}

/* All that are touched, planned again. Returns whether that is enough. */
static bool look_again(struct kube_desired *d, const struct kube_cache *c,
		       const struct kube_options *o, struct fresh *fresh, size_t *n)
{
	const struct kube_entry *const *touched;
	struct room room = d->plans->room;
	size_t all;

	touched = kube_cache_touched(c, &all);
	for (size_t i = 0; i < all; i++) {
		struct fresh *f = &fresh[*n];

		f->kept = (struct kept *)names_find(&d->plans->kept, touched[i]->at.ns,
						    touched[i]->at.name);
		if (!touched[i]->service && f->kept)
			return false;
		if (!touched[i]->service)
			continue;
		plan_make(c, o, touched[i], &f->plan);
		++*n;
		if (!stays(d, f, &room))
			return false;
	}
	if (!allot_room_left(&room))
		return false;
	d->plans->room = room;
	return true;
}

int kube_desired_refresh(struct kube_desired *d, const struct kube_cache *c,
			 const struct kube_options *o, const char ***name)
{
	size_t all, n = 0, names = 0, room = 0;
	struct fresh *fresh;
	bool enough;

	*name = NULL;
	if (kube_cache_node_touched(c))
		return -1;
	kube_cache_touched(c, &all);
	fresh = memory_alloc((all + 1) * sizeof(*fresh));
	enough = look_again(d, c, o, fresh, &n);
	for (size_t i = 0; i < n && enough; i++) {
		if (!fresh[i].kept)
			continue;
		keep_own(fresh[i].kept, &fresh[i].plan);
		replace(d, &fresh[i], name, &names, &room);
	}
	if (enough) {
		tell_findings(d);
		tell_health(d);
	}
	for (size_t i = 0; i < n; i++)
		plan_free(&fresh[i].plan);
	free(fresh);
	return enough ? (int)names : -1;
}

void kube_desired_free(struct kube_desired *d)
{
	if (!d)
		return;
	names_free_all(&d->plans->kept, kept_free);
	kube_findings_free(&d->plans->allotted);
	free(d->plans);
	config_free(d->cfg);
	kube_findings_free(&d->findings);
	free(d->health);
	free(d);
}
