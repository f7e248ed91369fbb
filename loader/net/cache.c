/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which table a message belongs to, and the checked readers of attributes that all of them use. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>

#include "cache.h"

static void attrs_between(const char *at, const char *end, const struct nlattr **tb,
			  unsigned int max)
{
	memset(tb, 0, (max + 1) * sizeof(*tb));
	while (mnl_attr_ok((const struct nlattr *)at, (int)(end - at))) {
		const struct nlattr *a = (const struct nlattr *)at;

		if (mnl_attr_get_type(a) <= max)
			tb[mnl_attr_get_type(a)] = a;
		at = (const char *)mnl_attr_next(a);
	}
}

void net_attrs(const struct nlmsghdr *h, size_t header, const struct nlattr **tb, unsigned int max)
{
	attrs_between(mnl_nlmsg_get_payload_offset(h, header), mnl_nlmsg_get_payload_tail(h), tb,
		      max);
}

void net_attrs_nested(const struct nlattr *nest, const struct nlattr **tb, unsigned int max)
{
	const char *at = nest ? mnl_attr_get_payload(nest) : NULL;

	if (nest)
		attrs_between(at, at + mnl_attr_get_payload_len(nest), tb, max);
	else
		memset(tb, 0, (max + 1) * sizeof(*tb));
}

__u32 net_attr_u32(const struct nlattr *a, __u32 none)
{
	return a && mnl_attr_get_payload_len(a) >= sizeof(__u32) ? mnl_attr_get_u32(a) : none;
}

__u16 net_attr_u16(const struct nlattr *a, __u16 none)
{
	return a && mnl_attr_get_payload_len(a) >= sizeof(__u16) ? mnl_attr_get_u16(a) : none;
}

bool net_bytes_addr(const void *bytes, size_t length, int family, union poise_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	if (family == AF_INET && length == 4) {
		addr->h[5] = 0xffff;
		memcpy(&addr->w[3], bytes, 4);
		return true;
	}
	if (family == AF_INET6 && length == 16) {
		memcpy(addr, bytes, 16);
		return true;
	}
	return false;
}

bool net_attr_addr(const struct nlattr *a, int family, union poise_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	return a &&
	       net_bytes_addr(mnl_attr_get_payload(a), mnl_attr_get_payload_len(a), family, addr);
}

int net_cache_message(struct net_cache *c, const struct nlmsghdr *h, __u64 now)
{
	switch (h->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		if (!net_links_message(&c->links, h))
			return 0;
		/* IPv4 routes of a link that went down vanish without a message of their own. */
		net_routes_void(&c->routes);
		return 1;
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH: return net_neighs_message(&c->neighs, h, now);
	case RTM_NEWROUTE:
	case RTM_DELROUTE: return net_routes_message(&c->routes, h);
	case RTM_NEWADDR: /* the preferred source may be another now */
	case RTM_DELADDR:
	case RTM_NEWRULE:
	case RTM_DELRULE:
	case RTM_NEWNEXTHOP:
	case RTM_DELNEXTHOP: net_routes_void(&c->routes); return 1;
	}
	return 0;
}

int net_cache_feed(struct net_cache *c, const void *data, size_t length, __u64 now)
{
	const struct nlmsghdr *h = data;
	int left = length;
	int changed = 0;

	for (; net_message_ok(h, left); h = mnl_nlmsg_next(h, &left))
		changed += net_cache_message(c, h, now);
	return changed;
}

void net_cache_forget(struct net_cache *c, __u64 now)
{
	c->links.count = 0;
	for (size_t k = 0; k < NET_NEIGH_HEADS; k++)
		for (struct net_neigh *e = c->neighs.head[k]; e; e = e->next) {
			if (!e->lost)
				e->lost = now;
			e->state = 0;
		}
	net_routes_void(&c->routes);
}

void net_cache_free(struct net_cache *c)
{
	struct net_neigh *e;
	struct net_route *r;

	free(c->links.at);
	for (size_t k = 0; k < NET_NEIGH_HEADS; k++)
		while ((e = c->neighs.head[k])) {
			c->neighs.head[k] = e->next;
			free(e);
		}
	for (size_t k = 0; k < NET_ROUTE_HEADS; k++)
		while ((r = c->routes.head[k])) {
			c->routes.head[k] = r->next;
			free(r);
		}
}
