// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Fade-in with a real poised: shown as it grows, going on where it was after poised was killed,
 * none while poised does not run, none for who was there when it started.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

TestSuite(fade, .timeout = TEST_LONGEST);

/* fade_ratio of the third backend. */
static double ratio(const struct lab *l)
{
	const char *out = lab_must(l, "lb1",
				   "poise show web --json | grep -o '\"name\":\"10.0.0.3\".*' | "
				   "grep -o '\"fade_ratio\":[0-9.]*' | head -1 | cut -d: -f2");

	cr_assert(*out, "no fade_ratio");
	return atof(out);
}

static void expect_state(const struct lab *l, const char *pattern)
{
	lab_until(l, "lb1", LAB_SOON,
		  "poise show web --no-header --columns backend,state | grep -Eq '10.0.0.3 +%s *$'",
		  pattern);
}

Test(fade, grows_through_a_restart)
{
	struct site s = {.backends = 2, .keys = "fade-in 600s"};
	double before, after;

	site_up(&s);
	site_attach(&s);
	site_service(&s, SITE_VIP4, 4);
	lab_must(&s.lab, "lb1", "! poise show web | grep -q fading");
	/* the third has no machine of its own, but an address on the first */
	lab_must(&s.lab, "b1", "ip address add 10.0.0.3/24 dev eth0");
	lab_must(&s.lab, "lb1", "poise backend add web 10.0.0.3");
	expect_state(&s.lab, "up fading 1[0-9]%");
	before = ratio(&s.lab);
	cr_assert(before >= 0.1 && before < 0.5, "%f", before);

	lab_stop(s.poised, SIGKILL);
	expect_state(&s.lab, "up");
	lab_must(&s.lab, "lb1", "poise show | grep -q 'poised is not running: backends do not'");
	s.poised = lab_poised(&s.lab, "lb1", "");
	expect_state(&s.lab, "up fading [0-9]+%");
	after = ratio(&s.lab);
	cr_assert(after >= before && after < 0.9, "from %f to %f", before, after);
	lab_must(&s.lab, "lb1", "poise map check");

	lab_must(&s.lab, "lb1", "poise service set web fade-in 0");
	expect_state(&s.lab, "up");
	lab_must(&s.lab, "lb1", "poise map check");
	site_down(&s);
}

Test(fade, not_without_poised)
{
	struct site s = {.backends = 3, .keys = "fade-in 600s"};

	site_up(&s);
	site_attach(&s);
	site_service(&s, SITE_VIP4, 4);
	lab_must(&s.lab, "lb1", "poise backend disable web 10.0.0.3");
	lab_stop(s.poised, SIGTERM);
	lab_must(&s.lab, "lb1", "poise backend enable web 10.0.0.3");
	expect_state(&s.lab, "up");
	s.poised = lab_poised(&s.lab, "lb1", "");
	lab_must(&s.lab, "lb1", "! poise show web | grep -q fading");
	lab_must(&s.lab, "lb1", "poise backend disable web 10.0.0.3");
	lab_must(&s.lab, "lb1", "poise backend enable web 10.0.0.3");
	expect_state(&s.lab, "up fading 1[0-9]%");
	site_down(&s);
}
