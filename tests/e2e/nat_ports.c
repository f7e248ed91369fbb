// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ports of mode nat under real connections: twenty thousand short ones that the server closes, five
 * times as many as there are ports, on both sides of what the host keeps for itself, and what
 * status and stats say when they run short.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

TestSuite(nat_ports, .timeout = TEST_LONGEST);

static void nothing_refused(const struct site *s)
{
	lab_must(&s->lab, "lb1", "! poise stats web | grep -E 'no-port|no-flow|port-busy'");
	lab_must(&s->lab, "lb1", "poise map check");
}

Test(nat_ports, twenty_thousand_connections_of_two_clients)
{
	struct site s = {.nat = true, .backends = 3};

	site_up(&s);
	lab_must(&s.lab, "c1", "ip addr add 198.51.100.9/24 dev eth0");
	site_attach(&s);
	site_service(&s, SITE_VIP4, 4);
	site_connect_often(&s, SITE_VIP4 ":80", "198.51.100.1:0,198.51.100.9:0", 2500, 20000);
	nothing_refused(&s);
	site_down(&s);
}

/* A balancer whose instance has so many groups of these ports. */
static void attach_with(struct site *s, int groups, int low, int high)
{
	lab_must(&s->lab, "lb1",
		 "echo 'limits: { nat-groups: %d, nat-port-low: %d, nat-port-high: %d }' "
		 "> /run/site.yaml",
		 groups, low, high);
	s->poised = lab_poised(&s->lab, "lb1", "--config /run/site.yaml");
	lab_must(&s->lab, "lb1", "poise attach eth0");
}

Test(nat_ports, five_thousand_connections_by_a_thousand_ports)
{
	struct site s = {.nat = true, .backends = 1};

	site_up(&s);
	lab_must(&s.lab, "lb1", "echo 20200-22199 > /proc/sys/net/ipv4/ip_local_reserved_ports");
	attach_with(&s, 1, 20000, 22999);
	site_service(&s, SITE_VIP4, 4);
	/* A thousand a second would leave a slow machine no second to end one in. */
	site_connect_often(&s, SITE_VIP4 ":80", "198.51.100.1:0", 700, 5000);
	nothing_refused(&s);
	site_down(&s);
}

/* Lines of a command that have these words must be there. */
static void expect_said(const struct site *s, const char *command, const char *words)
{
	const char *out;

	lab_run(&s->lab, "lb1", &out, "%s", command);
	cr_assert(strstr(out, words), "%s: %s is not in\n%s", command, words, out);
}

static void one_backend(struct site *s)
{
	attach_with(s, 1, 20000, 20009);
	lab_must(&s->lab, "lb1",
		 "poise service add web " SITE_VIP4 ":9000 && poise health off web && "
		 "poise backend add web 10.0.0.1");
	site_expect(s, 1, 4, "up", "");
}

Test(nat_ports, that_run_short_are_told)
{
	struct site s = {.nat = true, .backends = 1};
	pid_t some, rest;

	site_up(&s);
	one_backend(&s);
	some = lab_serve(&s.lab, "c1", "hold tcp " SITE_VIP4 ":9000 7");
	expect_said(&s, "poise status", "nat ports    7 of 10 in group 0, the fullest; 0 refused");
	lab_must(&s.lab, "lb1", "! poise status | grep 'nat ports: '");
	rest = lab_serve(&s.lab, "c1", "hold tcp " SITE_VIP4 ":9000 3");
	expect_said(&s, "poise status", "nat ports: 10 of 10 in use (by flows of one group");
	expect_said(&s, "poise flows web", "> 192.0.2.10:9000 by 10.0.0.101:2000");
	expect_said(&s, "poise flows web --json", "\"source\":\"10.0.0.101:2000");
	lab_must(&s.lab, "lb1",
		 "from=$(poise flows web --no-header | sed -n '1s/.* by //p') && "
		 "test $(poise flows source $from --count) = 1 && "
		 "test $(poise flows web source 10.0.0.101 --count) = 10 && "
		 "test $(poise flows source 10.0.0.102 --count) = 0");
	lab_must(&s.lab, "c1", "probe tcp " SITE_VIP4 ":9000 | grep refused");
	lab_must(&s.lab, "lb1", "poise stats web | grep no-port");
	expect_said(&s, "poise stats", " 10  of 10 in use, 0 more rest, 1 refused");
	expect_said(&s, "poise stats --json", "\"refused_total\":1");
	lab_stop(some, SIGTERM);
	lab_stop(rest, SIGTERM);
	site_down(&s);
}

/* The balancer has lost its maps, and with them who had which port; its backend still knows. Who
 * gets such a port has it once the SYN is sent again: the old connection is over by then. */
Test(nat_ports, that_the_backend_remembers)
{
	struct site s = {.nat = true, .backends = 1};
	pid_t old, held;

	site_up(&s);
	one_backend(&s);
	old = lab_serve(&s.lab, "c1", "hold tcp " SITE_VIP4 ":9000 3");
	lab_stop(s.poised, SIGTERM);
	lab_must(&s.lab, "lb1", "poise reset");
	one_backend(&s);
	held = lab_serve(&s.lab, "c1", "hold tcp " SITE_VIP4 ":9000 1");
	lab_must(&s.lab, "lb1", "poise stats web | grep port-busy");
	lab_until(&s.lab, "b1", SITE_SOON,
		  "test $(ss -Htn state established sport = :9000 | wc -l) = 3");
	cr_assert_eq(lab_stop(held, SIGTERM), 0, "the new connection was lost");
	lab_stop(old, SIGKILL);
	site_down(&s);
}

/* Twenty connections by ten ports of two addresses; the second is taken away under them. */
Test(nat_ports, of_two_addresses)
{
	struct site s = {.nat = true, .backends = 1};
	pid_t held, more;

	site_up(&s);
	lab_must(&s.lab, "lb1", "ip addr add 10.0.0.110/24 dev eth0");
	attach_with(&s, 2, 20000, 20009);
	lab_must(&s.lab, "lb1",
		 "poise service add web " SITE_VIP4 ":9000 source 10.0.0.101,10.0.0.110 && "
		 "poise health off web && poise backend add web 10.0.0.1");
	site_expect(&s, 1, 4, "up", "");
	lab_must(&s.lab, "lb1", "poise save | grep 'source: \\[ 10.0.0.101, 10.0.0.110 \\]'");
	held = lab_serve(&s.lab, "c1", "hold tcp " SITE_VIP4 ":9000 20");
	lab_must(&s.lab, "lb1", "test $(poise flows web | grep -c 'by 10.0.0.101:') = 10");
	lab_must(&s.lab, "lb1", "test $(poise flows web | grep -c 'by 10.0.0.110:') = 10");
	lab_must(&s.lab, "c1", "probe tcp " SITE_VIP4 ":9000 | grep refused");
	lab_must(&s.lab, "lb1", "poise service set web source 10.0.0.101 && poise map check");
	cr_assert_eq(lab_stop(held, SIGTERM), 0, "a connection was cut");
	more = lab_serve(&s.lab, "c1", "hold tcp " SITE_VIP4 ":9000 5");
	lab_must(&s.lab, "lb1", "poise map check");
	cr_assert_eq(lab_stop(more, SIGTERM), 0);
	site_down(&s);
}
