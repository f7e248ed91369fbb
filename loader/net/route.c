/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Routes: the kernel is asked where packets for a destination leave, and its answers are kept until
 * something that may concern them changes. Policy routing, metrics and multipath stay its business.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>

#include "../../maps/hash.h"
#include "../../maps/text.h"
#include "cache.h"

#define V4_BITS_BEFORE 96 /* of a mapped address, before the IPv4 part */

struct net_route *net_route(struct net_routes *r, const union poise_addr *dst,
			    const union poise_addr *source)
{
	size_t k = poise_mix(poise_mix(dst->q[0]) ^ dst->q[1]) % NET_ROUTE_HEADS;
	struct net_route *e = r->head[k];

	while (e &&
	       (memcmp(&e->dst, dst, sizeof(*dst)) || memcmp(&e->source, source, sizeof(*dst))))
		e = e->next;
	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		abort();
	e->dst = *dst;
	e->source = *source;
	e->next = r->head[k];
	r->head[k] = e;
	r->count++;
	return e;
}

bool net_prefix_holds(const union poise_addr *prefix, unsigned int bits,
		      const union poise_addr *addr)
{
	unsigned int bytes = bits / 8, rest = bits % 8;

	if (memcmp(prefix, addr, bytes) != 0)
		return false;
	return !rest || !((prefix->b[bytes] ^ addr->b[bytes]) & (0xff00u >> rest & 0xff));
}

static int routes_void_within(struct net_routes *r, const union poise_addr *prefix,
			      unsigned int bits)
{
	int voided = 0;

	for (size_t k = 0; k < NET_ROUTE_HEADS; k++)
		for (struct net_route *e = r->head[k]; e; e = e->next)
			if (net_prefix_holds(prefix, bits, &e->dst)) {
				voided |= e->known;
				e->known = false;
			}
	return voided;
}

void net_routes_void(struct net_routes *r)
{
	static const union poise_addr everything;

	routes_void_within(r, &everything, 0);
}

void net_routes_drop(struct net_routes *r, __u64 pass)
{
	for (size_t k = 0; k < NET_ROUTE_HEADS; k++) {
		struct net_route **at = &r->head[k], *e;

		while ((e = *at)) {
			if (e->pass >= pass) {
				at = &e->next;
				continue;
			}
			*at = e->next;
			r->count--;
			free(e);
		}
	}
}

int net_routes_message(struct net_routes *r, const struct nlmsghdr *h)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(h);
	const struct nlattr *tb[RTA_DST + 1];
	union poise_addr prefix;
	unsigned int bits;

	if (mnl_nlmsg_get_payload_len(h) < sizeof(*rtm))
		return 0;
	if (rtm->rtm_flags & RTM_F_CLONED) /* a cached answer, not a change */
		return 0;
	if (rtm->rtm_family != AF_INET && rtm->rtm_family != AF_INET6)
		return 0;
	net_attrs(h, sizeof(*rtm), tb, RTA_DST);
	bits = rtm->rtm_dst_len + (rtm->rtm_family == AF_INET ? V4_BITS_BEFORE : 0);
	if (bits > 128)
		return 0;
	if (!net_attr_addr(tb[RTA_DST], rtm->rtm_family, &prefix)) {
		if (rtm->rtm_dst_len) /* only a default route has no destination */
			return 0;
		if (rtm->rtm_family == AF_INET)
			prefix.h[5] = 0xffff;
	}
	return routes_void_within(r, &prefix, bits);
}

static void put_addr(struct nlmsghdr *h, __u16 type, const union poise_addr *a)
{
	if (poise_addr_is4(a))
		mnl_attr_put(h, type, 4, &a->w[3]);
	else
		mnl_attr_put(h, type, 16, a->b);
}

struct nlmsghdr *net_route_query(void *buf, const union poise_addr *dst,
				 const union poise_addr *source)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(h, sizeof(*rtm));
	bool v4 = poise_addr_is4(dst);

	h->nlmsg_type = RTM_GETROUTE;
	h->nlmsg_flags = NLM_F_REQUEST;
	rtm->rtm_family = v4 ? AF_INET : AF_INET6;
	rtm->rtm_dst_len = v4 ? 32 : 128;
	put_addr(h, RTA_DST, dst);
	if (!poise_addr_is_zero(source)) {
		rtm->rtm_src_len = rtm->rtm_dst_len;
		put_addr(h, RTA_SRC, source);
	}
	return h;
}

static void route_read_gateway(struct net_route *r, int family, const struct nlattr **tb)
{
	const struct rtvia *via;
	size_t length;

	r->has_gateway = net_attr_addr(tb[RTA_GATEWAY], family, &r->gateway);
	if (!tb[RTA_VIA] || mnl_attr_get_payload_len(tb[RTA_VIA]) < sizeof(*via))
		return;
	/* An IPv4 route by way of an IPv6 neighbour. */
	via = mnl_attr_get_payload(tb[RTA_VIA]);
	length = mnl_attr_get_payload_len(tb[RTA_VIA]) - sizeof(*via);
	r->has_gateway = net_bytes_addr(via->rtvia_addr, length, via->rtvia_family, &r->gateway);
}

static int route_read(struct net_route *r, const struct nlmsghdr *h)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(h);
	const struct nlattr *tb[RTA_VIA + 1], *metrics[RTAX_MTU + 1];

	if (h->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(h) < sizeof(*rtm))
		return EBADMSG;
	net_attrs(h, sizeof(*rtm), tb, RTA_VIA);
	net_attrs_nested(tb[RTA_METRICS], metrics, RTAX_MTU);
	r->type = rtm->rtm_type;
	r->oif = net_attr_u32(tb[RTA_OIF], 0);
	r->mtu = net_attr_u32(metrics[RTAX_MTU], 0);
	net_attr_addr(tb[RTA_PREFSRC], rtm->rtm_family, &r->prefsrc);
	route_read_gateway(r, rtm->rtm_family, tb);
	return r->oif || r->type != RTN_UNICAST ? 0 : EBADMSG;
}

void net_route_answer(struct net_route *r, const struct nlmsghdr *h)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(h);

	if (h->nlmsg_type != NLMSG_ERROR)
		r->error = route_read(r, h);
	else if (mnl_nlmsg_get_payload_len(h) < sizeof(e->error) || e->error >= 0)
		r->error = EBADMSG;
	else
		r->error = -e->error;
}
