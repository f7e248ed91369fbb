/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * net/: routes, neighbours, addresses and links by netlink (libmnl), and the next hops that follow
 * from them.
 */
#ifndef POISE_NET_H
#define POISE_NET_H

#include "../../maps/instance.h"

struct net;

/* Opens the netlink sockets and reads links and neighbours. */
int net_open(struct net **out, struct poise_error *err);
void net_close(struct net *n);
/* To poll for reading; net_read takes what has come and returns how many next hops may have
 * changed (then call net_resolve). */
int net_fd(const struct net *n);
int net_read(struct net *n);

/* Where frames for a member leave, or why a member has no next hop, in words. */
struct net_hop {
	__u64 nexthop;	 /* for struct poise_member; 0 unresolved, or no path was made */
	char why[128];	 /* empty: it has one */
	char remedy[64]; /* a command that would help; empty none */
	bool pending;	 /* the neighbour was asked and may still answer */
	__u8 mac[6];
	struct poise_path path; /* as it would be asked of instance_path_chain, ... */
	union poise_addr source[POISE_SOURCES]; /* with these sources */
	__u32 sources;
};

/* Where packets for dst (of a service with these outer sources, POISE_SOURCES of each family, zero
 * at the end) leave: route, neighbour, path.
 * l2: a route through a gateway is refused. Asks the kernel to resolve and keep the neighbour
 * (NTF_MANAGED, else NTF_USE). attached[] are the ifindexes poise is attached to. With i NULL no
 * path is made and nexthop stays 0: for show. -1: the kernel could not be asked, or no path is
 * left; an unresolved next hop is no error. */
int net_hop(struct net *n, struct instance *i, const union poise_addr *dst, enum poise_mode mode,
	    const union poise_addr *source4, const union poise_addr *source6,
	    const unsigned int *attached, size_t count, struct net_hop *hop,
	    struct poise_error *err);

/* The same for every member of cfg; stores what changed, under the lock, which it takes (and
 * waits for) unless it is held. Returns the number unresolved, or -1. */
int net_resolve(struct net *n, struct instance *i, const struct config *cfg,
		const unsigned int *attached, size_t count, struct poise_error *err);

/* net_resolve in two steps, for a loop that must not wait: what would change, found without the
 * lock; then its stores, with it. */
struct net_change {
	const struct config_service *svc; /* of the cfg that was planned with */
	const struct config_member *member;
	struct net_hop hop;
};

struct net_plan {
	struct net_change *change; /* owned; net_plan_free */
	size_t count;
	size_t room;
	size_t unresolved; /* of the whole pass, if this call ended it */
	bool more;	   /* the budget was used up: plan again soon */
	size_t at_service, at_member, seen_unresolved; /* where such a call goes on */
};

#define NET_QUERY_COST 8 /* 2.3 us against 0.3 us */
/* Looks at about `budget` members, of which each that the kernel must be asked for counts as
 * NET_QUERY_COST more (0: no limit). A plan begins zeroed; one with
 * `more` goes on where the last call stopped, and must be begun anew with another cfg. */
int net_plan(struct net *n, const struct instance *i, const struct config *cfg,
	     const unsigned int *attached, size_t count, unsigned int budget, struct net_plan *plan,
	     struct poise_error *err);
/* Skips members whose record is another's by now. Lock held. */
int net_apply(struct instance *i, struct net_plan *plan, struct poise_error *err);
void net_plan_free(struct net_plan *plan);

#endif
