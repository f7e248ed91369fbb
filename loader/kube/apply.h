/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From the cache to the maps. Nothing is applied before all is known; then a change is applied at
 * once, and what comes soon after it, together. A change of one Service's endpoints touches that
 * service alone.
 */
#ifndef POISE_KUBE_APPLY_H
#define POISE_KUBE_APPLY_H

#include "desired.h"
#include "maps/instance.h"

struct kube_apply {
	/* Set by its owner, who frees them. */
	struct instance *instance;
	struct kube_cache *cache;
	struct kube_options options;

	struct kube_desired *desired; /* as it was made so last; NULL: never */
	__u64 made;		      /* counts how often it was made so ... */
	__u64 anew;		      /* ... and was another struct than before */
	__u64 applied;		      /* CLOCK_REALTIME ns: when */
	__u64 generation;	  /* of the instance, when nobody else had changed anything since */
	bool due;		  /* it failed, or somebody else changed something */
	__u64 next;		  /* ms: not before this */
	__u64 look;		  /* ms: to see whether somebody did */
	struct poise_error fault; /* code NONE: it went well */
};

/* now: CLOCK_MONOTONIC, ms. Does what is due; returns after how many ms to call it again, if the
 * cache does not change before. */
__u32 kube_apply_tick(struct kube_apply *a, __u64 now);
/* Something besides the cache changed that it depends on: all is worked out anew. */
void kube_apply_again(struct kube_apply *a);
void kube_apply_free(struct kube_apply *a);
/* Logs those that are new. Both are sorted; was may be NULL. */
void kube_apply_tell_findings(const struct kube_findings *was, const struct kube_findings *now);

#endif
