/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Facts of this host that direct return depends on: addresses, default routes, sysctls, MTU. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libmnl/libmnl.h>

#include "../../maps/text.h"
#include "decap_check.h"
#include "socket.h"

struct reading {
	struct decap_facts *facts;
	const struct net_links *links;
};

static const char *name_of(const struct net_links *links, unsigned int ifindex)
{
	const struct net_link *link = net_link(links, ifindex);

	return link ? link->name : "";
}

static void note_address(struct reading *r, const struct ifaddrmsg *ifa,
			 const union poise_addr *addr)
{
	struct decap_facts *f = r->facts;
	const char *device = name_of(r->links, ifa->ifa_index);

	if (ifa->ifa_family == AF_INET6 && ifa->ifa_scope == RT_SCOPE_UNIVERSE &&
	    !strcmp(device, f->device))
		f->outer6 = true;
	for (size_t k = 0; k < f->addresses; k++) {
		struct decap_address *a = &f->address[k];

		if (memcmp(&a->addr, addr, sizeof(*addr)) != 0)
			continue;
		snprintf(a->on, sizeof(a->on), "%s", device);
		a->prefix = ifa->ifa_prefixlen;
		a->loopback = !net_link(r->links, ifa->ifa_index) ||
			      !net_link(r->links, ifa->ifa_index)->ether;
	}
}

static void take_address(void *ctx, const struct nlmsghdr *h)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(h);
	const struct nlattr *tb[IFA_LOCAL + 1];
	union poise_addr addr;

	if (h->nlmsg_type != RTM_NEWADDR || mnl_nlmsg_get_payload_len(h) < sizeof(*ifa))
		return;
	net_attrs(h, sizeof(*ifa), tb, IFA_LOCAL);
	/* On a point-to-point device IFA_ADDRESS is the other end. */
	if (net_attr_addr(tb[IFA_LOCAL], ifa->ifa_family, &addr) ||
	    net_attr_addr(tb[IFA_ADDRESS], ifa->ifa_family, &addr))
		note_address(ctx, ifa, &addr);
}

static void take_route(void *ctx, const struct nlmsghdr *h)
{
	const struct reading *r = ctx;
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(h);
	const struct nlattr *tb[RTA_METRICS + 1], *metrics[RTAX_ADVMSS + 1];
	char text[POISE_ADDR_TEXT];
	union poise_addr gateway;
	struct decap_way *way;

	if (h->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(h) < sizeof(*rtm))
		return;
	if (rtm->rtm_dst_len || rtm->rtm_type != RTN_UNICAST || rtm->rtm_table != RT_TABLE_MAIN ||
	    (rtm->rtm_family != AF_INET && rtm->rtm_family != AF_INET6))
		return;
	way = &r->facts->way[rtm->rtm_family == AF_INET6];
	if (way->exists) /* the first has the best metric */
		return;
	net_attrs(h, sizeof(*rtm), tb, RTA_METRICS);
	net_attrs_nested(tb[RTA_METRICS], metrics, RTAX_ADVMSS);
	way->exists = true;
	way->advmss = net_attr_u32(metrics[RTAX_ADVMSS], 0);
	snprintf(way->device, sizeof(way->device), "%s",
		 name_of(r->links, net_attr_u32(tb[RTA_OIF], 0)));
	if (net_attr_addr(tb[RTA_GATEWAY], rtm->rtm_family, &gateway))
		snprintf(way->gateway, sizeof(way->gateway), "via %s ",
			 poise_format_addr(&gateway, text, sizeof(text)));
}

static int read_sysctl(const char *device, const char *name)
{
	char path[128];
	int value = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/%s", device, name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%d", &value) != 1)
		value = 0;
	fclose(f);
	return value;
}

static int in_force(const char *device, const char *name)
{
	int all = read_sysctl("all", name), own = read_sysctl(device, name);

	return all > own ? all : own;
}

static int choose_device(struct decap_facts *f, const struct net_links *links, const char *device,
			 struct poise_error *err)
{
	if (!*device)
		device = f->way[0].exists ? f->way[0].device : f->way[1].device;
	if (!*device)
		return poise_fail(err, POISE_E_NO_DEVICE,
				  "no default route says by which device packets come: name it");
	for (size_t k = 0; k < links->count; k++)
		if (!strcmp(links->at[k].name, device)) {
			snprintf(f->device, sizeof(f->device), "%s", links->at[k].name);
			f->mtu = links->at[k].mtu;
			return 0;
		}
	poise_fail(err, POISE_E_NO_DEVICE, "there is no device %s", device);
	return poise_error_remedy(err, "ip link");
}

int decap_facts_read(struct decap_facts *f, const char *device, bool encapsulated,
		     const union poise_addr *address, size_t addresses, struct poise_error *err)
{
	struct reading r = {.facts = f};
	bool overtaken;
	struct net *n;
	int rc = -1;

	memset(f, 0, sizeof(*f));
	if (net_open(&n, err) < 0)
		return -1;
	r.links = &n->cache.links;
	f->encapsulated = encapsulated;
	f->address = calloc(addresses + 1, sizeof(f->address[0]));
	if (!f->address)
		abort();
	f->addresses = addresses;
	for (size_t k = 0; k < addresses; k++)
		f->address[k].addr = address[k];
	if (net_table(n, RTM_GETROUTE, sizeof(struct rtmsg), take_route, &r, &overtaken, err) < 0 ||
	    choose_device(f, r.links, device, err) < 0 ||
	    net_table(n, RTM_GETADDR, sizeof(struct ifaddrmsg), take_address, &r, &overtaken, err) <
		    0)
		goto out;
	f->arp_ignore = in_force(f->device, "arp_ignore");
	f->arp_announce = in_force(f->device, "arp_announce");
	f->rp_filter = in_force(f->device, "rp_filter");
	rc = 0;
out:
	net_close(n);
	if (rc < 0)
		decap_facts_free(f);
	return rc;
}

void decap_facts_free(struct decap_facts *f)
{
	free(f->address);
	f->address = NULL;
	f->addresses = 0;
}
