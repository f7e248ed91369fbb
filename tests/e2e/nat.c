// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mode nat with real clients and servers, beside what tests/e2e/forward.c does in every mode:
 * errors that must reach the right socket on both ends, one client's port through two services,
 * backends that go on about flows that are over, every size of packet, and flows that outlive
 * poised.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

TestSuite(nat, .timeout = TEST_LONGEST);

/* ---- two services, one port -------------------------------------------------------------------*/

static void ask_from_5555(const struct site *s, int port)
{
	const char *out =
		lab_must(&s->lab, "c1", "datagram 198.51.100.1:5555 " SITE_VIP4 ":%d 6869", port);

	cr_assert(strstr(out, "b1"), "%s", out);
}

static void through_two_services(struct site *s)
{
	const char *out;

	site_nat_service(s, "one", 9001, "10.0.0.1:9000");
	site_nat_service(s, "two", 9003, "10.0.0.1:9000");
	for (int k = 0; k < 2; k++) {
		ask_from_5555(s, 9001);
		ask_from_5555(s, 9003);
	}
	out = lab_must(&s->lab, "lb1", "poise flows client 198.51.100.1 | grep -c ':5555 '");
	cr_assert_eq(atoi(out), 2, "%s", out);
	out = lab_must(&s->lab, "lb1", "poise flows one | grep ':5555 '");
	cr_assert(strstr(out, "198.51.100.1:5555 > 192.0.2.10:9001 by 10.0.0.101:"), "%s", out);
}

/* ---- errors -----------------------------------------------------------------------------------*/

/* Ports of both virtual addresses: to b1's server, by IPv4 and by IPv6, and to its port 9300. */
#define TO_IPV4	  9100
#define TO_IPV6	  9106
#define TO_LATE4  9300
#define TO_LATE6  9306
#define PORT	  "9300"
#define LATE_SIZE 1400 /* of a datagram that fits but for its last link */

static const struct pair {
	const char *name, *vip, *vip_bare;
	int echo, port;
	const char *backend;
	const char *nobody;	 /* what c1 is told of a port where nobody listens */
	const char *nobody_late; /* what a server is told of a client that has gone */
	const char *too_big;	 /* what their server is told then */
} pairs[] = {
	{"4 to 4", SITE_VIP4, SITE_VIP4, TO_IPV4, TO_LATE4, "10.0.0.1", "icmp 3 3 from 192.0.2.10",
	 "icmp 3 3 from 10.0.0.101", "icmp 3 4 from 10.0.0.101 mtu 1400"},
	{"6 to 6", "[" SITE_VIP6 "]", SITE_VIP6, TO_IPV6, TO_LATE6, "[2001:db8:5::1]",
	 "icmp 1 4 from 2001:db8:a::10", "icmp 1 4 from 2001:db8:5::101",
	 "icmp 2 0 from 2001:db8:5::101 mtu 1400"},
	{"4 to 6", SITE_VIP4, SITE_VIP4, TO_IPV6, TO_LATE6, "[2001:db8:5::1]",
	 "icmp 3 3 from 192.0.2.10", "icmp 1 4 from 2001:db8:5::101",
	 "icmp 2 0 from 2001:db8:5::101 mtu 1420"},
	{"6 to 4", "[" SITE_VIP6 "]", SITE_VIP6, TO_IPV4, TO_LATE4, "10.0.0.1",
	 "icmp 1 4 from 2001:db8:a::10", "icmp 3 3 from 10.0.0.101",
	 "icmp 3 4 from 10.0.0.101 mtu 1380"},
};

#define PAIRS (sizeof(pairs) / sizeof(pairs[0]))

static void expect_nobody(const struct site *s, const struct pair *p)
{
	const char *out = lab_must(&s->lab, "c1", "probe udp %s:%d", p->vip, p->port);

	cr_assert(strstr(out, p->nobody), "%s: %s", p->name, out);
	out = lab_must(&s->lab, "c1", "probe tcp %s:%d", p->vip, p->port);
	cr_assert(strstr(out, "refused"), "%s: %s", p->name, out);
}

static void expect_late(const struct site *s, const struct pair *p, int size, const char *says)
{
	char backend[64];

	snprintf(backend, sizeof(backend), "%s:" PORT, p->backend);
	site_expect_late(s, "b1", backend, p->vip_bare, p->port, size, says);
}

static void errors_on_both_ends(struct site *s)
{
	site_nat_service(s, "late4", TO_LATE4, "10.0.0.1:" PORT);
	site_nat_service(s, "late6", TO_LATE6, "[2001:db8:5::1]:" PORT);
	for (size_t k = 0; k < PAIRS; k++) {
		expect_nobody(s, &pairs[k]);
		expect_late(s, &pairs[k], 100, pairs[k].nobody_late);
	}
	lab_must(&s->lab, "router", "ip link set clients mtu 1400");
	for (size_t k = 0; k < PAIRS; k++)
		expect_late(s, &pairs[k], LATE_SIZE, pairs[k].too_big);
}

/* ---- what is nobody's -------------------------------------------------------------------------*/

static long tcp_count(const struct site *s, const char *node, const char *name)
{
	return atol(lab_must(&s->lab, node,
			     "awk '$1 == \"Tcp:\" { if (!at) for (k = 2; k <= NF; k++) { "
			     "if ($k == \"%s\") at = k } else print $at }' /proc/net/snmp",
			     name));
}

/* A backend goes on about flows that are over: the balancer's host refuses it, and no client hears
 * of it. */
static void dead_slots(struct site *s)
{
	long refused, heard;
	pid_t held[2];

	held[0] = lab_serve(&s->lab, "c1", "hold tcp " SITE_VIP4 ":%d 1", TO_IPV4);
	held[1] = lab_serve(&s->lab, "c1", "hold tcp " SITE_VIP4 ":%d 1", TO_IPV6);
	lab_must(&s->lab, "lb1", "poise flows drop four && poise flows drop six");
	refused = tcp_count(s, "lb1", "OutRsts");
	heard = tcp_count(s, "c1", "InSegs");
	site_unserve(s, 1);
	/* The server's end is gone at once, and not when it has asked in vain for a quarter hour.
	 */
	lab_until(&s->lab, "b1", SITE_SOON,
		  "! ss -Htan | grep ':9000 ' | grep -qvE 'LISTEN|TIME-WAIT'");
	cr_assert_geq(tcp_count(s, "lb1", "OutRsts"), refused + 2);
	cr_assert_eq(tcp_count(s, "c1", "InSegs"), heard, "a client heard of it");
	for (int k = 0; k < 2; k++)
		lab_stop(held[k], SIGKILL);
}

/* ---- sizes ------------------------------------------------------------------------------------*/

/* The most that fits both ways: the answer has "b1 " in front. */
#define FITS4 (1500 - 20 - 8 - 3)
#define FITS6 (1500 - 40 - 8 - 3)

static void every_size(struct site *s)
{
	for (size_t k = 0; k < PAIRS; k++)
		lab_must(&s->lab, "c1", "sizes %s:%d %d", pairs[k].vip, pairs[k].echo,
			 k ? FITS6 : FITS4);
	lab_must(&s->lab, "lb1", "! poise stats | grep -E 'too-big|no-flow|unsupported'");
}

/* More than fits: each end learns of its first what its fragments may have, which grow between
 * families. */
static void larger(struct site *s)
{
	for (size_t k = 0; k < PAIRS; k++)
		lab_until(&s->lab, "c1", SITE_SOON, "pieces %s:%d 10 4096", pairs[k].vip,
			  pairs[k].echo);
	lab_must(&s->lab, "lb1", "poise stats | grep fragment-forwarded");
	lab_must(&s->lab, "lb1", "! poise stats | grep unsupported");
}

/* ---- all of that, in one lab ------------------------------------------------------------------*/

Test(nat, a_backend_of_both_families)
{
	struct site s = {.nat = true, .backends = 1};

	site_up(&s);
	site_attach(&s);
	site_nat_service(&s, "four", TO_IPV4, "10.0.0.1:9000");
	site_nat_service(&s, "six", TO_IPV6, "[2001:db8:5::1]:9000");
	every_size(&s);
	larger(&s);
	through_two_services(&s);
	dead_slots(&s);
	errors_on_both_ends(&s);
	lab_must(&s.lab, "lb1", "poise map check");
	site_down(&s);
}

/* ---- a narrow link ----------------------------------------------------------------------------*/

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

/* ---- poised goes ------------------------------------------------------------------------------*/

/* poised is killed; another takes over, loads its program, and nobody notices; nor of a drain. */
Test(nat, flows_outlive_poised_and_drains)
{
	struct site s = {.nat = true, .backends = 2};
	const char *out;
	pid_t tcp, udp;

	site_up(&s);
	site_attach(&s);
	site_service(&s, SITE_VIP4, 4);
	tcp = lab_serve(&s.lab, "c1", "hold tcp " SITE_VIP4 ":9000 100");
	udp = lab_serve(&s.lab, "c1", "hold udp " SITE_VIP4 ":9000 50");
	lab_stop(s.poised, SIGKILL);
	s.poised = lab_poised(&s.lab, "lb1", "");
	lab_must(&s.lab, "lb1", "poise backend drain web 10.0.0.1");
	out = lab_must(&s.lab, "c1",
		       "load http " SITE_VIP4 ":80 --rate 500 --count 200 --timeout 30s");
	cr_assert(strstr(out, "200 requests, 0 failed"), "%s", out);
	cr_assert_eq(lab_stop(tcp, SIGTERM), 0, "connections were lost");
	cr_assert_eq(lab_stop(udp, SIGTERM), 0, "datagrams were lost");
	lab_until(&s.lab, "lb1", SITE_SOON, "poise map check");
	site_down(&s);
}
