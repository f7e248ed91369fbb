/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A reflector follows all objects of one resource: it lists them in pages, then watches what
 * becomes of them, and begins again where that broke off, or from the start where it cannot. What
 * to do next, and when, is course.h's; requests are http.h's; this is between them.
 *
 * Objects are handed on one by one as they arrive: of a list of any length one is in memory.
 */
#ifndef POISE_KUBE_REFLECTOR_H
#define POISE_KUBE_REFLECTOR_H

#include "course.h"
#include "http.h"

/*
 * Who is told. Objects are lent: json_object_get() keeps one. Between relist_begin and relist_end
 * come all objects there are; who was not among them is gone. relist_abort: the list broke off, and
 * what was told since relist_begin is void: everything is as it was before that. Outside of a
 * relist object() adds or replaces one, and deleted() has its last state.
 */
struct kube_handler {
	void *ctx;
	void (*relist_begin)(void *ctx);
	void (*object)(void *ctx, struct json_object *obj);
	void (*deleted)(void *ctx, struct json_object *obj);
	void (*relist_end)(void *ctx);
	void (*relist_abort)(void *ctx);
};

struct kube_resource {
	const char *name;  /* services: for messages */
	const char *path;  /* /api/v1/services */
	const char *field; /* fieldSelector: metadata.name=node-1; NULL: all objects */
};

struct kube_reflector;

/* All of the arguments must live as long. times NULL: those of course.h. */
struct kube_reflector *kube_reflector_new(struct kube_http *http, const struct kube_resource *what,
					  const struct kube_handler *handler,
					  const struct kube_times *times);
void kube_reflector_free(struct kube_reflector *r);

/* Sends what is due at this time (CLOCK_MONOTONIC, ms). Returns after how many ms to call it
 * again; UINT32_MAX: not before the server has said something (kube_http_turn). */
__u32 kube_reflector_tick(struct kube_reflector *r, __u64 now);

/* A list was once complete. */
bool kube_reflector_synced(const struct kube_reflector *r);
/* The last request that ended had an answer, and a good one; what is under way counts from its
 * first good byte. */
bool kube_reflector_connected(const struct kube_reflector *r);
/* The last one that was not, for people; code NONE: none since it was connected. */
const struct poise_error *kube_reflector_fault(const struct kube_reflector *r);
/* The server is there again, as another reflector found: what waits for that is sent with the next
 * tick. */
void kube_reflector_hurry(struct kube_reflector *r);

#endif
