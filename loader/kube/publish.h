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

#define PUBLISH_MANAGER	   "poised"
#define PUBLISH_ADDRESSES  8	 /* of a status; poise writes two at most */
#define PUBLISH_AT_ONCE	   16	 /* patches under way */
#define PUBLISH_RETRY_MS   500	 /* after the first failure; doubles */
#define PUBLISH_RETRY_MOST 60000 /* ms */
/* What the API server took shows in the cache within so long, or is sent again. */
#define PUBLISH_SHOWS_MS 10000

/* What a Service's status says, and whose words those are. */
struct publish_status {
	union poise_addr addr[PUBLISH_ADDRESSES];
	__u8 addrs;
	bool other; /* host names, or more addresses */
	bool ours;  /* we wrote it */
};

/* Reads it from a Service as the API server gives it. */
void publish_read(struct json_object *service, struct publish_status *status);

/* A Service as the cache has it, and what its status should be. Texts are copied. */
struct publish_item {
	const char *name_space, *name;
	const char *version; /* resourceVersion */
	const struct publish_status *is;
	bool ours; /* to be told by us: `want`, or nothing if wants is 0; else left, or cleared */
	const union poise_addr *want;
	size_t wants;
};

enum publish_act {
	PUBLISH_LEAVE,
	PUBLISH_SET,
	PUBLISH_CLEAR,
};

enum publish_act publish_judge(const struct publish_item *item);
/* The merge patch for it, malloc'ed. */
char *publish_body(const struct publish_item *item, enum publish_act act);

struct publish;

struct publish *publish_new(struct kube_http *http);
void publish_free(struct publish *p);

/* All Services there are, again and again: begin, each, end. */
void publish_begin(struct publish *p);
void publish_put(struct publish *p, const struct publish_item *item);
void publish_end(struct publish *p);

/* Sends what is due, if we lead. now: ms, CLOCK_MONOTONIC. Returns after how many ms to call it
 * again; UINT32_MAX: not before something else happens. */
__u32 publish_tick(struct publish *p, __u64 now, bool leads);
/* Services whose status is not yet as it should be. */
size_t publish_pending(const struct publish *p);
/* The last patch that failed, for people; code NONE: none since one went through. */
const struct poise_error *publish_fault(const struct publish *p);

#endif
