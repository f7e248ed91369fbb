/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who gets what several want: names and listeners of poise services, claimed addresses, and the
 * room that this instance's limits leave. First come, first served; each refusal is a finding.
 */
#ifndef POISE_KUBE_ALLOT_H
#define POISE_KUBE_ALLOT_H

#include "finding.h"
#include "maps/config.h"

/* What is left of the instance's limits by others. */
struct room {
	__s64 services, backends, listeners, slots, ranges, addresses;
};

struct allot {
	struct config *cfg;
	const struct config *live; /* NULL: nobody else is here */
	const char *claim;	   /* a device; NULL: nothing is claimed */
	struct room room;
	bool short_of; /* of some room: somebody did not get all */
	struct kube_findings *findings;
	struct taken *taken; /* listeners by address, port, protocol: a hash table */
	size_t slots, used;
};

/* What a service takes (-1), or gives back (1). */
void allot_room(struct room *r, const struct config_service *svc, int sign);
/* None of it is below zero. */
bool allot_room_left(const struct room *r);

void allot_begin(struct allot *s, const struct config *live, const char *claim,
		 struct kube_findings *findings);
/* Takes svc over: true if it is served, perhaps in part. */
bool allot_service(struct allot *s, const struct kube_about *about, struct config_service *svc);
void allot_claims(struct allot *s, const struct kube_about *about, const union poise_addr *addr,
		  size_t n);
/* The configuration, sorted; the caller's. */
struct config *allot_end(struct allot *s);

#endif
