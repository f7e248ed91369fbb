/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Links: which devices there are, and what a frame that leaves by them looks like. */
#include <arpa/inet.h>
#include <net/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <stdlib.h>
#include <string.h>

#include <libmnl/libmnl.h>

#include "../../maps/sorted.h"
#include "cache.h"

static int by_ifindex(const void *ifindex, const void *entry)
{
	const unsigned int *key = ifindex;
	const struct net_link *link = entry;

	return *key == link->ifindex ? 0 : *key < link->ifindex ? -1 : 1;
}

/* Where ifindex is, or belongs. */
static size_t link_place(const struct net_links *l, unsigned int ifindex, bool *found)
{
	return sorted_find(&ifindex, l->at, l->count, sizeof(*l->at), by_ifindex, found);
}

const struct net_link *net_link(const struct net_links *l, unsigned int ifindex)
{
	bool found;
	size_t k = link_place(l, ifindex, &found);

	return found ? &l->at[k] : NULL;
}

static int link_del(struct net_links *l, unsigned int ifindex)
{
	bool found;
	size_t k = link_place(l, ifindex, &found);

	if (found)
		sorted_close(l->at, k, &l->count, sizeof(*l->at));
	return found;
}

/* Returns 0 if it was known just so: statistics and the like also come as link messages. */
static int link_put(struct net_links *l, const struct net_link *new)
{
	bool found;
	size_t k = link_place(l, new->ifindex, &found);

	if (found) {
		if (!memcmp(&l->at[k], new, sizeof(*new)))
			return 0;
		l->at[k] = *new;
		return 1;
	}
	l->at = sorted_open(l->at, k, &l->count, &l->room, sizeof(*l->at));
	l->at[k] = *new;
	return 1;
}

static void link_read_vlan(struct net_link *link, const struct nlattr *info)
{
	const struct nlattr *tb[IFLA_INFO_DATA + 1], *data[IFLA_VLAN_PROTOCOL + 1];
	const char *kind;

	net_attrs_nested(info, tb, IFLA_INFO_DATA);
	if (!tb[IFLA_INFO_KIND])
		return;
	kind = mnl_attr_get_payload(tb[IFLA_INFO_KIND]);
	if (strncmp(kind, "vlan", mnl_attr_get_payload_len(tb[IFLA_INFO_KIND])) != 0)
		return;
	net_attrs_nested(tb[IFLA_INFO_DATA], data, IFLA_VLAN_PROTOCOL);
	link->vlan = true;
	link->vid = net_attr_u16(data[IFLA_VLAN_ID], 0);
	link->tpid = net_attr_u16(data[IFLA_VLAN_PROTOCOL], htons(ETH_P_8021Q));
}

/* False for a message that is void. */
static bool link_read(struct net_link *link, const struct nlmsghdr *h)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(h);
	const struct nlattr *tb[IFLA_LINK_NETNSID + 1];
	size_t length;

	net_attrs(h, sizeof(*ifi), tb, IFLA_LINK_NETNSID);
	if (ifi->ifi_index <= 0 || !tb[IFLA_IFNAME])
		return false;
	/* Zeroed whole, padding too: link_put compares bytes. */
	memset(link, 0, sizeof(*link));
	link->ifindex = ifi->ifi_index;
	link->up = (ifi->ifi_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
	link->mtu = net_attr_u32(tb[IFLA_MTU], 0);

	length = mnl_attr_get_payload_len(tb[IFLA_IFNAME]);
	if (length >= sizeof(link->name))
		length = sizeof(link->name) - 1;
	memcpy(link->name, mnl_attr_get_payload(tb[IFLA_IFNAME]), length);

	if (ifi->ifi_type == ARPHRD_ETHER && tb[IFLA_ADDRESS] &&
	    mnl_attr_get_payload_len(tb[IFLA_ADDRESS]) == sizeof(link->mac)) {
		link->ether = true;
		memcpy(link->mac, mnl_attr_get_payload(tb[IFLA_ADDRESS]), sizeof(link->mac));
	}
	/* A lower device in another namespace cannot be ours, whatever its number. */
	if (!tb[IFLA_LINK_NETNSID])
		link->lower = net_attr_u32(tb[IFLA_LINK], 0);
	link_read_vlan(link, tb[IFLA_LINKINFO]);
	return true;
}

int net_links_message(struct net_links *l, const struct nlmsghdr *h)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(h);
	struct net_link link;

	if (mnl_nlmsg_get_payload_len(h) < sizeof(*ifi))
		return 0;
	/* AF_BRIDGE: news of a port, which a DELLINK of it does not remove from the host. */
	if (ifi->ifi_family != AF_UNSPEC)
		return 0;
	if (h->nlmsg_type == RTM_DELLINK)
		return link_del(l, ifi->ifi_index);
	return link_read(&link, h) ? link_put(l, &link) : 0;
}
