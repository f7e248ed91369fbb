/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>

#include <libmnl/libmnl.h>

#include "netlink.h"

static int family_of(const char *addr)
{
	return strchr(addr, ':') ? AF_INET6 : AF_INET;
}

static void put_addr(struct nlmsghdr *h, uint16_t type, const char *addr)
{
	uint8_t bytes[16];

	inet_pton(family_of(addr), addr, bytes);
	mnl_attr_put(h, type, family_of(addr) == AF_INET ? 4 : 16, bytes);
}

static struct nlmsghdr *message(void *buf, uint16_t type)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);

	h->nlmsg_type = type;
	return h;
}

static void put_vlan(struct nlmsghdr *h, const struct link_news *l)
{
	struct nlattr *info, *data;

	info = mnl_attr_nest_start(h, IFLA_LINKINFO);
	mnl_attr_put_strz(h, IFLA_INFO_KIND, "vlan");
	data = mnl_attr_nest_start(h, IFLA_INFO_DATA);
	mnl_attr_put_u16(h, IFLA_VLAN_ID, l->vid);
	mnl_attr_put_u16(h, IFLA_VLAN_PROTOCOL, htons(l->tpid ? l->tpid : ETH_P_8021Q));
	mnl_attr_nest_end(h, data);
	mnl_attr_nest_end(h, info);
}

struct nlmsghdr *news_link(void *buf, const struct link_news *l)
{
	struct nlmsghdr *h = message(buf, RTM_NEWLINK);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(h, sizeof(*ifi));

	ifi->ifi_index = l->ifindex;
	ifi->ifi_type = l->mac ? ARPHRD_ETHER : ARPHRD_NONE;
	ifi->ifi_flags = l->down ? IFF_UP : IFF_UP | IFF_RUNNING;
	mnl_attr_put_strz(h, IFLA_IFNAME, l->name);
	mnl_attr_put_u32(h, IFLA_MTU, l->mtu ? l->mtu : 1500);
	if (l->mac)
		mnl_attr_put(h, IFLA_ADDRESS, 6, l->mac);
	if (l->vlan_over) {
		mnl_attr_put_u32(h, IFLA_LINK, l->vlan_over);
		put_vlan(h, l);
	}
	if (l->other_netns)
		mnl_attr_put_u32(h, IFLA_LINK_NETNSID, 1);
	return h;
}

struct nlmsghdr *news_link_gone(void *buf, int ifindex)
{
	struct nlmsghdr *h = message(buf, RTM_DELLINK);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(h, sizeof(*ifi));

	ifi->ifi_index = ifindex;
	return h;
}

static struct nlmsghdr *neigh(void *buf, uint16_t type, int ifindex, const char *addr,
			      uint16_t state)
{
	struct nlmsghdr *h = message(buf, type);
	struct ndmsg *ndm = mnl_nlmsg_put_extra_header(h, sizeof(*ndm));

	ndm->ndm_family = family_of(addr);
	ndm->ndm_ifindex = ifindex;
	ndm->ndm_state = state;
	put_addr(h, NDA_DST, addr);
	return h;
}

struct nlmsghdr *news_neigh(void *buf, int ifindex, const char *addr, uint16_t state,
			    const char *mac)
{
	struct nlmsghdr *h = neigh(buf, RTM_NEWNEIGH, ifindex, addr, state);

	if (mac)
		mnl_attr_put(h, NDA_LLADDR, 6, mac);
	return h;
}

struct nlmsghdr *news_neigh_gone(void *buf, int ifindex, const char *addr)
{
	return neigh(buf, RTM_DELNEIGH, ifindex, addr, 0);
}

struct nlmsghdr *news_route(void *buf, const char *prefix, unsigned int bits)
{
	struct nlmsghdr *h = message(buf, RTM_NEWROUTE);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(h, sizeof(*rtm));

	rtm->rtm_family = family_of(prefix);
	rtm->rtm_dst_len = bits;
	if (bits)
		put_addr(h, RTA_DST, prefix);
	return h;
}

static void put_gateway(struct nlmsghdr *h, const struct route_answer *a)
{
	uint8_t via[sizeof(struct rtvia) + 16] = {0};
	int family = family_of(a->gateway);

	if (family == family_of(a->dst)) {
		put_addr(h, RTA_GATEWAY, a->gateway);
		return;
	}
	((struct rtvia *)via)->rtvia_family = family;
	inet_pton(family, a->gateway, via + sizeof(struct rtvia));
	mnl_attr_put(h, RTA_VIA, sizeof(struct rtvia) + (family == AF_INET ? 4 : 16), via);
}

struct nlmsghdr *answer_route(void *buf, const struct route_answer *a)
{
	struct nlmsghdr *h = message(buf, RTM_NEWROUTE);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(h, sizeof(*rtm));
	struct nlattr *metrics;

	rtm->rtm_family = family_of(a->dst);
	rtm->rtm_type = a->type ? a->type : RTN_UNICAST;
	put_addr(h, RTA_DST, a->dst);
	if (a->oif)
		mnl_attr_put_u32(h, RTA_OIF, a->oif);
	if (a->gateway)
		put_gateway(h, a);
	if (a->prefsrc)
		put_addr(h, RTA_PREFSRC, a->prefsrc);
	if (a->mtu) {
		metrics = mnl_attr_nest_start(h, RTA_METRICS);
		mnl_attr_put_u32(h, RTAX_MTU, a->mtu);
		mnl_attr_nest_end(h, metrics);
	}
	return h;
}

struct nlmsghdr *answer_error(void *buf, int error)
{
	struct nlmsghdr *h = message(buf, NLMSG_ERROR);
	struct nlmsgerr *e = mnl_nlmsg_put_extra_header(h, sizeof(*e));

	e->error = -error;
	return h;
}
