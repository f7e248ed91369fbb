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
#include <string.h>

#include "tests/support/site.h"

#define PODS	 3
#define REQUESTS 300
#define RATE	 600
#define LONG	 "10485760" /* bytes of a transfer that many windows take */
#define SHORT	 "300000"
#define LB4	 "10.0.0.101"
#define OVERLAY	 "10.8.0.1" /* b1's in a network that lies over the backends' */

TestSuite(local, .timeout = 120);

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
	const char *out = lab_must(&s->lab, "c1", "load %s %s:%d --rate %d --count %d", kind, at,
				   port, RATE, REQUESTS);
	char want[64];

	snprintf(want, sizeof(want), "%d requests, 0 failed", REQUESTS);
	cr_assert(strstr(out, want), "%s", out);
}

static void real_traffic(const struct site *s, const char *at, const char *const *backend)
{
	/* Each backend in turn: two transfers each way. */
	for (int n = 0; n < PODS; n++) {
		alone(s, backend, n);
		transfers(s, "c1", at, n ? SHORT : LONG);
	}
	lab_must(&s->lab, "lb1", "poise backend enable web %s %s %s", backend[0], backend[1],
		 backend[2]);
	all_answered(s, "http", at, 80);
	all_answered(s, "udp", at, 9000);
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

/* A datagram for a port that nobody has, and segments that a router cannot pass on. */
static void errors(const struct site *s)
{
	const char *out;

	lab_must(&s->lab, "lb1",
		 "poise service listen web " SITE_VIP4 ":9002/udp " SITE_VIP4 ":9002");
	out = lab_must(&s->lab, "c1", "probe udp " SITE_VIP4 ":9002");
	cr_assert(strstr(out, "refused") || strstr(out, "icmp 3 3"), "%s", out);
	out = lab_must(&s->lab, "c1", "probe tcp " SITE_VIP4 ":9002");
	cr_assert(strstr(out, "refused"), "%s", out);
	lab_must(&s->lab, "router", "ip link set clients mtu 1400");
	transfers(s, "c1", SITE_VIP4, SHORT);
	lab_must(&s->lab, "lb1", "poise stats web | grep icmp-error-routed");
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
	real_traffic(&s, SITE_VIP4, pods4);
	cr_assert_str_eq(lab_must(&s.lab, "c1", "curl -s http://" SITE_VIP4 "/who"),
			 "198.51.100.1\n");
	others(&s);
	attach_inside(&s);
	inside(&s, SITE_VIP4, pods4);
	errors(&s);
	lab_must(&s.lab, "lb1", "poise map check && poise service del web --now");
	service(&s, "web", "[" SITE_VIP6 "]", "fd07:1::1 fd07:2::2 fd07:2::3");
	real_traffic(&s, "[" SITE_VIP6 "]", pods6);
	cr_assert_str_eq(lab_must(&s.lab, "c1", "curl -s 'http://[" SITE_VIP6 "]/who'"),
			 "2001:db8:c::1\n");
	inside(&s, "[" SITE_VIP6 "]", pods6);
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

/* An overlay leads to a server on another machine: packets for it leave by a tunnel, and the host
 * masquerades them, so that answers come back the same way. */
static void overlay(const struct site *s)
{
	static const char tunnel[] =
		"ip link add vx0 type vxlan id 7 dstport 4789 local %s remote %s "
		"dev eth0 && ip addr add %s/24 dev vx0 && ip link set vx0 up";

	lab_must(&s->lab, "lb1", tunnel, LB4, "10.0.0.1", "10.8.0.254");
	lab_must(&s->lab, "b1", tunnel, "10.0.0.1", LB4, OVERLAY);
	lab_must(&s->lab, "lb1",
		 "nft add rule inet host post oifname vx0 masquerade && "
		 "nft add rule inet host forward oifname vx0 accept");
	lab_serve(&s->lab, "b1", "serve overlay " OVERLAY ":9000");
	lab_must(&s->lab, "lb1",
		 "poise backend add web " OVERLAY " && "
		 "poise backend disable web " LB4 " 10.7.1.1 10.0.0.1");
	transfers(s, "c1", SITE_VIP4, LONG);
	all_answered(s, "http", SITE_VIP4, 80);
	all_answered(s, "udp", SITE_VIP4, 9000);
	cr_assert_str_eq(lab_must(&s->lab, "c1", "curl -s http://" SITE_VIP4 "/who"),
			 "10.8.0.254\n");
}

Test(local, the_host_itself_and_others)
{
	struct site s = {0};

	up(&s);
	itself(&s);
	beside_nat(&s);
	overlay(&s);
	lab_must(&s.lab, "lb1", "poise map check");
	remarks(&s);
	lab_down(&s.lab);
}
