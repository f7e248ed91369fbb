/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * net/ against a real kernel, in a network namespace of the test's own: two veth pairs whose other
 * ends answer, since they stand in a namespace beside it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "loader/net/net.h"
#include "loader/net/socket.h"
#include "maps/text.h"
#include "tests/support/longest.h"

#define MAC_PEER "02:00:00:00:00:77"

static struct net *net;
static char peer[32];
static unsigned int eth0;

static void run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *fmt, ...)
{
	char command[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	cr_assert_eq(system(command), 0, "%s", command);
}

/* This process in a namespace with eth0, eth1; the peer's ends have .254 and ::254 of each net. */
static void set_up(void)
{
	struct poise_error err = {0};

	if (geteuid())
		cr_skip_test("needs root");
	snprintf(peer, sizeof(peer), "poise-net-%d", getpid());
	run("ip netns add %s", peer);
	cr_assert_eq(unshare(CLONE_NEWNET), 0);
	/* Neighbours are asked for from a link-local address, which waits for its own check. */
	run("sysctl -qw net.ipv6.conf.default.accept_dad=0; ip link set lo up");
	for (int k = 0; k < 2; k++) {
		run("ip link add eth%d type veth peer name p%d netns %s", k, k, peer);
		run("ip addr add 10.0.%d.1/24 dev eth%d; ip link set eth%d up", k, k, k);
		run("ip addr add 2001:db8:%d::1/64 dev eth%d nodad", k, k);
		run("ip -n %s addr add 10.0.%d.254/24 dev p%d; ip -n %s link set p%d up", peer, k,
		    k, peer, k);
		run("ip -n %s addr add 2001:db8:%d::254/64 dev p%d nodad", peer, k, k);
	}
	eth0 = if_nametoindex("eth0");
	cr_assert_eq(net_open(&net, &err), 0, "%s", err.message);
}

static void tear_down(void)
{
	net_close(net);
	if (peer[0])
		run("ip netns del %s", peer);
}

TestSuite(net_kernel, .init = set_up, .fini = tear_down, .timeout = TEST_LONGEST);

static struct net_hop hop_to(const char *addr, enum poise_mode mode)
{
	static const union poise_addr any[POISE_SOURCES];
	struct net_want want = {
		.mode = mode, .source4 = any, .source6 = any, .attached = &eth0, .count = 1};
	struct poise_error err = {0};
	struct net_hop hop;

	cr_assert_eq(poise_parse_addr(addr, &want.dst, &err), 0);
	cr_assert_eq(net_hop(net, &want, &hop, &err), 0, "%s", err.message);
	return hop;
}

/* Reads events until the hop's `why` is this ("": it has one). */
static struct net_hop hop_becomes(const char *addr, enum poise_mode mode, const char *why, int ms)
{
	struct pollfd p = {.fd = net_fd(net), .events = POLLIN};
	struct net_hop hop = hop_to(addr, mode);
	__u64 end = net_now() + ms * 1000000ull;

	while (strcmp(hop.why, why) != 0) {
		cr_assert_lt(net_now(), end, "%s: %s", addr, hop.why);
		poll(&p, 1, 20);
		net_read(net);
		hop = hop_to(addr, mode);
	}
	return hop;
}

Test(net_kernel, neighbours_are_resolved_and_kept)
{
	struct net_hop hop = hop_becomes("10.0.0.254", POISE_L2, "", 2000);

	cr_assert_eq(hop.path.ifindex, eth0);
	hop_becomes("2001:db8:0::254", POISE_L2, "", 2000);
	run("ip neigh show 10.0.0.254 | grep -q managed || [ $(uname -r | cut -c1-4) = 5.15 ]");
	run("ip route add 10.9.0.0/16 via 10.0.0.254; ip route add 2001:db8:9::/48 via "
	    "2001:db8:0::254");
	hop = hop_becomes("10.9.1.1", POISE_IPIP, "", 2000);
	cr_assert_eq(hop.path.mtu, 1500);
	cr_assert_eq(memcmp(&hop.path.src4, "\x0a\0\0\1", 4), 0);
	hop = hop_becomes("2001:db8:9::1", POISE_IPIP, "", 2000);
	cr_assert_eq(hop.path.src6.b[15], 1);
	hop_becomes("10.9.1.1", POISE_L2, "behind gateway 10.0.0.254: l2 reaches only neighbours",
		    0);
	hop_becomes("10.0.1.254", POISE_L2, "leaves by eth1, to which poise is not attached", 0);
	hop_becomes("10.0.0.1", POISE_L2, "10.0.0.1 is an address of this host", 0);
}

Test(net_kernel, an_administrator_s_entry_stays_as_it_is)
{
	run("ip neigh add 10.0.0.77 dev eth0 lladdr " MAC_PEER " nud permanent");
	net_read(net);
	hop_becomes("10.0.0.77", POISE_L2, "", 1000);
	run("ip neigh show 10.0.0.77 | grep -q PERMANENT");
}

/* More events than the socket holds, and the one that counts among them. */
Test(net_kernel, lost_events_are_read_anew)
{
	char none[8];
	int least = 1;
	struct net_hop hop;

	run("ip neigh add 10.0.0.77 dev eth0 lladdr 02:00:00:00:00:01 nud permanent");
	net_read(net);
	hop_becomes("10.0.0.77", POISE_L2, "", 1000);
	cr_assert_eq(setsockopt(net_fd(net), SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)), 0);
	run("for k in $(seq 1 200); do echo neigh replace 10.0.1.$k dev eth1 lladdr " MAC_PEER
	    " nud permanent; done | ip -batch -");
	run("ip neigh replace 10.0.0.77 dev eth0 lladdr " MAC_PEER " nud permanent");
	run("ip link set eth1 down");
	/* It has happened: the socket says so. */
	while (recv(net_fd(net), none, sizeof(none), MSG_DONTWAIT | MSG_TRUNC) >= 0)
		;
	cr_assert_eq(errno, ENOBUFS);
	net->stale = true; /* our look has taken the error that net_read would have met */
	cr_assert_gt(net_read(net), 0);
	hop = hop_to("10.0.0.77", POISE_L2);
	cr_assert_arr_eq(hop.mac, "\x02\0\0\0\0\x77", 6);
	cr_assert_not(net_link(&net->cache.links, if_nametoindex("eth1"))->up);
}

static struct config *two_members(const char *one, const char *two)
{
	struct config *cfg = config_new();
	struct config_service *svc = config_service_add(cfg, "web", POISE_OWNER_HAND, NULL);
	const char *text[] = {one, two};
	struct poise_listener_conf l;
	union poise_addr a;

	poise_parse_listener("192.0.2.10:80", &l, NULL);
	config_listen(cfg, svc, &l, NULL);
	svc->conf.forward = POISE_L2;
	for (int k = 0; k < 2; k++)
		if (text[k] && poise_parse_addr(text[k], &a, NULL) == 0)
			config_member_add(svc, &a, 0, NULL);
	return cfg;
}

/* In the instance: what changed is stored, what did not is not, and who is gone is let go. */
Test(net_kernel, members_get_and_lose_next_hops)
{
	const struct config_limits limits = {
		.services = 16,
		.backends = 64,
		.listeners = 64,
		.flow_slots = 4096,
		.table_slots = 65536,
		.paths = 8,
	};
	struct instance *i = instance_anonymous(&limits);
	struct config *cfg = two_members("10.0.0.254", "10.0.1.254");
	struct poise_error err = {0};
	struct instance_change change;
	struct net_plan plan = {0};
	const struct config_member *m;

	cr_assert_eq(instance_lock(i, &err), 0);
	cr_assert_eq(instance_commit(i, cfg, &change, &err), 0, "%s", err.message);
	m = cfg->service[0]->member;
	for (int tries = 0; net_resolve(net, i, cfg, &eth0, 1, &err) != 1; tries++) {
		cr_assert_lt(tries, 100);
		poll(&(struct pollfd){.fd = net_fd(net), .events = POLLIN}, 1, 20);
		net_read(net);
	}
	cr_assert_neq(i->members[m[0].id].nexthop, 0);
	cr_assert_eq(i->members[m[1].id].nexthop, 0, "eth1 is not attached");
	cr_assert_eq(net_plan(net, i, cfg, &eth0, 1, 0, &plan, &err), 0);
	cr_assert_eq(plan.count, 0, "nothing changed, nothing to store");
	cr_assert_eq(plan.seen.unresolved, 1);

	/* A budget of one goes on where it stopped, and comes to the same. */
	do
		cr_assert_eq(net_plan(net, i, cfg, &eth0, 0, 1, &plan, &err), 0);
	while (plan.more && !plan.count);
	cr_assert_eq(plan.count, 1, "attached to nothing: it loses its next hop");
	cr_assert_eq(net_apply(i, &plan, &err), 0);
	cr_assert_eq(i->members[m[0].id].nexthop, 0);
	net_plan_free(&plan);
	config_free(cfg);

	/* The kernel is no longer asked to keep whom nobody wants. */
	run("ip neigh show 10.0.0.254 | grep -q lladdr");
	cfg = two_members(NULL, NULL);
	cr_assert_eq(net_resolve(net, i, cfg, &eth0, 1, &err), 0);
	run("! ip neigh show 10.0.0.254 | grep -q managed");
	config_free(cfg);
	instance_unlock(i);
	instance_close(i);
}
