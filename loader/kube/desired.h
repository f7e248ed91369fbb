/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What poise should do for the cluster as it is: a pure function of the cache, the options and what
 * others have configured here. The same objects give the same result, in whatever order and by
 * whatever history they came to be.
 *
 * A Service becomes poise services, of owner `kubernetes`: one for all its ports that lead to the
 * same targets, else one a port; one a family; and those of its addresses that source ranges are
 * for apart from the rest. Their names are NAMESPACE.NAME[.PORT][_open][_6]: what stands for a word
 * there has neither dot nor underscore, so no two are alike; a name that is too long ends in a
 * hash.
 *
 * Listeners that two want belong to the Service that was created first; those that somebody else's
 * service has here stay there. Each such thing is a finding, and all the rest is served.
 */
#ifndef POISE_KUBE_DESIRED_H
#define POISE_KUBE_DESIRED_H

#include <net/if.h>

#include "cache.h"
#include "maps/config.h"

#define KUBE_CLASS	"poise.dev/xdp" /* loadBalancerClass */
#define KUBE_PROXY_NAME "poise.dev"	/* label service.kubernetes.io/service-proxy-name */

struct kube_options {
	const char *lb_class; /* NULL: KUBE_CLASS */
	bool classless;	      /* Services of type LoadBalancer without a class are ours too */
	bool no_node_ports;   /* NodePorts are not served */
	bool no_external_ips; /* externalIPs are not served */
	const char *claim;    /* a device that ingress addresses are put on; NULL: none */
	/* Where we reach the API server, if that is an address: it is given to no Service and put
	 * on no device, and served only with a warning. */
	union poise_addr server;
	__u16 server_port; /* host order; 0: it is none */
	/* Addresses that NodePorts are served on; none: those of our Node. */
	const union poise_addr *node;
	size_t nodes;
};

/* Where NodePorts are served, from text: addresses with commas, or `none`. room is for
 * KUBE_ADDRS_MAX of them, and must live as long as o. */
int kube_node_ports(struct kube_options *o, const char *text, union poise_addr *room,
		    struct poise_error *err);

/* healthCheckNodePort of a Service. */
struct kube_health_port {
	char *ns, *name;
	__u16 port;   /* host order */
	size_t local; /* ready endpoints on our node, by address */
};

struct kube_desired {
	struct config *cfg;	       /* services and addresses; no limits, interfaces, hash key */
	struct kube_findings findings; /* sorted */
	struct kube_health_port *health; /* by namespace and name */
	size_t healths;
	struct kube_plans *plans; /* of each Service, for kube_desired_refresh */
};

/* live: what is in force here (instance_load). Of it count the limits and what is not of owner
 * `kubernetes`. NULL: no limits, nobody else. */
struct kube_desired *kube_desired(const struct kube_cache *c, const struct kube_options *o,
				  const struct config *live);
void kube_desired_free(struct kube_desired *d);

/*
 * Brings d up to date where nothing but the cache's touched Services need be worked out again:
 * their slices changed, or their options or status. What others have here must be what it was for
 * d, or call kube_desired. Returns the number of poise services that changed, whose names are then
 * in *name (the array is the caller's, the texts are d's); -1: that is not enough, since names,
 * listeners or the Node changed too, or a limit is met; d is as it was.
 */
int kube_desired_refresh(struct kube_desired *d, const struct kube_cache *c,
			 const struct kube_options *o, const char ***name);

/* Whether a Service is of type LoadBalancer and its class ours: then its status is our business. */
bool kube_class_ours(const struct kube_service *s, const struct kube_options *o);
/* Whether a Service is left alone for what it is: headless, of another proxy, ExternalName, of a
 * foreign class. */
bool kube_left_alone(const struct kube_service *s, const struct kube_options *o);

#endif
