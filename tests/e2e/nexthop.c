/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Next hops follow the network under load: a host's address on the wire changes, a gateway's does,
 * a route moves to another device, a host goes and comes back.
 *
 * The measure is the client's: a SYN that meets a stale next hop is lost and sent again a second
 * later. So if poised follows within a second, no request fails and none takes two tries more.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

#define RATE	 300
#define SECONDS	 5
#define LOST_SYN 1000. /* ms until it is sent again */
#define LONGEST	 600.  /* ms that everything else takes; a second lost SYN would be 2000 */

TestSuite(nexthop, .timeout = TEST_LONGEST);

/* Runs a load, the change in the midst of it; all must be answered in time. */
static void change_under_load(struct site *s, const char *target, const char *node,
			      const char *change)
{
	const char *out, *longest;
	pid_t load = lab_start(&s->lab, "c1", "load http %s --rate %d --seconds %d", target, RATE,
			       SECONDS);

	/* Established connections say that it is under way. */
	lab_until(&s->lab, "c1", LAB_SOON,
		  "[ $(awk '$1 == \"Tcp:\" && $6 + 0 > 100 { print $6 }' "
		  "/proc/net/snmp) ]");
	lab_must(&s->lab, node, "%s", change);
	lab_wait(load);
	lab_host(&out, "cat %s.c1", s->lab.log);
	cr_assert(strstr(out, " 0 failed"), "after %s# %s\n%s", node, change, out);
	longest = strstr(out, "longest ");
	cr_assert(longest && strtod(longest + strlen("longest "), NULL) <
				     LOST_SYN + LONGEST * lab_slowness(&s->lab),
		  "after %s# %s\n%s", node, change, out);
}

/* As an operator's failover script has it: who moves says so. */
static void announce(struct site *s, const char *node, const char *device)
{
	lab_must(&s->lab, node,
		 "sysctl -qw net.ipv4.conf.%s.arp_notify=1 "
		 "net.ipv6.conf.%s.ndisc_notify=1",
		 device, device);
}

static void up(struct site *s, const char *vip, int family)
{
	s->backends = 2;
	site_up(s);
	site_attach(s);
	site_service(s, vip, family);
}

Test(nexthop, a_backends_mac_changes_ipv4)
{
	struct site s = {};

	up(&s, SITE_VIP4, 4);
	announce(&s, "b1", "eth0");
	change_under_load(&s, SITE_VIP4 ":80", "b1", "ip link set eth0 address 02:00:00:00:00:99");
	site_down(&s);
}

Test(nexthop, a_backends_mac_changes_ipv6)
{
	struct site s = {};

	up(&s, SITE_VIP6, 6);
	announce(&s, "b1", "eth0");
	change_under_load(&s, "[" SITE_VIP6 "]:80", "b1",
			  "ip link set eth0 address 02:00:00:00:00:99");
	site_down(&s);
}

Test(nexthop, the_gateways_mac_changes)
{
	struct site s = {.ipip = true};

	up(&s, SITE_VIP4, 4);
	announce(&s, "router", "segment");
	change_under_load(&s, SITE_VIP4 ":80", "router",
			  "ip link set segment address 02:00:00:00:00:99");
	site_down(&s);
}

Test(nexthop, a_route_moves_to_another_device)
{
	struct site s = {.ipip = true, .arms = 2};

	up(&s, SITE_VIP4, 4);
	cr_assert(strstr(lab_must(&s.lab, "lb1", "ip route get 10.0.1.1"), "dev eth1"));
	change_under_load(&s, SITE_VIP4 ":80", "lb1", "ip address del 10.0.1.101/24 dev eth1");
	cr_assert(strstr(lab_must(&s.lab, "lb1", "ip route get 10.0.1.1"), "via 10.0.0.254"));
	site_down(&s);
}

Test(nexthop, a_host_that_is_gone_is_not_chosen_until_it_is_back)
{
	struct site s = {};
	const char *out;

	s.backends = 2;
	site_up(&s);
	/* By default the kernel believes in a neighbour for up to 45 s. */
	lab_must(&s.lab, "lb1",
		 "sysctl -qw net.ipv4.neigh.eth0.base_reachable_time_ms=1000 "
		 "net.ipv4.neigh.eth0.delay_first_probe_time=1");
	site_attach(&s);
	site_service(&s, SITE_VIP4, 4);
	lab_must(&s.lab, "router", "ip link set b1-eth0 down");
	lab_until(&s.lab, "c1", LAB_SOON,
		  "load http " SITE_VIP4 ":80 --rate 200 --count 60 --timeout 0.5");
	out = lab_must(&s.lab, "lb1", "poise show web");
	cr_assert(strstr(out, "1/2"), "%s", out);
	lab_must(&s.lab, "router", "ip link set b1-eth0 up");
	lab_until(&s.lab, "c1", LAB_SOON,
		  "load http " SITE_VIP4 ":80 --rate 200 --count 60 --timeout 0.5 | grep b1");
	site_down(&s);
}
