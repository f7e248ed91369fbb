// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which addresses are the host's own; see own.h. */
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>

#include "../../maps/memory.h"
#include "../../maps/sorted.h"
#include "../../maps/text.h"
#include "claim.h"
#include "own.h"
#include "socket.h"

#define MAX_TRIES      5
#define ADDRESS_BITS   128
#define V4_BITS_BEFORE 96 /* of a mapped address, before the IPv4 part */

/* ---- places -----------------------------------------------------------------------------------*/

void own_places_add(struct own_places *p, const union poise_addr *addr, unsigned int bits,
		    unsigned int ifindex)
{
	p->at = memory_grow(p->at, p->count, &p->room, sizeof(*p->at));
	p->at[p->count++] = (struct own_place){.addr = *addr, .ifindex = ifindex, .bits = bits};
}

static int by_address(const void *a, const void *b)
{
	const struct own_place *x = a, *y = b;

	if ((x->bits == ADDRESS_BITS) != (y->bits == ADDRESS_BITS))
		return x->bits == ADDRESS_BITS ? -1 : 1;
	return poise_addr_cmp(&x->addr, &y->addr);
}

void own_places_sort(struct own_places *p)
{
	if (p->count)
		qsort(p->at, p->count, sizeof(*p->at), by_address);
	for (p->single = 0; p->single < p->count && p->at[p->single].bits == ADDRESS_BITS;)
		p->single++;
}

void own_places_free(struct own_places *p)
{
	free(p->at);
	*p = (struct own_places){0};
}

static int by_addr(const void *addr, const void *entry)
{
	const struct own_place *place = entry;

	return poise_addr_cmp(addr, &place->addr);
}

/* The first place at or behind the address. */
static size_t first_at(const struct own_places *p, const union poise_addr *addr)
{
	return sorted_place(addr, p->at, p->single, sizeof(*p->at), by_addr);
}

static bool is_put(const char *device, __u8 put, unsigned int ifindex)
{
	return (put == POISE_PUT_MARKED || put == POISE_PUT_UNMARKED) &&
	       if_nametoindex(device) == ifindex;
}

/* Is it there by us? What we have yet to take off is, too. */
static bool is_ours(const struct config *cfg, const struct own_place *place)
{
	const struct config_address *a = config_address_at(cfg, &place->addr);

	return a && (is_put(a->conf.device, a->conf.put, place->ifindex) ||
		     is_put(a->conf.was, a->conf.was_put, place->ifindex));
}

static __u8 own_of(const struct config *cfg, const struct own_places *p,
		   const union poise_addr *addr)
{
	for (size_t k = first_at(p, addr); k < p->single; k++) {
		if (poise_addr_cmp(&p->at[k].addr, addr))
			break;
		if (!is_ours(cfg, &p->at[k]))
			return POISE_OWN_HOST;
	}
	for (size_t k = p->single; k < p->count; k++)
		if (net_prefix_holds(&p->at[k].addr, p->at[k].bits, addr))
			return POISE_OWN_HOST;
	return POISE_OWN_NOT;
}

size_t own_note(struct config *cfg, const struct own_places *p, bool store)
{
	size_t changed = 0;
	__u8 own;

	for (size_t s = 0; s < cfg->services; s++)
		for (int l = 0; l < cfg->service[s]->conf.listeners; l++) {
			struct poise_listener_conf *c = &cfg->service[s]->conf.listener[l];

			own = own_of(cfg, p, &c->addr);
			changed += own != c->own;
			c->own = store ? own : c->own;
		}
	for (size_t a = 0; a < cfg->addresses; a++) {
		struct poise_address_conf *c = &cfg->address[a].conf;

		own = own_of(cfg, p, &c->addr);
		changed += own != c->own;
		c->own = store ? own : c->own;
	}
	return changed;
}

/* ---- what the kernel has ----------------------------------------------------------------------*/

static void take_route(void *ctx, const struct nlmsghdr *h)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(h);
	const struct nlattr *tb[RTA_OIF + 1];
	union poise_addr prefix;

	if (h->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(h) < sizeof(*rtm) ||
	    rtm->rtm_type != RTN_LOCAL)
		return;
	net_attrs(h, sizeof(*rtm), tb, RTA_OIF);
	if (net_attr_addr(tb[RTA_DST], rtm->rtm_family, &prefix))
		own_places_add(ctx, &prefix,
			       rtm->rtm_dst_len + (rtm->rtm_family == AF_INET ? V4_BITS_BEFORE : 0),
			       net_attr_u32(tb[RTA_OIF], 0));
}

static void take_placed(struct own_places *p, const struct net_placed_list *l)
{
	for (size_t k = 0; k < l->count; k++)
		own_places_add(p, &l->at[k].addr, ADDRESS_BITS, l->at[k].ifindex);
}

/* Addresses, also those of devices that have tables of their own, and local routes, which may be of
 * prefixes. */
static int read_places(struct net *n, struct own_places *p, struct poise_error *err)
{
	const struct rtmsg local = {.rtm_table = RT_TABLE_LOCAL, .rtm_type = RTN_LOCAL};
	struct net_placed_list placed = {0};
	bool overtaken = true;
	int rc = net_placed_read(n, &placed, err);

	for (int tries = 0; !rc && overtaken && tries < MAX_TRIES; tries++) {
		overtaken = false;
		p->count = 0;
		take_placed(p, &placed);
		rc = net_routes(n, &local, take_route, p, &overtaken, err);
	}
	free(placed.at);
	own_places_sort(p);
	return rc;
}

/* ---- what would go back -----------------------------------------------------------------------*/

/* To a router; elsewhere it ends, as at a container or at a neighbour. */
static bool goes_back(struct net *n, const union poise_addr *addr)
{
	struct net_route r = {.dst = *addr};

	return !net_ask_route(n, &r, net_now(), NULL) && !r.error && r.type == RTN_UNICAST &&
	       r.has_gateway;
}

/* Of addresses of which no more than ports is ours. The kernel is asked of each, so it is not
 * before one is new; then of all. */
static size_t back_note(struct net *n, struct config *cfg, bool store)
{
	size_t changed = 0;
	__u8 back;

	for (size_t s = 0; s < cfg->services; s++)
		for (int l = 0; l < cfg->service[s]->conf.listeners; l++) {
			struct poise_listener_conf *c = &cfg->service[s]->conf.listener[l];

			if (!c->alone || !store) {
				changed += c->alone && c->back == POISE_BACK_UNKNOWN;
				continue;
			}
			back = c->own == POISE_OWN_NOT && goes_back(n, &c->addr) ? POISE_BACK_GOES
										 : POISE_BACK_NOT;
			changed += back != c->back;
			c->back = back;
		}
	return changed;
}

static int look(struct net *n, struct config *cfg, bool store, struct poise_error *err)
{
	struct own_places p = {0};
	int changed = -1;

	if (!cfg->services && !cfg->addresses)
		return 0;
	if (!read_places(n, &p, err))
		changed = (int)(own_note(cfg, &p, store) + back_note(n, cfg, store));
	own_places_free(&p);
	return changed;
}

int net_own_due(struct net *n, struct config *cfg, struct poise_error *err)
{
	return look(n, cfg, false, err);
}

int net_own_note(struct net *n, struct config *cfg, struct poise_error *err)
{
	return look(n, cfg, true, err);
}

int net_own_settle(struct net *n, struct instance *i, struct config *cfg, struct poise_error *err)
{
	int changed = net_own_note(n, cfg, err);

	return changed > 0 && instance_commit(i, cfg, NULL, err) ? -1 : changed;
}
