// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A backend that is up and down in turns, as its clock says, changes its state a few times and then
 * is left down for longer and longer; the others never do. In short by quick checks that see each
 * of its turns, for some seconds; with POISE_FULL set by checks as they are by default, for a
 * minute of a second up and a second down.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/clients.h"
#include "tests/support/site.h"

#define CHANGES_MOST 6

struct flapping {
	const char *down;  /* a regular expression of nginx's clock: 1234567.890 */
	const char *check; /* keys */
	int seconds;	   /* that it is watched for */
	int changes_least;
};

/* Each fall is held for twice as long as the one before: after the second for four seconds. */
static const struct flapping in_short = {
	.down = "[.][5-9]",
	.check = "interval 200ms fast-interval 50ms timeout 200ms hold-down 2s",
	.seconds = 8,
	.changes_least = 2,
};

/* A second is hardly long enough for three failures in a row. */
static const struct flapping in_full = {
	.down = "[13579][.]",
	.check = "interval default",
	.seconds = 60,
	.changes_least = 0,
};

static struct site site;

static void up(void)
{
	site = (struct site){.backends = 3};
	site_up(&site);
	site_attach(&site);
}

static void down(void)
{
	site_down(&site);
}

TestSuite(flap, .init = up, .fini = down, .timeout = TEST_LONGEST);

/* How often the log says that a backend is up, or down. */
static int changes(const char *backend)
{
	const char *out;

	lab_host(&out, "cat %s.lb1.* | grep -cE 'backend %s(:80)? is (up|down)'", site.lab.log,
		 backend);
	return atoi(out);
}

Test(flap, is_damped)
{
	const struct flapping *f = getenv("POISE_FULL") ? &in_full : &in_short;
	double begun;
	int n;

	lab_must(&site.lab, "b2",
		 "sed 's/^http {/&\\nmap $msec $down { \"~%s\" 1; default 0; }/; "
		 "s/location . {/& if ($down) { return 503; }/' /etc/nginx/nginx.conf > "
		 "/run/flap.conf && nginx -s stop && nginx -c /run/flap.conf",
		 f->down);
	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1", "poise health set web http %s", f->check);
	begun = clients_now();
	lab_until(&site.lab, "c1", f->seconds + SITE_SOON, "[ $(date +%%s) -ge %.0f ]",
		  begun + f->seconds);
	n = changes(site_backend(&site, 2, 4));
	cr_expect(n >= f->changes_least && n <= CHANGES_MOST, "%d changes in %d s", n, f->seconds);
	for (int b = 1; b <= 3; b += 2) {
		n = changes(site_backend(&site, b, 4));
		cr_expect_eq(n, 1, "%d changes of backend %d", n, b); /* its first result */
	}
}
