// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A packet of a recorded flow costs the same under every policy, to the instruction: what a policy
 * needs is worked out for new flows alone. Under those that go by latency it is also asked whether
 * the flow is the one of its backend that is watched.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/native.h"
#include "tests/support/steps.h"

#define MEMBERS 8
#define ASKED	10 /* instructions at most, to see that a flow is not watched */

static const char *const policies[] = {"maglev", "source-hash", "round-robin",	"random",
				       "p2c",	 "least-conn",	"latency-aware"};

#define POLICIES (sizeof(policies) / sizeof(policies[0]))

static struct native n;

static void open_with(const char *policy)
{
	char yaml[2048], *at = yaml;

	at += sprintf(at,
		      "services:\n  - name: web\n"
		      "    listen: [ '10.2.0.1:80', '10.2.0.1:80/udp', '[fd02::1]:80' ]\n"
		      "    policy: %s\n    track: always\n    forward: ipip\n    backends:\n",
		      policy);
	for (unsigned int k = 1; k <= MEMBERS; k++)
		at += sprintf(at, "      - address: 10.3.0.%u\n", k);
	native_open(&n, yaml, 65536);
}

/* Of a flow that was recorded a second ago and has been heard of since. */
static long established(const char *policy, const char *first, const char *later)
{
	struct frame f;
	long steps;

	open_with(policy);
	run_set_seconds(1000);
	frame_build(&f, first);
	cr_assert_eq(steps_put(&f), XDP_TX);
	run_set_seconds(1001);
	native_watch_others(&n);
	frame_build(&f, later);
	cr_assert_eq(steps_put(&f), XDP_TX);
	steps = steps_of(&f).count;
	native_close(&n);
	return steps;
}

static bool by_latency(const char *policy)
{
	return !strcmp(policy, "p2c") || !strcmp(policy, "latency-aware");
}

static void expect_the_same(const char *first, const char *later)
{
	long want = established(policies[0], first, later);

	if (!want)
		cr_skip_test("nothing may be traced here");
	for (size_t p = 1; p < POLICIES; p++) {
		long got = established(policies[p], first, later);

		if (by_latency(policies[p]))
			cr_expect(got > want && got <= want + ASKED, "%s: %ld instructions, %ld",
				  policies[p], got, want);
		else
			cr_expect_eq(got, want, "%s: %ld instructions, under %s %ld", policies[p],
				     got, policies[0], want);
	}
}

Test(established, tcp)
{
	expect_the_same("ip4 10.1.0.1 > 10.2.0.1 | tcp 1000 > 80 S",
			"ip4 10.1.0.1 > 10.2.0.1 | tcp 1000 > 80 A");
}

Test(established, udp)
{
	expect_the_same("ip4 10.1.0.1 > 10.2.0.1 | udp 1000 > 80",
			"ip4 10.1.0.1 > 10.2.0.1 | udp 1000 > 80");
}

Test(established, tcp_over_ipv6)
{
	expect_the_same("ip6 fd01::1 > fd02::1 | tcp 1000 > 80 S",
			"ip6 fd01::1 > fd02::1 | tcp 1000 > 80 A");
}

/* The measure is one that can fail: a choice costs what its policy asks. */
Test(established, a_first_packet_does_not_cost_the_same)
{
	struct frame f;
	long maglev, least_conn;

	frame_build(&f, "ip4 10.1.0.1 > 10.2.0.1 | tcp 1000 > 80 S");
	open_with("maglev");
	maglev = steps_of(&f).count;
	native_close(&n);
	if (!maglev)
		cr_skip_test("nothing may be traced here");
	open_with("least-conn");
	least_conn = steps_of(&f).count;
	native_close(&n);
	cr_expect_gt(least_conn, maglev + 50, "%ld and %ld", least_conn, maglev);
}
