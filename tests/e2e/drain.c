// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Drains while clients come: each backend in turn is emptied, restarted and taken back, and nobody
 * notices; a drain ends when its backend is idle, at its deadline, or when the backend is down; and
 * who is the last goes on serving while it drains.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/clients.h"
#include "tests/support/site.h"

#define RATE 300 /* new connections a second */

/* Every flow is counted, and short ones are soon forgotten. */
#define IDLE_SOON "track always udp 1s closing 1s"

static struct site site;

static void up(int backends)
{
	site = (struct site){.backends = backends};
	site_begin(&site);
}

static void down(void)
{
	site_end(&site);
}

TestSuite(drain, .fini = down, .timeout = TEST_LONGEST);

static const char *backend(int n)
{
	return site_backend(&site, n, 4);
}

static void expect_nobody_failed(const struct clients *c)
{
	cr_expect(clients_asked(c, 0) > 0 && clients_sent(c, 0) > 0);
	cr_expect_eq(clients_failed(c, 0), 0, "%d of %d connections", clients_failed(c, 0),
		     clients_asked(c, 0));
	cr_expect_eq(clients_unanswered(c, 0, NULL), 0, "%d of %d datagrams",
		     clients_unanswered(c, 0, NULL), clients_sent(c, 0));
}

static void restart_in_turn(void)
{
	for (int n = 1; n <= site.backends; n++) {
		char node[16];

		snprintf(node, sizeof(node), "b%d", n);
		lab_must(&site.lab, "lb1", "poise backend drain web %s deadline 500ms --wait=10s",
			 backend(n));
		lab_must(&site.lab, node, "nginx -s stop");
		lab_must(&site.lab, node, "nginx");
		lab_must(&site.lab, "lb1", "poise backend enable web %s --wait=10s", backend(n));
	}
}

static void drain_all(const char *deadline)
{
	for (int n = 1; n <= site.backends; n++)
		lab_must(&site.lab, "lb1", "poise backend drain web %s deadline %s", backend(n),
			 deadline);
}

/* Clients of both families; then all backends drain, and go on. */
static void check_in_turn(const struct site *wanted)
{
	struct clients four, six;

	site = *wanted;
	site.backends = 4;
	site.clients = 2;
	site_begin(&site);
	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1",
		 "poise service listen web [" SITE_VIP6 "]:80 [" SITE_VIP6 "]:9000/udp");
	lab_must(&site.lab, "lb1", "poise health set web http " SITE_QUICK);
	site_expect_all_up(&site, 4, "http 200");
	clients_begin_on(&four, &site.lab, "c1", SITE_VIP4, RATE / 2);
	clients_begin_on(&six, &site.lab, "c2", SITE_VIP6, RATE / 2);
	restart_in_turn();
	drain_all("1m");
	site_expect_shown(&site, "web: no other backend is left: those that drain serve on");
	site_expect_from(&site, "http://" SITE_VIP4 "/", "b1 b2 b3 b4 ");
	clients_end(&four);
	clients_end(&six);
	expect_nobody_failed(&four);
	expect_nobody_failed(&six);
}

Test(drain, of_each_in_turn_l2)
{
	check_in_turn(&(struct site){0});
}

Test(drain, of_each_in_turn_ipip)
{
	check_in_turn(&(struct site){.ipip = true});
}

Test(drain, of_each_in_turn_nat)
{
	check_in_turn(&(struct site){.nat = true});
}

/* ---- how a drain ends -------------------------------------------------------------------------*/

/* A connection held to whichever backend; the others are disabled, so it is b1's. */
static pid_t hold(void)
{
	pid_t pid;

	lab_must(&site.lab, "lb1", "poise backend disable web %s", backend(2));
	pid = lab_serve(&site.lab, "c1", "hold tcp " SITE_VIP4 ":9000 1");
	lab_must(&site.lab, "lb1", "poise backend enable web %s", backend(2));
	return pid;
}

/* In the background of lb1; what it says is in /run/drain, then "status N". */
static void begin_drain(const char *words)
{
	lab_must(&site.lab, "lb1",
		 "rm -f /run/drain; { poise backend drain %s; echo status $?; } > /run/drain 2>&1 "
		 "< /dev/null &",
		 words);
	lab_until(&site.lab, "lb1", SITE_SOON, "poise show web | grep -q draining");
	lab_must(&site.lab, "lb1", "! grep status /run/drain");
}

static void expect_drained(const char *state)
{
	lab_until(&site.lab, "lb1", SITE_SOON, "cat /run/drain; grep -q 'status 0' /run/drain");
	lab_must(&site.lab, "lb1",
		 "grep -q 'drained after' /run/drain || { cat /run/drain; false; }");
	lab_must(&site.lab, "lb1", "poise show web | grep -qE '^ *%s +%s'", backend(1), state);
}

/* Everywhere: a second service has the backend too. */
static void ends_when_idle(void)
{
	pid_t held = hold();

	begin_drain("all 10.0.0.1 deadline 1m --wait=30s");
	lab_must(&site.lab, "lb1", "poise show other | grep -qE '10.0.0.1 +drain'");
	cr_expect_eq(lab_stop(held, SIGTERM), 0, "a drain cut a connection");
	expect_drained("drained");
	lab_must(&site.lab, "lb1", "poise backend enable all 10.0.0.1");
}

static void ends_at_its_deadline(void)
{
	pid_t held = hold();

	begin_drain("web 10.0.0.1 deadline 2s --wait=30s");
	expect_drained("drained");
	cr_expect_neq(lab_stop(held, SIGTERM), 0, "a connection outlived the deadline");
	lab_must(&site.lab, "lb1", "poise backend enable web %s", backend(1));
}

/* What its connections are allowed is on-down's to say: nobody waits for them, but they go on. */
static void ends_when_down(void)
{
	pid_t held = hold();

	begin_drain("web 10.0.0.1 deadline 1m --wait=30s");
	lab_must(&site.lab, "b1", "nginx -s stop");
	expect_drained("down");
	cr_expect_eq(lab_stop(held, SIGTERM), 0, "on-down keep, and the connection was cut");
	lab_must(&site.lab, "lb1", "poise backend enable web %s", backend(1));
	lab_must(&site.lab, "b1", "nginx");
	site_expect_all_up(&site, 4, "http 200");
}

Test(drain, ends)
{
	up(2);
	site.keys = IDLE_SOON;
	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1",
		 "poise service add other " SITE_VIP4 ":81 forward l2 " IDLE_SOON
		 " && poise health off other");
	lab_must(&site.lab, "lb1", "poise backend add other %s", backend(1));
	lab_must(&site.lab, "lb1", "poise health set web http " SITE_QUICK);
	site_expect_all_up(&site, 4, "http 200");
	ends_when_idle();
	ends_at_its_deadline();
	ends_when_down();
}

/* A service of one: it serves until another is up, and when its time is over nobody is left
 * waiting for an answer. */
Test(drain, of_the_only_one)
{
	struct clients c;
	const char *out;

	up(2);
	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1", "poise backend del web %s --now", backend(2));
	lab_must(&site.lab, "b2", "nginx -s stop");
	lab_must(&site.lab, "lb1", "poise health set web http " SITE_QUICK);
	site_expect(&site, 1, 4, "up", "http 200");
	clients_begin(&c, &site.lab, SITE_VIP4, RATE);
	lab_must(&site.lab, "lb1", "poise backend add web %s", backend(2));
	site_expect(&site, 2, 4, "down", "connect: refused");
	lab_must(&site.lab, "lb1", "poise backend drain web %s deadline 1m", backend(1));
	site_expect_from(&site, "http://" SITE_VIP4 "/", "b1 ");
	lab_must(&site.lab, "b2", "nginx");
	site_expect(&site, 2, 4, "up", "http 200");
	site_expect_from(&site, "http://" SITE_VIP4 "/", "b2 ");
	clients_end(&c);
	expect_nobody_failed(&c);
	lab_must(&site.lab, "lb1", "poise backend del web %s --now", backend(1));
	lab_must(&site.lab, "lb1", "poise backend drain web %s deadline 1s --wait=10s", backend(2));
	cr_expect_eq(lab_run(&site.lab, "c1", &out, "curl -s -m 2 http://" SITE_VIP4 "/"), 7, "%s",
		     out);
}
