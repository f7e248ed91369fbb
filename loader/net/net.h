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

/* Whose next hop is wanted, and where it may lead. */
struct net_want {
	union poise_addr dst;
	enum poise_mode mode;
	/* Outer sources, POISE_SOURCES of each family, zero at the end. */
	const union poise_addr *source4, *source6;
	bool crosses;		      /* mode nat: clients may be of the other family */
	__u32 overlay;		      /* meta.overlay: whether the host's own stack may take it */
	const unsigned int *attached; /* the devices poise is attached to */
	size_t count;
};

/* Of this member, for its instance; where it may lead is to be filled in. */
struct net_want net_want_of(const struct instance *i, const struct config_service *svc,
			    const struct config_member *m);

/* Where frames for a member leave, or why a member has no next hop, in words. */
struct net_hop {
	__u64 nexthop;	 /* for struct poise_member; 0 unresolved, or no path was made */
	bool by_stack;	 /* no attached device leads there: by the host's own stack, translated, or
			  * it has none; path has the route's device */
	char why[128];	 /* empty: it has one */
	char remedy[64]; /* a command that would help; empty none */
	bool pending;	 /* the neighbour was asked and may still answer */
	__u8 mac[6];
	struct poise_path path; /* as it would be asked of instance_path_chain, ... */
	union poise_addr source[POISE_SOURCES]; /* with these sources */
	__u32 sources;
};

/* Where packets leave: route, neighbour, path.
 * l2: a route through a gateway is refused. Asks the kernel to resolve and keep the neighbour
 * (NTF_MANAGED, else NTF_USE). No path is made and nexthop stays 0: for show. -1: the kernel could
 * not be asked; an unresolved next hop is no error. */
int net_hop(struct net *n, const struct net_want *want, struct net_hop *hop,
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
	bool more; /* the budget was used up: plan again soon */
	struct net_seen {
		bool whole;	      /* of a pass that came to its end */
		size_t unresolved;    /* members without a next hop */
		size_t by_stack;      /* those that no attached device leads to (struct net_hop) */
		size_t nats;	      /* of mode nat, if poise is attached to any device */
	} seen, seeing;		      /* in the last whole pass, and in the one under way ... */
	size_t at_service, at_member; /* ... and where that goes on */
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
