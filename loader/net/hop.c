/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The decision, in the order a frame meets it: route, device, lower device, sources, neighbour. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/neighbour.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../maps/path.h"
#include "../../maps/text.h"
#include "hop.h"

#define PATH_MTU_MAX 65535 /* of an IPv4 packet; loopback-like devices say 65536 */

static bool no(struct net_hop *hop, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool no(struct net_hop *hop, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(hop->why, sizeof(hop->why), fmt, ap);
	va_end(ap);
	return false;
}

static bool hop_route(const struct net_route *r, const struct hop_want *want, struct net_hop *hop)
{
	char dst[POISE_ADDR_TEXT], gateway[POISE_ADDR_TEXT];

	poise_format_addr(&want->dst, dst, sizeof(dst));
	if (r->error)
		return no(hop, "no route to %s: %s", dst, strerror(r->error));
	switch (r->type) {
	case RTN_UNICAST: break;
	case RTN_LOCAL: return no(hop, "%s is an address of this host", dst);
	case RTN_BROADCAST:
	case RTN_ANYCAST:
	case RTN_MULTICAST: return no(hop, "%s is a broadcast or multicast address here", dst);
	default:
		return no(hop, "the route to %s forbids it (blackhole, unreachable or prohibit)",
			  dst);
	}
	if (want->mode == POISE_L2 && r->has_gateway) {
		snprintf(hop->remedy, sizeof(hop->remedy), "use forward nat or ipip");
		return no(hop, "behind gateway %s: l2 reaches only neighbours",
			  poise_format_addr(&r->gateway, gateway, sizeof(gateway)));
	}
	return true;
}

static bool is_attached(const struct hop_want *want, unsigned int ifindex)
{
	for (size_t k = 0; k < want->count; k++)
		if (want->attached[k] == ifindex)
			return true;
	return false;
}

/* Why the host's own stack does not take what no attached device leads to; "": it never would. */
static const char *no_stack(const struct hop_want *want, const struct net_hop *hop)
{
	if (want->mode == POISE_NAT && want->crosses)
		return ", nor can clients of the other family be led there";
	if (!hop->by_stack)
		return "";
	return hop->pending ? ": waiting for a table of nftables (poised)"
			    : ", and nftables failed (poise status)";
}

/* No attached device leads there. What is translated within a family can go by the host's own
 * routing, if its stack translates it (maps/nat.h). */
static bool hop_by_stack(const struct hop_want *want, const struct net_link *top,
			 const struct net_link *link, struct net_hop *hop)
{
	if (want->mode == POISE_NAT && want->count && !want->crosses && top->up) {
		hop->by_stack = true;
		hop->path.ifindex = top->ifindex;
		hop->pending = want->overlay == POISE_OVERLAY_NONE;
		if (want->overlay == POISE_OVERLAY_STANDS)
			return true;
	}
	snprintf(hop->remedy, sizeof(hop->remedy), "poise attach %s", link->name);
	return no(hop, "leaves by %s, to which poise is not attached%s", top->name,
		  no_stack(want, hop));
}

/* Walks down from the route's device through VLAN devices to an attached one, collecting tags. */
static bool hop_device(const struct net_links *links, const struct hop_want *want,
		       const struct net_link *top, struct net_hop *hop)
{
	const struct net_link *link = top;
	struct poise_path *path = &hop->path;
	__u16 tag[POISE_PATH_MAX_VLANS][2];
	unsigned int tags = 0;

	while (!is_attached(want, link->ifindex)) {
		if (!link->vlan || !link->lower || !net_link(links, link->lower) ||
		    tags == POISE_PATH_MAX_VLANS)
			return hop_by_stack(want, top, link, hop);
		tag[tags][0] = htons(link->vid);
		tag[tags++][1] = link->tpid;
		link = net_link(links, link->lower);
	}
	if (!top->up || !link->up)
		return no(hop, "%s is down", link->up ? top->name : link->name);
	if (!top->ether)
		return no(hop, "%s is not an Ethernet device", top->name);
	path->ifindex = link->ifindex;
	path->vlans = tags;
	/* Met innermost first; kept outermost first. */
	for (unsigned int k = 0; k < tags; k++) {
		path->vlan[k] = tag[tags - 1 - k][0];
		path->tpid[k] = tag[tags - 1 - k][1];
	}
	memcpy(path->smac, top->mac, sizeof(path->smac));
	return true;
}

/* The source of what leaves, for modes that do not leave the client's: configured, else the
 * route's. */
static bool hop_source(const struct net_route *r, const struct hop_want *want, struct net_hop *hop)
{
	const union poise_addr *source = &want->source;
	bool v4 = poise_addr_is4(&want->dst);

	if (want->mode == POISE_L2)
		return true;
	if (poise_addr_is_zero(source))
		source = &r->prefsrc;
	if (poise_addr_is_zero(source)) {
		snprintf(hop->remedy, sizeof(hop->remedy), "poise service set NAME %s ADDR",
			 v4 ? "source" : "source6");
		return no(hop, "this host has no IPv%c address to send from", v4 ? '4' : '6');
	}
	if (v4)
		hop->path.src4 = source->w[3];
	else
		hop->path.src6 = *source;
	while (want->pool && hop->sources < POISE_SOURCES &&
	       !poise_addr_is_zero(&want->pool[hop->sources])) {
		hop->source[hop->sources] = want->pool[hop->sources];
		hop->sources++;
	}
	return true;
}

static bool hop_neigh(const struct net_neigh *e, const char *device, __u64 now, struct net_hop *hop)
{
	char addr[POISE_ADDR_TEXT];

	if (net_neigh_usable(e, now)) {
		memcpy(hop->mac, e->mac, sizeof(hop->mac));
		return true;
	}
	poise_format_addr(&e->addr, addr, sizeof(addr));
	if (e->refused) {
		if (e->refused == ENOBUFS)
			snprintf(hop->remedy, sizeof(hop->remedy),
				 "sysctl -w net.ipv%c.neigh.default.gc_thresh3=65536",
				 poise_addr_is4(&e->addr) ? '4' : '6');
		return no(hop, "the kernel would not resolve %s on %s: %s", addr, device,
			  strerror(e->refused));
	}
	if (e->state & NUD_FAILED)
		return no(hop, "%s on %s does not answer (neighbour FAILED)", addr, device);
	hop->pending = true;
	return no(hop, "waiting for %s to answer on %s", addr, device);
}

struct net_neigh *hop_decide(struct net_cache *c, const struct net_route *r,
			     const struct hop_want *want, __u64 now, struct net_hop *hop)
{
	const struct net_link *top;
	struct net_neigh *e;
	__u32 mtu;

	memset(hop, 0, sizeof(*hop));
	if (!hop_route(r, want, hop))
		return NULL;
	top = net_link(&c->links, r->oif);
	if (!top) {
		no(hop, "the route leaves by a device that is gone");
		return NULL;
	}
	if (!hop_device(&c->links, want, top, hop) || hop->by_stack || !hop_source(r, want, hop))
		return NULL;
	mtu = r->mtu && r->mtu < top->mtu ? r->mtu : top->mtu;
	hop->path.mtu = mtu < PATH_MTU_MAX ? mtu : PATH_MTU_MAX;
	e = net_neigh(&c->neighs, r->oif, r->has_gateway ? &r->gateway : &r->dst);
	hop_neigh(e, top->name, now, hop);
	return e;
}

bool hop_is(const struct instance *i, __u64 nexthop, const struct net_hop *hop)
{
	__u16 at = nexthop >> 48;

	if (hop->why[0] || !nexthop)
		return hop->why[0] && !nexthop;
	if (hop->by_stack)
		return nexthop == POISE_NEXTHOP_LOCAL;
	return !(nexthop ^ INSTANCE_NEXTHOP(hop->mac, at)) &&
	       path_chain_is(i, at, &hop->path, hop->source, hop->sources);
}
