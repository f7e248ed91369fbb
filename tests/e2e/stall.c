// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A real server that does nothing for two seconds now and then: policies that heed latency soon
 * choose it no more, whether its answers are seen or only its clients' packets. How soon, in ms, is
 * bench-tail's to say: here it is to get little of what it would have got in that time.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

#define BACKENDS 4
#define RATE	 400 /* requests a second of each policy */
#define STALLED	 2   /* seconds of the four at least */
#define FAIR	 (RATE * STALLED / BACKENDS)

static const char *const policy[] = {"p2c", "latency-aware"};
#define POLICIES 2

static struct site s;
static pid_t server[BACKENDS];

static void start(const char *mode)
{
	site_up(&s);
	site_attach(&s);
	site_service(&s, SITE_VIP4, 4); /* its neighbours are known from now on */
	for (int k = 0; k < BACKENDS; k++) {
		char node[8];

		snprintf(node, sizeof(node), "b%d", k + 1);
		server[k] = lab_serve(&s.lab, node, "echod %s 0.0.0.0:7000 0.0.0.0:7001 %s", node,
				      k ? "" : "--stall 2s/3s");
	}
	for (int p = 0; p < POLICIES; p++) {
		lab_must(&s.lab, "lb1",
			 "poise service add on-%d " SITE_VIP4 ":%d policy %s forward %s fade-in 0",
			 p, 7000 + p, policy[p], mode);
		for (int k = 0; k < BACKENDS; k++)
			lab_must(&s.lab, "lb1", "poise backend add on-%d %s", p,
				 site_backend(&s, k + 1, 4));
	}
}

static void stop(void)
{
	for (int k = 0; k < BACKENDS; k++)
		if (server[k])
			lab_stop(server[k], SIGTERM);
	memset(server, 0, sizeof(server));
	site_down(&s);
}

static void expect_noticed(int p)
{
	/* What it was asked in a stall it answers afterwards. */
	int got = atoi(lab_must(&s.lab, "c1",
				"awk '$5 == \"b1\" && $3 >= 100000 { n++ } END { print n + 0 }' "
				"/run/load-%d",
				p));

	cr_expect_gt(got, 0, "%s: no stall was met", policy[p]);
	cr_expect_lt(got, FAIR / 4, "%s: %d requests were sent to who stalls, of %d that are fair",
		     policy[p], got, FAIR);
}

static void ask_through_stalls(void)
{
	lab_must(&s.lab, "c1",
		 "for p in 0 1; do load tcp " SITE_VIP4 ":700$p --rate %d --seconds 4 "
		 "--answer 4000 --log /run/load-$p >/dev/null 2>&1 & done; wait",
		 RATE);
	for (int p = 0; p < POLICIES; p++)
		expect_noticed(p);
}

TestSuite(stall, .fini = stop, .timeout = TEST_LONGEST);

Test(stall, is_noticed_by_answers_that_do_not_come)
{
	s = (struct site){.nat = true, .backends = BACKENDS};
	start("nat");
	ask_through_stalls();
}

Test(stall, is_noticed_by_what_clients_do_not_acknowledge)
{
	s = (struct site){.ipip = true, .backends = BACKENDS};
	start("ipip");
	ask_through_stalls();
}
