/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * compare [OPTION...] BASELINE CANDIDATE: two standbys (standby.c), measured in turns, and whether
 * the second is good enough to replace the first. Exit 0: it is; 3: it is not, or nobody can say;
 * 1: nothing could be measured.
 *
 * A pair is a fresh load of both, since where pages come to lie makes a load a little slower or
 * faster for as long as it lives; within it each row runs A B B A twice. There are at least
 * PAIRS_LEAST pairs, and more until all ranges are narrow or their number is reached: the end
 * depends on how wide ranges are, never on what they say.
 *
 *	-r NAME<=-5%	what is to improve; every other metric must not exceed the limit
 *	-l 5%		that limit, for times; counts must not grow at all
 *	-n 10 -m 30	pairs, at least and at most
 *	-g PATTERN	rows, as the shell matches names
 *	-c BASE,CAND	files of counts, a line each: NAME VALUE
 *	-o FILE		every pair, as CSV
 */
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pairs.h"
#include "require.h"
#include "side.h"

#define METRICS_MAX 1024
#define METRIC_NAME REQUIRE_NAME
#define TURNS	    2 /* of A B B A in a pair */
#define MOST	    30
#define LIMIT	    0.05
#define NOT_PASSED  3

struct metric {
	char name[METRIC_NAME];
	bool is_count;
	bool is_void; /* packets were not treated as expected */
	struct pairs pairs;
};

struct compare {
	struct side side[2]; /* baseline, candidate */
	struct metric *metric;
	size_t metrics;
	struct require require;
	double limit;
	unsigned int least, most;
	const char *pattern, *counts, *out;
};

static struct metric *metric_of(struct compare *c, const char *row, const char *what)
{
	char name[2 * METRIC_NAME];

	snprintf(name, sizeof(name), "%s%s", row, what);
	for (size_t i = 0; i < c->metrics; i++)
		if (!strcmp(c->metric[i].name, name))
			return &c->metric[i];
	if (c->metrics == METRICS_MAX || strlen(name) >= METRIC_NAME)
		return NULL;
	snprintf(c->metric[c->metrics].name, METRIC_NAME, "%s", name);
	return &c->metric[c->metrics++];
}

/* ---- times ------------------------------------------------------------------------------------*/

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of an even number of values. */
static double middle(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), ascending);
	return (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Both sides in turns: first second second first. */
static bool row_pair(struct compare *c, const char *row, int first)
{
	double ns[2][2 * TURNS];
	struct metric *m = metric_of(c, row, ".ns");

	if (!m)
		return false;
	for (int s = 0; s < 2; s++) {
		const char *said = side_ask(&c->side[s], "warm", row);

		if (!said || strcmp(said, "ok") != 0)
			return false;
	}
	for (int turn = 0; turn < TURNS; turn++)
		for (int k = 0; k < 4; k++) {
			int s = k == 0 || k == 3 ? first : !first;

			ns[s][2 * turn + k / 2] = side_run(&c->side[s], row);
		}
	for (int s = 0; s < 2; s++)
		for (int k = 0; k < 2 * TURNS; k++)
			m->is_void |= !(ns[s][k] > 0);
	if (!m->is_void)
		pairs_add(&m->pairs, middle(ns[0], 2 * (size_t)TURNS),
			  middle(ns[1], 2 * (size_t)TURNS));
	return true;
}

static bool pair(struct compare *c, const char *const program[2], int first)
{
	char rows[SIDE_ANSWER];
	const char *said;
	bool fine = true;

	if (!side_start(&c->side[first], program[first]) ||
	    !side_start(&c->side[!first], program[!first]))
		return false;
	said = side_ask(&c->side[0], "rows", NULL);
	snprintf(rows, sizeof(rows), "%s", said ?: "");
	for (char *rest = rows, *row; fine && (row = strtok_r(rest, " ", &rest));)
		if (!fnmatch(c->pattern, row, 0))
			fine = row_pair(c, row, first);
	side_stop(&c->side[0]);
	side_stop(&c->side[1]);
	return fine;
}

static bool all_narrow(const struct compare *c)
{
	for (size_t i = 0; i < c->metrics; i++) {
		struct pairs_change change = pairs_change(&c->metric[i].pairs);

		if (!c->metric[i].is_count && !c->metric[i].is_void && !pairs_narrow(&change))
			return false;
	}
	return true;
}

static bool measure(struct compare *c, const char *const program[2])
{
	for (unsigned int n = 0; n < c->most; n++) {
		if (!pair(c, program, (int)(n & 1)))
			return false;
		fprintf(stderr, "compare: pair %u of %u to %u\n", n + 1, c->least, c->most);
		if (n + 1 >= c->least && all_narrow(c))
			break;
	}
	return true;
}

/* ---- counts -----------------------------------------------------------------------------------*/

struct count {
	char name[METRIC_NAME];
	double value;
};

static size_t read_counts(const char *path, struct count *out)
{
	FILE *f = fopen(path, "re");
	size_t n = 0;

	if (!f) {
		fprintf(stderr, "compare: %s: %s\n", path, strerror(errno));
		return 0;
	}
	while (n < METRICS_MAX && fscanf(f, "%63s %lf", out[n].name, &out[n].value) == 2)
		n++;
	fclose(f);
	return n;
}

/* Those that both have. */
static bool take_counts(struct compare *c)
{
	struct count *count = calloc(2 * (size_t)METRICS_MAX, sizeof(*count));
	struct count *other = count + METRICS_MAX;
	char *paths = strdup(c->counts), *comma = paths ? strchr(paths, ',') : NULL;
	size_t n = 0, others = 0;

	if (count && comma) {
		*comma = '\0';
		n = read_counts(paths, count);
		others = read_counts(comma + 1, other);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < others; k++) {
			struct metric *m;

			if (strcmp(count[i].name, other[k].name) != 0)
				continue;
			m = metric_of(c, count[i].name, "");
			if (!m)
				continue;
			m->is_count = true;
			pairs_add(&m->pairs, count[i].value, other[k].value);
		}
	free(paths);
	free(count);
	return n && others;
}

/* ---- the verdict ------------------------------------------------------------------------------*/

static const char *const call_word[] = {"", ", faster", ", slower"};

/* True: it is as required. */
static bool print_metric(struct compare *c, const struct metric *m)
{
	struct pairs_change change = pairs_change(&m->pairs);
	double most = m->is_count ? 0 : c->limit;
	bool named = require_of(&c->require, m->name, &most), fine;
	const char *word;

	fine = named && most < 0 ? pairs_improved(&change, most) : pairs_within(&change, most);
	if (m->is_void)
		fine = false;
	if (m->is_void)
		word = "void: packets were not treated as expected";
	else if (fine)
		word = named ? "reached" : "passed";
	else if (named)
		word = "NOT reached";
	else
		word = change.change > most ? "NOT passed" : "NOT passed: it may be";
	printf("%-36s %9.1f %9.1f %+7.2f %% %+7.2f to %+6.2f %% %+5.0f %%  %s%s\n", m->name,
	       change.baseline, change.candidate, 100 * change.change, 100 * change.low,
	       100 * change.high, 100 * most, word,
	       m->is_void ? "" : call_word[pairs_call(&change)]);
	return fine;
}

/* How many were called slower, or faster. */
static size_t called(const struct compare *c, enum pairs_call call)
{
	size_t n = 0;

	for (size_t i = 0; i < c->metrics; i++) {
		struct pairs_change change = pairs_change(&c->metric[i].pairs);

		n += !c->metric[i].is_void && pairs_call(&change) == call;
	}
	return n;
}

static int verdict(struct compare *c)
{
	size_t failed = 0, pairs = 0;
	const char *missing;

	printf("%-36s %9s %9s %9s %19s %7s  %s\n", "METRIC", "BASELINE", "CANDIDATE", "CHANGE",
	       "95 % RANGE", "AT MOST", "RESULT");
	for (size_t i = 0; i < c->metrics; i++) {
		failed += !print_metric(c, &c->metric[i]);
		if (c->metric[i].pairs.n > pairs)
			pairs = c->metric[i].pairs.n;
	}
	missing = require_missing(&c->require);
	if (missing)
		printf("required, but no metric is called so: %s\n", missing);
	printf("%s: %zu of %zu metrics as required, %zu slower, %zu faster, in %zu pairs\n",
	       failed || missing ? "NOT PASSED" : "PASSED", c->metrics - failed, c->metrics,
	       called(c, PAIRS_SLOWER), called(c, PAIRS_FASTER), pairs);
	return failed || missing ? NOT_PASSED : 0;
}

static void write_pairs(const struct compare *c)
{
	FILE *f = fopen(c->out, "we");

	if (!f) {
		fprintf(stderr, "compare: %s: %s\n", c->out, strerror(errno));
		return;
	}
	fprintf(f, "metric,pair,baseline,candidate\n");
	for (size_t i = 0; i < c->metrics; i++)
		for (size_t n = 0; n < c->metric[i].pairs.n; n++)
			fprintf(f, "%s,%zu,%.3f,%.3f\n", c->metric[i].name, n + 1,
				c->metric[i].pairs.baseline[n], c->metric[i].pairs.candidate[n]);
	fclose(f);
}

static bool parse(struct compare *c, int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, "r:l:n:m:g:c:o:")) != -1) {
		switch (o) {
		case 'r':
			if (!require_parse(&c->require, optarg)) {
				fprintf(stderr, "compare: %s: not NAME<=PERCENT%%[,...]\n", optarg);
				return false;
			}
			break;
		case 'l': c->limit = strtod(optarg, NULL) / 100; break;
		case 'n': c->least = (unsigned int)strtoul(optarg, NULL, 10); break;
		case 'm': c->most = (unsigned int)strtoul(optarg, NULL, 10); break;
		case 'g': c->pattern = optarg; break;
		case 'c': c->counts = optarg; break;
		case 'o': c->out = optarg; break;
		default: return false;
		}
	}
	if (c->most < c->least)
		c->most = c->least;
	return argc - optind == 2 && c->least >= 1 && c->most <= PAIRS_MOST;
}

int main(int argc, char **argv)
{
	struct compare c = {.limit = LIMIT, .least = PAIRS_LEAST, .most = MOST, .pattern = "*"};
	int rc = 1;

	if (!parse(&c, argc, argv)) {
		fprintf(stderr, "usage: compare [-r NAME<=-5%%] [-l 5%%] [-n 10] [-m 30] "
				"[-g PATTERN] [-c BASE,CAND] [-o CSV] BASELINE CANDIDATE\n");
		return 2;
	}
	c.metric = calloc(METRICS_MAX, sizeof(*c.metric));
	if (!c.metric)
		return 1;
	if (measure(&c, (const char *const *)argv + optind) && (!c.counts || take_counts(&c))) {
		rc = verdict(&c);
		if (c.out)
			write_pairs(&c);
	}
	side_stop(&c.side[0]);
	side_stop(&c.side[1]);
	free(c.metric);
	return rc;
}
