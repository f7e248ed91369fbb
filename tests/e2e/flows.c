// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * `poise flows` against what clients and backends themselves say of their connections: who has how
 * many, by which ports, on which backend; and connections that are dropped from the table live on.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

#define BACKENDS 3
#define TCP1	 40 /* connections that client 1 holds, */
#define TCP2	 11 /* and client 2, */
#define UDP1	 9  /* and UDP sockets of client 1 */
#define ALL	 (TCP1 + TCP2 + UDP1)

TestSuite(flows, .timeout = TEST_LONGEST);

/* Ports in order, one a line. */
#define PORTS_OF "sed 's/.*://' | sort -n"

/* An address as ss takes it. */
static const char *for_ss(const char *addr, char buf[64])
{
	snprintf(buf, 64, strchr(addr, ':') ? "[%s]" : "%s", addr);
	return buf;
}

/* What a program on a node prints, to keep. */
static char *said(const struct site *s, const char *node, const char *command)
{
	return strdup(lab_must(&s->lab, node, "%s", command));
}

static void same(char *ours, char *theirs, const char *what)
{
	cr_assert(*theirs, "%s: nobody", what);
	cr_assert_str_eq(ours, theirs, "%s: poise says\n%s\nthey say\n%s", what, ours, theirs);
	free(ours);
	free(theirs);
}

/* The client's ports by its own list. */
static void expect_ports(const struct site *s, const char *node, const char *client,
			 const char *vip, bool udp)
{
	char ours[256], theirs[256], at[64];

	snprintf(
		ours, sizeof(ours),
		"poise flows client %s web --no-header | awk '$5 == \"%s\" {print $1}' | " PORTS_OF,
		client, udp ? "udp" : "tcp");
	snprintf(theirs, sizeof(theirs),
		 "ss -%cnH state established dst '%s' | awk '{print $3}' | " PORTS_OF,
		 udp ? 'u' : 't', for_ss(vip, at));
	same(said(s, "lb1", ours), said(s, node, theirs), node);
}

/* The client's ports on each backend by the backend's own list. */
static void expect_backends(const struct site *s, const char *client, const char *vip, int family)
{
	for (int n = 1; n <= BACKENDS; n++) {
		char ours[256], theirs[256], node[16], at[64], from[64];

		snprintf(node, sizeof(node), "b%d", n);
		snprintf(ours, sizeof(ours),
			 "poise flows client %s web --no-header | "
			 "awk '$5 == \"tcp\" && $4 == \"%s\" {print $1}' | " PORTS_OF,
			 client, site_backend(s, n, family));
		snprintf(theirs, sizeof(theirs),
			 "ss -tnH state established src '%s' dst '%s' | awk '{print $4}' "
			 "| " PORTS_OF,
			 for_ss(vip, at), for_ss(client, from));
		same(said(s, "lb1", ours), said(s, node, theirs), node);
	}
}

static void expect_count(const struct site *s, const char *filter, int count)
{
	char text[16];

	snprintf(text, sizeof(text), "%d\n", count);
	cr_assert_str_eq(lab_must(&s->lab, "lb1", "poise flows %s --count", filter), text,
			 "flows %s", filter);
}

/* The sum of the backends' gauges. */
static void expect_gauge(const struct site *s, int count)
{
	const char *out = lab_must(&s->lab, "lb1",
				   "poise show web --no-header --columns backend,flows --exact | "
				   "awk 'NF == 2 {n += $2} END {print n}'");

	cr_assert_eq(atoi(out), count, "gauges add up to %s, not %d", out, count);
}

static void expect_answered(const struct site *s, const char *node, int count)
{
	const char *out;
	char text[48];

	lab_host(&out, "cat %s.%s.*", s->lab.log, node);
	snprintf(text, sizeof(text), "%d of %d answered", count, count);
	cr_assert(strstr(out, text), "%s: %s: %s", node, text, out);
}

static void look(struct site *s, const char *vip, int family, const char *const client[2])
{
	pid_t held[3];
	char at[64];

	s->backends = BACKENDS;
	s->clients = 2;
	s->keys = "track always";
	site_up(s);
	site_attach(s);
	site_service(s, vip, family);
	snprintf(at, sizeof(at), family == 6 ? "[%s]:9000" : "%s:9000", vip);
	lab_must(&s->lab, "lb1", "poise flows drop all");
	expect_count(s, "", 0);
	held[0] = lab_serve(&s->lab, "c1", "hold tcp %s %d", at, TCP1);
	held[1] = lab_serve(&s->lab, "c2", "hold tcp %s %d", at, TCP2);
	held[2] = lab_serve(&s->lab, "c1", "hold udp %s %d", at, UDP1);

	expect_ports(s, "c1", client[0], vip, false);
	expect_ports(s, "c1", client[0], vip, true);
	expect_ports(s, "c2", client[1], vip, false);
	expect_backends(s, client[0], vip, family);
	expect_count(s, "web", ALL);
	expect_gauge(s, ALL);
	expect_count(s, "web idle 1h", 0);

	lab_must(&s->lab, "lb1", "poise flows drop web | grep -q '^%d flows of web dropped'", ALL);
	expect_count(s, "web", 0);
	expect_gauge(s, 0);
	/* all go on, each connection on the backend that knows it */
	for (int k = 0; k < 3; k++)
		lab_stop(held[k], SIGTERM);
	expect_answered(s, "c1", TCP1);
	expect_answered(s, "c1", UDP1);
	expect_answered(s, "c2", TCP2);
	lab_must(&s->lab, "lb1", "poise map check");
	site_down(s);
}

Test(flows, ipv4)
{
	look(&(struct site){}, SITE_VIP4, 4, (const char *const[]){"198.51.100.1", "198.51.100.2"});
}

Test(flows, ipv6)
{
	look(&(struct site){}, SITE_VIP6, 6,
	     (const char *const[]){"2001:db8:c::1", "2001:db8:c::2"});
}
