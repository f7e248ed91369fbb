/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Netlink messages as the kernel would send them, for tests of net/. Each writes into buf (at least
 * NETLINK_BYTES) and returns it. Addresses as text. */
#ifndef TEST_NETLINK_H
#define TEST_NETLINK_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>

#define NETLINK_BYTES 512

struct link_news {
	int ifindex;
	const char *name;
	const char *mac; /* six bytes; NULL: no Ethernet */
	bool down;
	uint32_t mtu;  /* 0: 1500 */
	int vlan_over; /* ifindex of the lower device; 0: no VLAN device */
	uint16_t vid;
	uint16_t tpid; /* host order; 0: 802.1Q */
	bool other_netns;
};

struct nlmsghdr *news_link(void *buf, const struct link_news *l);
struct nlmsghdr *news_link_gone(void *buf, int ifindex);
struct nlmsghdr *news_neigh(void *buf, int ifindex, const char *addr, uint16_t state,
			    const char *mac);
struct nlmsghdr *news_neigh_gone(void *buf, int ifindex, const char *addr);
struct nlmsghdr *news_route(void *buf, const char *prefix, unsigned int bits);

struct route_answer {
	const char *dst;
	int oif;
	uint8_t type;	     /* 0: unicast */
	const char *gateway; /* NULL: on-link; of the other family: by RTA_VIA */
	const char *prefsrc;
	uint32_t mtu; /* 0: none said */
};

struct nlmsghdr *answer_route(void *buf, const struct route_answer *a);
struct nlmsghdr *answer_error(void *buf, int error);

#endif
