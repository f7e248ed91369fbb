/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Neighbours: whose MAC is known, and whom the kernel should be asked for.
 *
 * An entry that merely vanished, or is being asked for again, keeps its MAC for NET_NEIGH_KEEP:
 * forgetting is no evidence that the neighbour is gone. One that FAILED loses it at once.
 */
#include <linux/neighbour.h>
#include <stdlib.h>
#include <string.h>

#include <libmnl/libmnl.h>

#include "../../maps/hash.h"
#include "cache.h"

#define NEIGH_USABLE (NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP)

static size_t neigh_head(unsigned int ifindex, const union poise_addr *addr)
{
	return poise_mix(poise_mix(addr->q[0] ^ ifindex) ^ addr->q[1]) % NET_NEIGH_HEADS;
}

static struct net_neigh *neigh_find(struct net_neighs *n, unsigned int ifindex,
				    const union poise_addr *addr)
{
	struct net_neigh *e = n->head[neigh_head(ifindex, addr)];

	while (e && (e->ifindex != ifindex || memcmp(&e->addr, addr, sizeof(*addr)) != 0))
		e = e->next;
	return e;
}

struct net_neigh *net_neigh(struct net_neighs *n, unsigned int ifindex,
			    const union poise_addr *addr)
{
	struct net_neigh *e = neigh_find(n, ifindex, addr);
	size_t k;

	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		abort();
	k = neigh_head(ifindex, addr);
	e->ifindex = ifindex;
	e->addr = *addr;
	e->next = n->head[k];
	n->head[k] = e;
	n->count++;
	return e;
}

bool net_neigh_usable(const struct net_neigh *e, __u64 now)
{
	if (!e->has_mac)
		return false;
	return (e->state & NEIGH_USABLE) || now - e->lost < NET_NEIGH_KEEP;
}

bool net_neigh_ask(const struct net_neigh *e, __u64 now)
{
	/* A request would turn an administrator's entry into a volatile one. */
	if (e->state & (NUD_PERMANENT | NUD_NOARP))
		return false;
	if (e->state & NUD_INCOMPLETE) /* it is being asked for */
		return false;
	if (e->asked && now - e->asked < NET_NEIGH_ASK_AGAIN)
		return false;
	if (!(e->state & NEIGH_USABLE))
		return true;
	/* Usable but not kept alive: once if the kernel can, else whenever it has become stale. */
	return !e->managed && (!e->asked || (e->state & NUD_STALE));
}

/* A neighbour nobody wants any more and the kernel does not know needs no entry here. */
static void neigh_forget(struct net_neighs *n, struct net_neigh *e)
{
	struct net_neigh **at = &n->head[neigh_head(e->ifindex, &e->addr)];

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	n->count--;
	free(e);
}

static int neigh_gone(struct net_neighs *n, unsigned int ifindex, const union poise_addr *addr,
		      __u64 now)
{
	struct net_neigh *e = neigh_find(n, ifindex, addr);

	if (!e)
		return 0;
	if (!e->pass) {
		neigh_forget(n, e);
		return 0;
	}
	if (!e->lost)
		e->lost = now;
	e->state = 0;
	e->managed = false;
	e->asked = 0;
	return 1;
}

static int neigh_put(struct net_neigh *e, __u16 state, const struct nlattr *mac, __u64 now)
{
	bool was = net_neigh_usable(e, now), news = false;

	if (mac && mnl_attr_get_payload_len(mac) != sizeof(e->mac))
		mac = NULL;
	if ((state & NEIGH_USABLE) && mac) {
		news = !e->has_mac || memcmp(e->mac, mnl_attr_get_payload(mac), sizeof(e->mac));
		memcpy(e->mac, mnl_attr_get_payload(mac), sizeof(e->mac));
		e->has_mac = true;
		e->lost = 0;
	} else if (!e->lost) {
		e->lost = now;
	}
	if (state & NUD_FAILED || (state & NEIGH_USABLE && !mac))
		e->has_mac = false;
	news |= (e->state ^ state) & (NUD_FAILED | NUD_INCOMPLETE); /* `why` changes with them */
	e->state = state;
	return news || was != net_neigh_usable(e, now);
}

int net_neighs_message(struct net_neighs *n, const struct nlmsghdr *h, __u64 now)
{
	const struct ndmsg *ndm = mnl_nlmsg_get_payload(h);
	const struct nlattr *tb[NDA_FLAGS_EXT + 1];
	union poise_addr addr;
	struct net_neigh *e;

	if (mnl_nlmsg_get_payload_len(h) < sizeof(*ndm))
		return 0;
	net_attrs(h, sizeof(*ndm), tb, NDA_FLAGS_EXT);
	if (ndm->ndm_ifindex <= 0 || (ndm->ndm_flags & NTF_PROXY) ||
	    !net_attr_addr(tb[NDA_DST], ndm->ndm_family, &addr))
		return 0;
	if (h->nlmsg_type == RTM_DELNEIGH)
		return neigh_gone(n, ndm->ndm_ifindex, &addr, now);
	e = net_neigh(n, ndm->ndm_ifindex, &addr);
	e->managed = net_attr_u32(tb[NDA_FLAGS_EXT], 0) & NTF_EXT_MANAGED;
	return neigh_put(e, ndm->ndm_state, tb[NDA_LLADDR], now);
}
