/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "sample.h"

#include <math.h>
#include <stdlib.h>

#include "random.h"

#define DRAWS	 2000 /* the ends of the interval then vary by less than the values do */
#define LEFT_OUT 0.025
/* What a percentage times a count may lack of a whole number for being a binary fraction. */
#define ROUNDING 1e-9

static int ascending_integers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void sample_sort(uint32_t *values, size_t n)
{
	if (n)
		qsort(values, n, sizeof(*values), ascending_integers);
}

uint32_t sample_percentile(const uint32_t *sorted, size_t n, double percent)
{
	double rank = ceil(percent * (double)n / 100 - ROUNDING);

	if (!n)
		return 0;
	if (rank < 1)
		return sorted[0];
	return sorted[rank < (double)n ? (size_t)rank - 1 : n - 1];
}

double sample_median(double *values, size_t n)
{
	if (!n)
		return NAN;
	qsort(values, n, sizeof(*values), ascending);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

struct sample_range sample_bootstrap(const double *values, size_t n, uint64_t seed)
{
	struct sample_range range = {.low = NAN, .high = NAN};
	double *medians = malloc(DRAWS * sizeof(*medians)), *draw = malloc(n * sizeof(*draw));

	if (!n || !medians || !draw)
		goto out;
	for (int d = 0; d < DRAWS; d++) {
		for (size_t i = 0; i < n; i++)
			draw[i] = values[random_next(&seed) % n];
		medians[d] = sample_median(draw, n);
	}
	qsort(medians, DRAWS, sizeof(*medians), ascending);
	range.low = medians[(size_t)(DRAWS * LEFT_OUT)];
	range.high = medians[(size_t)(DRAWS * (1 - LEFT_OUT)) - 1];
out:
	free(draw);
	free(medians);
	return range;
}
