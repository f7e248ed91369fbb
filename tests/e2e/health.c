// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checks of real backends by poised: what is wrong with one is found and said in the right words,
 * traffic goes elsewhere from then on, and comes back.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/site.h"

static struct site site;

static void up(void)
{
	site = (struct site){.backends = 3};
	site_up(&site);
	site_attach(&site);
}

static void down(void)
{
	lab_must(&site.lab, "lb1", "poise map check");
	site_down(&site);
}

TestSuite(health, .init = up, .fini = down, .timeout = 90);

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

/* What is done to a backend, how it is undone, and what its check says meanwhile. %s: the node. */
static const struct fault {
	const char *what, *node, *begin, *end, *words;
} faults[] = {
	{"stopped", "b2", "nginx -s stop", "nginx", "connect: refused"},
	{"unplugged", "router", "ip link set b2-eth0 down", "ip link set b2-eth0 up",
	 "connect: (timed out after 150ms|no route to the host)"},
	{"answers 500", "b2",
	 "sed 's/return 200/return 500/' /etc/nginx/nginx.conf > /run/500.conf && "
	 "nginx -s stop && nginx -c /run/500.conf",
	 "nginx -c /run/500.conf -s stop && nginx", "http 500, wanted 200-399"},
	{"stands still", "b2", "pkill -STOP -P $(cat /run/nginx.pid)",
	 "pkill -CONT -P $(cat /run/nginx.pid)", "answer: timed out after 150ms"},
};
#define FAULTS (sizeof(faults) / sizeof(faults[0]))

static void check_fault(const struct fault *f, int family, const char *vip)
{
	lab_must(&site.lab, f->node, "%s", f->begin);
	site_expect(&site, 2, family, "down", f->words);
	expect_served(vip);
	lab_must(&site.lab, f->node, "%s", f->end);
	site_expect_all_up(&site, family, "http 200");
	expect_served(vip);
}

static void check_faults(const char *vip, int family)
{
	site_service(&site, vip, family);
	lab_must(&site.lab, "lb1", "poise health set web http " SITE_QUICK);
	site_expect_all_up(&site, family, "http 200");
	for (size_t n = 0; n < FAULTS; n++)
		check_fault(&faults[n], family, vip);
}

Test(health, http_to_ipv4)
{
	check_faults(SITE_VIP4, 4);
}

Test(health, http_to_ipv6)
{
	check_faults(SITE_VIP6, 6);
}

/* One bad answer changes nothing; that poised is killed and comes back changes nothing either. */
Test(health, what_was_known_is_kept)
{
	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1", "poise health set web http " SITE_QUICK);
	site_expect_all_up(&site, 4, "http 200");
	lab_must(&site.lab, "b2", "nginx -s stop");
	site_expect(&site, 2, 4, "down", "connect: refused");
	lab_stop(site.poised, SIGKILL);
	lab_must(&site.lab, "lb1", "poise show web | grep -qE '%s +down'", backend(2, 4));
	site.poised = lab_poised(&site.lab, "lb1", "");
	lab_must(&site.lab, "lb1", "poise show web | grep -qE '%s +down'", backend(2, 4));
	lab_must(&site.lab, "lb1", "poise show web | grep -qE '%s +up'", backend(1, 4));
	expect_served(SITE_VIP4);
	lab_must(&site.lab, "b2", "nginx");
	site_expect_all_up(&site, 4, "http 200");
}

/* A file that is applied again changes neither states nor results. */
Test(health, an_unchanged_file_resets_nothing)
{
	const char *before;
	char since[64];

	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1", "poise health set web http " SITE_QUICK);
	site_expect_all_up(&site, 4, "http 200");
	lab_must(&site.lab, "b2", "nginx -s stop");
	site_expect(&site, 2, 4, "down", "connect: refused");
	lab_must(&site.lab, "lb1", "poise save > /run/saved.yaml");
	before = lab_must(&site.lab, "lb1",
			  "poise show --json | grep -o 'state_since\":\"[^\"]*' | tr '\\n' ' '");
	snprintf(since, sizeof(since), "%.63s", before);
	lab_must(&site.lab, "lb1", "poise apply /run/saved.yaml");
	lab_must(&site.lab, "lb1", "poise show web | grep -qE '%s +down'", backend(2, 4));
	before = lab_must(&site.lab, "lb1",
			  "poise show --json | grep -o 'state_since\":\"[^\"]*' | tr '\\n' ' '");
	cr_assert_eq(strncmp(since, before, sizeof(since) - 1), 0, "%s, then %s", since, before);
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
