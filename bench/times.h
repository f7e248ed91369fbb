/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What operations take, in ns of their thread's CPU time: on one CPU, and on several at once, each
 * with a thread of its own that does the same. A round is every case once, so that what drifts
 * drifts for all. Of the rounds the median counts, with the middle 95 % of the bootstrap's medians
 * (sample.h).
 */
#ifndef POISE_BENCH_TIMES_H
#define POISE_BENCH_TIMES_H

#include "case.h"

#define TIMES_ROUNDS 11

struct times_how {
	unsigned int rounds, cpus;
};

/* CPUs that are there. */
unsigned int times_cpus(void);
/* Prints a line a case on stdout, progress on stderr. */
int times_all(const struct cases *cases, const struct times_how *how);

#endif
