/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a change is to improve: "ns<=-5%", or several of those with commas. A name is that of a
 * metric ("v4-tracked-1M.ns"), or what its name ends with after the dot.
 */
#ifndef POISE_BENCH_REQUIRE_H
#define POISE_BENCH_REQUIRE_H

#include <stdbool.h>

#define REQUIRE_MAX  16
#define REQUIRE_NAME 64

struct require {
	struct {
		char name[REQUIRE_NAME];
		double most;  /* change: -0.05 */
		bool met_any; /* some metric has that name */
	} one[REQUIRE_MAX];
	unsigned int n;
};

/* False: the text says no such thing. */
bool require_parse(struct require *r, const char *text);
/* Whether this metric is named, and what is required of it. */
bool require_of(struct require *r, const char *metric, double *most);
/* A name that no metric has; NULL: each has been found. */
const char *require_missing(const struct require *r);

#endif
