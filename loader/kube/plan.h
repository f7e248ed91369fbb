/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What one Service asks for, looked at alone: the poise services with all their listeners and
 * members, whoever else may want the same. Steps: is it ours to serve (plan.c); at which addresses
 * (places.c); where each port leads (targets.c); which ports go together (plan.c); with which
 * options (annotate.c, build.c).
 */
#ifndef POISE_KUBE_PLAN_H
#define POISE_KUBE_PLAN_H

#include "desired.h"
#include "targets.h"

struct plan {
	__s64 created;	     /* the Service, as struct kube_object has it */
	struct config *part; /* its poise services, each valid by itself */
	struct kube_findings findings;
	union poise_addr *claim; /* ingress addresses, for options.claim */
	size_t claims;
	__u16 health_port; /* host order; 0: none is served */
	size_t local;	   /* what it says */
};

void plan_make(const struct kube_cache *c, const struct kube_options *o, const struct kube_entry *e,
	       struct plan *out);
void plan_free(struct plan *p);

/* What an entry's Service and slices are called in findings. */
struct kube_about plan_about(const struct kube_entry *e);

/* ---- addresses (places.c) ---------------------------------------------------------------------*/

enum place_kind {
	PLACE_INGRESS,	/* of the load balancer: source ranges hold, other nodes' too */
	PLACE_EXTERNAL, /* externalIPs */
	PLACE_NODE,	/* a node's own, at NodePorts */
};

struct place {
	union poise_addr addr;
	enum place_kind kind;
};

struct places {
	struct place *place; /* none twice */
	size_t n, room;
};

/* Those that a Service has here. Addresses of a family that it is not of are findings. */
void places_of(const struct kube_cache *c, const struct kube_options *o,
	       const struct kube_service *s, struct places *out, struct kube_findings *findings);
/* The port that it listens on there, host order; 0: none. */
__u16 place_port(const struct place *p, const struct kube_port *port);

/* ---- one poise service (build.c) --------------------------------------------------------------*/

struct build {
	const struct kube_entry *e;
	const struct targets *targets;
	const struct places *places;
	__u8 family; /* KUBE_IPV4 or KUBE_IPV6 */
	__u8 kinds;  /* bits 1 << enum place_kind of the places that are meant */
	const char *name;
};

/* How many listeners a port has there. */
size_t build_listeners(const struct build *b, const struct kube_port *port);
/* Adds it to part, for these ports; what does not go together is left out, and is a finding. */
void build_service(const struct build *b, const struct kube_port *const *port, size_t ports,
		   struct config *part, struct kube_findings *findings);

#endif
