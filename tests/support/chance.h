/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether counts are as chance would have them. */
#ifndef POISE_TEST_CHANCE_H
#define POISE_TEST_CHANCE_H

#include <linux/types.h>
#include <stddef.h>

/* Pearson's chi-squared test: how likely counts at least as far from these shares are, if each
 * share is a probability. Shares sum up to 1; where one is 0, its count must be. */
double chance_of(const __u64 *count, const double *share, size_t n);

#endif
