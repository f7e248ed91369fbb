// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A backend is lost under load: nobody fails but who was on it or came before poised knew; a UDP
 * flow that never pauses goes on with its next packet; and what on-down says becomes of the TCP
 * connections that it had.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/clients.h"
#include "tests/support/site.h"

#define RATE 500 /* new connections a second */
#define FEW  10	 /* of the UDP flow's datagrams: enough to see where it is */

static struct site site;

static void up(bool ipip, int backends)
{
	site = (struct site){.backends = backends, .ipip = ipip};
	site_begin(&site);
}

static void down(void)
{
	site_end(&site);
}

TestSuite(failover, .fini = down, .timeout = TEST_LONGEST);

/* ---- under load -------------------------------------------------------------------------------*/

/* Silence. */
static void unplug(int n)
{
	lab_must(&site.lab, "router", "ip link set b%d-eth0 down", n);
}

static void plug(int n)
{
	lab_must(&site.lab, "router", "ip link set b%d-eth0 up", n);
}

/* The host is there, and refuses. */
static void stop(int n)
{
	char node[16];

	snprintf(node, sizeof(node), "b%d", n);
	lab_must(&site.lab, node, "nginx -s stop");
	site_unserve(&site, n);
}

static void start(int n)
{
	char node[16];

	snprintf(node, sizeof(node), "b%d", n);
	lab_must(&site.lab, node, "nginx");
	site_serve(&site, n);
}

static const struct loss {
	void (*begin)(int n), (*end)(int n);
	const char *said;
	bool refused; /* else whoever asks once more is answered */
} losses[] = {
	{unplug, plug, "(connect|answer): (timed out after 150ms|no route to the host)", false},
	{stop, start, "connect: refused", true},
};

/* Loses the backend that the UDP flow is on; the times before the loss, and when poised's answer
 * was seen. */
static void lose(const struct loss *l, const struct clients *c, int family, double *lost,
		 double *seen)
{
	int n = atoi(c->udp_on + 1);

	*lost = clients_now();
	l->begin(n);
	site_expect(&site, n, family, "down", l->said);
	*seen = clients_now();
	lab_until(&site.lab, "c1", SITE_SOON, "[ $(date +%%s) -gt %.0f ]", *seen + 1);
	l->end(n);
}

static void check_loss(const struct loss *l, const char *vip, int family)
{
	double lost, seen;
	struct clients c;

	clients_begin(&c, &site.lab, vip, RATE);
	lose(l, &c, family, &lost, &seen);
	clients_end(&c);
	cr_expect_gt(clients_asked(&c, seen), RATE / 2);
	cr_expect_eq(clients_failed(&c, seen), 0, "%d of %d connections after it was known",
		     clients_failed(&c, seen), clients_asked(&c, seen));
	/* Those that were under way had been due some time before. */
	cr_expect_eq(clients_failed(&c, 0), clients_failed(&c, lost - 1), "before the loss");
	cr_expect(clients_failed(&c, 0) || !l->refused, "nothing was lost: what did this see?");
	cr_expect_gt(clients_sent(&c, seen), FEW);
	cr_expect_eq(clients_unanswered(&c, seen, c.udp_on), 0, "%d of %d datagrams, once on %s",
		     clients_unanswered(&c, seen, c.udp_on), clients_sent(&c, seen), c.udp_on);
}

static void check_losses(const char *vip, int family)
{
	up(false, 4);
	site_service(&site, vip, family);
	lab_must(&site.lab, "lb1", "poise health set web http " SITE_QUICK);
	for (size_t n = 0; n < sizeof(losses) / sizeof(losses[0]); n++) {
		site_expect_all_up(&site, family, "http 200");
		check_loss(&losses[n], vip, family);
	}
}

Test(failover, of_one_in_four_ipv4)
{
	check_losses(SITE_VIP4, 4);
}

Test(failover, of_one_in_four_ipv6)
{
	check_losses(SITE_VIP6, 6);
}

/* ---- on-down ----------------------------------------------------------------------------------*/

/* What becomes of a connection whose backend is found to be down though it is not. */
static const struct fate {
	const char *on_down;
	int answered, reset;
	int by_us; /* resets that are poise's own */
} fates[] = {
	{"keep", 1, 0, 0},
	{"move", 0, 1, 0}, /* to one who knows nothing of it, and says so */
	{"reset", 0, 1, 1},
};

static int resets(void)
{
	return atoi(
		lab_must(&site.lab, "lb1",
			 "poise stats web | awk '/backend-down/ { n += $2 } END { print n+0 }'"));
}

/* A connection of b1's. */
static pid_t hold(const char *vip, int family)
{
	char other[64];
	pid_t pid;

	snprintf(other, sizeof(other), "%s", site_backend(&site, 2, family));
	lab_must(&site.lab, "lb1", "poise backend disable web %s", other);
	pid = lab_serve(&site.lab, "c1",
			strchr(vip, ':') ? "hold tcp [%s]:9000 1" : "hold tcp %s:9000 1", vip);
	lab_must(&site.lab, "lb1", "poise backend enable web %s", other);
	return pid;
}

static void check_fate(const struct fate *f, const char *vip, int family)
{
	int before = resets();
	const char *out;
	pid_t held;

	lab_must(&site.lab, "lb1", "poise service set web on-down %s", f->on_down);
	site_expect_all_up(&site, family, "http 200");
	held = hold(vip, family);
	lab_must(&site.lab, "b1", "nginx -s stop");
	site_expect(&site, 1, family, "down", "connect: refused");
	lab_stop(held, SIGTERM);
	lab_host(&out, "tail -qn 1 $(ls -t %s.c1.* | head -1)", site.lab.log);
	cr_expect(
		strstr(out, f->answered ? "1 of 1 answered, 0 reset" : "0 of 1 answered, 1 reset"),
		"on-down %s to %s: %s", f->on_down, vip, out);
	cr_expect_eq(resets() - before, f->by_us, "on-down %s to %s: %d", f->on_down, vip,
		     resets() - before);
	lab_must(&site.lab, "b1", "nginx");
}

static void check_fates(bool ipip)
{
	static const char *const vips[] = {SITE_VIP4, SITE_VIP6};

	up(ipip, 2);
	for (int v = 0; v < 2; v++) {
		int family = v ? 6 : 4;

		site_service(&site, vips[v], family);
		lab_must(&site.lab, "lb1", "poise health set web http " SITE_QUICK);
		for (size_t n = 0; n < sizeof(fates) / sizeof(fates[0]); n++)
			check_fate(&fates[n], vips[v], family);
		lab_must(&site.lab, "lb1", "poise service del web --now");
	}
}

Test(failover, on_down_l2)
{
	check_fates(false);
}

Test(failover, on_down_ipip)
{
	check_fates(true);
}
