/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Options of poise services that come from a Service: what its spec says, and its annotations.
 * poise.dev/KEY is KEY of a service, poise.dev/health its type of check, poise.dev/health-KEY
 * another key of that; maps/options.c says what there is and what is right, so a new option is one
 * here too. Left out are those that would let whoever may write a Service do more than steer its
 * traffic: run commands on nodes, read their files, send from others' addresses, or take what other
 * Services need.
 */
#ifndef POISE_KUBE_ANNOTATE_H
#define POISE_KUBE_ANNOTATE_H

#include "maps/config.h"
#include "object.h"

/* Pods end their drains by being gone, long before this; and until then nobody cuts them short. */
#define KUBE_DRAIN_MS 3600000u

/* Bounds of what one Service may take of what all share: room for tables, and time for checks. */
#define KUBE_TABLE_MOST	 65536u /* slots: 512 such tables fit into the default limit */
#define KUBE_CHECK_LEAST 500u	/* ms between two checks of a backend */

#define KUBE_AFFINITY_MOST 57600u /* seconds: affinity-timeout's greatest */

/* Sets what the spec says but for ranges; svc is as config_service_add made it. */
void annotate_spec(const struct kube_service *s, struct config_service *svc);
/* Source ranges; after all annotations, of which none can take anything away from them. */
void annotate_ranges(const struct kube_service *s, struct config_service *svc);

/* Sets what one annotation says. 0: done, or it is none of a poise service. -1 with an error, whose
 * object says the key. */
int annotate_note(const struct kube_note *note, struct config_service *svc,
		  struct poise_error *err);
#endif
