/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * status.loadBalancer of Services: what the leader writes there, and clears when it is ours no
 * more. A patch goes out only while what is there differs from what should be, on the very version
 * that was seen, and is tried again with growing delays.
 *
 * Only what we wrote is cleared. That it was we is remembered by the API server itself: patches
 * name us as their field manager, and metadata.managedFields says who last changed a field. So
 * neither a restart nor another leader forgets it, no object needs an annotation, and who writes
 * the field after us takes it over. A server that keeps no managedFields has nothing cleared.
 */
#ifndef POISE_KUBE_PUBLISH_H
#define POISE_KUBE_PUBLISH_H

#include <json-c/json.h>
#include <linux/types.h>

#include "http.h"
#include "maps/abi.h"

#define KUBE_PUBLISH_MANAGER	"poised"
#define KUBE_PUBLISH_AT_ONCE	16    /* patches under way */
#define KUBE_PUBLISH_RETRY_MS	500   /* after the first failure; doubles */
#define KUBE_PUBLISH_RETRY_MOST 60000 /* ms */
/* What the API server took shows in the cache within so long, or is sent again. */
#define KUBE_PUBLISH_SHOWS_MS 10000

/* Whether we were the last to write the status of a Service, as the API server gives it. */
bool kube_publish_wrote(struct json_object *service);

/* A Service as the cache has it, and what its status should be. Texts are copied. */
struct kube_publish_item {
	const char *name_space, *name;
	const char *version;	    /* resourceVersion */
	const union poise_addr *is; /* what its status says */
	size_t iss;
	bool is_other;		      /* ... host names, too */
	bool is_ours;		      /* ... as we wrote it */
	const union poise_addr *want; /* what it should say; none: nothing of ours */
	size_t wants;
};

enum kube_publish_act {
	KUBE_PUBLISH_LEAVE,
	KUBE_PUBLISH_SET,
	KUBE_PUBLISH_CLEAR,
};

enum kube_publish_act kube_publish_judge(const struct kube_publish_item *item);
/* The merge patch for it, malloc'ed. */
char *kube_publish_body(const struct kube_publish_item *item, enum kube_publish_act act);

struct kube_publish;

struct kube_publish *kube_publish_new(struct kube_http *http);
void kube_publish_free(struct kube_publish *p);

/* All Services there are, by namespace and name, whenever that changed: begin, each, end. */
void kube_publish_begin(struct kube_publish *p);
void kube_publish_put(struct kube_publish *p, const struct kube_publish_item *item);
void kube_publish_end(struct kube_publish *p);

/* Sends what is due, if we lead. now: ms, CLOCK_MONOTONIC. Returns after how many ms to call it
 * again; UINT32_MAX: not before something else happens. */
__u32 kube_publish_tick(struct kube_publish *p, __u64 now, bool leads);
/* Services whose status is not yet as it should be. */
size_t kube_publish_pending(const struct kube_publish *p);
/* The last patch that failed, for people, but for those that came too late; code NONE: none since
 * one went through. */
const struct poise_error *kube_publish_fault(const struct kube_publish *p);

#endif
