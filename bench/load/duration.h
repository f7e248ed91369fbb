/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Durations on the command lines of load and echod: 5ms, 200us, 1.5s, or seconds without a unit. */
#ifndef BENCH_DURATION_H
#define BENCH_DURATION_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define US 1000 /* ns */

/* Reads one up to its end or one of the stops, which *end (if wanted) then points to. */
static inline bool duration_parse(const char *text, const char *stops, uint64_t *ns,
				  const char **end)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"", 1e9}};
	char *rest;
	double value = strtod(text, &rest);

	for (size_t i = 0; rest != text && i < sizeof(units) / sizeof(units[0]); i++) {
		size_t len = strlen(units[i].unit);

		if (strncmp(rest, units[i].unit, len) || strcspn(rest + len, stops))
			continue;
		if (!(value >= 0 && value * units[i].ns < 1e18))
			return false;
		*ns = (uint64_t)llrint(value * units[i].ns);
		if (end)
			*end = rest + len;
		return true;
	}
	return false;
}

#endif
