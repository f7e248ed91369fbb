/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bursts of UDP datagrams over IPv4 that an XDP program (flood.bpf.c) puts on a device by running
 * over live frames (BPF_F_TEST_XDP_LIVE_FRAMES). They are handed to the device's peer in the same
 * softirq, on this CPU and in this thread's time, so none is lost on the way for want of room.
 */
#ifndef LAB_BURST_H
#define LAB_BURST_H

#include <linux/if_ether.h>
#include <netinet/in.h>

#include "endpoint.h"
#include "flood.h"

#define BURST_FIRST_PORT 1024 /* source ports are this and above */

struct burst {
	unsigned int ifindex;
	unsigned char mac[ETH_ALEN]; /* who is to receive them */
	struct endpoint target;	     /* IPv4 */
	struct in_addr source;	     /* the first of the sources; the others follow it */
	unsigned int flows;	     /* different source ports */
	unsigned int sources;	     /* different addresses, up to 65536, in its last 16 bits */
};

struct flood; /* the skeleton */

/* Before the skeleton is loaded. */
void burst_prepare(const struct burst *b, struct flood *skel);
/* So many frames, one system call. 0 or -errno. Setting it up costs the kernel some 25 ms. */
int burst_send(const struct burst *b, struct flood *skel, unsigned int frames);

#endif
