/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From netlink messages to next hops, without a kernel: routes, VLAN devices, sources, neighbours,
 * and the words for what does not go. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include <criterion/criterion.h>

#include "../../loader/net/hop.h"
#include "../../maps/text.h"
#include "../support/netlink.h"

#define ETH0	    2
#define ETH1	    3
#define MAC_ETH0    "\x02\0\0\0\0\x10"
#define MAC_ETH1    "\x02\0\0\0\0\x11"
#define MAC_PEER    "\x02\0\0\0\0\x77"
#define MAC_OTHER   "\x02\0\0\0\0\x78"
#define T0	    (1000 * NET_NS_PER_S)
#define IN(SECONDS) (T0 + (__u64)((SECONDS)*NET_NS_PER_S))

static union poise_addr addr(const char *text)
{
	union poise_addr a;

	cr_assert_eq(poise_parse_addr(text, &a, NULL), 0, "%s", text);
	return a;
}

static int hear(struct net_cache *c, struct nlmsghdr *h, __u64 now)
{
	return net_cache_message(c, h, now);
}

/* Two Ethernet devices, both up. */
static struct net_cache *two_devices(void)
{
	static struct net_cache c;
	char buf[NETLINK_BYTES];

	memset(&c, 0, sizeof(c));
	hear(&c,
	     news_link(buf, &(struct link_news){.ifindex = ETH0, .name = "eth0", .mac = MAC_ETH0}),
	     T0);
	hear(&c,
	     news_link(buf,
		       &(struct link_news){
			       .ifindex = ETH1, .name = "eth1", .mac = MAC_ETH1, .mtu = 9000}),
	     T0);
	return &c;
}

/* The decision at `now`, where the kernel gives this route. */
static struct net_hop decide_want(struct net_cache *c, const struct route_answer *a,
				  const struct hop_want *want, __u64 now)
{
	struct net_route *r = net_route(&c->routes, &want->dst, &want->source);
	char buf[NETLINK_BYTES];
	struct net_hop hop;

	net_route_answer(r, answer_route(buf, a));
	hop_decide(c, r, want, now, &hop);
	return hop;
}

static const unsigned int attached[] = {ETH0};

/* For a->dst, with poise attached to eth0. */
static struct net_hop decide(struct net_cache *c, const struct route_answer *a,
			     enum poise_mode mode, const char *source, __u64 now)
{
	struct hop_want want = {
		.dst = addr(a->dst), .mode = mode, .attached = attached, .count = 1};

	if (source)
		want.source = addr(source);
	return decide_want(c, a, &want, now);
}

static void peer(struct net_cache *c, int ifindex, const char *at, __u16 state, const char *mac,
		 __u64 now)
{
	char buf[NETLINK_BYTES];

	hear(c, news_neigh(buf, ifindex, at, state, mac), now);
}

Test(net, on_link_backend_gets_its_own_mac_and_the_device_s)
{
	struct net_cache *c = two_devices();
	struct net_hop hop;

	peer(c, ETH0, "10.0.0.7", NUD_REACHABLE, MAC_PEER, T0);
	hop = decide(c,
		     &(struct route_answer){.dst = "10.0.0.7", .oif = ETH0, .prefsrc = "10.0.0.1"},
		     POISE_L2, NULL, T0);
	cr_assert_str_empty(hop.why);
	cr_assert_arr_eq(hop.mac, MAC_PEER, 6);
	cr_assert_arr_eq(hop.path.smac, MAC_ETH0, 6);
	cr_assert_eq(hop.path.ifindex, ETH0);
	cr_assert_eq(hop.path.mtu, 1500);
	cr_assert_eq(hop.path.vlans, 0);
	cr_assert_eq(hop.path.src4, 0, "l2 has no outer source: members share the path");
}

Test(net, tunnel_goes_to_the_gateway_with_the_route_s_source_and_mtu)
{
	struct net_cache *c = two_devices();
	struct net_hop hop;

	peer(c, ETH0, "10.0.0.254", NUD_STALE, MAC_PEER, T0);
	hop = decide(c,
		     &(struct route_answer){.dst = "10.9.0.7",
					    .oif = ETH0,
					    .gateway = "10.0.0.254",
					    .prefsrc = "10.0.0.1",
					    .mtu = 1400},
		     POISE_IPIP, NULL, T0);
	cr_assert_str_empty(hop.why);
	cr_assert_arr_eq(hop.mac, MAC_PEER, 6);
	cr_assert_eq(hop.path.src4, htonl(0x0a000001));
	cr_assert_eq(hop.path.mtu, 1400);
}

Test(net, ipv6_by_a_link_local_gateway)
{
	struct net_cache *c = two_devices();
	union poise_addr source = addr("2001:db8::1");
	struct net_hop hop;

	peer(c, ETH0, "fe80::1", NUD_REACHABLE, MAC_PEER, T0);
	hop = decide(c,
		     &(struct route_answer){.dst = "2001:db8:9::7",
					    .oif = ETH0,
					    .gateway = "fe80::1",
					    .prefsrc = "2001:db8::1"},
		     POISE_IPIP, NULL, T0);
	cr_assert_str_empty(hop.why);
	cr_assert_arr_eq(&hop.path.src6, &source, sizeof(source));
	cr_assert_eq(hop.path.src4, 0);
}

Test(net, ipv4_by_an_ipv6_gateway)
{
	struct net_cache *c = two_devices();
	struct net_hop hop;

	peer(c, ETH0, "fe80::1", NUD_REACHABLE, MAC_PEER, T0);
	hop = decide(c,
		     &(struct route_answer){.dst = "10.9.0.7",
					    .oif = ETH0,
					    .gateway = "fe80::1",
					    .prefsrc = "10.0.0.1"},
		     POISE_IPIP, NULL, T0);
	cr_assert_str_empty(hop.why);
	cr_assert_arr_eq(hop.mac, MAC_PEER, 6);
}

Test(net, configured_source_comes_before_the_route_s)
{
	struct net_cache *c = two_devices();
	struct net_hop hop;

	peer(c, ETH0, "10.0.0.7", NUD_REACHABLE, MAC_PEER, T0);
	hop = decide(c,
		     &(struct route_answer){.dst = "10.0.0.7", .oif = ETH0, .prefsrc = "10.0.0.1"},
		     POISE_IPIP, "192.0.2.99", T0);
	cr_assert_eq(hop.path.src4, htonl(0xc0000263));
}

Test(net, vlan_devices_become_tags_outermost_first)
{
	struct net_cache *c = two_devices();
	char buf[NETLINK_BYTES];
	struct net_hop hop;

	hear(c,
	     news_link(buf, &(struct link_news){.ifindex = 10,
						.name = "eth0.5",
						.mac = MAC_ETH0,
						.vlan_over = ETH0,
						.vid = 5,
						.tpid = 0x88a8,
						.mtu = 1496}),
	     T0);
	hear(c,
	     news_link(buf, &(struct link_news){.ifindex = 11,
						.name = "eth0.5.7",
						.mac = MAC_ETH1,
						.vlan_over = 10,
						.vid = 7,
						.mtu = 1492}),
	     T0);
	peer(c, 11, "10.0.7.7", NUD_REACHABLE, MAC_PEER, T0);
	hop = decide(c, &(struct route_answer){.dst = "10.0.7.7", .oif = 11}, POISE_L2, NULL, T0);
	cr_assert_str_empty(hop.why);
	cr_assert_eq(hop.path.ifindex, ETH0);
	cr_assert_eq(hop.path.vlans, 2);
	cr_assert_eq(hop.path.vlan[0], htons(5));
	cr_assert_eq(hop.path.tpid[0], htons(0x88a8));
	cr_assert_eq(hop.path.vlan[1], htons(7));
	cr_assert_eq(hop.path.tpid[1], htons(0x8100));
	cr_assert_eq(hop.path.mtu, 1492);
	cr_assert_arr_eq(hop.path.smac, MAC_ETH1, 6, "the VLAN device's own address");
}

Test(net, three_tags_or_a_lower_device_elsewhere_do_not_go)
{
	struct net_cache *c = two_devices();
	char buf[NETLINK_BYTES];
	struct net_hop hop;

	for (int k = 0; k < 3; k++)
		hear(c,
		     news_link(buf, &(struct link_news){.ifindex = 10 + k,
							.name = "v",
							.mac = MAC_ETH0,
							.vid = k,
							.vlan_over = k ? 9 + k : ETH0}),
		     T0);
	hop = decide(c, &(struct route_answer){.dst = "10.0.7.7", .oif = 12}, POISE_L2, NULL, T0);
	cr_assert_str_not_empty(hop.why);
	hear(c,
	     news_link(buf, &(struct link_news){.ifindex = 20,
						.name = "eth9.5",
						.mac = MAC_ETH0,
						.vlan_over = ETH0,
						.vid = 5,
						.other_netns = true}),
	     T0);
	hop = decide(c, &(struct route_answer){.dst = "10.0.7.8", .oif = 20}, POISE_L2, NULL, T0);
	cr_assert_str_eq(hop.why, "leaves by eth9.5, to which poise is not attached");
}

static const struct {
	const char *why;
	const char *remedy;
	struct route_answer route;
	enum poise_mode mode;
} refused[] = {
	{"behind gateway 10.0.0.254: l2 reaches only neighbours",
	 "use forward nat or ipip",
	 {.dst = "10.9.0.7", .oif = ETH0, .gateway = "10.0.0.254"},
	 POISE_L2},
	{"leaves by eth1, to which poise is not attached",
	 "poise attach eth1",
	 {.dst = "10.1.0.7", .oif = ETH1},
	 POISE_L2},
	{"10.0.0.1 is an address of this host",
	 "",
	 {.dst = "10.0.0.1", .oif = 1, .type = RTN_LOCAL},
	 POISE_L2},
	{"10.0.0.255 is a broadcast or multicast address here",
	 "",
	 {.dst = "10.0.0.255", .oif = ETH0, .type = RTN_BROADCAST},
	 POISE_L2},
	{"the route to 10.0.0.9 forbids it (blackhole, unreachable or prohibit)",
	 "",
	 {.dst = "10.0.0.9", .oif = 1, .type = RTN_BLACKHOLE},
	 POISE_L2},
	{"the route leaves by a device that is gone", "", {.dst = "10.0.0.9", .oif = 99}, POISE_L2},
	{"this host has no IPv4 address to send from",
	 "poise service set NAME source ADDR",
	 {.dst = "10.0.0.9", .oif = ETH0},
	 POISE_IPIP},
	{"this host has no IPv6 address to send from",
	 "poise service set NAME source6 ADDR",
	 {.dst = "2001:db8::9", .oif = ETH0},
	 POISE_IPIP},
	{"waiting for 10.0.0.9 to answer on eth0", "", {.dst = "10.0.0.9", .oif = ETH0}, POISE_L2},
};

Test(net, what_does_not_go_says_why)
{
	struct net_cache *c = two_devices();

	for (size_t k = 0; k < sizeof(refused) / sizeof(refused[0]); k++) {
		struct net_hop hop = decide(c, &refused[k].route, refused[k].mode, NULL, T0);

		cr_expect_str_eq(hop.why, refused[k].why);
		cr_expect_str_eq(hop.remedy, refused[k].remedy);
		cr_expect_eq(hop.nexthop, 0);
	}
}

/* Where no attached device leads: mode nat alone can leave it to the host, within a family, and if
 * the table of nftables is there. */
Test(net, what_goes_by_the_host_s_own_stack)
{
	static const struct {
		enum poise_mode mode;
		enum poise_overlay overlay;
		bool crosses, detached;
		bool by_stack, pending;
		const char *why;
	} cases[] = {
		{POISE_NAT, POISE_OVERLAY_STANDS, false, false, true, false, ""},
		{POISE_NAT, POISE_OVERLAY_NONE, false, false, true, true,
		 "leaves by eth1, to which poise is not attached: waiting for a table of nftables "
		 "(poised)"},
		{POISE_NAT, POISE_OVERLAY_FAILED, false, false, true, false,
		 "leaves by eth1, to which poise is not attached, and nftables failed (poise "
		 "status)"},
		{POISE_NAT, POISE_OVERLAY_STANDS, true, false, false, false,
		 "leaves by eth1, to which poise is not attached, nor can clients of the other "
		 "family be led there"},
		{POISE_NAT, POISE_OVERLAY_STANDS, false, true, false, false,
		 "leaves by eth1, to which poise is not attached"},
		{POISE_IPIP, POISE_OVERLAY_STANDS, false, false, false, false,
		 "leaves by eth1, to which poise is not attached"},
	};
	const struct route_answer route = {.dst = "10.1.0.7", .oif = ETH1};
	struct net_cache *c = two_devices();

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		const struct hop_want want = {.dst = addr(route.dst),
					      .mode = cases[k].mode,
					      .crosses = cases[k].crosses,
					      .overlay = cases[k].overlay,
					      .attached = attached,
					      .count = cases[k].detached ? 0 : 1};
		struct net_hop hop = decide_want(c, &route, &want, T0);

		cr_expect_str_eq(hop.why, cases[k].why, "%zu", k);
		cr_expect_eq(hop.by_stack, cases[k].by_stack, "%zu", k);
		cr_expect_eq(hop.pending, cases[k].pending, "%zu", k);
		cr_expect_eq(hop_is(NULL, POISE_NEXTHOP_LOCAL, &hop), !*cases[k].why, "%zu", k);
		cr_expect_eq(hop_is(NULL, 0, &hop), *cases[k].why != 0, "%zu", k);
	}
}

Test(net, no_route_says_the_kernel_s_reason)
{
	struct net_cache *c = two_devices();
	struct hop_want want = {.dst = addr("10.0.0.9")};
	struct net_route *r = net_route(&c->routes, &want.dst, &want.source);
	char buf[NETLINK_BYTES];
	struct net_hop hop;

	net_route_answer(r, answer_error(buf, ENETUNREACH));
	cr_assert_null(hop_decide(c, r, &want, T0, &hop));
	cr_assert_str_eq(hop.why, "no route to 10.0.0.9: Network is unreachable");
}

Test(net, device_without_carrier_or_without_ethernet)
{
	struct net_cache *c = two_devices();
	char buf[NETLINK_BYTES];
	struct net_hop hop;

	hear(c,
	     news_link(buf,
		       &(struct link_news){
			       .ifindex = ETH0, .name = "eth0", .mac = MAC_ETH0, .down = true}),
	     T0);
	hop = decide(c, &(struct route_answer){.dst = "10.0.0.7", .oif = ETH0}, POISE_L2, NULL, T0);
	cr_assert_str_eq(hop.why, "eth0 is down");
	hear(c, news_link(buf, &(struct link_news){.ifindex = ETH0, .name = "eth0"}), T0);
	hop = decide(c, &(struct route_answer){.dst = "10.0.0.7", .oif = ETH0}, POISE_L2, NULL, T0);
	cr_assert_str_eq(hop.why, "eth0 is not an Ethernet device");
}

Test(net, neighbour_states)
{
	static const struct {
		__u16 state;
		bool usable;
	} is[] = {
		{NUD_REACHABLE, true}, {NUD_STALE, true},	{NUD_DELAY, true},
		{NUD_PROBE, true},     {NUD_NOARP, true},	{NUD_PERMANENT, true},
		{NUD_FAILED, false},   {NUD_INCOMPLETE, false},
	};

	for (size_t k = 0; k < sizeof(is) / sizeof(is[0]); k++) {
		struct net_cache *c = two_devices();
		union poise_addr a = addr("10.0.0.7");

		peer(c, ETH0, "10.0.0.7", is[k].state, is[k].usable ? MAC_PEER : NULL, T0);
		cr_expect_eq(net_neigh_usable(net_neigh(&c->neighs, ETH0, &a), T0), is[k].usable,
			     "state %#x", is[k].state);
	}
}

Test(net, forgetting_keeps_the_mac_a_while_failing_does_not)
{
	struct net_cache *c = two_devices();
	union poise_addr a = addr("10.0.0.7");
	struct net_neigh *e = net_neigh(&c->neighs, ETH0, &a);
	char buf[NETLINK_BYTES];

	e->pass = 1; /* somebody wants it */
	peer(c, ETH0, "10.0.0.7", NUD_REACHABLE, MAC_PEER, T0);
	hear(c, news_neigh_gone(buf, ETH0, "10.0.0.7"), IN(1));
	cr_assert(net_neigh_usable(e, IN(1)));
	peer(c, ETH0, "10.0.0.7", NUD_INCOMPLETE, NULL, IN(2));
	cr_assert(net_neigh_usable(e, IN(3)));
	cr_assert_not(net_neigh_usable(e, IN(4.5)), "three seconds without an answer");
	peer(c, ETH0, "10.0.0.7", NUD_REACHABLE, MAC_PEER, IN(5));
	cr_assert_eq(hear(c, news_neigh(buf, ETH0, "10.0.0.7", NUD_FAILED, NULL), IN(6)), 1);
	cr_assert_not(net_neigh_usable(e, IN(6)));
	peer(c, ETH0, "10.0.0.7", NUD_INCOMPLETE, NULL, IN(6));
	cr_assert_not(net_neigh_usable(e, IN(6)), "asking again does not bring the old MAC back");
}

Test(net, only_news_is_news)
{
	struct net_cache *c = two_devices();
	char buf[NETLINK_BYTES];

	cr_assert_eq(hear(c,
			  news_link(buf, &(struct link_news){.ifindex = ETH0,
							     .name = "eth0",
							     .mac = MAC_ETH0}),
			  T0),
		     0);
	peer(c, ETH0, "10.0.0.7", NUD_REACHABLE, MAC_PEER, T0);
	cr_assert_eq(hear(c, news_neigh(buf, ETH0, "10.0.0.7", NUD_STALE, MAC_PEER), T0), 0);
	cr_assert_eq(hear(c, news_neigh(buf, ETH0, "10.0.0.7", NUD_STALE, MAC_OTHER), T0), 1);
	cr_assert_eq(hear(c, news_link_gone(buf, 77), T0), 0);
	cr_assert_eq(hear(c, news_link_gone(buf, ETH1), T0), 1);
	cr_assert_null(net_link(&c->links, ETH1));
	cr_assert_not_null(net_link(&c->links, ETH0));
}

Test(net, a_route_change_voids_only_what_it_covers)
{
	static const struct {
		const char *prefix;
		unsigned int bits;
		bool near, far, six;
	} change[] = {
		{"10.0.0.0", 24, true, false, false},  {"10.0.0.0", 9, true, false, false},
		{"0.0.0.0", 0, true, true, false},     {"10.0.0.7", 32, true, false, false},
		{"10.0.0.6", 32, false, false, false}, {"2001:db8::", 32, false, false, true},
		{"::", 0, true, true, true},
	};
	static const union poise_addr any;
	struct net_cache *c = two_devices();
	union poise_addr near = addr("10.0.0.7"), far = addr("172.16.0.1");
	union poise_addr six = addr("2001:db8::7");
	struct net_route *n = net_route(&c->routes, &near, &any);
	struct net_route *f = net_route(&c->routes, &far, &any);
	struct net_route *s = net_route(&c->routes, &six, &any);
	char buf[NETLINK_BYTES];

	for (size_t k = 0; k < sizeof(change) / sizeof(change[0]); k++) {
		int voided;

		n->known = f->known = s->known = true;
		voided = hear(c, news_route(buf, change[k].prefix, change[k].bits), T0);
		cr_expect_eq(n->known, !change[k].near, "%s/%u", change[k].prefix, change[k].bits);
		cr_expect_eq(f->known, !change[k].far, "%s/%u", change[k].prefix, change[k].bits);
		cr_expect_eq(s->known, !change[k].six, "%s/%u", change[k].prefix, change[k].bits);
		cr_expect_eq(voided, change[k].near || change[k].far || change[k].six);
	}
}

Test(net, whom_the_kernel_is_asked_for)
{
	struct net_neigh e = {0};

	cr_expect(net_neigh_ask(&e, T0), "unknown");
	e.asked = T0;
	cr_expect_not(net_neigh_ask(&e, IN(0.5)), "asked a moment ago");
	cr_expect(net_neigh_ask(&e, IN(1.5)), "again after a second");
	e.state = NUD_INCOMPLETE;
	cr_expect_not(net_neigh_ask(&e, IN(9)), "being asked for");
	e.state = NUD_FAILED;
	cr_expect(net_neigh_ask(&e, IN(9)), "failed");
	e.state = NUD_PERMANENT;
	cr_expect_not(net_neigh_ask(&e, IN(9)), "an administrator's");
	e.state = NUD_REACHABLE;
	cr_expect_not(net_neigh_ask(&e, IN(9)), "asked once to be kept");
	e.state = NUD_STALE;
	cr_expect(net_neigh_ask(&e, IN(9)), "stale, and the kernel cannot keep it");
	e.managed = true;
	cr_expect_not(net_neigh_ask(&e, IN(9)), "the kernel keeps it");
}
