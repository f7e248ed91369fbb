// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The figures of the benches: percentiles, medians, how far a median may be trusted. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "bench/random.h"
#include "bench/sample.h"

#define SAMPLES 1000

/* By counting, as the definition says. */
static uint32_t slow_percentile(const uint32_t *v, size_t n, double thousandths)
{
	uint32_t best = UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		size_t below = 0;

		for (size_t k = 0; k < n; k++)
			below += v[k] <= v[i];
		if ((double)below * 1000 >= thousandths * (double)n && v[i] < best)
			best = v[i];
	}
	return best;
}

Test(bench_sample, a_percentile_is_the_least_value_that_enough_do_not_exceed)
{
	static const size_t sizes[] = {1, 2, 3, 10, 99, 100, 101, SAMPLES};
	static const double thousandths[] = {1, 500, 900, 990, 999, 1000};
	uint32_t v[SAMPLES], sorted[SAMPLES];
	uint64_t seed = 7;

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		for (size_t i = 0; i < sizes[s]; i++)
			sorted[i] = v[i] = (uint32_t)(random_next(&seed) % 300);
		sample_sort(sorted, sizes[s]);
		for (size_t p = 0; p < sizeof(thousandths) / sizeof(thousandths[0]); p++) {
			uint32_t want = slow_percentile(v, sizes[s], thousandths[p]);
			uint32_t have = sample_percentile(sorted, sizes[s], thousandths[p] / 10);

			cr_assert(have == want, "%zu values, %g per mille: %u, not %u", sizes[s],
				  thousandths[p], have, want);
		}
	}
	cr_assert(sample_percentile(v, 0, 99) == 0);
}

Test(bench_sample, a_median_lies_in_the_middle)
{
	double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2};

	cr_assert(sample_median(odd, 3) == 3);
	cr_assert(sample_median(even, 4) == 2.5);
	cr_assert(isnan(sample_median(odd, 0)));
}

Test(bench_sample, values_that_agree_leave_no_doubt)
{
	const double same[] = {7, 7, 7, 7, 7}, two[] = {1, 1, 1, 1, 9};
	struct sample_range r = sample_bootstrap(same, 5, 1), again;

	cr_assert(r.low == 7 && r.high == 7);
	r = sample_bootstrap(two, 5, 1);
	cr_assert(r.low == 1 && r.high == 9, "%g to %g", r.low, r.high);
	again = sample_bootstrap(two, 5, 1);
	cr_assert(again.low == r.low && again.high == r.high, "not the same from the same seed");
	r = sample_bootstrap(two, 0, 1);
	cr_assert(isnan(r.low) && isnan(r.high));
}

/* Of samples whose true median is known, about 95 % of the intervals must hold it. */
Test(bench_sample, an_interval_holds_the_true_median_as_often_as_it_says)
{
	const int rounds = 400;
	uint64_t seed = 11;
	int held = 0;

	for (int r = 0; r < rounds; r++) {
		double v[21];
		struct sample_range range;

		for (int i = 0; i < 21; i++) /* skewed, as latencies are: its median is ln 2 */
			v[i] = -log1p(-random_unit(&seed));
		range = sample_bootstrap(v, 21, random_next(&seed));
		held += range.low <= log(2) && log(2) <= range.high;
	}
	/* 95 % of 400 is 380, with a deviation of 4.4; the method is known to be a little narrow */
	cr_assert(held > 360 && held < 397, "%d of %d", held, rounds);
}
