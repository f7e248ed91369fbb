// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What is known of the cluster; see cache.h. Every object is in the table of its kind, by name;
 * Services and slices lead from there to the entry of their Service, which is what others see.
 */
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "maps/memory.h"

#define LOST_MOST 64 /* findings about what has no name: who reads more? */

/* An object as the tables have it. */
struct held {
	struct named at; /* first */
	struct kube_object *object;
	bool seen; /* in the list that has just ended */
};

struct kube_cache {
	char *node;
	struct names held[KUBE_KINDS];
	struct names aside[KUBE_KINDS]; /* of a list that has not ended yet */
	bool listing[KUBE_KINDS], listed[KUBE_KINDS];
	struct names entries;
	const struct kube_entry **touched;
	size_t touches, room;
	bool node_touched;
	__u64 changes; /* of Services themselves, and of our Node */
	struct kube_findings lost;
};

/* ---- entries ----------------------------------------------------------------------------------*/

static struct kube_entry *entry_of(struct kube_cache *c, const char *ns, const char *name)
{
	struct kube_entry *e = (struct kube_entry *)names_find(&c->entries, ns, name);

	if (e)
		return e;
	e = memory_alloc(sizeof(*e));
	e->at.ns = memory_text(ns);
	e->at.name = memory_text(name);
	names_add(&c->entries, &e->at);
	return e;
}

static void entry_free(struct kube_entry *e)
{
	free((char *)e->at.ns);
	free((char *)e->at.name);
	free(e->slice);
	free(e);
}

static void touch(struct kube_cache *c, struct kube_entry *e)
{
	if (e->touched)
		return;
	e->touched = true;
	c->touched = memory_grow(c->touched, c->touches, &c->room, sizeof(*c->touched));
	c->touched[c->touches++] = e;
}

/* Nobody's any more, and nobody has to be told. */
static void tidy(struct kube_cache *c, struct kube_entry *e)
{
	if (e->service || e->slices || e->touched)
		return;
	names_remove(&c->entries, &e->at);
	entry_free(e);
}

/* ---- objects to entries and back --------------------------------------------------------------*/

static void attach_slice(struct kube_cache *c, const struct kube_slice *s)
{
	struct kube_entry *e;

	if (!s->service[0])
		return;
	e = entry_of(c, s->o.ns, s->service);
	e->slice = memory_grow(e->slice, e->slices, &e->room, sizeof(*e->slice));
	e->slice[e->slices++] = s;
	touch(c, e);
}

static void detach_slice(struct kube_cache *c, const struct kube_slice *s)
{
	struct kube_entry *e;
	size_t at = 0;

	if (!s->service[0])
		return;
	e = entry_of(c, s->o.ns, s->service);
	while (e->slice[at] != s)
		at++;
	e->slice[at] = e->slice[--e->slices];
	touch(c, e);
}

static void attach(struct kube_cache *c, struct kube_object *o)
{
	struct kube_entry *e;

	c->changes += o->kind != KUBE_SLICE;
	switch (o->kind) {
	case KUBE_SERVICE:
		e = entry_of(c, o->ns, o->name);
		e->service = (struct kube_service *)o;
		touch(c, e);
		break;
	case KUBE_SLICE: attach_slice(c, (struct kube_slice *)o); break;
	default: c->node_touched |= !strcmp(o->name, c->node); break;
	}
}

static void detach(struct kube_cache *c, struct kube_object *o)
{
	struct kube_entry *e;

	c->changes += o->kind != KUBE_SLICE;
	switch (o->kind) {
	case KUBE_SERVICE:
		e = entry_of(c, o->ns, o->name);
		e->service = NULL;
		touch(c, e);
		break;
	case KUBE_SLICE: detach_slice(c, (struct kube_slice *)o); break;
	default: c->node_touched |= !strcmp(o->name, c->node); break;
	}
}

/* ---- the tables -------------------------------------------------------------------------------*/

static struct held *held_find(struct names *t, const char *ns, const char *name)
{
	return (struct held *)names_find(t, ns, name);
}

/* Puts an object in a table in place of what is there, which is returned. */
static struct kube_object *put(struct names *t, struct kube_object *o)
{
	struct held *h = held_find(t, o->ns, o->name);
	struct kube_object *old = h ? h->object : NULL;

	if (h)
		names_remove(t, &h->at); /* its texts are the object's */
	else
		h = memory_alloc(sizeof(*h));
	h->object = o;
	h->seen = true;
	h->at.ns = o->ns;
	h->at.name = o->name;
	names_add(t, &h->at);
	return old;
}

static void held_free(struct named *at)
{
	struct held *h = (struct held *)at;

	kube_object_free(h->object);
	free(h);
}

static bool same(const struct kube_object *a, const struct kube_object *b)
{
	return a->version[0] && !strcmp(a->version, b->version) && !strcmp(a->uid, b->uid);
}

/* Whether two states of a Node differ in nothing that we read. A kubelet writes into its Node's
 * status all day: every other change of it would have all Services worked out anew. */
static bool same_node(const struct kube_object *a, const struct kube_object *b)
{
	const struct kube_node *x = (const struct kube_node *)a, *y = (const struct kube_node *)b;

	return a->kind == KUBE_NODE && !strcmp(a->uid, b->uid) && x->excluded == y->excluded &&
	       x->addrs == y->addrs && !strcmp(x->zone, y->zone) &&
	       (!x->addrs || !memcmp(x->addr, y->addr, x->addrs * sizeof(*x->addr)));
}

/* Takes the object over. */
static void keep(struct kube_cache *c, struct kube_object *o)
{
	struct held *h = held_find(&c->held[o->kind], o->ns, o->name);
	struct kube_object *old;

	if (h && same(h->object, o)) {
		h->seen = true;
		kube_object_free(o);
		return;
	}
	if (h && same_node(h->object, o)) {
		kube_object_free(put(&c->held[o->kind], o));
		return;
	}
	if (h)
		detach(c, h->object);
	old = put(&c->held[o->kind], o);
	attach(c, o);
	kube_object_free(old);
}

static void drop(struct kube_cache *c, enum kube_kind kind, struct held *h)
{
	detach(c, h->object);
	names_remove(&c->held[kind], &h->at);
	held_free(&h->at);
}

/* ---- what reflectors tell ---------------------------------------------------------------------*/

void kube_cache_relist_begin(struct kube_cache *c, enum kube_kind kind)
{
	names_free_all(&c->aside[kind], held_free);
	c->listing[kind] = true;
}

void kube_cache_object(struct kube_cache *c, enum kube_kind kind, struct json_object *obj)
{
	struct kube_object *o =
		kube_object_decode(kind, obj, c->node, c->lost.n < LOST_MOST ? &c->lost : NULL);

	if (!o)
		return;
	if (c->listing[kind])
		kube_object_free(put(&c->aside[kind], o));
	else
		keep(c, o);
}

void kube_cache_deleted(struct kube_cache *c, enum kube_kind kind, struct json_object *obj)
{
	const char *ns, *name;
	struct names *t = c->listing[kind] ? &c->aside[kind] : &c->held[kind];
	struct held *h;

	if (!kube_object_name(kind, obj, &ns, &name))
		return;
	h = held_find(t, ns, name);
	if (h && c->listing[kind]) {
		names_remove(t, &h->at);
		held_free(&h->at);
	} else if (h) {
		drop(c, kind, h);
	}
}

/* What waited aside takes its place. */
static void keep_all(struct kube_cache *c, enum kube_kind kind)
{
	struct names *t = &c->aside[kind];
	struct named *next;

	for (struct named *i = names_next(t, NULL); i; i = next) {
		struct kube_object *o = ((struct held *)i)->object;

		next = names_next(t, i);
		names_remove(t, i);
		free(i);
		keep(c, o);
	}
	names_free(t);
}

/* Objects of a kind that are not seen, or all. */
static void drop_all(struct kube_cache *c, enum kube_kind kind, bool seen_too)
{
	struct named *next;

	for (struct named *i = names_next(&c->held[kind], NULL); i; i = next) {
		next = names_next(&c->held[kind], i);
		if (seen_too || !((struct held *)i)->seen)
			drop(c, kind, (struct held *)i);
	}
}

void kube_cache_relist_end(struct kube_cache *c, enum kube_kind kind)
{
	struct names *t = &c->held[kind];

	if (!c->listing[kind])
		return;
	c->listing[kind] = false;
	c->listed[kind] = true;
	for (struct named *i = names_next(t, NULL); i; i = names_next(t, i))
		((struct held *)i)->seen = false;
	keep_all(c, kind);
	drop_all(c, kind, false);
}

void kube_cache_relist_abort(struct kube_cache *c, enum kube_kind kind)
{
	c->listing[kind] = false;
	names_free_all(&c->aside[kind], held_free);
}

/* ---- what others ask --------------------------------------------------------------------------*/

bool kube_cache_whole(const struct kube_cache *c)
{
	for (int k = 0; k < KUBE_KINDS; k++)
		if (!c->listed[k])
			return false;
	return true;
}

const struct kube_node *kube_cache_node(const struct kube_cache *c)
{
	const struct held *h = (struct held *)names_find(&c->held[KUBE_NODE], "", c->node);

	return h ? (const struct kube_node *)h->object : NULL;
}

const struct kube_entry *kube_cache_find(const struct kube_cache *c, const char *ns,
					 const char *name)
{
	return (struct kube_entry *)names_find(&c->entries, ns, name);
}

static int entry_cmp(const void *a, const void *b)
{
	const struct kube_entry *const *x = a, *const *y = b;
	int order = strcmp((*x)->at.ns, (*y)->at.ns);

	return order ? order : strcmp((*x)->at.name, (*y)->at.name);
}

const struct kube_entry **kube_cache_services(const struct kube_cache *c, size_t *n)
{
	const struct kube_entry **list = memory_alloc(c->entries.n * sizeof(struct kube_entry *));

	*n = 0;
	for (struct named *i = names_next(&c->entries, NULL); i; i = names_next(&c->entries, i))
		if (((struct kube_entry *)i)->service)
			list[(*n)++] = (struct kube_entry *)i;
	if (*n)
		qsort(list, *n, sizeof(struct kube_entry *), entry_cmp);
	return list;
}

__u64 kube_cache_changes(const struct kube_cache *c)
{
	return c->changes;
}

const struct kube_entry *const *kube_cache_touched(const struct kube_cache *c, size_t *n)
{
	*n = c->touches;
	return c->touched;
}

bool kube_cache_node_touched(const struct kube_cache *c)
{
	return c->node_touched;
}

void kube_cache_settle(struct kube_cache *c)
{
	for (size_t i = 0; i < c->touches; i++) {
		struct kube_entry *e = (struct kube_entry *)c->touched[i];

		e->touched = false;
		tidy(c, e);
	}
	c->touches = 0;
	c->node_touched = false;
	kube_findings_free(&c->lost);
}

const struct kube_findings *kube_cache_lost(const struct kube_cache *c)
{
	return &c->lost;
}

struct kube_cache *kube_cache_new(const char *node)
{
	struct kube_cache *c = memory_alloc(sizeof(*c));

	c->node = memory_text(node);
	return c;
}

void kube_cache_free(struct kube_cache *c)
{
	if (!c)
		return;
	for (int k = 0; k < KUBE_KINDS; k++) {
		names_free_all(&c->aside[k], held_free);
		drop_all(c, k, true);
		names_free(&c->held[k]);
	}
	kube_cache_settle(c);
	names_free(&c->entries);
	free(c->touched);
	free(c->node);
	free(c);
}
