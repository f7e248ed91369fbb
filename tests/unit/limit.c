// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The limit of answers under a clock that the test moves: a burst after a rest however long, no
 * more for what was saved up longer, each kind and each clock value alike, also where the clock
 * wraps.
 */
#include <criterion/criterion.h>

#include "tests/support/native.h"

#define BURST 50 /* of all CPUs */

static const char yaml[] = "services:\n"
			   "  - { name: nobody, listen: [ '10.2.0.1:80', '10.2.0.1:53/udp' ], "
			   "forward: l2 }\n";

#define SYN "ip4 10.1.0.9 > 10.2.0.1 | tcp 1234 > 80 S"
#define UDP "ip4 10.1.0.9 > 10.2.0.1 | udp 1234 > 53"

static struct native n;

static void setup(void)
{
	native_open(&n, yaml, 1024);
}

static void teardown(void)
{
	native_close(&n);
}

TestSuite(limit, .init = setup, .fini = teardown);

/* How many of many are answered. */
static int answered(const char *words)
{
	int count = 0;

	for (int k = 0; k < 4 * BURST; k++)
		count += native_send(&n, NULL, words) == XDP_TX;
	return count;
}

static int share(void)
{
	return (BURST - 1) / (int)n.i->meta->cpus + 1;
}

static void both(const char *when)
{
	cr_expect_eq(answered(SYN), share(), "%s", when);
	cr_expect_eq(answered(UDP), share(), "%s", when);
	cr_expect_eq(answered(SYN), 0, "%s: the clock stands still", when);
	cr_expect_eq(answered(UDP), 0, "%s: the clock stands still", when);
}

Test(limit, a_burst_after_every_rest)
{
	run_set_seconds(1000);
	both("at first");
	run_set_seconds(1001);
	both("after a second");
	run_set_seconds(100000);
	both("after a day");
}

Test(limit, the_clock_may_wrap)
{
	run_set_seconds(0xffffffff);
	run_refill();
	both("before the wrap");
	run_set_seconds(0);
	both("after it");
}

Test(limit, every_cpu_has_its_share)
{
	__u32 are = n.i->meta->cpus;

	for (__u32 cpus = 1; cpus <= 256; cpus *= 2) {
		n.i->meta->cpus = cpus;
		run_refill();
		cr_expect_eq(answered(UDP), share(), "%u CPUs", cpus);
	}
	n.i->meta->cpus = are; /* by which its memory is given back */
}

Test(limit, counted)
{
	__u16 id = native_service(&n, "nobody");
	const __u64 *count = run_drops(id)->count;

	run_set_seconds(1000);
	cr_expect_eq(answered(SYN), share());
	cr_expect_eq(count[POISE_R_NO_BACKEND], 4 * BURST);
	cr_expect_eq(count[POISE_R_ANSWERED_RST], (__u64)share());
	cr_expect_eq(count[POISE_R_ANSWER_LIMITED], (__u64)(4 * BURST - share()));
	cr_expect_eq(count[POISE_R_ANSWERED_ICMP], 0);
}
