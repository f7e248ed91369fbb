/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * poised --kubernetes: a thread with a handle of its own on the instance, which follows Services,
 * EndpointSlices and our Node at the API server and makes what they want so, under owner
 * `kubernetes`. Whatever becomes of the API server, what is in force stays until something else is
 * known to be wanted.
 */
#ifndef POISE_KUBE_H
#define POISE_KUBE_H

#include "../../maps/instance.h"

/* As the command line has it; texts must live as long as the thread. */
struct kube_settings {
	bool on;
	const char *kubeconfig; /* NULL: a pod's service account */
	const char *node;	/* the name of our Node; NULL: $NODE_NAME, else the host's */
	const char *lb_class;	/* loadBalancerClass that is ours; NULL: KUBE_CLASS */
	bool classless;		/* Services of type LoadBalancer without a class are, too */
	const char *node_ports; /* where NodePorts are served: kube_node_ports() */
	bool no_external_ips;	/* externalIPs are left alone */
	const char *claim;	/* the device that ingress addresses are put on; NULL: none */
	const char *pool;	/* addresses for Services (pool.h); NULL: none are given */
	const char *health;	/* ADDR:PORT of /livez and /readyz; NULL: none */
};

struct kube;

/* Reads where the API server is, which fails if that is not said right, and starts the thread;
 * whether the server answers is found out by and by. */
int kube_start(struct kube **out, const struct instance_where *where,
	       const struct kube_settings *settings, struct poise_error *err);
/* poised follows no cluster (any more): so it is told. */
void kube_state_clear(struct instance *i);
/* Ends the thread; what is in force stays. NULL: nothing. */
void kube_stop(struct kube *k);

#endif
