/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The two netlink sockets: one hears what changes, one asks. Asking never loses an event. */
#ifndef POISE_NET_SOCKET_H
#define POISE_NET_SOCKET_H

#include "cache.h"
#include "net.h"

struct mnl_socket;
struct rtmsg;

struct net {
	struct mnl_socket *events;
	struct mnl_socket *asking;
	unsigned int seq;
	bool stale;    /* the tables must be read anew */
	__u64 pass;    /* plans made */
	__u32 queries; /* asked of the kernel, ever */
	struct net_cache cache;
};

__u64 net_now(void); /* CLOCK_MONOTONIC ns */

/* Reads one of the kernel's tables: asks with `type` and a zeroed family header of that size, calls
 * one(ctx, message) for every entry. *overtaken is set if the table changed under the reading. */
typedef void (*net_each)(void *ctx, const struct nlmsghdr *h);
int net_table(struct net *n, __u16 type, size_t header, net_each one, void *ctx, bool *overtaken,
	      struct poise_error *err);
/* The same of routes of both families, those alone that have the table, type and protocol (0: any)
 * of `like`: the kernel picks them, which matters where it has a million. */
int net_routes(struct net *n, const struct rtmsg *like, net_each one, void *ctx, bool *overtaken,
	       struct poise_error *err);
/* Sends a request for a change (NLM_F_ACK) and waits: 0, or the kernel's errno to it; EIO with err
 * if there was no answer. */
int net_ask(struct net *n, struct nlmsghdr *h, struct poise_error *err);
/* Reads links and neighbours anew. */
int net_dump(struct net *n, struct poise_error *err);
/* Asks for the route again if its answer is void or old. */
int net_ask_route(struct net *n, struct net_route *r, __u64 now, struct poise_error *err);
/* Asks the kernel to resolve the neighbour and keep it, or no longer to keep it. */
int net_ask_neigh(struct net *n, struct net_neigh *e, bool keep, struct poise_error *err);

#endif
