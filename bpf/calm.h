/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a datagram without a record begins a flow. It does not say so itself, and where current
 * and base differ it may be of a flow from before that nobody had to record. But every such flow
 * that goes on has sent a packet within the UDP timeout, and got a record by it: once nothing has
 * changed for so long, and no record was lost, who has none is new (struct poise_service, calm).
 *
 * Functions of their own: track, which calls them, has no room on the stack for keys.
 */
#ifndef POISE_CALM_H
#define POISE_CALM_H

#include "packet.h"

__noinline int calm(__u32 service)
{
	struct poise_service *s = bpf_map_lookup_elem(&services, &service);

	return s && ONCE(s->calm);
}

/* A record of the service was lost. */
__noinline int calm_end(__u32 service)
{
	struct poise_service *s = bpf_map_lookup_elem(&services, &service);

	if (s && ONCE(s->calm))
		*(volatile __u32 *)&s->calm = 0;
	return 0;
}

#endif
