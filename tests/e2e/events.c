// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise events with real backends and checks: what happens is told once, in words, whoever did it,
 * across poised's death; a follower sees it as it comes, and is told what it missed.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "maps/abi.h"
#include "tests/support/host.h"
#include "tests/support/site.h"

/* Found within 200 + 2 * 200 + 150 ms. */
#define QUICK "interval 200ms fast-interval 100ms timeout 150ms hold-down 500ms jitter 0"

static struct site site;

static void up(void)
{
	site = (struct site){.backends = 2, .daemon = "--notify /run/all"};
	site_up(&site);
	lab_must(
		&site.lab, "lb1",
		"printf '#!/bin/sh\\necho \"$POISE_EVENT $POISE_BACKEND $POISE_REASON\" >> $0.log' "
		"> /run/all && cp /run/all /run/web && chmod +x /run/all /run/web");
	site_attach(&site);
}

static void down(void)
{
	site_end(&site);
}

TestSuite(events, .init = up, .fini = down, .timeout = TEST_LONGEST);

/* A line of this end is told, at some time. */
static void expect_told(const char *file, const char *words)
{
	lab_until(&site.lab, "lb1", LAB_SOON,
		  "%s | grep -qE '^[-0-9]{10}T[0-9:]{8}\\.[0-9]{3}Z %s$'", file, words);
}

static unsigned int count(const char *words)
{
	const char *out = lab_must(&site.lab, "lb1", "poise events | grep -cE '%s' || true", words);
	unsigned int n = 0;

	cr_assert_eq(sscanf(out, "%u", &n), 1, "%s", out);
	return n;
}

#define B2_DOWN "service \"web\": backend 10\\.[0-9.]* is down: connect: refused"

Test(events, what_happened)
{
	lab_must(&site.lab, "lb1",
		 "poise events --follow --json > /run/followed 2>&1 & "
		 "echo $! > /run/follower");
	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1", "poise health set web http " QUICK);
	expect_told("poise events web", "service \"web\": backend 10\\.[0-9.]* is up: http 200");
	lab_must(&site.lab, "b2", "nginx -s stop");
	expect_told("poise events web", B2_DOWN);
	expect_told("poise events", "user 0 changed the configuration: health set web http .*");
	lab_must(&site.lab, "lb1", "poise backend drain web %s", site_backend(&site, 1, 4));
	expect_told("poise events web last 2", "service \"web\" is served otherwise: no other "
					       "backend is left: those that drain serve on");
	lab_until(&site.lab, "lb1", LAB_SOON,
		  "grep backend-down /run/followed | grep -q '\"reason\":\"connect: refused\"'");
	lab_must(&site.lab, "lb1", "kill $(cat /run/follower)");
	lab_must(&site.lab, "lb1", "poise service set web track always");
	expect_told("poise events web",
		    "service \"web\": backend 10\\.[0-9.]* is drained: no flow is left");
	lab_must(&site.lab, "lb1", "! poise events nobody");
}

/* What happened before poised died is there after; what a command does meanwhile, too. */
Test(events, poised_is_killed)
{
	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1", "poise health set web http " QUICK);
	expect_told("poise events web", "service \"web\": backend 10\\.[0-9.]* is up: http 200");
	lab_must(&site.lab, "b2", "nginx -s stop");
	expect_told("poise events web", B2_DOWN);
	lab_stop(site.poised, SIGKILL);
	lab_must(&site.lab, "lb1", "poise backend disable web %s", site_backend(&site, 1, 4));
	site.poised = lab_poised(&site.lab, "lb1", "");
	cr_assert_eq(count(B2_DOWN), 1);
	cr_assert_eq(count("backend 10\\.[0-9.]* is disabled"), 1);
	cr_assert_eq(count("poised started"), 2);
	cr_assert_eq(count("poised stopped"), 0);
	lab_must(&site.lab, "lb1", "poise events since 1m last 1 | grep -q 'poised started'");
}

/* Of the service's events its own command, of all of them poised's; both as the file says. */
Test(events, who_is_to_be_told)
{
	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1",
		 "poise service set web notify /run/web && poise save > /run/y && "
		 "grep -q 'notify: .*/run/web' /run/y && poise apply /run/y");
	lab_must(&site.lab, "lb1", "poise health set web http " QUICK);
	expect_told("poise events web", "service \"web\": backend 10\\.[0-9.]* is up: http 200");
	lab_must(&site.lab, "b2", "nginx -s stop");
	lab_until(&site.lab, "lb1", LAB_SOON,
		  "grep -q 'backend-down %s connect: refused' /run/web.log",
		  site_backend(&site, 2, 4));
	lab_until(&site.lab, "lb1", LAB_SOON,
		  "grep -q 'backend-down %s connect: refused' /run/all.log",
		  site_backend(&site, 2, 4));
	lab_must(&site.lab, "lb1",
		 "grep -q '^change ' /run/all.log && ! grep -q change /run/web.log");
	lab_must(&site.lab, "lb1",
		 "! poise service set web notify \"'\" 2> /run/refused && "
		 "grep -q 'service \"web\": notify' /run/refused");
	lab_stop(site.poised, SIGTERM);
	site.poised = 0;
	lab_must(&site.lab, "lb1", "grep -q poised-stopped /run/all.log");
}

/* ---- a slow reader ----------------------------------------------------------------------------*/

#define BACKENDS 1400 /* each change of all of them is as many events */
#define CHANGES	 (POISE_EVENT_RING / BACKENDS + 1)

static struct host h;

static void host_begin(void)
{
	host_up(&h);
}

static void host_end(void)
{
	host_down(&h);
}

TestSuite(events_host, .init = host_begin, .fini = host_end, .timeout = TEST_LONGEST);

/* A file with that many backends that are not there, enabled or disabled. */
static void write_file(const char *name, const char *admin)
{
	static char text[BACKENDS * 64 + 256];
	size_t used = (size_t)snprintf(text, sizeof(text),
				       "services:\n"
				       "  - name: web\n"
				       "    listen: 192.0.2.10:80\n"
				       "    forward: l2\n"
				       "    backends:\n");

	for (int n = 0; n < BACKENDS; n++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "      - { address: 10.9.%d.%d, admin: %s }\n", n / 250,
					 n % 250 + 1, admin);
	host_file(&h, name, text);
}

/* It stands still while more happens than the ring holds, and is told how many it missed; then all
 * that is there comes in order. What was told is gone with the instance. */
Test(events_host, who_is_too_slow_is_told)
{
	write_file("on", "enabled");
	write_file("off", "disabled");
	host_must(&h, "attach e0");
	host_must(&h, "apply %s/on", h.dir);
	cr_assert_eq(
		host_run(&h,
			 "setsid poise --instance $I events --follow > %s/followed 2>&1 & pid=$!; "
			 "n=1; until n=$((n + 1)); poise --instance $I service set web syn ${n}s; "
			 "test -s %s/followed || test $n -gt 200; "
			 "do sleep 0.05; done; kill -STOP $pid; echo $pid > %s/pid",
			 h.dir, h.dir, h.dir),
		0);
	for (int n = 0; n < CHANGES; n++)
		host_must(&h, "apply %s/%s", h.dir, n & 1 ? "on" : "off");
	host_must(&h, "events last 1");
	cr_assert_eq(
		host_run(&h,
			 "last=\"$(poise --instance $I events last 1)\"; kill -CONT $(cat %s/pid); "
			 "n=0; until grep -qF \"$last\" %s/followed || test $((n += 1)) -gt 600; "
			 "do sleep 0.05; done; "
			 "kill $(cat %s/pid)",
			 h.dir, h.dir, h.dir),
		0, "%s%s", h.out, h.err);
	cr_assert_eq(host_run(&h, "grep -cE '^[0-9]+ events were missed' %s/followed", h.dir), 0,
		     "%s", h.out);
	cr_assert_eq(host_run(&h, "grep -v missed %s/followed | cut -c1-24 | sort -c", h.dir), 0,
		     "%s", h.err);
	cr_assert_eq(
		host_run(&h, "test $(poise --instance $I events | wc -l) = %d", POISE_EVENT_RING),
		0);
	host_must(&h, "reset");
	cr_assert_eq(host_poise(&h, "events"), 1, "gone with the instance");
}
