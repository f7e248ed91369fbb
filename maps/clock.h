/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clocks, as one number of nanoseconds. */
#ifndef POISE_CLOCK_H
#define POISE_CLOCK_H

#include <linux/types.h>
#include <time.h>

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull

static inline __u64 clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (__u64)t.tv_sec * NS_PER_S + (__u64)t.tv_nsec;
}

/* What records and people go by, and what may be set. */
static inline __u64 clock_realtime(void)
{
	return clock_ns(CLOCK_REALTIME);
}

/* What time that has passed is measured by. */
static inline __u64 clock_monotonic(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* As a number of seconds, for what is measured in fractions of them. */
static inline double clock_seconds(clockid_t clock)
{
	return (double)clock_ns(clock) / NS_PER_S;
}

#endif
