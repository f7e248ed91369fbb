// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Cycles: whose turns are how many, and how evenly they lie in the round.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "maps/cycle.h"

#define MEMBERS_MAX 2000

static struct cycle_member member[MEMBERS_MAX];
static __u32 *slot;
static __u32 size;

static void make(enum poise_policy policy, size_t n, const __u16 *weight, size_t weights)
{
	for (size_t m = 0; m < n; m++)
		member[m] = (struct cycle_member){(__u16)(100 + m), weight[m % weights]};
	free(slot);
	size = cycle_size(policy, member, n);
	slot = calloc((size_t)size * POISE_CYCLE_WIDTH(policy) + 1, sizeof(*slot));
	cycle_fill(policy, member, n, slot, size);
}

static __u32 turns(__u32 id, __u32 from, __u32 until)
{
	__u32 count = 0;

	for (__u32 s = from; s < until; s++)
		count += slot[s % size] == id;
	return count;
}

static void teardown(void)
{
	free(slot);
}

TestSuite(cycle, .fini = teardown);

Test(cycle, a_round_is_as_long_as_it_must_be)
{
	static const __u16 mixed[] = {1, 2, 7}, alike[] = {600}, even[] = {20, 40, 140};

	make(POISE_ROUND_ROBIN, 3, mixed, 3);
	cr_expect_eq(size, 10);
	make(POISE_ROUND_ROBIN, 3, even, 3);
	cr_expect_eq(size, 10, "weights have a divisor");
	make(POISE_ROUND_ROBIN, 8, alike, 1);
	cr_expect_eq(size, 8);
	make(POISE_ROUND_ROBIN, 0, alike, 1);
	cr_expect_eq(size, 0);
	cr_expect_eq(cycle_size(POISE_MAGLEV, member, 8), 0);
	cr_expect_eq(cycle_size(POISE_RANDOM, member, 8), 0);
	make(POISE_RANDOM, 1, alike, 1);
	cr_assert_eq(size, 1, "there is nothing to draw");
	cr_expect_eq(slot[0], 100);
}

Test(cycle, turns_are_exact)
{
	static const __u16 weights[] = {1, 2, 7, 30, 5};

	for (size_t n = 1; n <= 1000; n = n * 3 + 1) {
		make(POISE_ROUND_ROBIN, n, weights, 5);
		for (size_t m = 0; m < n; m++)
			cr_assert_eq(turns(member[m].id, 0, size), member[m].weight, "%zu of %zu",
				     m, n);
	}
}

/* In whatever part of whatever round, nobody is two turns ahead of its share or behind it. */
Test(cycle, turns_are_spread_evenly)
{
	static const __u16 weights[] = {1, 2, 7, 50};

	for (size_t n = 2; n <= 40; n += 19) {
		make(POISE_ROUND_ROBIN, n, weights, 4);
		for (size_t m = 0; m < n; m++)
			for (__u32 from = 0; from < size; from += 7)
				for (__u32 length = 1; length <= size; length += 5) {
					double want = (double)member[m].weight * length / size;
					__u32 got = turns(member[m].id, from, from + length);

					cr_assert(fabs(got - want) < 2,
						  "%zu of %zu: %u turns of %.2f in %u from %u", m,
						  n, got, want, length, from);
				}
	}
}

/* One of weight 1 beside one of 1,000 waits no longer than a round, wherever that begins. */
Test(cycle, the_smallest_does_not_starve)
{
	static const __u16 weights[] = {1000, 1};

	make(POISE_ROUND_ROBIN, 2, weights, 2);
	cr_assert_eq(size, 1001);
	for (__u32 from = 0; from < size; from++)
		cr_assert_eq(turns(101, from, from + size), 1);
}

/* Weights too different for whole turns: near them, and everybody has a turn. */
Test(cycle, a_round_too_long_is_rounded)
{
	static const __u16 weights[] = {65535, 65534, 1, 30000};

	make(POISE_ROUND_ROBIN, 4, weights, 4);
	cr_expect(size <= POISE_CYCLE_EXACT + 4, "%u turns", size);
	for (int m = 0; m < 4; m++) {
		double want = POISE_CYCLE_EXACT * (double)weights[m] / 161070;
		double got = turns(member[m].id, 0, size);

		cr_expect(got >= 1 && fabs(got - want) <= 1, "%d: %.0f turns of %.2f", m, got,
			  want);
	}
}

Test(cycle, a_roster_has_everybody_once)
{
	static const __u16 weights[] = {1, 65535, 7};

	make(POISE_P2C, 1000, weights, 3);
	cr_assert_eq(size, 1000);
	for (__u32 s = 0; s < size; s++) {
		cr_expect_eq(slot[2 * s], 100 + s);
		cr_expect_eq(slot[2 * s + 1], POISE_COST / weights[s % 3]);
	}
}

/* A roster is changed in place when only weights change, turns never. */
Test(cycle, what_asks_for_new_slots)
{
	static const __u16 some[] = {1, 2}, others[] = {3, 2};
	__u64 roster, round;

	make(POISE_P2C, 10, some, 2);
	roster = cycle_key(POISE_P2C, member, 10);
	round = cycle_key(POISE_ROUND_ROBIN, member, 10);
	cr_expect_neq(roster, round);
	cr_expect_eq(cycle_key(POISE_LEAST_CONN, member, 10), roster);
	make(POISE_P2C, 10, others, 2);
	cr_expect_eq(cycle_key(POISE_P2C, member, 10), roster);
	cr_expect_neq(cycle_key(POISE_ROUND_ROBIN, member, 10), round);
	member[3].id = 999;
	cr_expect_neq(cycle_key(POISE_P2C, member, 10), roster);
}
