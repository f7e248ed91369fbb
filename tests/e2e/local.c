/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mode local with real clients, and servers in containers of the balancer, behind a veth and behind
 * a bridge, and on the balancer itself, and beside one elsewhere by mode nat; while nftables
 * masquerades and keeps track. Long transfers have equal digests, nothing fails, servers see the
 * client's own address, errors reach the right sockets, and whatever else the host does goes on.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

#define PODS	   3
#define REQUESTS   300
#define RATE	   600
#define LONG	   "10485760" /* bytes of a transfer that many windows take */
#define SHORT	   "300000"
#define OFTEN	   2000	 /* short connections */
#define OFTEN_FULL 20000 /* with POISE_FULL set */
#define OFTEN_RATE 1500	 /* a second */
#define LB4	   "10.0.0.101"

TestSuite(local, .timeout = TEST_LONGEST);

static const char *const pods4[] = {"10.7.1.1", "10.7.2.2", "10.7.2.3"};
static const char *const pods6[] = {"fd07:1::1", "fd07:2::2", "fd07:2::3"};

/* The firewall of a host with containers: it masquerades them, and drops what is not theirs. */
static const char firewall[] =
	"nft -f - <<-END\n"
	"table inet host {\n"
	"chain post { type nat hook postrouting priority srcnat; oifname eth0 masquerade; }\n"
	"chain forward { type filter hook forward priority filter; policy drop;\n"
	"ct state established,related accept; ct state invalid drop;\n"
	"oifname { pod1, pods } accept; iifname { pod1, pods } accept; }\n"
	"}\nEND\n";

static void serve(const struct lab *l, const char *node, const char *four, const char *six)
{
	lab_must(l, node, "nginx");
	lab_serve(l, node, "serve %s %s:9000 [%s]:9000", node, four, six);
}

static void up(struct site *s)
{
	char node[8];

	lab_up(&s->lab, "--clients 1 --backends 1 --pods 3");
	lab_must(&s->lab, "lb1", "%s", firewall);
	for (int n = 1; n <= PODS; n++) {
		snprintf(node, sizeof(node), "p%d", n);
		serve(&s->lab, node, pods4[n - 1], pods6[n - 1]);
	}
	lab_must(&s->lab, "c1",
		 "ip addr add 198.51.100.9/24 dev eth0 && "
		 "ip addr add 2001:db8:c::9/64 dev eth0 nodad preferred_lft 0");
	site_attach(s);
}

static void transfers(const struct site *s, const char *node, const char *at, const char *bytes)
{
	const char *out = lab_must(&s->lab, node, "bulk %s:9000 %s", at, bytes);

	cr_assert(strstr(out, "up ") && strstr(out, "down "), "%s", out);
}

/* This backend alone serves. */
static void alone(const struct site *s, const char *const *backend, int n)
{
	lab_must(&s->lab, "lb1", "poise backend disable web %s %s && poise backend enable web %s",
		 backend[(n + 1) % PODS], backend[(n + 2) % PODS], backend[n]);
}

/* Makes a service of mode local with these backends, and waits until one answers. */
static void service(const struct site *s, const char *name, const char *at, const char *backends)
{
	lab_must(&s->lab, "lb1", "poise service add %s %s:80 %s:9000 %s:9000/udp forward local",
		 name, at, at, at);
	lab_must(&s->lab, "lb1", "poise health off %s", name);
	lab_must(&s->lab, "lb1", "poise backend add %s %s", name, backends);
	lab_until(&s->lab, "c1", SITE_SOON,
		  "load udp %s:9000 --count 8 --timeout 0.3 | grep -q ' 0 failed'", at);
}

static void all_answered(const struct site *s, const char *kind, const char *at, int port)
{
	char target[64];

	snprintf(target, sizeof(target), "%s:%d", at, port);
	site_all_answered(s, kind, target, RATE, REQUESTS);
}

/* sources: two addresses of c1, which open many short connections that servers close. */
static void real_traffic(const struct site *s, const char *at, const char *const *backend,
			 const char *sources)
{
	char http[64];

	/* Each backend in turn: two transfers each way. */
	for (int n = 0; n < PODS; n++) {
		alone(s, backend, n);
		transfers(s, "c1", at, n ? SHORT : LONG);
	}
	lab_must(&s->lab, "lb1", "poise backend enable web %s %s %s", backend[0], backend[1],
		 backend[2]);
	all_answered(s, "udp", at, 9000);
	snprintf(http, sizeof(http), "%s:80", at);
	site_connect_often(s, http, sources, OFTEN_RATE, getenv("POISE_FULL") ? OFTEN_FULL : OFTEN);
	lab_must(&s->lab, "lb1", "poise stats web | grep reply-forwarded");
}

/* The host's other traffic: its own, and a container's that is masqueraded. */
static void others(const struct site *s)
{
	lab_must(&s->lab, "p1", "ping -c 1 -W 5 198.51.100.1");
	lab_must(&s->lab, "lb1", "ping -c 1 -W 5 198.51.100.1");
}

/* What would keep packets from backends is told. */
static void remarks(const struct site *s)
{
	lab_must(&s->lab, "lb1", "! poise status | grep -E 'rp_filter|ip_forward'");
	lab_must(&s->lab, "lb1", "sysctl -qw net.ipv4.ip_forward=0 net.ipv4.conf.eth0.rp_filter=1");
	lab_must(&s->lab, "lb1", "poise status | grep -F 'ipv4/ip_forward is 0'");
	lab_must(&s->lab, "lb1", "poise status | grep -F 'eth0: rp_filter is 1'");
}

#define LATE	  9300
#define LATE_SIZE 1400 /* of a datagram that fits but for its last link */

/* Who serves, and what both ends are told of a port where nobody listens, and of what does not fit;
 * to the server, it is the client that says so. */
static const struct told {
	const char *vip, *vip_bare, *backend, *nobody, *nobody_late, *too_big;
	unsigned int fits; /* of a datagram whose answer has "p1 " in front */
} told[] = {
	{SITE_VIP4, SITE_VIP4, "10.7.1.1", "icmp 3 3 from 192.0.2.10", "icmp 3 3 from 198.51.100.1",
	 "icmp 3 4 from 198.51.100.1 mtu 1400", 1500 - 20 - 8 - 3},
	{"[" SITE_VIP6 "]", SITE_VIP6, "[fd07:1::1]", "icmp 1 4 from 2001:db8:a::10",
	 "icmp 1 4 from 2001:db8:c::1", "icmp 2 0 from 2001:db8:c::1 mtu 1400", 1500 - 40 - 8 - 3},
};

/* Ports that nobody has, datagrams and segments that a router cannot pass on, at both ends. */
static void errors(const struct site *s, const struct told *t)
{
	char backend[32];

	snprintf(backend, sizeof(backend), "%s:%d", t->backend, LATE);
	lab_must(&s->lab, "lb1", "poise service listen web %s:9002/udp %s:9002 %s:%d/udp", t->vip,
		 t->vip, t->vip, LATE);
	lab_must(&s->lab, "c1", "probe udp %s:9002 | grep -F '%s'", t->vip, t->nobody);
	lab_must(&s->lab, "c1", "probe tcp %s:9002 | grep refused", t->vip);
	site_expect_late(s, "p1", backend, t->vip_bare, LATE, 100, t->nobody_late);
	lab_must(&s->lab, "router", "ip link set clients mtu 1400");
	site_expect_late(s, "p1", backend, t->vip_bare, LATE, LATE_SIZE, t->too_big);
	transfers(s, "c1", t->vip, SHORT);
	lab_must(&s->lab, "lb1", "poise stats web | grep icmp-error-routed");
	lab_must(&s->lab, "router", "ip link set clients mtu 1500");
}

/* Every size that fits both ways, by one backend. */
static void sizes(const struct site *s, const struct told *t)
{
	lab_must(&s->lab, "c1", "sizes %s:9000 %u", t->vip, t->fits);
}

/* Datagrams that no packet carries, both ways. */
static void pieces(const struct site *s, const char *node, const char *at)
{
	lab_must(&s->lab, node, "pieces %s:9000 20 5000", at);
	lab_must(&s->lab, "lb1", "poise stats web | grep fragment-forwarded");
}

static void attach_inside(const struct site *s)
{
	for (int n = 1; n <= PODS; n++)
		lab_must(&s->lab, "lb1", "poise attach pod%d inside | grep 'generic mode'", n);
}

/* Containers as clients: of the others, behind the same bridge or not, and of themselves. */
static void inside(const struct site *s, const char *at, const char *const *backend)
{
	const char *out;
	char node[8];

	for (int n = 0; n < PODS; n++) {
		alone(s, backend, n);
		for (int client = 0; client < PODS; client++) {
			snprintf(node, sizeof(node), "p%d", client + 1);
			transfers(s, node, at, SHORT);
			if (client == n)
				continue;
			out = lab_must(&s->lab, node, "curl -s http://%s/who", at);
			cr_assert(!strncmp(out, backend[client], strlen(backend[client])), "%s",
				  out);
		}
	}
}

/* ---- the tests, few, since a lab takes longer to build than much of what is done in it --------*/

Test(local, containers)
{
	struct site s = {0};

	up(&s);
	service(&s, "web", SITE_VIP4, "10.7.1.1 10.7.2.2 10.7.2.3");
	real_traffic(&s, SITE_VIP4, pods4, "198.51.100.1:0,198.51.100.9:0");
	cr_assert_str_eq(lab_must(&s.lab, "c1", "curl -s http://" SITE_VIP4 "/who"),
			 "198.51.100.1\n");
	others(&s);
	attach_inside(&s);
	inside(&s, SITE_VIP4, pods4);
	alone(&s, pods4, 0);
	sizes(&s, &told[0]);
	pieces(&s, "c1", SITE_VIP4);
	pieces(&s, "p1", SITE_VIP4);
	errors(&s, &told[0]);
	lab_must(&s.lab, "lb1", "poise map check && poise service del web --now");
	service(&s, "web", "[" SITE_VIP6 "]", "fd07:1::1 fd07:2::2 fd07:2::3");
	real_traffic(&s, "[" SITE_VIP6 "]", pods6, "[2001:db8:c::1]:0,[2001:db8:c::9]:0");
	cr_assert_str_eq(lab_must(&s.lab, "c1", "curl -s 'http://[" SITE_VIP6 "]/who'"),
			 "2001:db8:c::1\n");
	inside(&s, "[" SITE_VIP6 "]", pods6);
	alone(&s, pods6, 0);
	sizes(&s, &told[1]);
	pieces(&s, "c1", told[1].vip);
	pieces(&s, "p2", told[1].vip);
	errors(&s, &told[1]);
	lab_must(&s.lab, "lb1", "poise map check");
	lab_down(&s.lab);
}

#define TX_BYTES   10 /* in a line of /proc/net/dev */
#define TX_PACKETS 11

/* So many of them left lb1. */
static double left(const struct site *s, int field)
{
	return atof(lab_must(&s->lab, "lb1", "awk '$1 == \"eth0:\" { print $%d }' /proc/net/dev",
			     field));
}

/* In generic mode, with all that devices of one host leave to each other: what comes in and what
 * leaves are packets of many segments, with checksums that nobody has made yet. */
Test(local, generic_with_packets_of_many_segments)
{
	static const char all[] = "tx on tso on gso on gro on";
	struct site s = {0};
	double packets, bytes;

	lab_up(&s.lab, "--clients 1 --backends 1 --pods 1");
	serve(&s.lab, "p1", pods4[0], pods6[0]);
	lab_must(&s.lab, "router",
		 "ip link set dev lb1-eth0 xdpdrv off && ethtool -K lb1-eth0 %s && "
		 "ethtool -K c1-eth0 %s",
		 all, all);
	lab_must(&s.lab, "lb1", "ethtool -K eth0 %s && ethtool -K pod1 %s", all, all);
	lab_must(&s.lab, "c1", "ethtool -K eth0 %s", all);
	lab_must(&s.lab, "p1", "ethtool -K eth0 %s", all);
	s.poised = lab_poised(&s.lab, "lb1", "");
	lab_must(&s.lab, "lb1", "poise attach eth0 mode generic");
	service(&s, "web", SITE_VIP4, pods4[0]);
	service(&s, "six", "[" SITE_VIP6 "]", pods6[0]);
	pieces(&s, "c1", SITE_VIP4); /* nothing here keeps track, nor puts them together */
	packets = left(&s, TX_PACKETS);
	bytes = left(&s, TX_BYTES);
	transfers(&s, "c1", SITE_VIP4, LONG);
	transfers(&s, "c1", "[" SITE_VIP6 "]", LONG);
	packets = left(&s, TX_PACKETS) - packets;
	bytes = left(&s, TX_BYTES) - bytes;
	cr_assert_gt(bytes, 3000 * packets, "%.0f bytes in %.0f packets", bytes, packets);
	lab_must(&s.lab, "lb1", "poise map check");
	lab_down(&s.lab);
}

/* The balancer's own socket; its other listeners are not disturbed. */
static void itself(const struct site *s)
{
	const char *out;

	serve(&s->lab, "lb1", LB4, "2001:db8:5::101");
	service(s, "web", SITE_VIP4, LB4);
	transfers(s, "c1", SITE_VIP4, LONG);
	pieces(s, "c1", SITE_VIP4);
	all_answered(s, "http", SITE_VIP4, 80);
	out = lab_must(&s->lab, "c1", "bulk " LB4 ":9000 " SHORT);
	cr_assert(strstr(out, "lb1"), "%s", out);
	cr_assert_str_eq(lab_must(&s->lab, "c1", "curl -s http://" LB4 "/who"), "198.51.100.1\n");
}

/* Beside it, a container, and a backend on another machine, which takes mode nat: requests go to
 * all, none fails, and each serves alone. The last hears from the balancer, not from the client. */
static void beside_nat(const struct site *s)
{
	static const char *const all[] = {LB4, "10.7.1.1", "10.0.0.1"};

	serve(&s->lab, "b1", "10.0.0.1", "2001:db8:5::1");
	lab_must(&s->lab, "lb1",
		 "poise backend add web 10.7.1.1 && poise backend add web 10.0.0.1 forward nat");
	site_expect_from(s, "http://" SITE_VIP4 "/", "b1 lb1 p1 ");
	all_answered(s, "http", SITE_VIP4, 80);
	all_answered(s, "udp", SITE_VIP4, 9000);
	for (int n = 0; n < PODS; n++) {
		alone(s, all, n);
		transfers(s, "c1", SITE_VIP4, SHORT);
		cr_assert_str_eq(lab_must(&s->lab, "c1", "curl -s http://" SITE_VIP4 "/who"),
				 n < 2 ? "198.51.100.1\n" : LB4 "\n");
	}
}

Test(local, the_host_itself_and_others)
{
	struct site s = {0};

	up(&s);
	itself(&s);
	beside_nat(&s);
	lab_must(&s.lab, "lb1", "poise map check");
	remarks(&s);
	lab_down(&s.lab);
}
