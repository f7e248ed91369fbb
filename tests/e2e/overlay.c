// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Backends that no attached device leads to: a container behind a bridge of another machine, which
 * this one reaches by vxlan, as networks of clusters do it. The service is of mode nat, and nobody
 * says how it gets there; beside it serve a container of the balancer by mode local and a machine
 * by its attached device. What poise does not send is not translated, nor are others' tables
 * touched; its own is put back, and goes when it is not needed.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/schema.h"
#include "tests/support/site.h"

#define LONG	 "10485760" /* bytes of a transfer that many windows take */
#define REQUESTS 120
#define RATE	 600

TestSuite(overlay, .timeout = TEST_LONGEST);

/* Of each family: the service, who serves it, and what the container beyond hears from when poise
 * sends, the balancer's end of the tunnel. */
static const struct family {
	const char *vip, *beyond, *here, *there, *end;
	const char *client;
	unsigned int fits; /* of a datagram whose answer has "b2 " in front, through the tunnel */
} families[] = {
	{SITE_VIP4, "10.8.1.1", "10.7.1.1", "10.0.0.1", "10.8.0.101", "198.51.100.1",
	 1450 - 20 - 8 - 3},
	{"[" SITE_VIP6 "]", "fd08:1::1", "fd07:1::1", "2001:db8:5::1", "fd08::101", "2001:db8:c::1",
	 1450 - 40 - 8 - 3},
};
#define FAMILIES (sizeof(families) / sizeof(families[0]))

/* ---- the network ------------------------------------------------------------------------------*/

/* One end of the tunnel, over each family's addresses. */
static void tunnel(const struct lab *l, const char *node, int host, int peer, const char *routes)
{
	lab_must(l, node,
		 "ip link add vx0 type vxlan id 7 dstport 4789 local 10.0.0.%d remote 10.0.0.%d "
		 "dev eth0 && ip addr add 10.8.0.%d/24 dev vx0 && "
		 "ip addr add fd08::%d/64 dev vx0 nodad && ip link set vx0 up && %s",
		 host, peer, host, host, routes);
}

/* Node b2 becomes a container on b1, whose packets to anywhere but the balancer's containers leave
 * by b1's own link: an answer to who is not translated does not come back by the tunnel. */
static void container(const struct lab *l)
{
	const char *out;

	cr_assert_eq(lab_host(&out,
			      "ip link add pod1 netns poise-%s-b1 mtu 1450 type veth "
			      "peer name pod0 netns poise-%s-b2 mtu 1450",
			      l->name, l->name),
		     0, "%s", out);
	lab_must(
		l, "b1",
		"ip link add pods type bridge forward_delay 0 && "
		"ip link set pod1 master pods up && ip link set pods up && "
		"ip addr add 10.8.1.254/24 dev pods && ip addr add fd08:1::fe/64 dev pods nodad && "
		"sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
	lab_must(l, "b2",
		 "ip link set eth0 down && ip -batch - <<-END\n"
		 "addr add 10.8.1.1/24 dev pod0\naddr add fd08:1::1/64 dev pod0 nodad\n"
		 "link set pod0 up\nroute add default via 10.8.1.254\n"
		 "route add default via fd08:1::fe\nEND");
}

static void serve(const struct lab *l, const char *node, const char *four, const char *six)
{
	lab_must(l, node, "nginx");
	lab_serve(l, node, "serve %s %s:9000 [%s]:9000", node, four, six);
}

static const char host[] = "table inet host {\\n"
			   "\\tchain post {\\n"
			   "\\t\\ttype nat hook postrouting priority srcnat; policy accept;\\n"
			   "\\t\\toifname eth0 masquerade\\n"
			   "\\t}\\n}\\n";

/* Whoever asks the container directly gets to it as to any other address. */
static void up(struct site *s)
{
	lab_up(&s->lab, "--clients 1 --backends 2 --pods 1");
	tunnel(&s->lab, "lb1", 101, 1,
	       "ip route add 10.8.1.0/24 via 10.8.0.1 && ip route add fd08:1::/64 via fd08::1");
	tunnel(&s->lab, "b1", 1, 101,
	       "ip route add 10.7.1.0/24 via 10.8.0.101 && ip route add fd07:1::/64 via fd08::101");
	container(&s->lab);
	lab_must(&s->lab, "router",
		 "ip route add 10.8.1.0/24 via 10.0.0.101 && "
		 "ip route add fd08:1::/64 via 2001:db8:5::101");
	serve(&s->lab, "p1", "10.7.1.1", "fd07:1::1");
	serve(&s->lab, "b1", "10.0.0.1", "2001:db8:5::1");
	serve(&s->lab, "b2", "10.8.1.1", "fd08:1::1");
	/* The balancer masquerades its containers besides. */
	lab_must(&s->lab, "lb1", "printf '%s' > /run/host.nft && nft -f /run/host.nft", host);
	site_attach(s);
	lab_must(&s->lab, "lb1", "poise attach pod1 inside");
	/* What leaves the host must not come there without its checksum (poise(8), NAT). */
	lab_must(&s->lab, "p1", "ethtool -K eth0 tx off");
}

/* ---- what is asked ----------------------------------------------------------------------------*/

static void transfer(const struct site *s, const char *at)
{
	const char *out = lab_must(&s->lab, "c1", "bulk %s:9000 " LONG, at);

	cr_assert(strstr(out, "up ") && strstr(out, "down ") && strstr(out, ": equal"), "%s", out);
}

static void all_answered(const struct site *s, const char *kind, const char *at, int port)
{
	char target[64];

	snprintf(target, sizeof(target), "%s:%d", at, port);
	site_all_answered(s, kind, target, RATE, REQUESTS);
}

/* The container hears from this address if that node asks there. */
static void heard_from(const struct site *s, const char *node, const char *at, const char *source)
{
	char want[64];

	snprintf(want, sizeof(want), "%s\n", source);
	cr_assert_str_eq(lab_must(&s->lab, node, "curl -s -m 20 'http://%s/who'", at), want);
}

/* The same pod, client and port, but not by the service: translated are only poise's. A container
 * asks in both ways, too. */
static void bystanders(const struct site *s, const struct family *f)
{
	char at[64];

	snprintf(at, sizeof(at), strchr(f->beyond, ':') ? "[%s]" : "%s", f->beyond);
	heard_from(s, "c1", f->vip, f->end);
	heard_from(s, "c1", at, f->client);
	heard_from(s, "p1", f->vip, f->end);
	heard_from(s, "p1", at, f->here);
}

/* Nobody listens, or it does not fit into the tunnel: the client's socket hears of it. */
static void errors(const struct site *s, const struct family *f)
{
	const char *out;

	lab_must(&s->lab, "lb1", "poise service listen web %s:9002 %s:9002/udp", f->vip, f->vip);
	out = lab_must(&s->lab, "c1", "probe udp %s:9002", f->vip);
	cr_assert(strstr(out, "icmp 3 3 from 192.0.2.10") ||
			  strstr(out, "icmp 1 4 from 2001:db8:a::10"),
		  "%s", out);
	lab_must(&s->lab, "c1", "probe tcp %s:9002 | grep refused", f->vip);
	out = lab_must(&s->lab, "c1", "probe udp %s:9000 size 1440", f->vip);
	cr_assert(strstr(out, "icmp 3 4 from 192.0.2.10 mtu 1450") ||
			  strstr(out, "icmp 2 0 from 2001:db8:a::10 mtu 1450"),
		  "%s", out);
}

static void service(const struct site *s, const struct family *f)
{
	lab_must(&s->lab, "lb1",
		 "poise service add web %s:80 %s:9000 %s:9000/udp forward nat && "
		 "poise health off web && poise backend add web %s",
		 f->vip, f->vip, f->vip, f->beyond);
	lab_until(&s->lab, "c1", SITE_SOON,
		  "load udp %s:9000 --count 8 --timeout 0.3 | grep -q ' 0 failed'", f->vip);
}

/* The container alone, then all three ways of one service. */
static void real_traffic(const struct site *s, const struct family *f)
{
	char url[64];

	service(s, f);
	transfer(s, f->vip);
	all_answered(s, "http", f->vip, 80);
	all_answered(s, "udp", f->vip, 9000);
	lab_must(&s->lab, "c1", "sizes %s:9000 %u", f->vip, f->fits);
	/* What does not fit into the tunnel an IPv6 client makes smaller once it is told. */
	lab_until(&s->lab, "c1", SITE_SOON, "pieces %s:9000 10 4000", f->vip);
	lab_must(&s->lab, "lb1", "poise stats web | grep fragment-forwarded");
	bystanders(s, f);
	errors(s, f);
	lab_must(&s->lab, "lb1",
		 "poise backend add web %s forward local && poise backend add web %s", f->here,
		 f->there);
	snprintf(url, sizeof(url), "http://%s/", f->vip);
	lab_until(&s->lab, "lb1", SITE_SOON, "! poise show web | grep -q unresolved");
	site_expect_from(s, url, "b1 b2 p1 ");
	all_answered(s, "http", f->vip, 80);
	all_answered(s, "udp", f->vip, 9000);
	lab_must(&s->lab, "lb1", "poise map check");
}

/* ---- the table --------------------------------------------------------------------------------*/

static const char table[] = "table inet poise {\n"
			    "\tchain overlay {\n"
			    "\t\ttype nat hook postrouting priority srcnat; policy accept;\n"
			    "\t\tmeta mark & 0x00001000 == 0x00001000 masquerade fully-random "
			    "comment \"poise\"\n"
			    "\t}\n"
			    "}\n";

/* What is said of it as JSON is what the schema says. */
static void said_as_json(const struct site *s, const char *command, const char *definition)
{
	struct schema schema;
	struct json_object *o;

	schema_read(&schema);
	o = json_tokener_parse(lab_must(&s->lab, "lb1", "poise %s --json", command));
	cr_assert(schema_fits(&schema, definition, o), "%s", schema.fault);
	json_object_put(o);
	schema_free(&schema);
}

/* Somebody loads a firewall that begins as most do. */
static void flushed(const struct site *s)
{
	cr_assert_str_eq(lab_must(&s->lab, "lb1", "nft list table inet poise"), table);
	lab_must(&s->lab, "lb1",
		 "poise status | grep -F 'table inet poise translates for 1 backend'");
	lab_must(&s->lab, "lb1",
		 "nft list table inet host | tr -d '\"' | cmp - /run/host.nft && "
		 "nft flush ruleset && nft add table inet others");
	lab_until(&s->lab, "lb1", SITE_SOON, "nft list table inet poise");
	lab_must(&s->lab, "lb1", "nft flush chain inet poise overlay");
	lab_until(&s->lab, "lb1", SITE_SOON, "nft list table inet poise | grep masquerade");
	cr_assert_str_eq(lab_must(&s->lab, "lb1", "nft list table inet poise"), table);
	lab_until(&s->lab, "lb1", SITE_SOON,
		  "[ $(poise events | grep -cF 'table inet poise is put back') = 2 ]");
	lab_must(&s->lab, "lb1", "poise status --json | grep -F '\"table\":\"inet poise\"'");
	said_as_json(s, "status", "status");
	said_as_json(s, "events", "events_list");
	all_answered(s, "http", families[0].vip, 80);
}

static void expect_no_table(const struct site *s)
{
	lab_until(&s->lab, "lb1", SITE_SOON, "! nft list table inet poise 2>/dev/null");
	cr_assert_str_eq(lab_must(&s->lab, "lb1", "nft list ruleset"), "table inet others {\n}\n");
	lab_must(&s->lab, "lb1", "! poise status | grep nftables");
}

/* nftables refuses the table, since another process owns one of its name: that is said, the others
 * of the service go on, and it is tried again. */
static void refused(const struct site *s)
{
	const struct family *f = &families[0];

	lab_must(&s->lab, "lb1", "poise service del web --now");
	lab_until(&s->lab, "lb1", SITE_SOON, "! nft list table inet poise 2>/dev/null");
	lab_must(&s->lab, "lb1",
		 "(echo 'add table inet poise { flags owner; }'; sleep 100) | "
		 "nft -i > /dev/null 2>&1 & echo $! > /run/owner");
	lab_until(&s->lab, "lb1", SITE_SOON, "nft list table inet poise | grep owner");
	lab_must(&s->lab, "lb1",
		 "poise service add web %s:80 %s:9000/udp forward nat && poise health off web && "
		 "poise backend add web %s && poise backend add web %s",
		 f->vip, f->vip, f->beyond, f->there);
	lab_until(&s->lab, "lb1", SITE_SOON,
		  "poise status | grep -F 'nftables refused table inet poise'");
	lab_until(&s->lab, "lb1", SITE_SOON,
		  "poise show web | grep -F 'not attached, and nftables failed (poise status)'");
	lab_until(&s->lab, "lb1", SITE_SOON, "poise show web | grep -E '%s +up'", f->there);
	site_expect_from(s, "http://" SITE_VIP4 "/", "b1 ");
	lab_must(&s->lab, "lb1", "kill $(cat /run/owner)");
	lab_until(&s->lab, "lb1", SITE_SOON, "poise status | grep -F 'translates for 1 backend'");
	lab_must(&s->lab, "lb1", "! poise status | grep -F 'nftables refused'");
}

/* With the last backend that may need it, with the last device, and without poised. */
static void removed(struct site *s)
{
	lab_must(&s->lab, "lb1", "poise service del web --now");
	expect_no_table(s);
	service(s, &families[0]);
	lab_must(&s->lab, "lb1", "poise detach pod1 && poise detach eth0");
	expect_no_table(s);
	lab_must(&s->lab, "lb1", "poise attach eth0");
	lab_until(&s->lab, "lb1", SITE_SOON, "nft list table inet poise");
	lab_stop(s->poised, SIGTERM);
	s->poised = 0;
	lab_must(&s->lab, "lb1", "nft list table inet poise");
	all_answered(s, "http", families[0].vip, 80);
	lab_must(&s->lab, "lb1", "poise reset && ! nft list table inet poise");
}

Test(overlay, a_container_of_another_machine)
{
	struct site s = {0};

	up(&s);
	for (size_t k = 0; k < FAMILIES; k++) {
		if (k)
			lab_must(&s.lab, "lb1", "poise service del web --now");
		real_traffic(&s, &families[k]);
	}
	lab_must(&s.lab, "lb1", "poise service del web --now");
	service(&s, &families[0]);
	flushed(&s);
	refused(&s);
	removed(&s);
	lab_down(&s.lab);
}
