/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "claims.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 1

/* Limits, all of them of issue and manual: what a user is told. */
#define HEALTHY_P99	  1.1	    /* times the better of round-robin and p2c choices 2 */
#define HEALTHY_P999	  1.2	    /* the same */
#define SLOW_P99	  1.2	    /* times its own with all healthy */
#define SLOW_ROUND_ROBIN  0.2	    /* times round-robin's */
#define SLOW_SHARE	  0.02	    /* of each slow server */
#define TWO_OF_FOUR	  (1.0 / 6) /* chance that two distinct draws of four are both slow */
#define TWO_OF_FOUR_ABOUT 0.015
#define STALL_MS	  50

struct verdict {
	FILE *out;
	const char *mode;
};

static void say(const struct verdict *v, const char *what, struct cells_values values, double least,
		double most)
{
	struct sample_range range = sample_bootstrap(values.v, values.n, SEED);
	bool holds = range.low <= most && range.high >= least;

	if (!values.n) {
		fprintf(v->out, "| %s | %s | not measured | | | |\n", v->mode, what);
		return;
	}
	fprintf(v->out, "| %s | %s | %.3g | %.3g to %.3g | ", v->mode, what, cells_median(values),
		range.low, range.high);
	if (isinf(least))
		fprintf(v->out, "at most %.3g", most);
	else
		fprintf(v->out, "%.3g to %.3g", least, most);
	fprintf(v->out, " | %s |\n", holds ? "holds" : "**does not hold**");
}

static void at_most(const struct verdict *v, const char *what, struct cells_values values,
		    double most)
{
	say(v, what, values, -INFINITY, most);
}

/* ---- each -------------------------------------------------------------------------------------*/

static void healthy(const struct verdict *v, const struct cells *c, const char *policy,
		    enum cells_figure f, const char *figure, double most)
{
	struct cells_key own = {v->mode, policy, "0"}, better = {v->mode, "round-robin", "0"};
	struct cells_key two = {v->mode, "p2c-2", "0"};
	char what[128];

	/* not measured compares as false */
	if (cells_median(cells_us(c, two, f)) < cells_median(cells_us(c, better, f)))
		better = two;
	snprintf(what, sizeof(what), "%s, all healthy: %s over that of %s", policy, figure,
		 better.policy);
	at_most(v, what, cells_ratio(c, own, better, f), most);
}

static void slow(const struct verdict *v, const struct cells *c, const char *policy, int servers)
{
	char scenario[] = {(char)('0' + servers), '\0'}, what[128];
	struct cells_key own = {v->mode, policy, scenario}, well = {v->mode, policy, "0"};
	struct cells_key blind = {v->mode, "round-robin", scenario};

	snprintf(what, sizeof(what), "%s, %d slow: p99 over its own with all healthy", policy,
		 servers);
	at_most(v, what, cells_ratio(c, own, well, CELLS_P99), SLOW_P99);
	snprintf(what, sizeof(what), "%s, %d slow: p99 over round-robin's", policy, servers);
	at_most(v, what, cells_ratio(c, own, blind, CELLS_P99), SLOW_ROUND_ROBIN);
	snprintf(what, sizeof(what), "%s, %d slow: share of a slow one", policy, servers);
	at_most(v, what, cells_largest(c, own, servers), SLOW_SHARE);
}

static struct cells_values last_chosen(const struct verdict *v, FILE *stalls, const char *policy)
{
	struct cells_values values = {};
	char line[256], mode[CELLS_WORD], of[CELLS_WORD];
	double ms;

	rewind(stalls);
	while (fgets(line, sizeof(line), stalls) && values.n < CELLS_REPS)
		if (sscanf(line, "%23[^,],%23[^,],%*u,%*u,%lf", mode, of, &ms) == 3 &&
		    !strcmp(mode, v->mode) && !strcmp(of, policy))
			values.v[values.n++] = ms;
	return values;
}

static bool was_measured(const struct cells *c, const char *mode, const char *policy)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->rows[i].mode, mode) && !strcmp(c->rows[i].policy, policy))
			return true;
	return false;
}

static void by_latency(const struct verdict *v, const struct cells *c, FILE *stalls,
		       const char *policy)
{
	char what[128];

	if (!was_measured(c, v->mode, policy))
		return;
	healthy(v, c, policy, CELLS_P99, "p99", HEALTHY_P99);
	healthy(v, c, policy, CELLS_P999, "p999", HEALTHY_P999);
	slow(v, c, policy, 1);
	slow(v, c, policy, 2);
	snprintf(what, sizeof(what), "%s: ms into a stall that it is last chosen", policy);
	at_most(v, what, last_chosen(v, stalls, policy), STALL_MS);
}

void claims_print(const struct cells *c, FILE *stalls, FILE *out)
{
	const char *modes[8];
	size_t n = cells_words(c, offsetof(struct cells_row, mode), modes, 8);

	fprintf(out,
		"| mode | what | measured | 95 %% | promised | |\n|---|---|---|---|---|---|\n");
	for (size_t m = 0; m < n; m++) {
		struct verdict v = {out, modes[m]};
		struct cells_key two = {modes[m], "p2c-2", "2"};

		by_latency(&v, c, stalls, "p2c");
		by_latency(&v, c, stalls, "latency-aware");
		if (was_measured(c, modes[m], "p2c-2"))
			say(&v, "p2c choices 2, 2 slow: share of both", cells_sum(c, two, 2),
			    TWO_OF_FOUR - TWO_OF_FOUR_ABOUT, TWO_OF_FOUR + TWO_OF_FOUR_ABOUT);
	}
}
