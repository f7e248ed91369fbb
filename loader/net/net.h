/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * net/: routes, neighbours, addresses and links by netlink (libmnl), and the next hops that follow
 * from them.
 */
#ifndef POISE_NET_H
#define POISE_NET_H

#include "../../maps/instance.h"

struct net;

/* Opens the netlink sockets and reads links, addresses, neighbours. */
int net_open(struct net **out, struct poise_error *err);
void net_close(struct net *n);
/* To poll for reading; net_read takes what has come and returns how many next hops may have
 * changed (then call net_resolve). */
int net_fd(const struct net *n);
int net_read(struct net *n);

/* Why a member has no next hop, in words; empty: it has one. */
struct net_hop {
	__u64 nexthop; /* for struct poise_member; 0 unresolved */
	char why[128];
};

/* Where packets for dst (of a service with these outer sources) leave: route, neighbour, path.
 * l2: a route through a gateway is refused. Asks the kernel to resolve and keep the neighbour
 * (NTF_MANAGED, else NTF_USE). attached[] are the ifindexes poise is attached to. */
int net_hop(struct net *n, struct instance *i, const union poise_addr *dst, enum poise_mode mode,
	    const union poise_addr *source4, const union poise_addr *source6,
	    const unsigned int *attached, size_t count, struct net_hop *hop,
	    struct poise_error *err);
/* The same for every member of cfg; stores what changed. Returns the number unresolved. */
int net_resolve(struct net *n, struct instance *i, const struct config *cfg,
		const unsigned int *attached, size_t count, struct poise_error *err);

#endif
