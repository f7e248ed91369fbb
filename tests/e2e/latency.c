// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Latencies of real servers that take 1, 2, 5 and 20 ms: poise says what the servers' own logs say,
 * whether it sees their answers (nat) or only what their clients acknowledge (ipip), and policies
 * that heed them send the slow one next to nothing.
 */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

#define BACKENDS 4
#define REQUESTS 800
/* What two processes that are woken add to the server's own account, on a machine with time for
 * them. */
#define WAKING 0.002

static const char *const delay[BACKENDS] = {"1ms", "2ms", "5ms", "20ms"};

static struct site s;
static pid_t server[BACKENDS];

static void begin(const char *mode, const char *policy)
{
	s = (struct site){.nat = mode[0] == 'n', .ipip = mode[0] == 'i', .backends = BACKENDS};
	site_up(&s);
	site_attach(&s);
	site_service(&s, SITE_VIP4, 4); /* its neighbours are known from now on */
	lab_must(&s.lab, "lb1",
		 "poise service add echo " SITE_VIP4 ":7000 policy %s forward %s fade-in 0", policy,
		 mode);
	for (int k = 0; k < BACKENDS; k++) {
		char node[8];

		snprintf(node, sizeof(node), "b%d", k + 1);
		server[k] = lab_serve(&s.lab, node,
				      "echod %s 0.0.0.0:7000 --delay %s --log /run/echo.log", node,
				      delay[k]);
		lab_must(&s.lab, "lb1", "poise backend add echo %s", site_backend(&s, k + 1, 4));
	}
}

static void teardown(void)
{
	for (int k = 0; k < BACKENDS; k++)
		if (server[k])
			lab_stop(server[k], SIGTERM);
	site_down(&s);
}

TestSuite(latency, .fini = teardown, .timeout = TEST_LONGEST);

/* How many requests b4, the slow one, was sent. */
static int slow_one_got(void)
{
	struct json_object *said, *by, *n = NULL;
	const char *out =
		lab_must(&s.lab, "c1",
			 "load tcp " SITE_VIP4 ":7000 --rate 400 --count %d --answer 4000 --json - "
			 "2>/dev/null",
			 REQUESTS);
	int got = 0;

	said = json_tokener_parse(out);
	cr_assert(said && json_object_object_get_ex(said, "served_by", &by), "%s", out);
	if (json_object_object_get_ex(by, "b4", &n))
		got = json_object_get_int(n);
	json_object_put(said);
	return got;
}

/* Median of what the server says that it took, in seconds. */
static double logged(int k)
{
	char node[8];

	snprintf(node, sizeof(node), "b%d", k + 1);
	lab_stop(server[k], SIGTERM);
	server[k] = 0;
	return atof(lab_must(&s.lab, node,
			     "awk '{ print $3 }' /run/echo.log | sort -n | awk '{ a[NR] = $1 } END "
			     "{ print a[int((NR + 1) / 2)] }'")) /
	       1e6;
}

static double told(int k)
{
	const char *out = lab_must(&s.lab, "lb1",
				   "poise stats echo %s --json | grep -o "
				   "'\"p50_seconds\": *[0-9.e-]*' | grep -o '[0-9.e-]*$'",
				   site_backend(&s, k + 1, 4));

	return atof(out);
}

/* Medians, within such a part of what the server says. */
static void expect_told(double within)
{
	double waking = WAKING * lab_slowness(&s.lab);

	for (int k = 0; k < BACKENDS; k++) {
		double says = told(k), is = logged(k);

		cr_expect(says > is * (1 - within) && says < is * (1 + within) + waking,
			  "b%d: %g, not %g", k + 1, says, is);
	}
}

static void expect_slow_one_left_out(const char *policy)
{
	int got;

	lab_must(&s.lab, "lb1", "poise -q service set echo policy %s", policy);
	got = slow_one_got();
	cr_expect_lt(got, REQUESTS / 20, "%s: %d", policy, got);
}

Test(latency, is_told_as_servers_have_it_and_heeded)
{
	int got;

	begin("nat", "round-robin");
	got = slow_one_got();
	/* Turns are each CPU's own; what matters here is what others make of it. */
	cr_assert_gt(got, REQUESTS / BACKENDS * 9 / 10, "in turn: %d", got);
	expect_slow_one_left_out("p2c");
	expect_slow_one_left_out("latency-aware");
	expect_told(0.1);
}

Test(latency, is_told_by_what_clients_acknowledge)
{
	begin("ipip", "latency-aware");
	/* So much that the slow one is asked often enough for a median. */
	lab_must(&s.lab, "lb1", "poise -q backend set echo %s weight 50", site_backend(&s, 4, 4));
	slow_one_got();
	lab_must(&s.lab, "lb1", "poise -q backend set echo %s weight 1", site_backend(&s, 4, 4));
	expect_slow_one_left_out("p2c");
	expect_slow_one_left_out("latency-aware");
	lab_must(&s.lab, "lb1",
		 "poise stats echo %s --json | grep -q '\"source\": *\"acknowledged\"'",
		 site_backend(&s, 1, 4));
	expect_told(0.2);
}
