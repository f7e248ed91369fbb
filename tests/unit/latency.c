// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Latencies: buckets and quantiles, the average that goes up at once and down slowly, and what
 * packets of mode nat make of the slot of their flow and of the backend's line.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "maps/quantile.h"
#include "tests/support/native.h"

/* ---- buckets ----------------------------------------------------------------------------------*/

Test(latency, every_time_has_the_bucket_that_its_floor_says)
{
	for (__u32 ticks = 0; ticks < 1u << POISE_LATENCY_BITS; ticks += 1 + ticks / 1000) {
		__u32 bucket = poise_latency_bucket(ticks);

		cr_assert_lt(bucket, POISE_LATENCY_BUCKETS);
		cr_assert_leq(poise_latency_floor(bucket), ticks);
		if (bucket + 1 < POISE_LATENCY_BUCKETS)
			cr_assert_gt(poise_latency_floor(bucket + 1), ticks, "%u ticks", ticks);
	}
	cr_assert_eq(poise_latency_bucket(~0u), POISE_LATENCY_BUCKETS - 1);
	for (__u32 bucket = 0; bucket < POISE_LATENCY_BUCKETS; bucket++)
		cr_assert_eq(poise_latency_bucket(poise_latency_floor(bucket)), bucket);
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

#define TIMES 20000

/* Times of long tails, in seconds, about `around`. */
static void long_tails(double *time, double around)
{
	srand48(7);
	for (int k = 0; k < TIMES; k++)
		time[k] = around * exp(2 * drand48() * drand48() * drand48() * 3);
}

Test(latency, quantiles_are_within_a_tenth)
{
	static const double around[] = {20e-6, 140e-6, 980e-6, 7e-3, 48e-3}; /* s */
	static const double parts[] = {0.01, 0.5, 0.9, 0.99, 0.999, 1};
	static double time[TIMES];

	for (size_t a = 0; a < sizeof(around) / sizeof(around[0]); a++) {
		struct poise_latency l = {0};

		long_tails(time, around[a]);
		for (int k = 0; k < TIMES; k++)
			l.requests[poise_latency_bucket((__u32)(time[k] * 1e9 / POISE_TICK_NS))]++;
		qsort(time, TIMES, sizeof(time[0]), by_size);
		for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
			double exact = time[(size_t)ceil(parts[p] * TIMES) - 1];
			double said = latency_quantile(&l, parts[p]);

			cr_assert_float_eq(said, exact, exact / 10, "%g of %g: %g is said, %g is",
					   parts[p], around[a], said, exact);
		}
	}
}

Test(latency, there_is_no_quantile_of_nothing)
{
	struct poise_latency l = {0};

	cr_assert_eq(latency_quantile(&l, 0.5), 0);
}

Test(latency, connections_speak_until_requests_do)
{
	struct poise_latency l = {0};

	cr_assert_null(latency_tell(&l).source);
	l.peak[POISE_SAMPLE_CONNECT] = POISE_PEAK(2000000 / POISE_TICK_NS, 7);
	l.samples[POISE_SAMPLE_CONNECT] = 5;
	cr_assert_str_eq(latency_tell(&l).source, "connect");
	cr_assert_eq(latency_tell(&l).samples, 5);
	cr_assert_float_eq(latency_tell(&l).recent, 0.002, 1e-5);
	cr_assert_eq(latency_tell(&l).p50, 0);
	l.peak[POISE_SAMPLE_REQUEST] = POISE_PEAK(9000000 / POISE_TICK_NS, 7);
	l.samples[POISE_SAMPLE_REQUEST] = 1;
	l.requests[poise_latency_bucket(8000000 / POISE_TICK_NS)] = 1;
	cr_assert_str_eq(latency_tell(&l).source, "request");
	cr_assert_eq(latency_tell(&l).samples, 1);
	cr_assert_float_eq(latency_tell(&l).recent, 0.009, 1e-5);
	cr_assert_float_eq(latency_tell(&l).p50, 0.008, 0.0005);
	cr_assert_eq(latency_tell(&l).p99, latency_tell(&l).p50);
}

/* ---- the average ------------------------------------------------------------------------------*/

Test(latency, the_average_goes_up_at_once_and_down_by_halves)
{
	__u32 half = 1u << POISE_PEAK_HALF_SHIFT;
	__u64 word = poise_peak_next(0, 100, 5000);

	cr_assert_eq(poise_peak_now(word, 5000), 100);
	word = poise_peak_next(word, 80000, 5001);
	cr_assert_eq(poise_peak_now(word, 5001), 80000);
	cr_assert_eq(poise_peak_now(word, 5001 + half), 40000);
	cr_assert_eq(poise_peak_now(word, 5001 + 3 * half), 10000);
	cr_assert_eq(poise_peak_now(word, 5001 + half / 2), 60000, "a straight line between");
	cr_assert_eq(poise_peak_now(word, 5001 + 40 * half), 0);
	word = poise_peak_next(word, 1000, 5001 + half);
	cr_assert_eq(POISE_PEAK_TICKS(word), 1000 + 79000 / 2);
	cr_assert_eq(POISE_PEAK_TICKS(poise_peak_next(0, 0, 9)), 1, "0 says that there is none");
}

Test(latency, many_samples_forget_no_faster_than_few)
{
	__u32 half = 1u << POISE_PEAK_HALF_SHIFT;
	__u64 few = POISE_PEAK(80000, 0), many = few;

	for (__u32 age = 1; age <= half; age++)
		many = poise_peak_next(many, 80, age);
	few = poise_peak_next(few, 80, half);
	cr_assert(POISE_PEAK_TICKS(many) >= POISE_PEAK_TICKS(few));
	cr_assert_lt(POISE_PEAK_TICKS(many), POISE_PEAK_TICKS(few) * 5 / 4, "%u and %u",
		     POISE_PEAK_TICKS(many), POISE_PEAK_TICKS(few));
}

Test(latency, the_mean_is_that_of_a_second_or_of_the_last)
{
	__u32 half = 1u << POISE_PEAK_HALF_SHIFT;
	__u64 mean = poise_mean_next(0, 200, 5000);

	cr_assert_eq(POISE_MEAN_TICKS(mean), 200);
	for (__u32 k = 1; k <= 1000; k++) /* every fourth takes twice as long */
		mean = poise_mean_next(mean, k % 4 ? 200 : 400, 5000 + 4 * k);
	cr_assert_float_eq((double)POISE_MEAN_TICKS(mean), 250, 10, "%u", POISE_MEAN_TICKS(mean));
	mean = poise_mean_next(mean, 20000, 9004);
	cr_assert_lt(POISE_MEAN_TICKS(mean), 300, "one that was held up: %u",
		     POISE_MEAN_TICKS(mean));
	mean = poise_mean_next(mean, 5000, 9004 + 10 * half);
	cr_assert_float_eq((double)POISE_MEAN_TICKS(mean), 5000, 10, "%u", POISE_MEAN_TICKS(mean));
	cr_assert_neq(poise_mean_next(0, 0, 0), 0, "0 says that there is none");
	mean = poise_mean_next(0, ~0u, 7);
	cr_assert_eq(POISE_MEAN_TICKS(mean), POISE_MEAN_MOST);
}

Test(latency, the_clock_may_wrap)
{
	cr_assert_eq(poise_peak_now(POISE_PEAK(4096, -512), 512), 2048);
}

/* Two CPUs, or a reader and a CPU, read the clock one after the other and get here in another
 * order. */
Test(latency, what_is_a_moment_ahead_of_the_clock_is_not_forgotten)
{
	__u64 peak = POISE_PEAK(80000, 5000), mean = poise_mean_next(0, 5000, 5000);

	cr_assert_eq(poise_peak_now(peak, 4999), 80000);
	cr_assert_eq(POISE_PEAK_TICKS(poise_peak_next(peak, 1000, 4999)), 80000);
	cr_assert_eq(POISE_MEAN_TICKS(poise_mean_next(mean, 100, 4990)), 5000);
	cr_assert_eq(poise_peak_now(POISE_PEAK(80000, 3), ~0u - 3), 80000, "the clock may wrap");
	cr_assert_eq(poise_peak_now(peak, 5000 - 2 * POISE_AGE_AHEAD), 0, "that is long ago");
}

/* ---- packets ----------------------------------------------------------------------------------*/

#define MS	1000000ull
#define CLIENT	"ip4 10.1.0.9 > 10.2.0.1 "
#define BACKEND "ip4 10.3.0.1 > 10.3.0.254 "

static struct native n;
static __u64 ns = 1000000 * MS;
static __u32 port;

static const char yaml[] =
	"services:\n"
	"  - { name: web, listen: [ '10.2.0.1:80', '10.2.0.1:53/udp' ], forward: nat,\n"
	"      backends: [ { address: 10.3.0.1, port: 8080 } ] }\n";

static void open_nat(void)
{
	native_open_web(&n, yaml, 4096);
	run_set_ns(ns);
}

static void close_nat(void)
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

static const struct poise_latency *line(void)
{
	return &n.i->latencies[native_member(&n, "10.3.0.1")];
}

/* From the client's port k. */
static void asks(__u32 k, const char *rest)
{
	struct frame out;
	char words[160];
	int verdict;

	snprintf(words, sizeof(words), CLIENT "| tcp %u > 80 %s", k, rest);
	verdict = native_send(&n, &out, words);
	cr_assert(verdict == XDP_TX || verdict == XDP_REDIRECT, "%s: %d", words, verdict);
	port = (__u32)out.byte[34] << 8 | out.byte[35];
}

/* To the port that the last packet of the client left from. */
static void answers(const char *rest)
{
	char words[160];
	int verdict;

	snprintf(words, sizeof(words), BACKEND "| tcp 8080 > %u %s", port, rest);
	verdict = native_send(&n, NULL, words);
	cr_assert(verdict == XDP_TX || verdict == XDP_REDIRECT, "%s: %d", words, verdict);
}

static double recent_ms(enum poise_sample kind)
{
	return 1000 * latency_seconds(POISE_PEAK_TICKS(line()->peak[kind]));
}

static void connect_in(__u32 ms)
{
	asks(1234, "S seq 77");
	pass(ms);
	answers("SA seq 99 ack 78");
	asks(1234, "A seq 78 ack 100");
}

TestSuite(latency_nat, .init = open_nat, .fini = close_nat);

Test(latency_nat, a_connection_is_timed_from_syn_to_syn_ack)
{
	connect_in(3);
	cr_assert_eq(line()->samples[POISE_SAMPLE_CONNECT], 1);
	cr_assert_float_eq(recent_ms(POISE_SAMPLE_CONNECT), 3, 0.01);
	cr_assert_eq(line()->samples[POISE_SAMPLE_REQUEST], 0);
	cr_assert_eq(line()->waits, 0);
}

Test(latency_nat, a_request_is_timed_to_the_first_byte_of_its_answer)
{
	connect_in(1);
	asks(1234, "PA seq 78 ack 100 | data 200");
	cr_assert_neq(line()->waits, 0);
	pass(2);
	answers("A seq 100 ack 278");
	cr_assert_eq(line()->samples[POISE_SAMPLE_REQUEST], 0, "it is acknowledged, not answered");
	answers("PA seq 100 ack 178 | data 9");
	cr_assert_eq(line()->samples[POISE_SAMPLE_REQUEST], 0, "that answers what was before");
	pass(5);
	answers("A seq 109 ack 278 | data 1000");
	answers("PA seq 1109 ack 278 | data 1000");
	cr_assert_eq(line()->samples[POISE_SAMPLE_REQUEST], 1);
	cr_assert_float_eq(recent_ms(POISE_SAMPLE_REQUEST), 7, 0.01);
	cr_assert_float_eq(latency_quantile(line(), 0.5), 0.007, 0.0005);
	cr_assert_eq(line()->waits, 0);
}

Test(latency_nat, what_is_sent_again_is_not_timed_anew)
{
	connect_in(1);
	asks(1234, "PA seq 78 ack 100 | data 200");
	pass(200);
	asks(1234, "PA seq 78 ack 100 | data 200");
	pass(1);
	answers("PA seq 100 ack 278 | data 9");
	cr_assert_float_eq(recent_ms(POISE_SAMPLE_REQUEST), 201, 0.01);
}

Test(latency_nat, an_acknowledgement_asks_nothing)
{
	connect_in(1);
	pass(1);
	asks(1234, "A seq 78 ack 100");
	cr_assert_eq(line()->waits, 0);
	asks(1234, "PA seq 78 ack 100");
	cr_assert_eq(line()->waits, 0);
}

/* Twice in a jiffy is once too often: then every other is, every fourth, and so on. */
Test(latency_nat, few_of_a_jiffy_are_timed)
{
	for (__u32 k = 0; k < 10; k++) {
		asks(2000 + k, "S seq 77");
		answers("SA seq 99 ack 78");
	}
	cr_assert_eq(line()->samples[POISE_SAMPLE_CONNECT], 4);
	pass(1);
	asks(3000, "S seq 77");
	cr_assert_eq(line()->waits, 0);
	pass(65);
	asks(3001, "S seq 77");
	cr_assert_neq(line()->waits, 0, "after a while the next is");
}

/* What is not timed counts as the next that is. */
Test(latency_nat, those_timed_stand_for_all)
{
	__u64 sum = 0;

	for (__u32 k = 0; k < 1000; k++) {
		asks(5000 + k, "S seq 77");
		answers("SA seq 99 ack 78");
		asks(5000 + k, "PA seq 78 ack 100 | data 20");
		answers("PA seq 100 ack 98 | data 10");
		if (k % 50 == 49)
			pass(1);
	}
	for (__u32 b = 0; b < POISE_LATENCY_BUCKETS; b++)
		sum += line()->requests[b];
	cr_assert(sum <= 1000 && sum > 900, "%llu", sum);
	cr_assert_lt(line()->samples[POISE_SAMPLE_REQUEST], 100, "%llu",
		     line()->samples[POISE_SAMPLE_REQUEST]);
}

Test(latency_nat, a_reset_is_no_answer)
{
	asks(1234, "S seq 77");
	pass(4);
	answers("RA seq 0 ack 78");
	cr_assert_eq(line()->samples[POISE_SAMPLE_CONNECT], 0);
	cr_assert_eq(line()->waits, 0, "but nothing is waited for any more");
}

Test(latency_nat, who_waits_longest_is_known_until_something_is_answered)
{
	__u32 first;

	asks(1, "S seq 77");
	first = line()->waits;
	cr_assert_eq(first, (__u32)(ns >> POISE_TICK_SHIFT) | 1);
	pass(50);
	asks(2, "S seq 77");
	cr_assert_eq(line()->waits, first);
	answers("SA seq 99 ack 78");
	cr_assert_eq(line()->waits, 0);
	asks(3, "S seq 77");
	first = line()->waits;
	pass(5000);
	asks(4, "S seq 77");
	cr_assert_neq(line()->waits, first, "who never got an answer is forgotten");
}

Test(latency_nat, what_does_not_fit_is_not_waited_for)
{
	cr_assert_eq(native_send(&n, NULL, CLIENT "df | udp 1234 > 53 | data 1473"), XDP_TX);
	cr_assert_eq(line()->waits, 0, "its client is told, and the backend has not seen it");
	cr_assert_eq(native_send(&n, NULL, CLIENT "df | udp 1234 > 53 | data 1472"), XDP_TX);
	cr_assert_neq(line()->waits, 0);
}

Test(latency_nat, a_datagram_is_answered_by_any)
{
	struct frame out;
	char words[160];

	native_send(&n, &out, CLIENT "| udp 1234 > 53 | data 12");
	port = (__u32)out.byte[34] << 8 | out.byte[35];
	pass(6);
	snprintf(words, sizeof(words), BACKEND "| udp 8080 > %u | data 33", port);
	native_send(&n, NULL, words);
	cr_assert_eq(line()->samples[POISE_SAMPLE_REQUEST], 1);
	cr_assert_float_eq(recent_ms(POISE_SAMPLE_REQUEST), 6, 0.01);
}
