/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What measured values say: exact percentiles, medians, and how far a median may be trusted. */
#ifndef POISE_BENCH_SAMPLE_H
#define POISE_BENCH_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

struct sample_range {
	double low, high;
};

/* Ascending, in place. */
void sample_sort(uint32_t *values, size_t n);
/* The smallest of the sorted values that so many in a hundred do not exceed (nearest rank): always
 * one that was measured. 0 of none. */
uint32_t sample_percentile(const uint32_t *sorted, size_t n, double percent);
/* Sorts the values. NAN of none. */
double sample_median(double *values, size_t n);
/* The middle 95 % of the medians of samples drawn from the values with replacement (the percentile
 * bootstrap: Efron 1979). Five values or fewer make it coarse, not wrong: it then reaches from one
 * of them to another. NAN of none. */
struct sample_range sample_bootstrap(const double *values, size_t n, uint64_t seed);

#endif
