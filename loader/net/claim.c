// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Claimed addresses on their devices; see claim.h. */
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libmnl/libmnl.h>

#include "../../maps/memory.h"
#include "../../maps/text.h"
#include "announce.h"
#include "claim.h"
#include "socket.h"

#ifndef IFA_PROTO /* headers of 5.18 */
#define IFA_PROTO 11
#endif
#define IFA_KNOWN IFA_PROTO
#define MAX_TRIES 5

/* ---- what is there ----------------------------------------------------------------------------*/

static void take_in(void *ctx, const struct nlmsghdr *h)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(h);
	const struct nlattr *tb[IFA_KNOWN + 1];
	struct net_placed_list *l = ctx;
	struct net_placed new = {0};

	if (h->nlmsg_type != RTM_NEWADDR || mnl_nlmsg_get_payload_len(h) < sizeof(*ifa))
		return;
	net_attrs(h, sizeof(*ifa), tb, IFA_KNOWN);
	/* On a point-to-point device IFA_ADDRESS is the other end. */
	if (!net_attr_addr(tb[IFA_LOCAL] ? tb[IFA_LOCAL] : tb[IFA_ADDRESS], ifa->ifa_family,
			   &new.addr))
		return;
	new.ifindex = ifa->ifa_index;
	if (tb[IFA_PROTO] && mnl_attr_get_payload_len(tb[IFA_PROTO]) >= sizeof(new.proto))
		new.proto = mnl_attr_get_u8(tb[IFA_PROTO]);
	l->at = memory_grow(l->at, l->count, &l->room, sizeof(*l->at));
	l->at[l->count++] = new;
}

int net_placed_read(struct net *n, struct net_placed_list *l, struct poise_error *err)
{
	bool overtaken = true;

	for (int tries = 0; overtaken && tries < MAX_TRIES; tries++) {
		overtaken = false;
		l->count = 0;
		if (net_table(n, RTM_GETADDR, sizeof(struct ifaddrmsg), take_in, l, &overtaken,
			      err))
			return -1;
	}
	return 0;
}

static const struct net_placed *find(const struct net_placed_list *l, const union poise_addr *addr,
				     unsigned int ifindex)
{
	for (size_t k = 0; k < l->count; k++)
		if (l->at[k].ifindex == ifindex && !poise_addr_cmp(&l->at[k].addr, addr))
			return &l->at[k];
	return NULL;
}

/* ---- what is to be done -----------------------------------------------------------------------*/

static bool is_due(const struct config_address *a, const struct net_placed_list *l)
{
	unsigned int ifindex = if_nametoindex(a->conf.device);
	const struct net_placed *p = ifindex ? find(l, &a->conf.addr, ifindex) : NULL;

	if (config_address_leaving(a) || a->conf.was[0])
		return true;
	if (config_address_withdrawn(a))
		return p;
	return ifindex && (!p || net_placed_put(p, a->conf.put) != a->conf.put);
}

int net_claims_due(struct net *n, const struct config *cfg, struct poise_error *err)
{
	struct net_placed_list l = {0};
	int due = 0;

	if (!cfg->addresses)
		return 0;
	if (net_placed_read(n, &l, err))
		due = -1;
	for (size_t i = 0; i < cfg->addresses && !due; i++)
		due = is_due(&cfg->address[i], &l);
	free(l.at);
	return due;
}

/* ---- doing it ---------------------------------------------------------------------------------*/

/* 0, or the kernel's errno. */
static int change(struct net *n, __u16 type, const union poise_addr *addr, unsigned int ifindex)
{
	char query[NET_QUERY_SIZE] = {0};
	struct nlmsghdr *h = mnl_nlmsg_put_header(query);
	struct ifaddrmsg *ifa = mnl_nlmsg_put_extra_header(h, sizeof(*ifa));
	bool v4 = poise_addr_is4(addr);
	size_t length = v4 ? 4 : 16;
	const void *bytes = v4 ? (const void *)&addr->w[3] : addr->b;

	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	if (type == RTM_NEWADDR)
		h->nlmsg_flags |= NLM_F_CREATE | NLM_F_EXCL;
	ifa->ifa_family = v4 ? AF_INET : AF_INET6;
	ifa->ifa_prefixlen = (__u8)(length * 8);
	ifa->ifa_index = ifindex;
	/* Other balancers have the address too: detection would find them and refuse ours. */
	ifa->ifa_flags = v4 ? 0 : IFA_F_NODAD;
	mnl_attr_put(h, IFA_LOCAL, length, bytes);
	mnl_attr_put(h, IFA_ADDRESS, length, bytes);
	if (type == RTM_NEWADDR)
		mnl_attr_put_u8(h, IFA_PROTO, POISE_IFA_PROTO);
	return net_ask(n, h, NULL);
}

struct settler {
	struct net *n;
	struct net_placed_list before, after;
	net_claim_say say;
	void *ctx;
};

void net_claim_tell(net_claim_say say, void *ctx, bool fault, const struct config_address *a,
		    const char *fmt, ...)
{
	char text[POISE_ADDR_TEXT], sentence[256];
	va_list args;
	int used = snprintf(sentence, sizeof(sentence),
			    "address %s: ", poise_format_addr(&a->conf.addr, text, sizeof(text)));

	va_start(args, fmt);
	vsnprintf(sentence + used, sizeof(sentence) - (size_t)used, fmt, args);
	va_end(args);
	say(ctx, fault, sentence);
}

/* Off the device, if it is ours. False: it is still there. */
static bool take_off(struct settler *s, const struct config_address *a, const char *device,
		     __u8 put)
{
	unsigned int ifindex = if_nametoindex(device);
	const struct net_placed *p = ifindex ? find(&s->before, &a->conf.addr, ifindex) : NULL;
	int refused;

	if (!p)
		return true;
	if (!net_placed_ours(p, put)) {
		net_claim_tell(s->say, s->ctx, false, a, "stays on %s, where somebody else put it",
			       device);
		return true;
	}
	refused = change(s->n, RTM_DELADDR, &a->conf.addr, ifindex);
	if (refused && refused != EADDRNOTAVAIL) {
		net_claim_tell(s->say, s->ctx, true, a, "cannot be taken off %s: %s", device,
			       strerror(refused));
		return false;
	}
	/* Who withdrew it has said so, and why. */
	if (!config_address_withdrawn(a))
		net_claim_tell(s->say, s->ctx, false, a, "taken off %s", device);
	return true;
}

static void put_on(struct settler *s, const struct config_address *a)
{
	unsigned int ifindex = if_nametoindex(a->conf.device);
	const struct net_placed *p = ifindex ? find(&s->before, &a->conf.addr, ifindex) : NULL;
	char how[ANNOUNCE_TEXT];
	int refused;

	if (!a->conf.device[0])
		return;
	if (!ifindex) {
		net_claim_tell(s->say, s->ctx, true, a,
			       "there is no device %s yet; poised puts it there when there is",
			       a->conf.device);
		return;
	}
	if (p) {
		if (net_placed_put(p, a->conf.put) == POISE_PUT_FOREIGN &&
		    a->conf.put != POISE_PUT_FOREIGN)
			net_claim_tell(s->say, s->ctx, false, a,
				       "was on %s already, and stays there when it is released",
				       a->conf.device);
		return;
	}
	refused = change(s->n, RTM_NEWADDR, &a->conf.addr, ifindex);
	if (refused) {
		net_claim_tell(s->say, s->ctx, true, a, "cannot be put on %s: %s", a->conf.device,
			       strerror(refused));
		return;
	}
	announce(&a->conf.addr, ifindex, a->conf.device, how);
	net_claim_tell(s->say, s->ctx, false, a, "put on %s%s", a->conf.device, how);
}

/* One record; true if it changed. */
static void act(struct settler *s, struct config_address *a, bool *off)
{
	*off = true;
	if (a->conf.was[0])
		*off = take_off(s, a, a->conf.was, a->conf.was_put);
	if (config_address_leaving(a) || config_address_withdrawn(a))
		*off &= take_off(s, a, a->conf.device, a->conf.put);
	else
		put_on(s, a);
}

/* Notes in the record what stands there now; true if that is another thing than before. */
static bool note(struct settler *s, struct config_address *a, bool off)
{
	struct poise_address_conf old = a->conf;
	unsigned int ifindex = if_nametoindex(a->conf.device);
	const struct net_placed *before = find(&s->before, &a->conf.addr, ifindex);
	const struct net_placed *p = find(&s->after, &a->conf.addr, ifindex);

	if (off) {
		memset(a->conf.was, 0, sizeof(a->conf.was));
		a->conf.was_put = POISE_PUT_NOT;
	}
	/* It was not there and is now: by us, though the kernel may not say so. */
	a->conf.put = net_placed_put(p, ifindex && !before ? POISE_PUT_UNMARKED : old.put);
	return memcmp(&old, &a->conf, sizeof(old)) != 0;
}

static bool claims_any(const struct config *cfg, bool v4, const char *device)
{
	for (size_t i = 0; i < cfg->addresses; i++) {
		const struct config_address *a = &cfg->address[i];

		if (!config_address_leaving(a) && !strcmp(a->conf.device, device) &&
		    poise_addr_is4(&a->conf.addr) == v4)
			return true;
	}
	return false;
}

/* For an address that is claimed on a device no longer: was it the last of its family there? */
static void end_announcing(const struct config *cfg, const struct config_address *a)
{
	const char *device = a->conf.was[0] ? a->conf.was : a->conf.device;
	bool v4 = poise_addr_is4(&a->conf.addr);

	if (device[0] && !claims_any(cfg, v4, device))
		announce_end(device, v4);
}

int net_claims_settle(struct net *n, struct config *cfg, net_claim_say how, void *ctx,
		      struct poise_error *err)
{
	struct settler s = {.n = n, .say = how, .ctx = ctx};
	bool off[POISE_ADDRESSES];
	int changed = -1;

	if (!cfg->addresses)
		return 0;
	if (net_placed_read(n, &s.before, err))
		goto out;
	for (size_t i = 0; i < cfg->addresses; i++)
		act(&s, &cfg->address[i], &off[i]);
	if (net_placed_read(n, &s.after, err))
		goto out;
	changed = 0;
	for (size_t i = cfg->addresses; i-- > 0;) {
		struct config_address *a = &cfg->address[i];

		if (off[i])
			end_announcing(cfg, a);
		if (!config_address_leaving(a)) {
			changed += note(&s, a, off[i]);
		} else if (off[i]) {
			config_address_del(cfg, a);
			changed++;
		}
	}
out:
	free(s.before.at);
	free(s.after.at);
	return changed;
}

bool net_claim_link(const struct net *n, unsigned int ifindex)
{
	const struct net_link *link = net_link(&n->cache.links, ifindex);

	return link && link->up;
}

const char *net_claim_state(struct net *n, const struct config_address *a)
{
	unsigned int ifindex = if_nametoindex(a->conf.device);
	struct net_placed_list l = {0};
	const char *state = "absent";
	const struct net_placed *p;

	if (ifindex && !net_placed_read(n, &l, NULL)) {
		p = find(&l, &a->conf.addr, ifindex);
		if (p)
			state = net_placed_put(p, a->conf.put) == POISE_PUT_FOREIGN ? "foreign"
										    : "on";
	}
	free(l.at);
	return state;
}
