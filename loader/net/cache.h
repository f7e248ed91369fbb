/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What net/ knows of the kernel's network: links and neighbours as their messages told, and the
 * answers to route queries. Nothing here does I/O: net_cache_message takes one message, whoever
 * sent it, so that tests and the fuzzer can feed it.
 *
 * Messages come from the kernel, yet every length is checked: a field that is missing or too short
 * makes the message void, never a read past its end.
 */
#ifndef POISE_NET_CACHE_H
#define POISE_NET_CACHE_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

#include "../../maps/abi.h"

#define NET_NS_PER_S 1000000000ull

/* ---- links ------------------------------------------------------------------------------------*/
struct net_link {
	unsigned int ifindex;
	char name[IF_NAMESIZE];
	__u8 mac[6];
	bool ether; /* Ethernet, with a hardware address */
	bool up;    /* administratively up and with carrier */
	__u32 mtu;
	bool vlan;	    /* a VLAN device over `lower` */
	unsigned int lower; /* 0: none, or in another namespace */
	__u16 vid;
	__u16 tpid; /* network order */
};

struct net_links {
	struct net_link *at; /* sorted by ifindex */
	size_t count;
	size_t room;
};

/* ---- neighbours -------------------------------------------------------------------------------*/
#define NET_NEIGH_HEADS 4096 /* chains; a full kernel table (1024 by default) is sparse */
#define NET_NEIGH_KEEP                                                                             \
	(3 * NET_NS_PER_S) /* a forgotten MAC is still used so long: three solicitations */
#define NET_NEIGH_ASK_AGAIN NET_NS_PER_S /* between two requests for the same neighbour */

struct net_neigh {
	struct net_neigh *next;
	union poise_addr addr;
	unsigned int ifindex;
	__u16 state; /* NUD_*; 0: the kernel has no such entry */
	__u8 mac[6];
	bool has_mac; /* known, and not since failed */
	bool managed; /* the kernel keeps it alive by itself */
	bool ours;    /* we asked for that */
	__u64 lost;   /* CLOCK_MONOTONIC ns when it stopped being usable, 0: it has not */
	__u64 asked;  /* CLOCK_MONOTONIC ns of our last request */
	__u64 pass;   /* last pass over the members that wanted it */
	int refused;  /* the kernel's errno to that request */
};

struct net_neighs {
	struct net_neigh *head[NET_NEIGH_HEADS];
	size_t count;
};

/* ---- routes -----------------------------------------------------------------------------------*/
#define NET_ROUTE_HEADS 32768		    /* chains; 256 KiB, as many as there can be members */
#define NET_ROUTE_AGE	(15 * NET_NS_PER_S) /* ask again: path MTUs change without a message */

struct net_route {
	struct net_route *next;
	union poise_addr dst;
	union poise_addr source; /* asked for; zero: none */
	bool known;		 /* false: (again) to be asked for */
	int error;		 /* the kernel's errno; 0: the rest counts */
	__u8 type;		 /* RTN_* */
	unsigned int oif;
	bool has_gateway;
	union poise_addr gateway;
	union poise_addr prefsrc; /* zero: none */
	__u32 mtu;		  /* 0: the device's */
	__u64 asked;		  /* CLOCK_MONOTONIC ns */
	__u64 pass;
};

struct net_routes {
	struct net_route *head[NET_ROUTE_HEADS];
	size_t count;
};

struct net_cache {
	struct net_links links;
	struct net_neighs neighs;
	struct net_routes routes;
};

/* ---- all of it --------------------------------------------------------------------------------*/

/* True if a whole message is there. mnl_nlmsg_ok takes a length of 2^31 and more for negative. */
static inline bool net_message_ok(const struct nlmsghdr *h, int left)
{
	return left >= (int)sizeof(*h) && h->nlmsg_len >= sizeof(*h) &&
	       h->nlmsg_len <= (unsigned int)left;
}

/* Takes in one message at `now`. Returns 1 if a next hop may have changed, else 0 (also for
 * messages that are void or none of ours). */
int net_cache_message(struct net_cache *c, const struct nlmsghdr *h, __u64 now);
/* Every message in data, whose length is a multiple of 4; the number that may have changed a hop.
 */
int net_cache_feed(struct net_cache *c, const void *data, size_t length, __u64 now);
/* Before the kernel's tables are read anew: links go, neighbours have no state, routes are void. */
void net_cache_forget(struct net_cache *c, __u64 now);
void net_cache_free(struct net_cache *c);

/* Attributes of a message behind a family header of `header` bytes, by type; absent ones NULL. */
void net_attrs(const struct nlmsghdr *h, size_t header, const struct nlattr **tb, unsigned int max);
void net_attrs_nested(const struct nlattr *nest, const struct nlattr **tb, unsigned int max);
/* The attribute's value, or `none` if it is absent or too short. */
__u32 net_attr_u32(const struct nlattr *a, __u32 none);
__u16 net_attr_u16(const struct nlattr *a, __u16 none);
/* An address of 4 or 16 bytes as family says; false if absent or of another length. */
bool net_attr_addr(const struct nlattr *a, int family, union poise_addr *addr);
bool net_bytes_addr(const void *bytes, size_t length, int family, union poise_addr *addr);

int net_links_message(struct net_links *l, const struct nlmsghdr *h);
/* NULL if there is none. */
const struct net_link *net_link(const struct net_links *l, unsigned int ifindex);

int net_neighs_message(struct net_neighs *n, const struct nlmsghdr *h, __u64 now);
/* The entry for addr on a device, made without a state if there is none. */
struct net_neigh *net_neigh(struct net_neighs *n, unsigned int ifindex,
			    const union poise_addr *addr);
/* True if frames can be sent to its MAC at `now`. */
bool net_neigh_usable(const struct net_neigh *e, __u64 now);
/* True if the kernel should be asked to resolve or keep it. */
bool net_neigh_ask(const struct net_neigh *e, __u64 now);

/* Whether addr is one of the prefix of so many bits; IPv4 has 96 before its own. */
bool net_prefix_holds(const union poise_addr *prefix, unsigned int bits,
		      const union poise_addr *addr);
/* A change of the routing table: makes void the answers it may concern. */
int net_routes_message(struct net_routes *r, const struct nlmsghdr *h);
void net_routes_void(struct net_routes *r);
/* Frees the answers last wanted before `pass`. */
void net_routes_drop(struct net_routes *r, __u64 pass);
/* The answer kept for dst from source (zero: any), made unknown if there is none. */
struct net_route *net_route(struct net_routes *r, const union poise_addr *dst,
			    const union poise_addr *source);
/* Writes the query into buf (at least NET_QUERY_SIZE) and returns it. */
#define NET_QUERY_SIZE 256
struct nlmsghdr *net_route_query(void *buf, const union poise_addr *dst,
				 const union poise_addr *source);
/* Takes the answer to that query in; a message that is void is an error of EBADMSG. */
void net_route_answer(struct net_route *r, const struct nlmsghdr *h);

#endif
