// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mode nat with real clients and servers, beside what tests/e2e/forward.c does in every mode: many
 * short connections that the server closes, fewer ports than connections, errors that must reach
 * the right socket, one client's port through two services, and flows that outlive poised.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

#define SHORT 3000 /* connections of each client */
#define SLOW  "900ms"

TestSuite(nat, .timeout = TEST_LONGEST);

/* In turn, nothing lost, nobody sent a SYN twice (that is a second). */
static void connect_often(const struct site *s, const char *client, int rate, int count)
{
	const char *out = lab_must(
		&s->lab, client,
		"load http " SITE_VIP4 ":80 --rate %d --count %d --promise-p99 " SLOW, rate, count);
	char want[64];

	snprintf(want, sizeof(want), "%d requests, 0 failed", count);
	cr_assert(strstr(out, want), "%s", out);
}

static void through_two_services(const struct site *s)
{
	const char *out;

	lab_must(&s->lab, "lb1", "poise service add one " SITE_VIP4 ":9001/udp");
	lab_must(&s->lab, "lb1", "poise service add two " SITE_VIP4 ":9003/udp");
	lab_must(&s->lab, "lb1", "poise backend add one 10.0.0.1:9000");
	lab_must(&s->lab, "lb1", "poise backend add two 10.0.0.1:9000");
	for (int k = 0; k < 2; k++) {
		out = lab_must(&s->lab, "c1", "datagram 198.51.100.1:5555 " SITE_VIP4 ":9001 6869");
		cr_assert(strstr(out, "b1"), "%s", out);
		out = lab_must(&s->lab, "c1", "datagram 198.51.100.1:5555 " SITE_VIP4 ":9003 6869");
		cr_assert(strstr(out, "b1"), "%s", out);
	}
	out = lab_must(&s->lab, "lb1", "poise flows client 198.51.100.1 | grep -c ':5555 '");
	cr_assert_eq(atoi(out), 2, "%s", out);
	out = lab_must(&s->lab, "lb1", "poise flows one | grep ':5555 '");
	cr_assert(strstr(out, "198.51.100.1:5555 > 192.0.2.10:9001 by 10.0.0.101:"), "%s", out);
}

static void where_nobody_listens(const struct site *s)
{
	const char *out;

	lab_must(&s->lab, "lb1",
		 "poise service listen web " SITE_VIP4 ":9002/udp " SITE_VIP4 ":9002");
	out = lab_must(&s->lab, "c1", "probe udp " SITE_VIP4 ":9002");
	cr_assert(strstr(out, "refused") || strstr(out, "icmp 3 3"), "%s", out);
	out = lab_must(&s->lab, "c1", "probe tcp " SITE_VIP4 ":9002");
	cr_assert(strstr(out, "refused"), "%s", out);
}

Test(nat, many_clients_many_services)
{
	struct site s = {.nat = true, .backends = 3, .clients = 2};
	const char *out;

	site_up(&s);
	site_attach(&s);
	site_service(&s, SITE_VIP4, 4);
	connect_often(&s, "c1", 1500, SHORT);
	connect_often(&s, "c2", 1500, SHORT);
	out = lab_must(&s.lab, "lb1", "poise stats web");
	cr_assert(!strstr(out, "no-port") && !strstr(out, "no-flow") && !strstr(out, "port-busy"),
		  "%s", out);
	through_two_services(&s);
	where_nobody_listens(&s);
	lab_must(&s.lab, "lb1", "poise map check");
	site_down(&s);
}

/* A balancer whose instance has these limits. */
static void attach_with(struct site *s, const char *limits)
{
	lab_must(&s->lab, "lb1", "echo 'limits: { %s }' > /run/site.yaml", limits);
	s->poised = lab_poised(&s->lab, "lb1", "--config /run/site.yaml");
	lab_must(&s->lab, "lb1", "poise attach eth0");
}

Test(nat, more_connections_than_ports)
{
	struct site s = {.nat = true, .backends = 1};

	site_up(&s);
	attach_with(&s, "nat-groups: 1, nat-port-low: 20000, nat-port-high: 20999");
	site_service(&s, SITE_VIP4, 4);
	connect_often(&s, "c1", 1000, 5000);
	lab_must(&s.lab, "lb1", "! poise stats web | grep -E 'no-port|port-busy'");
	lab_must(&s.lab, "lb1", "poise map check");
	site_down(&s);
}

/* A download goes on only if the router's errors reach the socket that sent what was too big. */
static void narrow(const char *vip, int family)
{
	struct site s = {.nat = true, .backends = 2};
	const char *out;

	site_up(&s);
	site_attach(&s);
	site_service(&s, vip, family);
	lab_must(&s.lab, "router", "ip link set clients mtu 1400");
	for (int i = 0; i < 2; i++)
		lab_must(&s.lab, "c1", strchr(vip, ':') ? "bulk [%s]:9000" : "bulk %s:9000", vip);
	out = lab_must(&s.lab, "lb1", "poise stats web");
	cr_assert(strstr(out, "icmp-error-routed"), "%s", out);
	site_down(&s);
}

Test(nat, path_mtu_4)
{
	narrow(SITE_VIP4, 4);
}

Test(nat, path_mtu_between_families)
{
	narrow(SITE_VIP4, 6);
}

/* poised is killed; another takes over, loads its program, and nobody notices; nor of a drain. */
Test(nat, flows_outlive_poised_and_drains)
{
	struct site s = {.nat = true, .backends = 2};
	pid_t tcp, udp;

	site_up(&s);
	site_attach(&s);
	site_service(&s, SITE_VIP4, 4);
	tcp = lab_serve(&s.lab, "c1", "hold tcp " SITE_VIP4 ":9000 100");
	udp = lab_serve(&s.lab, "c1", "hold udp " SITE_VIP4 ":9000 50");
	lab_stop(s.poised, SIGKILL);
	s.poised = lab_poised(&s.lab, "lb1", "");
	lab_must(&s.lab, "lb1", "poise backend drain web 10.0.0.1");
	connect_often(&s, "c1", 500, 200);
	cr_assert_eq(lab_stop(tcp, SIGTERM), 0, "connections were lost");
	cr_assert_eq(lab_stop(udp, SIGTERM), 0, "datagrams were lost");
	lab_until(&s.lab, "lb1", SITE_SOON, "poise map check");
	site_down(&s);
}
