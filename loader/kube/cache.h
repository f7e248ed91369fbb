/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is known of the cluster: all Services with the EndpointSlices of each, and our Node. Filled
 * by the reflectors' handler calls, one reflector a kind; read by desired.h.
 *
 * A list that breaks off changes nothing: its objects wait aside until it is complete, and who was
 * not among them goes then. What is there is never emptied first.
 *
 * It remembers which Services are touched: whose own object or whose slices changed, came or went
 * since kube_cache_settle. An object that comes again as it was (uid and resourceVersion) touches
 * nothing.
 */
#ifndef POISE_KUBE_CACHE_H
#define POISE_KUBE_CACHE_H

#include "names.h"
#include "object.h"

struct kube_cache;

/* A Service, or one of which there are only slices yet. */
struct kube_entry {
	struct named at;		    /* first: its namespace and name */
	const struct kube_service *service; /* NULL: there is none */
	const struct kube_slice **slice;    /* in no order */
	size_t slices, room;
	bool touched; /* it is in the list of those */
};

/* node: our own name. */
struct kube_cache *kube_cache_new(const char *node);
void kube_cache_free(struct kube_cache *c);

/* The calls of struct kube_handler (reflector.h), with the kind that a reflector follows. */
void kube_cache_relist_begin(struct kube_cache *c, enum kube_kind kind);
void kube_cache_object(struct kube_cache *c, enum kube_kind kind, struct json_object *obj);
void kube_cache_deleted(struct kube_cache *c, enum kube_kind kind, struct json_object *obj);
void kube_cache_relist_end(struct kube_cache *c, enum kube_kind kind);
void kube_cache_relist_abort(struct kube_cache *c, enum kube_kind kind);

/* Every kind was listed to its end once: before that nothing may be concluded from what is not
 * there. */
bool kube_cache_whole(const struct kube_cache *c);

/* NULL: not (yet) known. */
const struct kube_node *kube_cache_node(const struct kube_cache *c);
const struct kube_entry *kube_cache_find(const struct kube_cache *c, const char *ns,
					 const char *name);
/* All that have a Service, by namespace and name; the caller frees the array, not the entries,
 * which are good until the next change of the cache. */
const struct kube_entry **kube_cache_services(const struct kube_cache *c, size_t *n);

/* Those that are touched, in the order in which they were; some may have no Service any more.
 * Good until the next change of the cache. */
const struct kube_entry *const *kube_cache_touched(const struct kube_cache *c, size_t *n);
/* Our Node changed: all are. */
bool kube_cache_node_touched(const struct kube_cache *c);
/* Counts how often a Service's own object, or our Node, changed, came or went. */
__u64 kube_cache_changes(const struct kube_cache *c);
/* Somebody has seen to them. */
void kube_cache_settle(struct kube_cache *c);

/* Objects that could not even be named since kube_cache_settle. */
const struct kube_findings *kube_cache_lost(const struct kube_cache *c);

#endif
