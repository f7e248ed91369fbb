// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Latencies by clients' packets alone: what is watched, what it shows, and when it is given up.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "maps/quantile.h"
#include "tests/support/native.h"

#define MS	     1000000ull
#define CLIENT	     "ip4 10.1.0.9 > 10.2.0.1 "
#define WATCH_SHORTS 8 /* WATCH_SHORT of bpf/watch.h */
#define DATAGRAM     "| udp 1234 > 80 | data 12"

static struct native n;
static __u64 ns = 1000000 * MS;

static void open_with(const char *policy, const char *mode)
{
	char yaml[512];

	snprintf(yaml, sizeof(yaml),
		 "services:\n  - { name: web, listen: [ '10.2.0.1:80', '10.2.0.1:80/udp' ],\n"
		 "      policy: %s, forward: %s, backends: [ 10.3.0.1 ] }\n",
		 policy, mode);
	native_open_web(&n, yaml, 4096);
	run_set_ns(ns);
}

static void open_watched(void)
{
	open_with("p2c", "ipip");
}

static void close_watched(void)
{
	native_close(&n);
}

/* So many milliseconds pass, each a jiffy. */
static void pass(__u32 ms)
{
	ns += ms * MS;
	run_set_ns(ns);
	run_tick(ms);
}

static struct poise_latency *line(void)
{
	return &n.i->latencies[native_member(&n, "10.3.0.1")];
}

static bool is_watched(void)
{
	return n.i->members[native_member(&n, "10.3.0.1")].watched;
}

static void sends(const char *rest)
{
	char words[160];
	int verdict;

	snprintf(words, sizeof(words), CLIENT "%s", rest);
	verdict = native_send(&n, NULL, words);
	cr_assert(verdict == XDP_TX || verdict == XDP_REDIRECT, "%s: %d", words, verdict);
}

/* From the client's port k. */
static void client(__u32 k, const char *rest)
{
	char words[128];

	snprintf(words, sizeof(words), "| tcp %u > 80 %s", k, rest);
	sends(words);
}

static double mean_ms(enum poise_sample kind)
{
	return 1000 * latency_seconds(POISE_MEAN_TICKS(line()->mean[kind]));
}

static void connect_in(__u32 k, __u32 ms)
{
	client(k, "S seq 77");
	pass(ms);
	client(k, "A seq 78 ack 100");
}

#define EXPECT_SAMPLES(long_ones, short_ones)                                                      \
	do {                                                                                       \
		cr_assert_eq(line()->samples[POISE_SAMPLE_REQUEST], long_ones, "%llu",             \
			     line()->samples[POISE_SAMPLE_REQUEST]);                               \
		cr_assert_eq(line()->samples[POISE_SAMPLE_SHORT], short_ones, "%llu",              \
			     line()->samples[POISE_SAMPLE_SHORT]);                                 \
	} while (0)

TestSuite(watch, .init = open_watched, .fini = close_watched);

Test(watch, an_answer_is_timed_less_the_round_trip)
{
	connect_in(1234, 40);
	client(1234, "PA seq 78 ack 100 | data 200");
	pass(47);
	client(1234, "A seq 278 ack 2996");
	EXPECT_SAMPLES(1, 0);
	cr_assert_float_eq(mean_ms(POISE_SAMPLE_REQUEST), 7, 0.02, "%g",
			   mean_ms(POISE_SAMPLE_REQUEST));
	cr_assert_float_eq(latency_quantile(line(), 0.5), 0.007, 0.0005);
	cr_assert_str_eq(latency_tell(line()).source, "acknowledged");
	cr_assert_not(is_watched());
}

Test(watch, a_request_that_comes_with_the_handshake_is_timed)
{
	client(1234, "S seq 77");
	pass(3);
	client(1234, "PA seq 78 ack 100 | data 200");
	pass(5);
	client(1234, "A seq 278 ack 2996");
	cr_assert_float_eq(mean_ms(POISE_SAMPLE_REQUEST), 2, 0.02);
}

Test(watch, segments_may_be_acknowledged_one_by_one)
{
	connect_in(1234, 1);
	client(1234, "PA seq 78 ack 100 | data 200");
	pass(9);
	client(1234, "A seq 278 ack 1548");
	EXPECT_SAMPLES(0, 0);
	pass(1);
	client(1234, "A seq 278 ack 2996");
	EXPECT_SAMPLES(1, 0);
	cr_assert_float_eq(mean_ms(POISE_SAMPLE_REQUEST), 8, 0.02, "the first counts");
}

/* What was acknowledged late only adds: the least of eight is the backend's. */
Test(watch, of_short_answers_the_least_of_some_counts)
{
	for (__u32 k = 0; k <= WATCH_SHORTS; k++) {
		connect_in(2000 + k, 1);
		client(2000 + k, "PA seq 78 ack 100 | data 200");
		pass(k == 4 ? 4 : 41);
		client(2000 + k, "FA seq 278 ack 130");
	}
	EXPECT_SAMPLES(0, WATCH_SHORTS + 1);
	cr_assert_lt(mean_ms(POISE_SAMPLE_SHORT), 41, "the first, then the least: %g",
		     mean_ms(POISE_SAMPLE_SHORT));
	cr_assert_eq(line()->least_of, 0);
	cr_assert_str_eq(latency_tell(line()).source, "short");
	cr_assert_eq(latency_tell(line()).p50, 0);
}

Test(watch, who_waits_is_known_and_that_the_way_is_not_the_backends)
{
	connect_in(1234, 40);
	cr_assert_eq(line()->waits, 0);
	client(1234, "PA seq 78 ack 100 | data 200");
	cr_assert_float_eq((double)(line()->waits - (__u32)(ns >> POISE_TICK_SHIFT)),
			   40e6 / POISE_TICK_NS, 2);
	pass(60);
	client(1234, "PA seq 78 ack 100 | data 200"); /* again: since it was sent first */
	cr_assert_float_eq((double)((__u32)(ns >> POISE_TICK_SHIFT) - line()->waits),
			   20e6 / POISE_TICK_NS, 2);
	pass(1);
	client(1234, "A seq 278 ack 2996");
	cr_assert_eq(line()->waits, 0);
	cr_assert_float_eq(mean_ms(POISE_SAMPLE_REQUEST), 21, 0.02);
}

Test(watch, a_request_ends_with_its_last_segment)
{
	connect_in(1234, 1);
	client(1234, "PA seq 78 ack 100 | data 200");
	pass(30);
	client(1234, "PA seq 278 ack 100 | data 200");
	pass(4);
	client(1234, "A seq 478 ack 2996");
	cr_assert_float_eq(mean_ms(POISE_SAMPLE_REQUEST), 3, 0.02);
}

Test(watch, who_goes_on_asking_is_watched_no_longer)
{
	char words[64];

	connect_in(1234, 1);
	for (int k = 0; k < 40 && (!k || is_watched()); k++) {
		snprintf(words, sizeof(words), "PA seq %d ack 100 | data 100", 78 + 100 * k);
		client(1234, words);
	}
	cr_assert_not(is_watched());
	cr_assert_eq(line()->waits, 0, "nor is anything waited for");
}

Test(watch, of_two_syns_nobody_knows_which_is_answered)
{
	client(1234, "S seq 77");
	cr_assert(is_watched());
	pass(1000);
	client(1234, "S seq 77");
	cr_assert_not(is_watched());
}

Test(watch, one_connection_at_a_time)
{
	connect_in(1, 1);
	pass(1);
	connect_in(2, 1);
	client(1, "PA seq 78 ack 100 | data 200");
	client(2, "PA seq 78 ack 100 | data 200");
	pass(5);
	client(2, "A seq 278 ack 2996");
	EXPECT_SAMPLES(0, 0);
	client(1, "A seq 278 ack 2996");
	EXPECT_SAMPLES(1, 0);
}

Test(watch, who_falls_silent_is_watched_no_longer)
{
	connect_in(1, 1);
	pass(17); /* and asks nothing */
	connect_in(2, 1);
	client(2, "PA seq 78 ack 100 | data 200");
	pass(1100); /* and is not answered, where nothing is known of the backend */
	connect_in(3, 1);
	cr_assert(mean_ms(POISE_SAMPLE_SHORT) > 1000, "it takes that long at least");
	cr_assert_neq(line()->waits, 0, "nor has anybody been answered");
	client(3, "PA seq 78 ack 100 | data 200");
	pass(5);
	client(3, "A seq 278 ack 2996");
	EXPECT_SAMPLES(1, 0);
	cr_assert_eq(line()->waits, 0);
}

Test(watch, connections_from_before_are_watched_where_none_begins)
{
	connect_in(1, 1);
	client(1, "PA seq 78 ack 100 | data 200");
	pass(5);
	client(1, "A seq 278 ack 2996");
	client(1, "PA seq 278 ack 2996 | data 200");
	cr_assert_not(is_watched(), "some begin");
	pass(1100);
	client(1, "PA seq 278 ack 2996 | data 200");
	cr_assert(is_watched());
	pass(6);
	client(1, "A seq 478 ack 5992");
	EXPECT_SAMPLES(2, 0);
}

Test(watch, datagrams_show_nothing)
{
	sends(DATAGRAM);
	pass(1);
	sends(DATAGRAM);
	cr_assert_not(is_watched());
}

static void expect_unwatched(const char *policy)
{
	open_with(policy, "l2");
	connect_in(1234, 1);
	client(1234, "PA seq 78 ack 100 | data 200");
	pass(5);
	client(1234, "A seq 278 ack 2996");
	EXPECT_SAMPLES(0, 0);
	cr_assert_not(is_watched());
	native_close(&n);
}

Test(watches, only_for_policies_that_heed_latency)
{
	expect_unwatched("maglev");
	expect_unwatched("round-robin");
	expect_unwatched("least-conn");
}
