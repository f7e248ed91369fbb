// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The limits of answers under a clock that the test moves: a burst after a rest however long, no
 * more for what was saved up longer, each kind and each clock value alike, also where the clock
 * wraps; of one source, and of all together.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/support/native.h"

#define BURST	     50 /* of all CPUs */
#define SOURCE_BURST 20
#define SOURCES	     1024

static const char yaml[] = "services:\n"
			   "  - { name: nobody, listen: [ '10.2.0.1:80', '10.2.0.1:53/udp', "
			   "'[fd02::1]:53/udp' ], forward: l2 }\n";

#define SYN	     "ip4 10.1.0.9 > 10.2.0.1 | tcp 1234 > 80 S"
#define UDP	     "ip4 10.1.0.9 > 10.2.0.1 | udp 1234 > 53"
#define UDP6(source) "ip6 " source " > fd02::1 | udp 1234 > 53"

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

/* How many of many from one source are answered. */
static int answered(const char *words)
{
	int count = 0;

	for (int k = 0; k < 4 * BURST; k++)
		count += native_send(&n, NULL, words) == XDP_TX;
	return count;
}

/* Is a datagram answered that comes from the k-th of many other sources? */
static bool answered_to(int k)
{
	char words[64];

	snprintf(words, sizeof(words), "ip4 10.7.%d.%d > 10.2.0.1 | udp 1234 > 53", k >> 8 & 255,
		 k & 255);
	return native_send(&n, NULL, words) == XDP_TX;
}

/* One CPU's of a burst. */
static int share_of(int burst)
{
	return (burst - 1) / (int)n.i->meta->cpus + 1;
}

static int share(void)
{
	return share_of(SOURCE_BURST);
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
		int all = 0;

		n.i->meta->cpus = cpus;
		run_refill();
		cr_expect_eq(answered(UDP), share(), "%u CPUs", cpus);
		run_refill();
		for (int k = 0; k < 4 * BURST; k++)
			all += answered_to(k);
		cr_expect_eq(all, share_of(BURST), "%u CPUs, many sources", cpus);
	}
	n.i->meta->cpus = are; /* by which its memory is given back */
}

/* What is left of the instance's burst is others', each of which is answered until it is spent. */
Test(limit, a_flood_leaves_the_others_theirs)
{
	int others = 0;

	run_set_seconds(1000);
	cr_expect_eq(answered(UDP), share());
	while (others < BURST && answered_to(others))
		others++;
	cr_expect_eq(others, share_of(BURST) - share());
}

/* Nobody else is taken for the source of a flood, though many share a cell with it. */
Test(limit, whose_the_cells_are)
{
	run_set_seconds(1000);
	for (int k = 0; k < SOURCES; k++) {
		run_refill();
		for (int packet = 0; packet < share(); packet++)
			cr_assert_eq(native_send(&n, NULL, UDP), XDP_TX);
		cr_assert_eq(native_send(&n, NULL, UDP), XDP_DROP);
		cr_expect(answered_to(k), "source %d of %d", k, SOURCES);
	}
}

/* Nor do others, however many, get it more than is its own. */
Test(limit, among_others)
{
	int count = 0;

	run_set_seconds(1000);
	for (int k = 0; k < SOURCES; k++) {
		count += native_send(&n, NULL, UDP) == XDP_TX;
		answered_to(k);
	}
	cr_expect_leq(count, share());
	cr_expect_geq(count, 1);
}

Test(limit, an_ipv6_source_is_its_network)
{
	run_set_seconds(1000);
	cr_expect_eq(answered(UDP6("fd01:0:0:1::9")), share());
	cr_expect_eq(answered(UDP6("fd01:0:0:1:2:3:4:5")), 0);
	cr_expect_eq(native_send(&n, NULL, UDP6("fd01:0:0:2::9")), XDP_TX);
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

/* Over a minute, all to one CPU, which has its share: of new sources each time, or of one. */
static int over_a_minute(const char *protocol, bool one_source)
{
	int count = 0, source = 0;

	for (__u32 tick = 0; tick < 60 * RUN_HZ; tick++) {
		run_tick(1);
		for (int k = 0; k < 2; k++) {
			char words[96];

			source += !one_source;
			snprintf(words, sizeof(words), "ip4 10.%d.%d.%d > 10.2.0.1 | %s",
				 16 + (source >> 16), source >> 8 & 255, source & 255, protocol);
			count += native_send(&n, NULL, words) == XDP_TX;
		}
	}
	return count;
}

/* What the file says of either kind. */
Test(limit, as_told)
{
	const int cpus = (int)n.i->meta->cpus;

	n.i->meta->reset_rate = 40 * (__u32)cpus;
	n.i->meta->icmp_rate = 5 * (__u32)cpus;
	run_set_seconds(1000);
	cr_expect_float_eq(over_a_minute("tcp 1234 > 80 S", false), 60 * 40, BURST);
	cr_expect_float_eq(over_a_minute("udp 1234 > 53", false), 60 * 5, BURST);
	run_set_seconds(2000);
	cr_expect_float_eq(over_a_minute("tcp 1234 > 80 S", true), 60 * 4, BURST);
}
