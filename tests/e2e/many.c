// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two thousand backends, each checked by HTTP every second: what it costs poised in time on the
 * CPU, memory and descriptors. For some seconds, or with POISE_FULL set for ten minutes. Time on
 * the CPU is counted by what was done, not by the wall: a busy machine does less in the same time.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/clients.h"
#include "tests/support/site.h"

#define SERVICES 20
#define EACH	 100 /* backends */
#define BACKENDS (SERVICES * EACH)

#define SECONDS	     20
#define SECONDS_FULL 600

/* A quarter of a core for two thousand a second. */
#define USER_US_MOST 125.0
/* Of memory of its own, between the end of the first seconds with all of them and the end; KiB. On
 * a slow machine all are under way at once, and the heap stays as large as it was then. */
#define GROWTH_MOST (BACKENDS * 16)
/* Checks that a machine as busy as it may be has made by the end: one in four of those due. */
#define MADE_LEAST (SECONDS * BACKENDS / 4)

struct cost {
	double user_us, system_us;
	long rss_kib;
	int descriptors;
	long results;
};

static struct site site;

static void up(void)
{
	site = (struct site){.backends = 1, .ipip = true};
	site_up(&site);
	site_attach(&site);
	/* The backend has them all, and every virtual address. */
	lab_must(&site.lab, "b1",
		 "ip route add local 10.9.0.0/16 dev lo; ip route add local 192.0.2.0/24 dev lo; "
		 "poise decap detach eth0; poise decap attach eth0 $(seq -s ' ' -f 192.0.2.%%g %d)",
		 SERVICES);
	lab_must(&site.lab, "router", "ip route add 10.9.0.0/16 via 10.0.1.1");
}

static void down(void)
{
	site_down(&site);
}

TestSuite(many, .init = up, .fini = down, .timeout = 800);

/* Service s has listener 192.0.2.s and backends 10.9.s.1 to 10.9.s.100. */
static void configure(void)
{
	lab_must(&site.lab, "lb1",
		 "{ echo 'services:'; for s in $(seq %d); do "
		 "echo \"  - name: s$s\"; echo \"    listen: [ '192.0.2.$s:80' ]\"; "
		 "echo '    forward: ipip'; "
		 "echo '    health: { type: http, interval: 1s, timeout: 1s }'; "
		 "echo '    backends:'; "
		 "for b in $(seq %d); do echo \"      - { address: 10.9.$s.$b }\"; done; done; } "
		 "> /run/many.yaml; poise apply /run/many.yaml",
		 SERVICES, EACH);
}

/* poised's, by /proc, without the maps that it shares; results are the longest rows of equal ones,
 * summed up. */
static struct cost look(void)
{
	long ticks = sysconf(_SC_CLK_TCK), user = 0, system = 0, rss = 0;
	struct cost c = {0};
	const char *out;

	lab_host(&out,
		 "awk '{ sub(/.*\\) /, \"\"); print $12, $13 }' /proc/%d/stat; "
		 "awk '/RssAnon/ { print $2 }' /proc/%d/status; ls /proc/%d/fd | wc -l",
		 site.poised, site.poised, site.poised);
	cr_assert_eq(sscanf(out, "%ld %ld %ld %d", &user, &system, &rss, &c.descriptors), 4, "%s",
		     out);
	c.user_us = user * 1e6 / ticks;
	c.system_us = system * 1e6 / ticks;
	c.rss_kib = rss;
	c.results = atol(lab_must(&site.lab, "lb1",
				  "poise show --json | grep -o 'in_a_row\": *[0-9]*' | "
				  "awk -F: '{ n += $2 } END { print n }'"));
	return c;
}

static void wait_seconds(int seconds)
{
	const struct timespec t = {.tv_sec = seconds};

	nanosleep(&t, NULL);
}

static void expect_all_up(void)
{
	lab_until(&site.lab, "lb1", SITE_SOON,
		  "[ $(poise show --json | grep -oE "
		  "'\"state\": *\"up\"' | wc -l) = %d ]",
		  BACKENDS);
}

Test(many, two_thousand)
{
	int seconds = getenv("POISE_FULL") ? SECONDS_FULL : SECONDS;
	struct cost begin, end;
	double began;
	long made;

	configure();
	expect_all_up();
	wait_seconds(2);
	begin = look();
	began = clients_now();
	wait_seconds(seconds);
	end = look();
	began = clients_now() - began;
	expect_all_up();
	made = end.results - begin.results;
	fprintf(stderr,
		"%ld checks in %.1f s: %.1f us of user time each, %.1f us of system time (%.1f and "
		"%.1f %% of a core); %ld KiB, %+ld since; %d descriptors, %d before\n",
		made, began, (end.user_us - begin.user_us) / made,
		(end.system_us - begin.system_us) / made,
		(end.user_us - begin.user_us) / began / 1e4,
		(end.system_us - begin.system_us) / began / 1e4, end.rss_kib,
		end.rss_kib - begin.rss_kib, end.descriptors, begin.descriptors);
	cr_expect_gt(made, MADE_LEAST);
	cr_expect_lt((end.user_us - begin.user_us) / made, USER_US_MOST);
	cr_expect_lt(end.rss_kib - begin.rss_kib, GROWTH_MOST);
	cr_expect_leq(end.descriptors, begin.descriptors + BACKENDS);
}
