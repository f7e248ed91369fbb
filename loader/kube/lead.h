/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What one of all nodes does for the cluster: gives Services addresses out of the pool, writes them
 * into their statuses, and tells what is amiss as Events. Who that is, the Lease says. All nodes,
 * this one too, serve what the statuses say, so nobody serves an address that another has.
 */
#ifndef POISE_KUBE_LEAD_H
#define POISE_KUBE_LEAD_H

#include "desired.h"
#include "http.h"
#include "pool.h"

#define KUBE_LEASE "poise" /* of the instance `default`; of others poise-INSTANCE */

struct kube_lead_settings {
	const char *name_space; /* where the Lease is */
	const char *node;	/* who we are */
	const char *instance;
	/* NULL: no address is given, and those that were are taken back. */
	const struct kube_pool *pool;
};

struct kube_lead;

/* All of the arguments, and what they point to, must live as long. */
struct kube_lead *kube_lead_new(struct kube_http *http, const struct kube_cache *cache,
				const struct kube_options *options,
				const struct kube_lead_settings *settings, struct poise_error *err);
void kube_lead_free(struct kube_lead *l);

/* Services, or the Node, are others than before; amiss is what was found of them (NULL: nothing
 * yet), and lives until the next call. */
void kube_lead_changed(struct kube_lead *l, const struct kube_findings *amiss);
/* Does and sends what is due. now: ms, CLOCK_MONOTONIC. Returns after how many ms to call it again,
 * if nothing happens before. */
__u32 kube_lead_tick(struct kube_lead *l, __u64 now);
/* Nothing else uses http any more: gives the Lease up, if we have it, and waits for that, a second
 * at most. */
void kube_lead_end(struct kube_lead *l);

bool kube_lead_leads(const struct kube_lead *l);
/* Who leads, as far as known; "" nobody. Valid until the next tick. */
const char *kube_lead_leader(const struct kube_lead *l);

#endif
