/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Netlink messages: whatever bytes arrive, nothing is read past their end, and a decision can still
 * be made. The seeds are messages as tests/support/netlink.c writes them.
 */
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "../../loader/net/hop.h"
#include "../support/fuzz.h"

#define NOW (1000 * NET_NS_PER_S)

/* A heap copy of just that size, so that a read past it is caught. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned int attached[] = {2};
	struct net_cache *c = calloc(1, sizeof(*c));
	struct hop_want want = {
		.dst.h[5] = 0xffff, .mode = POISE_IPIP, .attached = attached, .count = 1};
	struct net_route *r;
	struct net_hop hop;
	uint8_t *copy;

	size &= ~(size_t)3; /* the kernel pads; so do its readers */
	copy = malloc(size ? size : 1);
	if (!c || !copy)
		abort();
	memcpy(copy, data, size);
	net_cache_feed(c, copy, size, NOW);
	r = net_route(&c->routes, &want.dst, &want.source);
	if (size >= sizeof(struct nlmsghdr) && ((struct nlmsghdr *)copy)->nlmsg_len <= size &&
	    ((struct nlmsghdr *)copy)->nlmsg_len >= sizeof(struct nlmsghdr))
		net_route_answer(r, (struct nlmsghdr *)copy);
	hop_decide(c, r, &want, NOW, &hop);
	net_cache_free(c);
	free(c);
	free(copy);
	return 0;
}

FUZZ_TARGET(netlink)
