// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What bench-compare calls slower, and what it leaves alone, with noise whose truth is known. */
#include <criterion/criterion.h>
#include <math.h>

#include "bench/compare/pairs.h"
#include "bench/compare/require.h"
#include "bench/random.h"

#define METRICS 40 /* of a comparison: any false call in it is one too many */
#define RERUNS	20
#define NOISE	0.01 /* deviation of a pair's change, as measured on a quiet machine */
#define DRIFT	0.3  /* the machine's own speed wanders by so much, for both of a pair */
#define SPOILT	0.1  /* share of pairs of which one half was disturbed ... */
#define SPOIL	0.4  /* ... and took so much longer */

/* Box and Muller 1958. */
static double normal(uint64_t *seed)
{
	double u = 1 - random_unit(seed), v = random_unit(seed);

	return sqrt(-2 * log(u)) * cos(2 * acos(-1) * v);
}

/* As compare.c measures: until the range is narrow, or there are as many as may be. */
static struct pairs_change compared(uint64_t *seed, double slower, size_t least, size_t most)
{
	struct pairs p = {};
	struct pairs_change c;

	do {
		double both = 100 * (1 + DRIFT * random_unit(seed)), half[2];

		half[0] = both * exp(NOISE / sqrt(2) * normal(seed));
		half[1] = both * (1 + slower) * exp(NOISE / sqrt(2) * normal(seed));
		if (random_unit(seed) < SPOILT)
			half[random_next(seed) & 1] *= 1 + SPOIL;
		pairs_add(&p, half[0], half[1]);
		c = pairs_change(&p);
	} while (p.n < least || (p.n < most && !pairs_narrow(&c)));
	return c;
}

static bool rerun_calls(uint64_t *seed)
{
	bool any = false;

	for (int m = 0; m < METRICS; m++) {
		struct pairs_change c = compared(seed, 0, PAIRS_LEAST, 30);

		any |= pairs_call(&c) != PAIRS_SAME || !pairs_within(&c, 0.05);
	}
	return any;
}

Test(bench_compare, a_mere_rerun_is_called_slower_at_most_once_in_twenty)
{
	uint64_t seed = 3;

	for (int batch = 0; batch < 5; batch++) {
		int called = 0;

		for (int r = 0; r < RERUNS; r++)
			called += rerun_calls(&seed);
		cr_assert(called <= 1, "%d of %d", called, RERUNS);
	}
}

Test(bench_compare, three_percent_are_called_and_one_metric_is_enough)
{
	uint64_t seed = 5;
	int slower = 0, faster = 0;

	for (int r = 0; r < 200; r++) {
		struct pairs_change c = compared(&seed, 0.03, PAIRS_LEAST, 30);

		slower += pairs_call(&c) == PAIRS_SLOWER;
		c = compared(&seed, -0.03, PAIRS_LEAST, 30);
		faster += pairs_call(&c) == PAIRS_FASTER;
	}
	cr_assert(slower >= 190, "%d of 200", slower);
	cr_assert(faster >= 190, "%d of 200", faster);
}

Test(bench_compare, a_range_holds_the_true_change_as_often_as_it_says)
{
	uint64_t seed = 7;

	for (size_t n = 6; n <= PAIRS_MOST; n += 6) {
		int held = 0;

		for (int r = 0; r < 1000; r++) {
			struct pairs_change c = compared(&seed, 0.02, n, n);

			held += c.low <= 0.02 && 0.02 <= c.high;
		}
		cr_assert(held >= 940, "%d of 1000 with %zu pairs", held, n);
	}
}

Test(bench_compare, the_range_is_between_the_values_that_the_sign_test_leaves)
{
	struct pairs p = {};
	struct pairs_change c;

	/* 1 %, 2 %, ... 10 %, not in order: of ten the second and the ninth (97.9 %) */
	for (int i = 0; i < 10; i++)
		pairs_add(&p, 100, 100 + (7 * i) % 10 + 1);
	c = pairs_change(&p);
	cr_assert(fabs(c.low - 0.02) < 1e-9 && fabs(c.high - 0.09) < 1e-9, "%g %g", c.low, c.high);
	cr_assert(fabs(c.change - 0.055) < 1e-9 && c.baseline == 100 && c.candidate == 105.5);
	/* of five nothing is so certain: all of them */
	p.n = 5;
	c = pairs_change(&p);
	cr_assert(fabs(c.low - 0.01) < 1e-9 && fabs(c.high - 0.09) < 1e-9, "%g %g", c.low, c.high);
}

Test(bench_compare, a_count_is_as_it_is)
{
	struct pairs one = {}, none = {};
	struct pairs_change c;

	pairs_add(&one, 1000, 1001);
	c = pairs_change(&one);
	cr_assert(c.low == c.high && !pairs_within(&c, 0) && pairs_within(&c, 0.05));
	cr_assert(pairs_call(&c) == PAIRS_SAME, "a thousandth is not worth a word");
	pairs_add(&none, 0, 0);
	c = pairs_change(&none);
	cr_assert(c.change == 0 && pairs_within(&c, 0));
}

Test(bench_compare, what_is_to_improve_must_and_by_so_much)
{
	const struct pairs_change better = {100, 94, -0.06, -0.07, -0.04};
	const struct pairs_change doubtful = {100, 94, -0.06, -0.10, 0.01};

	cr_assert(pairs_improved(&better, -0.05));
	cr_assert(!pairs_improved(&better, -0.07));
	cr_assert(!pairs_improved(&doubtful, -0.05));
}

Test(bench_compare, requirements_are_read_and_found)
{
	struct require r;
	double most = 1;

	cr_assert(require_parse(&r, "ns<=-5%,v4-tracked-1M.instructions<=0%"));
	cr_assert(require_of(&r, "v4-tracked-64K.ns", &most) && most == -0.05);
	cr_assert(!strcmp(require_missing(&r), "v4-tracked-1M.instructions"));
	cr_assert(!require_of(&r, "v4-tracked-64K.instructions", &most));
	cr_assert(require_of(&r, "v4-tracked-1M.instructions", &most) && most == 0);
	cr_assert(!require_missing(&r));
	cr_assert(require_parse(&r, "") && !require_of(&r, "a.ns", &most));
	cr_assert(!require_parse(&r, "ns<5%") && !require_parse(&r, "ns<=5") &&
		  !require_parse(&r, "<=5%") && !require_parse(&r, "ns<=5%;"));
}
