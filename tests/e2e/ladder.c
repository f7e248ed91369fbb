// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * When backends are down, for real clients: who serves in their place and who is refused
 * (on-none-up, sorry, panic), and what becomes of a connection that one of them had (on-down).
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
	site_begin(&site);
}

static void down(void)
{
	site_end(&site);
}

TestSuite(ladder, .init = up, .fini = down, .timeout = TEST_LONGEST);

static void expect_rung(const char *rung)
{
	lab_until(&site.lab, "lb1", SITE_SOON,
		  "poise show web --json | grep -q '\"rung\": *\"%s\"'", rung);
}

/* At once: silence would be status 28. */
static void expect_refused(const char *url)
{
	const char *out;

	for (int n = 0; n < 5; n++)
		cr_assert_eq(lab_run(&site.lab, "c1", &out, "curl -s -m 2 %s", url), 7, "%s", out);
}

static void check_none_up(const char *vip, int family, const char *url)
{
	site_service(&site, vip, family);
	lab_must(&site.lab, "lb1", "poise service set web on-none-up refuse");
	lab_must(&site.lab, "lb1", "poise health set web http status 299 " SITE_QUICK);
	expect_rung("nobody");
	site_expect_shown(&site,
			  "web: no backend is up: new flows are refused (on-none-up refuse)");
	expect_refused(url);
	lab_must(&site.lab, "lb1", "poise service set web on-none-up try");
	site_expect_shown(
		&site,
		"web: no backend is up: the 3 whose check failed are tried (on-none-up try)");
	site_expect_from(&site, url, "b1 b2 b3 ");
	lab_must(&site.lab, "lb1", "poise health set web http status default");
	expect_rung("up");
	site_expect_from(&site, url, "b1 b2 b3 ");
}

Test(ladder, none_up_ipv4)
{
	check_none_up(SITE_VIP4, 4, "http://" SITE_VIP4 "/");
}

Test(ladder, none_up_ipv6)
{
	check_none_up(SITE_VIP6, 6, "http://[" SITE_VIP6 "]/");
}

/* The sorry one serves when the others cannot, and only then. */
Test(ladder, sorry)
{
	const char *url = "http://" SITE_VIP4 "/";

	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1", "poise backend set web %s sorry yes", site_backend(&site, 3, 4));
	lab_must(&site.lab, "lb1", "poise health set web http " SITE_QUICK);
	expect_rung("up");
	site_expect_shown(&site, " 2/2 ");
	site_expect_from(&site, url, "b1 b2 ");
	lab_must(&site.lab, "b1", "nginx -s stop");
	site_expect_shown(&site, " 1/2 ");
	site_expect_from(&site, url, "b2 ");
	lab_must(&site.lab, "b2", "nginx -s stop");
	site_expect_shown(&site, "web: no other backend is left: the sorry ones serve");
	site_expect_from(&site, url, "b3 ");
	lab_must(&site.lab, "b1", "nginx");
	site_expect_shown(&site, " 1/2 ");
	site_expect_from(&site, url, "b1 ");
}

/* Too few are up: the checks are not believed. */
Test(ladder, panic)
{
	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1", "poise service set web panic 50%%");
	lab_must(&site.lab, "lb1", "poise health set web http body b1 " SITE_QUICK);
	site_expect_shown(&site,
			  "web: 1 of 3 backends up, fewer than panic 50%: all of them serve");
	site_expect_from(&site, "http://" SITE_VIP4 "/", "b1 b2 b3 ");
	lab_must(&site.lab, "lb1", "poise service set web panic 30%%");
	site_expect_from(&site, "http://" SITE_VIP4 "/", "b1 ");
}

/* Fewer up than it wants: the sorry one serves and its address is withdrawn, until there is one
 * more than it wants, whatever becomes of poised. */
Test(ladder, min_up)
{
	const char *url = "http://" SITE_VIP4 "/";

	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1",
		 "poise address claim " SITE_VIP4 " lo withdraw-grace 0ms && "
		 "poise backend set web %s sorry yes && "
		 "poise service set web min-up 1 min-up-margin 1",
		 site_backend(&site, 3, 4));
	lab_must(&site.lab, "lb1", "poise health set web http " SITE_QUICK);
	site_expect_shown(&site, " 2/2 ");
	site_expect_from(&site, url, "b1 b2 ");
	lab_must(&site.lab, "b1", "nginx -s stop");
	site_expect_shown(&site, " 1/2 ");
	site_expect_from(&site, url, "b2 ");
	lab_must(&site.lab, "b2", "nginx -s stop");
	site_expect_shown(&site, " 0/2 ");
	site_expect_from(&site, url, "b3 ");
	lab_stop(site.poised, SIGKILL);
	site.poised = lab_poised(&site.lab, "lb1", "");
	lab_must(&site.lab, "b1", "nginx");
	site_expect_shown(&site, "web: 1 of 2 backends up, fewer than 2 (min-up): the sorry ones "
				 "serve");
	site_expect_from(&site, url, "b3 ");
	lab_must(&site.lab, "lb1",
		 "poise status | grep -q 'web: below its minimum, 1 up of the 2' && "
		 "poise address list | grep -q below-minimum && "
		 "! ip addr show dev lo | grep -qw " SITE_VIP4);
	lab_must(&site.lab, "b2", "nginx");
	site_expect_shown(&site, " 2/2 ");
	site_expect_from(&site, url, "b1 b2 ");
	lab_until(&site.lab, "lb1", SITE_SOON, "ip addr show dev lo | grep -qw " SITE_VIP4);
	lab_must(&site.lab, "lb1", "poise events web | grep -c 'minimum' | grep -qx 2");
}

/* A client in the midst of a connection whose backend is taken away is told at its next packet. */
Test(ladder, on_down_reset)
{
	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1", "poise service set web on-down reset");
	lab_must(&site.lab, "c1",
		 "cat > /run/client <<'END'\n"
		 "exec 3<>/dev/tcp/" SITE_VIP4 "/80\n"
		 "printf 'GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' >&3; read -r line <&3; echo "
		 "\"first: $line\" > /run/told\n"
		 "until [ -e /run/go ]; do sleep 0.05; done\n"
		 "printf G >&3; timeout 8 cat <&3 2>> /run/told\n"
		 "echo done >> /run/told\n"
		 "END\n"
		 "rm -f /run/go /run/told; setsid bash /run/client > /dev/null 2>&1 < /dev/null &");
	lab_until(&site.lab, "c1", SITE_SOON, "grep -q 'first: HTTP/1.1 200' /run/told");
	for (int n = 1; n <= site.backends; n++)
		lab_must(&site.lab, "lb1", "poise backend disable web %s",
			 site_backend(&site, n, 4));
	lab_must(&site.lab, "c1", "touch /run/go");
	lab_until(&site.lab, "c1", SITE_SOON, "grep -q done /run/told");
	lab_must(&site.lab, "c1", "grep -q 'Connection reset by peer' /run/told");
	lab_must(&site.lab, "lb1", "poise stats web | grep -q backend-down");
}
