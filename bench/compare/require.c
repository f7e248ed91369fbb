/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "require.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool require_parse(struct require *r, const char *text)
{
	*r = (struct require){};
	while (*text) {
		const char *sign = strstr(text, "<=");
		size_t len = sign ? (size_t)(sign - text) : 0;
		char *end;

		if (!len || len >= REQUIRE_NAME || r->n == REQUIRE_MAX)
			return false;
		snprintf(r->one[r->n].name, REQUIRE_NAME, "%.*s", (int)len, text);
		r->one[r->n].most = strtod(sign + 2, &end) / 100;
		if (end == sign + 2 || *end != '%' || (end[1] && end[1] != ','))
			return false;
		text = end[1] ? end + 2 : end + 1;
		r->n++;
	}
	return true;
}

bool require_of(struct require *r, const char *metric, double *most)
{
	const char *dot = strrchr(metric, '.');

	for (unsigned int i = 0; i < r->n; i++) {
		if (strcmp(r->one[i].name, metric) != 0 &&
		    !(dot && !strcmp(r->one[i].name, dot + 1)))
			continue;
		r->one[i].met_any = true;
		*most = r->one[i].most;
		return true;
	}
	return false;
}

const char *require_missing(const struct require *r)
{
	for (unsigned int i = 0; i < r->n; i++)
		if (!r->one[i].met_any)
			return r->one[i].name;
	return NULL;
}
