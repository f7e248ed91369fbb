/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events: what is amiss with an object, where `kubectl describe` shows it. The leader tells, for
 * all nodes find the same.
 *
 * A finding that lasts is one Event, however often it is found again. One that comes back counts up
 * (count, lastTimestamp), at most once in a while; one that stays is said again before the API
 * server forgets it. An Event's name follows from what it says, so a restart or another leader goes
 * on with the one there is. Whatever happens, no more than a few requests a second.
 */
#ifndef POISE_KUBE_EVENT_H
#define POISE_KUBE_EVENT_H

#include <linux/types.h>

#include "finding.h"
#include "http.h"

#define KUBE_EVENTS_MOST      1024    /* findings that are told; of more there is the log */
#define KUBE_EVENT_BURST      25      /* requests at once ... */
#define KUBE_EVENT_EVERY_MS   500     /* ... and then one in so long */
#define KUBE_EVENT_GAP_MS     30000   /* between requests for one Event */
#define KUBE_EVENT_AGAIN_MS   1800000 /* one that lasts; API servers keep Events for an hour */
#define KUBE_EVENT_RETRY_MOST 300000  /* ms between tries that fail */

struct kube_events;

/* source: the name of our Node, where Events say they come from. Copied. */
struct kube_events *kube_events_new(struct kube_http *http, const char *source);
void kube_events_free(struct kube_events *e);

/* All that is amiss now, sorted. To be called every few minutes even if that did not change. */
void kube_events_tell(struct kube_events *e, const struct kube_findings *found, __u64 now);

/* Sends what is due, if we lead. now: ms, CLOCK_MONOTONIC. Returns after how many ms to call it
 * again; UINT32_MAX: not before something else happens. */
__u32 kube_events_tick(struct kube_events *e, __u64 now, bool leads);
/* Findings that are not told, for there are too many. */
__u64 kube_events_untold(const struct kube_events *e);

#endif
