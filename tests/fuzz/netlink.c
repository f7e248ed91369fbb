/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Netlink messages, mutated: whatever bytes arrive, nothing is read past their end, and a decision
 * can still be made. Deterministic; run it under ASan (make test-asan) for all it can find.
 * With -DFUZZ_LIBFUZZER and clang's -fsanitize=fuzzer the same function is a libFuzzer target.
 */
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "../../loader/net/hop.h"
#include "../support/netlink.h"

#define NOW	 (1000 * NET_NS_PER_S)
#define MAC	 "\x02\0\0\0\0\x10"
#define ROUNDS	 200000
#define MAX_DATA 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

#ifndef FUZZ_LIBFUZZER
#include <criterion/criterion.h>

static uint64_t state = 0x706f697365;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % below;
}

static size_t seed(uint8_t *to, int which)
{
	struct nlmsghdr *h;

	memset(to, 0, NETLINK_BYTES);
	switch (which) {
	case 0:
		h = news_link(to, &(struct link_news){.ifindex = 2, .name = "eth0", .mac = MAC});
		break;
	case 1:
		h = news_link(to, &(struct link_news){.ifindex = 3,
						      .name = "eth0.5",
						      .mac = MAC,
						      .vlan_over = 2,
						      .vid = 5});
		break;
	case 2: h = news_neigh(to, 2, "10.0.0.7", NUD_REACHABLE, MAC); break;
	case 3: h = news_neigh_gone(to, 2, "2001:db8::7"); break;
	case 4: h = news_route(to, "10.0.0.0", 24); break;
	case 5: h = answer_error(to, 101); break;
	case 6:
		h = answer_route(to, &(struct route_answer){.dst = "10.9.0.7",
							    .oif = 2,
							    .gateway = "fe80::1",
							    .prefsrc = "10.0.0.1",
							    .mtu = 1400});
		break;
	default: h = news_link_gone(to, 2); break;
	}
	return (h->nlmsg_len + 3) & ~3u;
}

/* Some messages one after the other, a few of their bytes changed, cut short now and then. */
static size_t mutate(uint8_t *data)
{
	uint8_t one[NETLINK_BYTES];
	size_t size = 0;

	for (uint32_t n = draw(3) + 1; n; n--) {
		size_t length = seed(one, draw(8));

		if (size + length > MAX_DATA)
			break;
		memcpy(data + size, one, length);
		size += length;
	}
	for (uint32_t n = draw(6); n; n--)
		data[draw(size)] = draw(2) ? draw(256) : (draw(2) ? 0xff : 0);
	return draw(4) ? size : draw(size + 1);
}

Test(fuzz, netlink_messages)
{
	uint8_t data[MAX_DATA];

	for (int k = 0; k < ROUNDS; k++)
		cr_assert_eq(LLVMFuzzerTestOneInput(data, mutate(data)), 0);
}
#endif
