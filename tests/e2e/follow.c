/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What poised follows, each within a second and under a flood of packets: MAC addresses, routes,
 * links, neighbours that fail, devices, and what the command changes. Member 1 is reached by IPv4,
 * member 2 by IPv6.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/support/lab.h"

#define SECOND 1 /* how long a change may take to be followed */
#define RATE   "100000"

#define GATEWAY	 "02:00:0a:00:00:fe"
#define CHANGED	 "02:00:0a:00:00:99"
#define BACKEND1 "02:00:0a:00:00:01"
#define FAR1	 "02:00:0a:00:01:01"

static struct lab lab;
static pid_t poised, flood;

/* One service, its two members backend 1 by either family; packets keep coming. */
static void start(const char *options, const char *mode, const char *members)
{
	lab_up(&lab, options);
	poised = lab_poised(&lab, "lb1", "");
	lab_must(&lab, "lb1", "poise attach eth0");
	lab_must(&lab, "lb1", "! ip link show eth1 2>/dev/null || poise attach eth1");
	lab_must(&lab, "lb1", "poise service add web 192.0.2.10:9999/udp forward %s", mode);
	lab_must(&lab, "lb1", "poise backend add web %s", members);
	flood = lab_start(&lab, "router",
			  "flood send lb1-eth0 02:00:0a:00:00:65 192.0.2.10:9999 --rate " RATE);
}

static void stop(void)
{
	lab_must(&lab, "lb1", "poise map check");
	lab_stop(flood, SIGTERM);
	lab_stop(poised, SIGTERM);
	lab_down(&lab);
}

#define HOPS                                                                                       \
	"poise map show members 1 | grep -q 'next hop %s' && "                                     \
	"poise map show members 2 | grep -q 'next hop %s'"

/* Both members' next hop is this at some time. */
static void hops_become(const char *hop)
{
	lab_until(&lab, "lb1", LAB_SOON, HOPS, hop, hop);
}

/* Both members' next hop (a MAC address, or none) follows a change. */
static void hops_follow(const char *hop)
{
	lab_within(&lab, "lb1", SECOND, HOPS, hop, hop);
}

static void announce(const char *node, const char *device)
{
	lab_must(&lab, node,
		 "sysctl -qw net.ipv4.conf.%s.arp_notify=1 net.ipv6.conf.%s.ndisc_notify=1", device,
		 device);
}

Test(follow, a_backend_s_mac_changes, .timeout = TEST_LONGEST)
{
	start("--backends 1", "l2", "10.0.0.1 2001:db8:5::1");
	hops_become(BACKEND1);
	announce("b1", "eth0");
	lab_must(&lab, "b1", "ip link set eth0 address " CHANGED);
	hops_follow(CHANGED);
	lab_must(&lab, "b1", "ip link set eth0 address " BACKEND1);
	hops_follow(BACKEND1);
	stop();
}

Test(follow, the_gateway_s_mac_changes, .timeout = TEST_LONGEST)
{
	start("--backends 1 --mode ipip", "ipip", "10.0.1.1 2001:db8:f::1");
	hops_become(GATEWAY);
	announce("router", "segment");
	lab_must(&lab, "router", "ip link set segment address " CHANGED);
	hops_follow(CHANGED);
	stop();
}

Test(follow, a_route_moves_to_another_device, .timeout = TEST_LONGEST)
{
	start("--backends 1 --mode ipip --arms 2", "ipip", "10.0.1.1 2001:db8:f::1");
	hops_become(FAR1);
	lab_must(&lab, "lb1",
		 "ip route add 10.0.1.1/32 via 10.0.0.254; "
		 "ip -6 route add 2001:db8:f::1/128 via 2001:db8:5::254");
	hops_follow(GATEWAY);
	lab_must(&lab, "lb1", "poise map show paths | grep -q 'eth0 .* users [12]$'");
	lab_must(&lab, "lb1", "ip route del 10.0.1.1/32; ip -6 route del 2001:db8:f::1/128");
	hops_follow(FAR1);

	/* A policy rule moves it too: no route changes then. */
	lab_must(&lab, "lb1",
		 "ip route add default via 10.0.0.254 table 7; "
		 "ip -6 route add default via 2001:db8:5::254 table 7");
	lab_must(&lab, "lb1",
		 "ip rule add to 10.0.1.1 lookup 7; "
		 "ip -6 rule add to 2001:db8:f::1 lookup 7");
	hops_follow(GATEWAY);

	/* What the route says of MTU and source is the path's. */
	lab_must(&lab, "lb1",
		 "ip route change default via 10.0.0.254 table 7 mtu 1480 src "
		 "10.0.1.101");
	lab_within(&lab, "lb1", SECOND,
		   "poise map show paths | grep -q 'mtu 1480 .* source4 10.0.1.101 .* users 1'");
	stop();
}

Test(follow, links_go_down_and_up, .timeout = TEST_LONGEST)
{
	start("--backends 1", "l2", "10.0.0.1 2001:db8:5::1");
	hops_become(BACKEND1);
	/* The cable is pulled: no address or route of ours goes away. */
	lab_must(&lab, "router", "ip link set lb1-eth0 down");
	hops_follow("none");
	lab_must(&lab, "router", "ip link set lb1-eth0 up");
	hops_become(BACKEND1);
	stop();
}

Test(follow, a_failed_neighbour_is_no_next_hop, .timeout = TEST_LONGEST)
{
	start("--backends 2", "l2", "10.0.0.1 2001:db8:5::1");
	lab_must(&lab, "lb1", "poise backend add web 10.0.0.2");
	hops_become(BACKEND1);
	lab_must(&lab, "b1", "ip link set eth0 down");
	/* The kernel asks three times before it says so. */
	lab_must(&lab, "lb1",
		 "ip neigh change 10.0.0.1 dev eth0 nud probe; "
		 "ip neigh change 2001:db8:5::1 dev eth0 nud probe");
	lab_until(&lab, "lb1", LAB_SOON, "ip neigh show 10.0.0.1 | grep -Eq 'FAILED|INCOMPLETE'");
	lab_until(&lab, "lb1", LAB_SOON,
		  "ip neigh show 2001:db8:5::1 | grep -Eq 'FAILED|INCOMPLETE'");
	hops_follow("none");
	lab_must(&lab, "lb1", "poise show web | grep -q unresolved");
	lab_must(&lab, "lb1", "poise map show members 3 | grep -q 'next hop 02:00:0a:00:00:02'");

	/* It is asked for again and again, so that it is back by itself. */
	lab_must(&lab, "b1", "ip link set eth0 up; ip addr add 2001:db8:5::1/64 dev eth0 || true");
	hops_become(BACKEND1);
	stop();
}

Test(follow, what_the_command_changes, .timeout = TEST_LONGEST)
{
	start("--backends 3", "l2", "10.0.0.1 2001:db8:5::1");
	hops_become(BACKEND1);
	for (int k = 0; k < 10; k++) {
		lab_must(&lab, "lb1", "poise backend add web 10.0.0.%d", 2 + k % 2);
		lab_within(&lab, "lb1", SECOND, "! poise show web | grep -q unresolved");
		lab_must(&lab, "lb1", "poise backend del web 10.0.0.%d --now", 2 + k % 2);
	}
	/* Rates of what the flood sends, over the last second and the last minute. */
	lab_until(&lab, "lb1", LAB_SOON,
		  "poise --json show web | grep -Eq '\"packets_per_second\":[1-9][0-9]{3,5}[,.}]'");
	lab_must(&lab, "lb1", "poise detach eth0");
	hops_follow("none");
	lab_must(&lab, "lb1", "poise attach eth0");
	hops_follow(BACKEND1);

	/* One behind a router, or by a device that is not attached, is refused with a reason. */
	lab_must(&lab, "lb1", "poise backend add web 10.0.1.77");
	lab_within(&lab, "lb1", SECOND, "poise show web | grep -q 10.0.1.77.*unresolved");
	stop();
}

Test(follow, a_device_of_the_file_that_comes_later, .timeout = TEST_LONGEST)
{
	lab_up(&lab, "--backends 1");
	lab_must(&lab, "lb1", "echo 'interfaces: [ { device: late0 } ]' > /run/boot.yaml");
	poised = lab_poised(&lab, "lb1", "--config /run/boot.yaml");
	for (int k = 0; k < 2; k++) {
		lab_must(&lab, "lb1", "ip link add late0 type veth peer name late1");
		lab_within(&lab, "lb1", SECOND, "poise status | grep -q 'late0, native'");
		if (k == 0)
			lab_must(&lab, "lb1", "ip link del late0");
	}
	/* By hand it is detached for good, as long as the device stays. */
	lab_must(&lab, "lb1", "poise detach late0");
	lab_stop(poised, SIGTERM);
	poised = lab_poised(&lab, "lb1", "--config /run/boot.yaml");
	nanosleep(&(struct timespec){.tv_sec = SECOND}, NULL);
	lab_must(&lab, "lb1", "! poise status | grep -q 'late0, native'");
	lab_stop(poised, SIGTERM);
	lab_down(&lab);
}
