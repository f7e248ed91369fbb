// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checks of real backends by poised: what is wrong with one is found and said in the right words,
 * traffic goes elsewhere from then on, and comes back.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/clients.h"
#include "tests/support/late.h"
#include "tests/support/site.h"
#include "tests/support/tls.h"

static struct site site;

static void up(void)
{
	site = (struct site){.backends = 3};
	site_begin(&site);
}

static void down(void)
{
	site_end(&site);
}

TestSuite(health, .init = up, .fini = down, .timeout = TEST_LONGEST);

static const char *backend(int n, int family)
{
	return site_backend(&site, n, family);
}

/* No request of a client fails. */
static void expect_served(const char *vip)
{
	const char *form = strchr(vip, ':') ? "[%s]:80" : "%s:80";
	char at[64];

	snprintf(at, sizeof(at), form, vip);
	lab_must(&site.lab, "c1", "load http %s --count 200 --rate 400 | grep -q ' 0 failed'", at);
}

/* ---- what is wrong is found, in time ----------------------------------------------------------*/

#define RETURN_INSTEAD(what)                                                                       \
	"sed 's/return 200 .*;/return " what "/' /etc/nginx/nginx.conf > /run/other.conf && "      \
	"nginx -s stop && nginx -c /run/other.conf"
#define RETURN_AGAIN "nginx -c /run/other.conf -s stop && nginx"

/* By a server behind it that sleeps for a second (tests/lab/slow). */
#define SLOWLY                                                                                     \
	"sed 's,return 200 .*;,proxy_pass http://127.0.0.1:8099;,' /etc/nginx/nginx.conf "         \
	"> /run/other.conf && nginx -s stop && nginx -c /run/other.conf"

/* What is done to a backend, how it is undone, and what its check says meanwhile. */
static const struct fault {
	const char *what, *node, *begin, *end, *words;
} faults[] = {
	{"stopped", "b2", "nginx -s stop", "nginx", "connect: refused"},
	{"unplugged", "router", "ip link set b2-eth0 down", "ip link set b2-eth0 up",
	 "connect: (timed out after 150ms|no route to the host)"},
	{"answers 500", "b2", RETURN_INSTEAD("500;"), RETURN_AGAIN, "http 500, wanted 200-399"},
	{"answers something else", "b2", RETURN_INSTEAD("200 gone;"), RETURN_AGAIN,
	 "http 200, but not with the body wanted"},
	{"answers, but slowly", "b2", SLOWLY, RETURN_AGAIN, "answer: timed out after 150ms"},
};
#define FAULTS (sizeof(faults) / sizeof(faults[0]))

/* From when the fault was there for sure until poised took the backend for down. */
static void check_fault(const struct fault *f, int family, const char *vip, const char *good)
{
	double begun;

	site_expect_all_up(&site, family, good);
	late_begin();
	begun = atof(lab_must(&site.lab, f->node, "{ %s; } > /dev/null 2>&1 && date +%%s.%%N",
			      f->begin));
	site_expect(&site, 2, family, "down", f->words);
	site_expect_in_time(&site, f->what, site_since(&site, 2, family) - begun);
	expect_served(vip);
	lab_must(&site.lab, f->node, "%s", f->end);
}

static void check_faults(const char *vip, int family)
{
	site_service(&site, vip, family);
	lab_serve(&site.lab, "b2", "tests/lab/slow 8099 1 b2");
	lab_must(&site.lab, "lb1", "poise health set web http body b " SITE_QUICK);
	for (size_t n = 0; n < FAULTS; n++)
		check_fault(&faults[n], family, vip, "http 200");
	site_expect_all_up(&site, family, "http 200");
	expect_served(vip);
}

Test(health, http_to_ipv4)
{
	check_faults(SITE_VIP4, 4);
}

Test(health, http_to_ipv6)
{
	check_faults(SITE_VIP6, 6);
}

static void check_certificate(const char *vip, int family, const char *dir)
{
	double begun;

	site_service(&site, vip, family);
	lab_must(&site.lab, "lb1",
		 "poise health set web https port 8443 host " TLS_NAME " ca %s/ca.crt " SITE_QUICK,
		 dir);
	site_expect_all_up(&site, family, "http 200");
	late_begin();
	tls_expire(&site.lab, "b2", true);
	begun = clients_now();
	site_expect(&site, 2, family, "down", ".*certificate has expired");
	site_expect_in_time(&site, "a certificate that expired",
			    site_since(&site, 2, family) - begun);
	expect_served(vip);
	tls_expire(&site.lab, "b2", false);
	site_expect_all_up(&site, family, "http 200");
	lab_must(&site.lab, "lb1", "poise service del web --now");
}

Test(health, a_certificate_expires)
{
	const char *dir = tls_make(&site.lab);

	for (int n = 1; n <= site.backends; n++) {
		char node[16];

		snprintf(node, sizeof(node), "b%d", n);
		tls_serve(&site.lab, node);
	}
	check_certificate(SITE_VIP4, 4, dir);
	check_certificate(SITE_VIP6, 6, dir);
}

/* ---- what is known stays known ----------------------------------------------------------------*/

#define STATES 1024

/* Who is in which state, and since when. */
static void states(char out[STATES])
{
	snprintf(out, STATES, "%s",
		 lab_must(&site.lab, "lb1",
			  "poise show web --json | grep -oE "
			  "'\"(address|state|state_since)\": *\"[^\"]*\"' | tr '\\n' ' '"));
	cr_assert(strstr(out, "state_since") && strlen(out) < STATES - 1, "%s", out);
}

static void expect_states(const char *before, const char *after_what)
{
	char now[STATES];

	states(now);
	cr_expect_str_eq(before, now, "after %s: %s, before it: %s", after_what, now, before);
}

static int in_a_row(void)
{
	return atoi(lab_must(&site.lab, "lb1",
			     "poise show web --json | grep -o 'in_a_row\": *[0-9]*' | head -1 | "
			     "grep -o '[0-9]*$'"));
}

#define NOBODY_CHECKS "poised is not running: nobody checks, states stay as they are"

/* While poised is dead, one that was up breaks and one that was down recovers: neither is believed
 * before it was looked at again, as often as ever. */
static void check_restart(void)
{
	char before[STATES];

	/* Slow enough to be looked at before it has looked twice. */
	lab_must(&site.lab, "lb1", "poise health set web http interval 30s fast-interval 30s");
	states(before);
	lab_stop(site.poised, SIGKILL);
	lab_must(&site.lab, "b2", "nginx");
	lab_must(&site.lab, "b1", "nginx -s stop");
	expect_states(before, "a kill");
	lab_until(&site.lab, "lb1", SITE_SOON, "poise show web | grep -q '" NOBODY_CHECKS "'");
	lab_must(&site.lab, "lb1",
		 "poise health set web http rise default | grep -q '" NOBODY_CHECKS "'");
	site.poised = lab_poised(&site.lab, "lb1", "");
	expect_states(before, "a restart");
	lab_must(&site.lab, "lb1", "poise health set web http " SITE_QUICK);
	site_expect(&site, 1, 4, "down", "connect: refused");
	site_expect(&site, 2, 4, "up", "http 200");
	lab_must(&site.lab, "b1", "nginx");
	site_expect_all_up(&site, 4, "http 200");
}

static void check_apply(void)
{
	char before[STATES];
	int row;

	lab_must(&site.lab, "lb1", "poise save > /run/saved.yaml");
	states(before);
	row = in_a_row();
	lab_must(&site.lab, "lb1", "poise apply /run/saved.yaml");
	expect_states(before, "apply of what stands");
	cr_expect_geq(in_a_row(), row, "the count of results began anew");
}

/* Another check: its first result, the only one for a minute, is bad and decides nothing. */
static void check_change(void)
{
	char before[STATES];

	states(before);
	lab_must(&site.lab, "lb1",
		 "poise health set web http status 299 interval 1m fast-interval 1m timeout 1s");
	expect_states(before, "a change of the check");
	site_expect_all_up(&site, 4, "http 200, wanted 299");
	expect_states(before, "a single bad result");
}

Test(health, what_was_known_is_kept)
{
	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1", "poise health set web http " SITE_QUICK);
	site_expect_all_up(&site, 4, "http 200");
	lab_must(&site.lab, "b2", "nginx -s stop");
	site_expect(&site, 2, 4, "down", "connect: refused");
	check_apply();
	check_restart();
	check_change();
}

/* Seconds since 1970. */
static long held_until(void)
{
	return atol(lab_must(&site.lab, "lb1",
			     "date +%%s -d \"$(poise show web --json | "
			     "grep -o 'held_until\": *\"[^\"]*' | cut -d'\"' -f3)\""));
}

/* However good its results, and whoever dies meanwhile. */
Test(health, who_is_held_down_stays_so_over_a_restart)
{
	long held, then;

	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1", "poise health set web http " SITE_QUICK);
	lab_must(&site.lab, "lb1", "poise health set web http hold-down 10m hold-down-max 10m");
	site_expect_all_up(&site, 4, "http 200");
	lab_must(&site.lab, "b2", "nginx -s stop");
	site_expect(&site, 2, 4, "down", "connect: refused");
	lab_must(&site.lab, "b2", "nginx");
	site_expect_shown(&site, "; held down for ");
	held = held_until();
	lab_stop(site.poised, SIGKILL);
	site.poised = lab_poised(&site.lab, "lb1", "");
	lab_until(&site.lab, "lb1", SITE_SOON,
		  "poise show web --json | grep -o 'in_a_row\": *[0-9]*' | grep -o '[0-9]*$' | "
		  "awk '$1 > 3' | grep -c . "
		  "| grep -q %d",
		  site.backends);
	site_expect(&site, 2, 4, "down", "http 200");
	then = held_until();
	cr_assert(then - held <= 1 && held - then <= 1, "until %ld, then until %ld", held, then);
}

/* Nobody left: better one that may be broken than none. */
Test(health, all_down_serve_on)
{
	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1", "poise health set web http status 299 " SITE_QUICK);
	for (int n = 1; n <= site.backends; n++)
		site_expect(&site, n, 4, "down", "http 200, wanted 299");
	expect_served(SITE_VIP4);
	lab_must(&site.lab, "lb1", "poise health off web");
	lab_must(&site.lab, "lb1", "poise show web | grep -qE ' 3/3 '");
}

/* A new backend is not chosen before its first result, unless nobody else is there. */
Test(health, a_backend_that_comes_is_looked_at_first)
{
	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1", "poise health set web http " SITE_QUICK);
	site_expect_all_up(&site, 4, "http 200");
	lab_must(&site.lab, "lb1", "poise backend del web %s --now", backend(3, 4));
	lab_must(&site.lab, "b3", "nginx -s stop");
	lab_must(&site.lab, "lb1", "poise backend add web %s", backend(3, 4));
	expect_served(SITE_VIP4);
	site_expect(&site, 3, 4, "down", "connect: refused");
	expect_served(SITE_VIP4);
	lab_must(&site.lab, "b3", "nginx");
	site_expect_all_up(&site, 4, "http 200");
}

/* Each backend as it says itself: one is asked at a port where nobody listens, one for a page that
 * is not there, one not at all. */
Test(health, backends_checked_in_ways_of_their_own)
{
	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1", "poise health set web http path / " SITE_QUICK);
	site_expect_all_up(&site, 4, "http 200");
	lab_must(&site.lab, "lb1", "poise backend set web %s health-port 82", backend(1, 4));
	lab_must(&site.lab, "lb1", "poise backend set web %s checked no", backend(2, 4));
	lab_must(&site.lab, "b2", "nginx -s stop");
	lab_must(&site.lab, "lb1", "poise backend set web %s health-port 9000 health-fall 1",
		 backend(3, 4));
	site_expect(&site, 1, 4, "down", "connect: refused");
	lab_must(&site.lab, "lb1", "poise show web | grep -qE '%s +up'", backend(2, 4));
	site_expect(&site, 3, 4, "down", "");
	lab_must(&site.lab, "lb1", "poise save > /run/own && poise diff /run/own");
	lab_must(&site.lab, "lb1",
		 "! poise health test web %s > /run/said && grep -q refused "
		 "/run/said",
		 backend(1, 4));
	lab_must(&site.lab, "b2", "nginx");
	for (int n = 1; n <= site.backends; n++)
		lab_must(&site.lab, "lb1",
			 "poise backend set web %s health-port default checked default "
			 "health-fall default",
			 backend(n, 4));
	site_expect_all_up(&site, 4, "http 200");
}

/* Of one service one is asked by datagrams, one by a command, the third as all others: each is
 * found out by what it is asked alone. */
Test(health, backends_checked_by_types_of_their_own)
{
	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1", "poise health set web http path / " SITE_QUICK);
	lab_must(&site.lab, "lb1",
		 "poise backend set web %s health-type udp health-port 9000 health-send PING",
		 backend(1, 4));
	lab_must(&site.lab, "lb1",
		 "touch /run/fine; poise backend set web %s health-type exec "
		 "health-command 'test -e /run/fine'",
		 backend(2, 4));
	site_expect(&site, 1, 4, "up", "udp answered");
	site_expect(&site, 2, 4, "up", "exec 0");
	site_expect(&site, 3, 4, "up", "http 200");
	lab_must(&site.lab, "lb1", "poise save > /run/own && poise diff /run/own");
	lab_must(&site.lab, "lb1", "rm /run/fine");
	site_unserve(&site, 1);
	site_expect(&site, 1, 4, "down", "answer: refused");
	site_expect(&site, 2, 4, "down", "exec 1");
	site_expect(&site, 3, 4, "up", "http 200");
	lab_must(&site.lab, "lb1",
		 "poise backend set web %s health-type default health-command default",
		 backend(2, 4));
	site_expect(&site, 2, 4, "up", "http 200");
	site_serve(&site, 1);
	site_expect(&site, 1, 4, "up", "udp answered");
}
