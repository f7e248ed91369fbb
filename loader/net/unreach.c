// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Routes that end a loop; see unreach.h. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>

#include "../../maps/memory.h"
#include "../../maps/hash.h"
#include "../../maps/text.h"
#include "socket.h"
#include "unreach.h"

#define MAX_TRIES 5

struct addrs {
	union poise_addr *at;
	size_t count;
	size_t room;
};

struct unreach {
	struct net *n;
	__u32 metric;
	struct addrs there, wanted; /* in order */
	net_claim_say say;
	void *ctx;
};

static void add(struct addrs *l, const union poise_addr *addr)
{
	l->at = memory_grow(l->at, l->count, &l->room, sizeof(*l->at));
	l->at[l->count++] = *addr;
}

static int compare(const void *a, const void *b)
{
	return poise_addr_cmp(a, b);
}

/* In order, each once. */
static void tidy(struct addrs *l)
{
	size_t kept = 0;

	if (l->count)
		qsort(l->at, l->count, sizeof(*l->at), compare);
	for (size_t k = 0; k < l->count; k++)
		if (!kept || poise_addr_cmp(&l->at[kept - 1], &l->at[k]))
			l->at[kept++] = l->at[k];
	l->count = kept;
}

static bool has(const struct addrs *l, const union poise_addr *addr)
{
	return l->count && bsearch(addr, l->at, l->count, sizeof(*l->at), compare);
}

static __u32 metric_of(const char *instance)
{
	__u64 hash = 0;

	for (; *instance; instance++)
		hash = poise_mix(hash ^ (__u8)*instance);
	return UNREACH_METRIC | (hash & 0xffffff);
}

/* ---- what is there, what should be ------------------------------------------------------------*/

static void take_route(void *ctx, const struct nlmsghdr *h)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(h);
	const struct nlattr *tb[RTA_PRIORITY + 1];
	struct unreach *u = ctx;
	union poise_addr addr;

	if (h->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(h) < sizeof(*rtm) ||
	    rtm->rtm_type != RTN_UNREACHABLE || rtm->rtm_protocol != UNREACH_PROTOCOL ||
	    rtm->rtm_table != RT_TABLE_MAIN ||
	    rtm->rtm_dst_len != (rtm->rtm_family == AF_INET ? 32 : 128))
		return;
	net_attrs(h, sizeof(*rtm), tb, RTA_PRIORITY);
	if (net_attr_u32(tb[RTA_PRIORITY], 0) == u->metric &&
	    net_attr_addr(tb[RTA_DST], rtm->rtm_family, &addr))
		add(&u->there, &addr);
}

static int read_there(struct unreach *u, struct poise_error *err)
{
	const struct rtmsg ours = {.rtm_table = RT_TABLE_MAIN,
				   .rtm_type = RTN_UNREACHABLE,
				   .rtm_protocol = UNREACH_PROTOCOL};
	bool overtaken = true;

	for (int tries = 0; overtaken && tries < MAX_TRIES; tries++) {
		overtaken = false;
		u->there.count = 0;
		if (net_routes(u->n, &ours, take_route, u, &overtaken, err))
			return -1;
	}
	tidy(&u->there);
	return 0;
}

/* An address that poise itself keeps on a device is there, or is off it on purpose. And one of a
 * Kubernetes Service is anybody's word: whoever may write a Service may name any address in the
 * world, and that node and pods would not get there any more. What the node itself sends to a
 * Service, kube-proxy takes only behind a routing decision. */
static void collect(struct unreach *u, const struct config *cfg)
{
	for (size_t s = 0; cfg && s < cfg->services; s++)
		for (int l = 0; l < cfg->service[s]->conf.listeners; l++) {
			const struct poise_listener_conf *c = &cfg->service[s]->conf.listener[l];
			const struct config_address *a = config_address_at(cfg, &c->addr);

			if (c->own == POISE_OWN_NOT && c->owner != POISE_OWNER_KUBERNETES &&
			    (!a || !a->conf.device[0]))
				add(&u->wanted, &c->addr);
		}
	tidy(&u->wanted);
}

/* ---- doing it ---------------------------------------------------------------------------------*/

/* 0, or the kernel's errno. */
static int change(struct unreach *u, __u16 type, const union poise_addr *addr)
{
	char query[NET_QUERY_SIZE] = {0};
	struct nlmsghdr *h = mnl_nlmsg_put_header(query);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(h, sizeof(*rtm));
	bool v4 = poise_addr_is4(addr);

	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	if (type == RTM_NEWROUTE)
		h->nlmsg_flags |= NLM_F_CREATE | NLM_F_EXCL;
	rtm->rtm_family = v4 ? AF_INET : AF_INET6;
	rtm->rtm_dst_len = v4 ? 32 : 128;
	rtm->rtm_table = RT_TABLE_MAIN;
	rtm->rtm_protocol = UNREACH_PROTOCOL;
	rtm->rtm_type = RTN_UNREACHABLE;
	mnl_attr_put(h, RTA_DST, v4 ? 4 : 16, v4 ? (const void *)&addr->w[3] : addr->b);
	mnl_attr_put_u32(h, RTA_PRIORITY, u->metric);
	return net_ask(u->n, h, NULL);
}

static void say(struct unreach *u, int refused, const union poise_addr *addr, const char *what)
{
	char text[POISE_ADDR_TEXT], sentence[256];

	poise_format_addr(addr, text, sizeof(text));
	if (refused)
		snprintf(sentence, sizeof(sentence), "address %s: unreachable route: not %s: %s",
			 text, what, strerror(refused));
	else
		snprintf(sentence, sizeof(sentence),
			 "address %s: unreachable route %s: a router leads it here and no device "
			 "has it, so what is not balanced would loop",
			 text, what);
	u->say(u->ctx, refused != 0, sentence);
}

/* Would its packets go back to a router? Elsewhere they end anyway, and may be meant to. */
static bool loops(struct unreach *u, const union poise_addr *addr)
{
	struct net_route r = {.dst = *addr};

	return !net_ask_route(u->n, &r, net_now(), NULL) && !r.error && r.type == RTN_UNICAST &&
	       r.has_gateway;
}

static int put_on(struct unreach *u)
{
	int changed = 0, refused;

	for (size_t k = 0; k < u->wanted.count; k++) {
		const union poise_addr *addr = &u->wanted.at[k];

		if (has(&u->there, addr) || !loops(u, addr))
			continue;
		refused = change(u, RTM_NEWROUTE, addr);
		if (refused == EEXIST)
			continue;
		say(u, refused, addr, "added");
		changed += !refused;
	}
	return changed;
}

static int take_off(struct unreach *u)
{
	int changed = 0, refused;

	for (size_t k = 0; k < u->there.count; k++) {
		const union poise_addr *addr = &u->there.at[k];

		if (has(&u->wanted, addr))
			continue;
		refused = change(u, RTM_DELROUTE, addr);
		if (refused && refused != ESRCH)
			say(u, refused, addr, "removed");
		changed += !refused;
	}
	return changed;
}

int net_unreach_settle(struct net *n, const char *instance, const struct config *cfg,
		       net_claim_say how, void *ctx, struct poise_error *err)
{
	struct unreach u = {.n = n, .metric = metric_of(instance), .say = how, .ctx = ctx};
	int changed = -1;

	if (cfg && cfg->part)
		return 0;
	collect(&u, cfg);
	if (!read_there(&u, err))
		changed = put_on(&u) + take_off(&u);
	free(u.there.at);
	free(u.wanted.at);
	return changed;
}
