// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Backends judged by the flows of real clients. One whose application resets every connection is
 * ejected, though its check is good, and comes back; whatever happens to all alike ejects nobody.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/site.h"

#define URL    "http://" SITE_VIP4 "/"
#define RATE   "240" /* connections a second: 60 of each backend, in windows of a second */
#define RESETS "b2"  /* backend 2 */
#define OTHER  "198.51.100.11"
#define ENOUGH 6 /* seconds: who was sick would be found by then */

static struct site site;

static void up(void)
{
	site = (struct site){
		.backends = 4,
		.keys = "policy random passive-window 1s eject-time 3s eject-time-max 20s",
	};
	site_begin(&site);
	site_service(&site, SITE_VIP4, 4);
}

static void down(void)
{
	site_end(&site);
}

TestSuite(passive, .init = up, .fini = down, .timeout = TEST_LONGEST);

static pid_t clients(void)
{
	return lab_start(&site.lab, "c1",
			 "load http " SITE_VIP4 ":80 --rate " RATE " --seconds 600 --timeout 1s");
}

/* From now on its web server takes every request and resets the connection; and no longer. */
static void reset_all(const char *node)
{
	lab_must(&site.lab, node,
		 "sed 's/return 200.*;/return 444;/; s/access_log off;/&reset_timedout_connection "
		 "on;/' /etc/nginx/nginx.conf > /run/444.conf && nginx -s stop && "
		 "nginx -c /run/444.conf");
}

static void answer(const char *node)
{
	lab_must(&site.lab, node, "nginx -c /run/444.conf -s stop && nginx");
}

static void expect_state(const char *state)
{
	lab_until(&site.lab, "lb1", SITE_SOON,
		  "poise show web --columns backend,state | grep -qE '^ *%s +%s *$'",
		  site_backend(&site, 2, 4), state);
}

Test(passive, who_resets_everything_is_ejected_and_comes_back)
{
	pid_t load = clients();

	lab_must(&site.lab, "lb1", "poise health set web tcp interval 1s fall 9");
	site_expect_all_up(&site, 4, "tcp connected");
	reset_all(RESETS);
	expect_state("ejected");
	site_expect_shown(&site, "answered flows left hanging, pool");
	lab_must(&site.lab, "lb1", "poise show web --json | grep -q '\"fault\":\"unfinished\"'");
	lab_must(&site.lab, "lb1", "poise status | grep -q '1 backend is ejected'");
	/* From an address of its own. A port that a reset gave back to the others' comes up again
	 * within seconds, and its flow, of which nobody here has seen the end, is the sick one's
	 * still. */
	lab_must(&site.lab, "c1",
		 "ip address add " OTHER "/24 dev eth0 && load http " SITE_VIP4 ":80 --from " OTHER
		 ":0 --count 100 --rate 400 | grep -q ' 0 failed'");
	/* Its time passes whether poised lives or not. */
	lab_stop(site.poised, SIGKILL);
	expect_state("ejected");
	answer(RESETS);
	site.poised = lab_poised(&site.lab, "lb1", "");
	expect_state("up");

	/* Again, in another way: for longer, but an operator may know better. */
	lab_must(&site.lab, "lb1", "poise health off web");
	lab_must(&site.lab, RESETS, "nginx -s stop");
	expect_state("ejected");
	site_expect_shown(&site, "new flows unanswered, pool");
	lab_must(&site.lab, "lb1", "poise backend enable web %s", site_backend(&site, 2, 4));
	expect_state("up");
	lab_must(&site.lab, "lb1",
		 "poise events web > /run/events; "
		 "grep -q 'is ejected: for 3s, ' /run/events && "
		 "grep -q 'is taken back: it was ejected for 3s' /run/events && "
		 "grep -q 'is ejected: for 6s, ' /run/events");
	/* Those that are well never were. */
	lab_must(&site.lab, "lb1",
		 "! grep ' is ejected: ' /run/events | grep -v 'backend %s is ejected: '",
		 site_backend(&site, 2, 4));
	lab_stop(load, SIGINT);
	lab_must(&site.lab, "lb1", "poise service set web policy maglev");
	site_expect_shown(&site, "web: not judged by its flows: not every flow is recorded");
}

static void expect_nobody_ejected(const char *why)
{
	const char *out;

	lab_run(&site.lab, "lb1", &out, "sleep %d; poise events web | grep ejected", ENOUGH);
	cr_assert_str_eq(out, "", "%s: %s", why, out);
}

Test(passive, what_happens_to_all_ejects_nobody)
{
	static const char lossy[] =
		"for dev in lb1-eth0 c1-eth0; do tc qdisc add dev $dev clsact && tc filter add dev "
		"$dev egress bpf da obj build/tests/lab/lossy.bpf.o sec tc; done";
	pid_t load = clients(), scan;

	/* Three of four connections meet a port that is closed on all backends. */
	lab_must(&site.lab, "router", "%s", lossy);
	lab_must(&site.lab, "lb1", "poise service listen web " SITE_VIP4 ":81");
	scan = lab_start(&site.lab, "c1", "load http " SITE_VIP4 ":81 --rate 720 --seconds 600");
	expect_nobody_ejected("a scan, over a link that loses 30 %");
	lab_stop(scan, SIGINT);
	lab_must(&site.lab, "router",
		 "for dev in lb1-eth0 c1-eth0; do tc qdisc del dev $dev clsact; done");

	for (int n = 1; n <= site.backends; n++) {
		char node[16];

		snprintf(node, sizeof(node), "b%d", n);
		reset_all(node);
	}
	expect_nobody_ejected("an outage");

	/* What ejected nobody would have been found of one alone. */
	for (int n = 1; n <= site.backends; n++) {
		char node[16];

		snprintf(node, sizeof(node), "b%d", n);
		if (strcmp(node, RESETS) != 0)
			answer(node);
	}
	expect_state("ejected");
	lab_stop(load, SIGINT);
}
