/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a route and what is known of links and neighbours to a next hop, or to a sentence that says
 * why there is none. No I/O.
 */
#ifndef POISE_NET_HOP_H
#define POISE_NET_HOP_H

#include "cache.h"
#include "net.h"

struct hop_want {
	union poise_addr dst;
	enum poise_mode mode;
	union poise_addr source;      /* outer source of dst's family; zero: the route's own */
	const union poise_addr *pool; /* mode nat: it and the others, POISE_SOURCES, zero at the
				       * end; else NULL */
	bool crosses;		      /* as in struct net_want, ... */
	__u32 overlay;		      /* ... likewise */
	const unsigned int *attached;
	size_t count;
};

/* Fills hop but for nexthop. The neighbour that the hop depends on, whatever is known of it, or
 * NULL if it fails before one matters. */
struct net_neigh *hop_decide(struct net_cache *c, const struct net_route *r,
			     const struct hop_want *want, __u64 now, struct net_hop *hop);
/* True if a member's next-hop word already says what hop says. */
bool hop_is(const struct instance *i, __u64 nexthop, const struct net_hop *hop);

#endif
