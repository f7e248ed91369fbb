// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Choice by latency: what is felt of backends, the words that follow, and whom flows get by them.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "loader/favour.h"
#include "tests/support/native.h"

#define MS	1000000ull
#define NS	(100000 * MS) /* now */
#define MEMBERS 4

static __u32 ticks(double ms)
{
	return (__u32)(ms * MS / POISE_TICK_NS);
}

static struct poise_latency line[MEMBERS];
static const struct poise_latency *lines[MEMBERS] = {&line[0], &line[1], &line[2], &line[3]};
static struct felt felt[MEMBERS];

static void took(struct poise_latency *l, enum poise_sample kind, double ms, __u64 ago_ms)
{
	l->mean[kind] = poise_mean_next(0, ticks(ms), (NS - ago_ms * MS) >> POISE_AGE_SHIFT);
}

static void sent(struct poise_latency *l, __u64 ago_ms)
{
	l->waits = (__u32)((NS - ago_ms * MS) >> POISE_TICK_SHIFT) | 1;
}

/* Buckets round down by an eighth at most. */
#define EXPECT_FELT(m, ms)                                                                         \
	cr_assert(felt[m].ticks <= ticks(ms) && felt[m].ticks >= ticks(ms) * 7 / 8 - 1,            \
		  "%u: %u ticks, not %u", m, felt[m].ticks, ticks(ms))

Test(favour, nothing_is_felt_of_those_without_samples)
{
	sent(&line[1], 100);
	cr_assert_not(favour_felt(lines, MEMBERS, NS, felt));
}

Test(favour, who_has_no_sample_is_tried_once_and_is_the_mean_meanwhile)
{
	took(&line[0], POISE_SAMPLE_REQUEST, 2, 0);
	took(&line[1], POISE_SAMPLE_REQUEST, 6, 0);
	took(&line[2], POISE_SAMPLE_CONNECT, 1, 0);
	sent(&line[3], 1);
	cr_assert(favour_felt(lines, MEMBERS, NS, felt));
	EXPECT_FELT(0, 2);
	EXPECT_FELT(1, 6);
	EXPECT_FELT(2, 2); /* as the fastest: nothing keeps it from being tried */
	EXPECT_FELT(3, 4);
}

Test(favour, short_answers_count_where_long_ones_are_not_known)
{
	took(&line[0], POISE_SAMPLE_SHORT, 3, 0);
	took(&line[1], POISE_SAMPLE_SHORT, 3, 0);
	took(&line[1], POISE_SAMPLE_REQUEST, 6, 0);
	took(&line[2], POISE_SAMPLE_CONNECT, 1, 0);
	took(&line[3], POISE_SAMPLE_SHORT, 12, 0);
	cr_assert(favour_felt(lines, MEMBERS, NS, felt));
	EXPECT_FELT(0, 3);
	EXPECT_FELT(1, 6);
	EXPECT_FELT(2, 3);
	EXPECT_FELT(3, 12);
}

Test(favour, who_does_not_answer_is_felt_to_take_as_long_as_that)
{
	for (unsigned int m = 0; m < MEMBERS; m++)
		took(&line[m], POISE_SAMPLE_REQUEST, 1, 0);
	took(&line[3], POISE_SAMPLE_REQUEST, 20, 0);
	sent(&line[1], 50);
	sent(&line[2], 6000);
	sent(&line[3], 50);
	cr_assert(favour_felt(lines, MEMBERS, NS, felt));
	EXPECT_FELT(0, 1);
	EXPECT_FELT(1, 50);
	EXPECT_FELT(2, 1); /* it is tried again */
	EXPECT_FELT(3, 50);
	cr_assert(felt[1].hangs);
	cr_assert_not(felt[2].hangs);
	cr_assert_not(felt[3].hangs, "for it that is not long");
}

Test(favour, who_hangs_is_refused_whatever_comes)
{
	struct favour word[2];

	took(&line[0], POISE_SAMPLE_REQUEST, 1, 0);
	took(&line[1], POISE_SAMPLE_REQUEST, 1, 0);
	sent(&line[1], 12);
	cr_assert(favour_felt(lines, 2, NS, felt));
	favour_words(felt, 2, word);
	cr_assert_eq(word[1].refused, ~0u);
	cr_assert_eq(word[0].refused, 0);
}

Test(favour, what_was_long_ago_is_forgotten_until_it_is_tried_again)
{
	took(&line[0], POISE_SAMPLE_REQUEST, 1, 0);
	took(&line[1], POISE_SAMPLE_REQUEST, 64, 3 * 1074);
	took(&line[2], POISE_SAMPLE_REQUEST, 64, 3600 * 1000);
	took(&line[3], POISE_SAMPLE_REQUEST, 64, 3600 * 1000);
	sent(&line[3], 1);
	cr_assert(favour_felt(lines, MEMBERS, NS, felt));
	EXPECT_FELT(1, 8);
	EXPECT_FELT(2, 1);
	EXPECT_FELT(3, 64); /* one tries it, and no crowd */
}

/* Its answer came after the clock was read. */
Test(favour, who_answers_meanwhile_is_as_slow_as_before)
{
	took(&line[0], POISE_SAMPLE_REQUEST, 1, 0);
	took(&line[1], POISE_SAMPLE_REQUEST, 64, -3ull);
	cr_assert(favour_felt(lines, 2, NS, felt));
	EXPECT_FELT(0, 1);
	EXPECT_FELT(1, 64);
}

Test(favour, near_ties_are_ties)
{
	struct favour word[MEMBERS];

	for (unsigned int m = 0; m < MEMBERS; m++)
		took(&line[m], POISE_SAMPLE_REQUEST, 1.08 + 0.13 * m, 0);
	cr_assert(favour_felt(lines, MEMBERS, NS, felt));
	favour_words(felt, MEMBERS, word);
	for (unsigned int m = 0; m < MEMBERS; m++)
		cr_assert(!word[m].eased && !word[m].refused);
}

Test(favour, what_nobody_feels_is_a_tie)
{
	took(&line[0], POISE_SAMPLE_REQUEST, 0.02, 0);
	took(&line[1], POISE_SAMPLE_REQUEST, 0.09, 0);
	took(&line[2], POISE_SAMPLE_REQUEST, 0.2, 0);
	took(&line[3], POISE_SAMPLE_REQUEST, 0.4, 0);
	cr_assert(favour_felt(lines, MEMBERS, NS, felt));
	cr_assert_eq(felt[1].ticks, felt[0].ticks);
	cr_assert_eq(felt[2].ticks, felt[0].ticks);
	cr_assert_gt(felt[3].ticks, 10 * felt[0].ticks);
}

Test(favour, words_are_parts_of_the_slowest_and_of_what_the_fastest_gets)
{
	static const struct felt took_ticks[MEMBERS] = {
		{.ticks = 100}, {.ticks = 400}, {.ticks = 1}, {.ticks = 1000000}};
	struct favour word[MEMBERS];

	favour_words(took_ticks, 2, word);
	cr_assert_eq(word[0].eased, 3u << 30);
	cr_assert_eq(word[0].refused, 0);
	cr_assert_eq(word[1].eased, 0);
	cr_assert_eq(word[1].refused, 15u << 28, "by the square");
	favour_words(took_ticks, MEMBERS, word);
	cr_assert_eq(word[2].eased, (__u32) - (1 << 20), "a part in 4,096 is left");
	cr_assert_eq(word[3].refused, (__u32) - (1 << 20));
}

/* ---- choices ----------------------------------------------------------------------------------*/

static struct native n;

static void open_with(const char *policy)
{
	char yaml[512];

	snprintf(yaml, sizeof(yaml),
		 "services:\n  - { name: web, listen: [ '10.2.0.1:80' ], policy: %s, forward: "
		 "ipip, fade-in: 0,\n"
		 "      backends: [ 10.3.0.1, 10.3.0.2, 10.3.0.3, 10.3.0.4 ] }\n",
		 policy);
	native_open_web(&n, yaml, 1 << 17);
}

static __u16 id_of(unsigned int m)
{
	char address[32];

	snprintf(address, sizeof(address), "10.3.0.%u", m + 1);
	return native_member(&n, address);
}

static void feel(const double ms[MEMBERS])
{
	for (unsigned int m = 0; m < MEMBERS; m++)
		took(&n.i->latencies[id_of(m)], POISE_SAMPLE_REQUEST, ms[m], 0);
	favour_run(n.i, n.cfg, NS, true);
}

/* Flows that stay of `flows`, or that end at once, by member. */
static void choose(unsigned int flows, bool stay, unsigned int got[MEMBERS])
{
	memset(got, 0, MEMBERS * sizeof(got[0]));
	for (unsigned int k = 0; k < flows; k++) {
		__u16 to = native_nth(&n, "tcp", k, "S");

		for (unsigned int m = 0; m < MEMBERS; m++)
			got[m] += to == id_of(m);
		if (!stay)
			native_nth(&n, "tcp", k, "R");
	}
}

#define FLOWS 12000

/* Of six pairs of four, one is that of the slow: any two are as likely. */
Test(favour, two_choices_meet_two_slow_ones_in_one_of_six)
{
	for (unsigned int a = 0; a < MEMBERS; a++)
		for (unsigned int b = a + 1; b < MEMBERS; b++) {
			double ms[MEMBERS] = {1, 1, 1, 1};
			unsigned int got[MEMBERS];

			ms[a] = ms[b] = 60;
			open_with("p2c, choices: 2");
			feel(ms);
			choose(FLOWS, false, got);
			cr_expect_float_eq((got[a] + got[b]) / (double)FLOWS, 1.0 / 6, 0.015,
					   "%u and %u: %u and %u", a, b, got[a], got[b]);
			native_close(&n);
		}
}

/* Loads go by the inverse of latencies: 1, 2, 2 and 4 ms make 4:2:2:1, to a few flows. */
Test(favour, p2c_shares_load_by_latency)
{
	static const double ms[MEMBERS] = {1, 2, 2, 4};
	static const unsigned int share[MEMBERS] = {4, 2, 2, 1};
	unsigned int got[MEMBERS];

	open_with("p2c");
	feel(ms);
	choose(FLOWS, true, got);
	for (unsigned int m = 0; m < MEMBERS; m++)
		cr_expect_float_eq((double)got[m], FLOWS * share[m] / 9.0, FLOWS / 50.0,
				   "member %u got %u", m, got[m]);
	native_close(&n);
}

Test(favour, p2c_leaves_the_slow_one_out_while_others_are_idle)
{
	static const double ms[MEMBERS] = {1, 1, 60, 1};
	unsigned int got[MEMBERS];

	open_with("p2c");
	feel(ms);
	choose(FLOWS, false, got);
	cr_assert_eq(got[2], 0);
	for (unsigned int m = 0; m < MEMBERS; m++)
		if (m != 2)
			cr_expect_float_eq((double)got[m], FLOWS / 3.0, FLOWS / 30.0, "%u: %u", m,
					   got[m]);
	native_close(&n);
}

static double least(const double ms[MEMBERS])
{
	double is = ms[0];

	for (unsigned int m = 1; m < MEMBERS; m++)
		is = ms[m] < is ? ms[m] : is;
	return is;
}

/* Of four members; 16.27 is passed by one fair draw in a thousand. */
#define CHI_SQUARE_3 16.27

static double chi_square(const unsigned int got[MEMBERS], const double part[MEMBERS])
{
	double sum = 0, all = 0, chi = 0;
	unsigned int flows = 0;

	for (unsigned int m = 0; m < MEMBERS; m++) {
		all += part[m];
		flows += got[m];
	}
	for (unsigned int m = 0; m < MEMBERS; m++) {
		double fair = flows * part[m] / all;

		sum += got[m];
		chi += (got[m] - fair) * (got[m] - fair) / fair;
	}
	cr_assert_eq(sum, FLOWS);
	return chi;
}

Test(favour, latency_aware_shares_flows_by_the_square_of_latency)
{
	static const double ms[][MEMBERS] = {
		{1, 2, 2, 4}, {1, 1, 1, 8}, {16, 2, 16, 16}, {3, 3, 3, 3}};

	for (unsigned int k = 0; k < sizeof(ms) / sizeof(ms[0]); k++) {
		double part[MEMBERS], chi;
		unsigned int got[MEMBERS];

		open_with("latency-aware");
		feel(ms[k]);
		choose(FLOWS, false, got);
		for (unsigned int m = 0; m < MEMBERS; m++) {
			__u32 refused = instance_loads(n.i, 0, id_of(m))->refused;

			part[m] = 1 / (ms[k][m] * ms[k][m]);
			cr_expect_float_eq(1 - refused / 0x1p32,
					   least(ms[k]) * least(ms[k]) * part[m], 0.01,
					   "member %u of %u", m, k);
			part[m] = 1 - refused / 0x1p32;
		}
		chi = chi_square(got, part);
		cr_expect_lt(chi, CHI_SQUARE_3, "of %u: %u %u %u %u", k, got[0], got[1], got[2],
			     got[3]);
		native_close(&n);
	}
}

/* Who was never timed counts as the fastest, but takes what it fades in by. */
Test(favour, latency_aware_does_not_flood_who_fades_in)
{
	static const double ms[MEMBERS] = {4, 4, 4, 1};
	struct poise_member *m;
	unsigned int got[MEMBERS];

	open_with("latency-aware");
	feel(ms);
	memset(&n.i->latencies[id_of(3)], 0, sizeof(n.i->latencies[0]));
	favour_run(n.i, n.cfg, NS, true);
	m = &n.i->members[id_of(3)];
	m->live |= POISE_L_FADING;
	m->fade = 65536 / 10;
	m->fade_until = ~0u >> 2;
	choose(FLOWS, false, got);
	cr_expect_float_eq(got[3] / (double)FLOWS, 0.1 / 3.1, 0.01, "%u", got[3]);
	native_close(&n);
}

/* One that takes 20 ms beside 1, 2 and 5 ms gets what its square says and no more; one that is
 * waited for gets nothing. */
Test(favour, latency_aware_sends_the_slowest_next_to_nothing)
{
	static const double ms[MEMBERS] = {1, 2, 5, 20};
	unsigned int got[MEMBERS];

	open_with("latency-aware");
	feel(ms);
	choose(FLOWS, false, got);
	cr_expect_lt(got[3], FLOWS / 200, "%u", got[3]);
	sent(&n.i->latencies[id_of(0)], 50);
	favour_run(n.i, n.cfg, NS, true);
	choose(FLOWS, false, got);
	cr_expect_eq(got[0], 0, "%u", got[0]);
	native_close(&n);
}

/* No latency, another policy, a poised that goes: words are 0, and choices as ever. */
Test(favour, without_latencies_all_get_the_same)
{
	static const double ms[MEMBERS] = {1, 2, 2, 40};
	static const char *const policies[] = {"p2c", "latency-aware", "least-conn", "random"};

	for (unsigned int p = 0; p < 4; p++) {
		unsigned int got[MEMBERS];

		open_with(policies[p]);
		feel(ms);
		cr_assert_eq(instance_loads(n.i, 0, id_of(0))->eased != 0, p == 0);
		cr_assert_eq(instance_loads(n.i, 0, id_of(3))->refused != 0, p == 1);
		favour_run(n.i, n.cfg, NS, false);
		choose(FLOWS, false, got);
		for (unsigned int m = 0; m < MEMBERS; m++) {
			const struct poise_loads *l = instance_loads(n.i, 0, id_of(m));

			cr_assert(!l->eased && !l->refused);
			cr_expect_float_eq((double)got[m], FLOWS / 4.0, FLOWS / 30.0, "%s: %u",
					   policies[p], got[m]);
		}
		native_close(&n);
	}
}
