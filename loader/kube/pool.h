/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Addresses for Services of type LoadBalancer, out of what --address-pool gives. Who gets which is
 * a pure function of the Services as they are, what their status says included: nothing is
 * remembered, so a restart, or another leader, comes to the same. In this order:
 *
 *   1. what the status says is kept, unless others were asked for, the older Service first;
 *   2. what was asked for is given, if it is in the pool and free;
 *   3. the rest gets the address of those it wants to share one with, else the first free one.
 *
 * A Service that asked for what it cannot have keeps what it has, and gets nothing else.
 */
#ifndef POISE_KUBE_POOL_H
#define POISE_KUBE_POOL_H

#include "finding.h"
#include "maps/abi.h"
#include "maps/error.h"

#define KUBE_POOL_RANGES 64 /* a cluster's few networks, in pieces */

struct kube_pool_range {
	union poise_addr first, last; /* of one family */
};

struct kube_pool {
	struct kube_pool_range range[KUBE_POOL_RANGES]; /* as written: given out in that order */
	size_t ranges;
};

/* PREFIX, FIRST-LAST or ADDRESS, with commas between. Every address of a prefix is given out. */
int kube_pool_parse(struct kube_pool *p, const char *text, struct poise_error *err);
bool kube_pool_has(const struct kube_pool *p, const union poise_addr *a);

enum kube_pool_need {
	KUBE_POOL_UNUSED = 0, /* the Service is not of this family */
	KUBE_POOL_LIKED,      /* if there is one: ipFamilyPolicy PreferDualStack's second family */
	KUBE_POOL_NEEDED,     /* or it is a fault */
};

struct kube_pool_port {
	__u16 port; /* in any order of bytes, all claims in the same */
	__u8 proto;
};

/* What a Service asks for, and gets. Texts and arrays are the caller's. */
struct kube_pool_claim {
	struct kube_about about;      /* for findings; ns and name are the last order of claims */
	__s64 created;		      /* the older has the older right */
	enum kube_pool_need need[2];  /* of IPv4, IPv6 */
	const union poise_addr *have; /* its status says */
	size_t haves;
	const union poise_addr *want; /* asked for; of a family that is not, any is right */
	size_t wants;
	const char *share; /* who says the same word may have the same address; NULL: nobody may */
	const struct kube_pool_port *port;
	size_t ports;

	union poise_addr got[2]; /* IPv4 before IPv6 */
	size_t gots;
};

/* Fills `got` of every claim; reserved addresses (the nodes', the API server's) are nobody's. The
 * claims stay in their order, which says nothing. What cannot be had is added to findings. */
void kube_pool_assign(const struct kube_pool *p, struct kube_pool_claim *claim, size_t claims,
		      const union poise_addr *reserved, size_t reserves,
		      struct kube_findings *findings);

#endif
