/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What others ask poised by HTTP: /livez and /readyz, for the kubelet, on the address of an option;
 * and on the healthCheckNodePort of each Service with externalTrafficPolicy Local whether this node
 * has endpoints of it, for load balancers in front.
 *
 * A thread of its own, which answers whatever the others do; so it judges by their signs of life.
 * The kubelet and the world do not share connections: who holds all of these has none of those.
 */
#ifndef POISE_KUBE_HEALTHPORT_H
#define POISE_KUBE_HEALTHPORT_H

#include <linux/types.h>

#include "desired.h"
#include "maps/error.h"

#define KUBE_LOOP_MS   10000 /* the loop turns every 5 ms; so late it hangs */
#define KUBE_THREAD_MS 60000 /* likewise; a list of 100,000 endpoints takes 10 s */

/* What is asked about, and since when who showed that it lives. */
struct kube_signs {
	const __u64 *loop; /* meta.heartbeat: ns, CLOCK_MONOTONIC; NULL: not asked about */
	__u64 thread;	   /* ms, CLOCK_MONOTONIC */
	bool ready;	   /* the cluster was known once, and what it says was applied */
};

struct kube_reply {
	unsigned int status; /* HTTP's */
	const char *type;    /* Content-Type */
	char body[512];
};

/* Pure. now: ms, CLOCK_MONOTONIC. A port that is NULL is not served (any more). */
void kube_health_reply_port(struct kube_reply *r, const struct kube_health_port *port,
			    const struct kube_signs *s, __u64 now);
void kube_health_reply_probe(struct kube_reply *r, const char *path, const struct kube_signs *s,
			     __u64 now);

struct kube_health;

/* address: ADDR:PORT for the kubelet; NULL: none. NULL with an error if it cannot be had. loop as
 * above; it must live as long. */
struct kube_health *kube_health_open(const char *address, const __u64 *loop,
				     struct poise_error *err);
void kube_health_close(struct kube_health *h);

/* From any thread. These ports, by namespace and name, are served from now
 * on, and no others; texts are copied. One that
 * somebody else has is logged once, and tried again every second. */
void kube_health_ports(struct kube_health *h, const struct kube_health_port *port, size_t n);
/* The thread that calls is alive; ready as above. */
void kube_health_beat(struct kube_health *h, bool ready);

/* The port that it listens on for the kubelet, for tests that let the kernel choose; host order. */
__u16 kube_health_bound(const struct kube_health *h);

#endif
