/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report row MODE POLICY SCENARIO REP <JSON   a row of tail.csv from what load said. Exit 1: not
 *all were answered (a row); 3: void (none). stderr says why. report table CSV [STALLS] Markdown:
 *medians and ranges, and what was promised report plot CSV                             p99 in ms
 *for plot.gp: a block a mode, a line a scenario
 */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "claims.h"

#define WORDS 16 /* of modes, policies, scenarios each */
#define SEED  1

/* ---- row --------------------------------------------------------------------------------------*/

static double number(struct json_object *from, const char *key, const char *below)
{
	struct json_object *at = NULL;

	if (!json_object_object_get_ex(from, key, &at) ||
	    (below && !json_object_object_get_ex(at, below, &at)))
		return 0;
	return json_object_get_double(at);
}

static const char *words(struct json_object *from, const char *key)
{
	struct json_object *at = NULL;

	json_object_object_get_ex(from, key, &at);
	return json_object_to_json_string_ext(at, JSON_C_TO_STRING_PLAIN);
}

static int print_row(char **word)
{
	struct json_object *said = json_object_from_fd(0), *at;
	struct cells_row row = {.rep = (unsigned int)strtoul(word[3], NULL, 10)};
	char server[8];
	bool late;
	int rc = 1;

	if (!said) {
		fprintf(stderr, "not JSON: %s\n", json_util_get_last_err());
		return 2;
	}
	snprintf(row.mode, sizeof(row.mode), "%s", word[0]);
	snprintf(row.policy, sizeof(row.policy), "%s", word[1]);
	snprintf(row.scenario, sizeof(row.scenario), "%s", word[2]);
	row.sent = (uint64_t)number(said, "sent", NULL);
	row.succeeded = (uint64_t)number(said, "succeeded", NULL);
	row.us[CELLS_P50] = number(said, "total_us", "p50");
	row.us[CELLS_P99] = number(said, "total_us", "p99");
	row.us[CELLS_P999] = number(said, "total_us", "p999");
	for (int s = 0; s < CELLS_SERVERS && row.succeeded; s++) {
		snprintf(server, sizeof(server), "b%d", s + 1);
		row.share[s] = number(said, "served_by", server) / (double)row.succeeded;
	}
	late = json_object_object_get_ex(said, "void", &at) && json_object_get_boolean(at);
	if (late)
		fprintf(stderr, "void: the generator was up to %.1f ms late, %.0f times too late\n",
			number(said, "lag_us", "max") / 1e3, number(said, "lag_over", NULL));
	else if (row.sent != row.succeeded || number(said, "warm_up_failed", NULL) > 0)
		fprintf(stderr, "%lu of %lu not answered: %s; %.0f of the warm-up\n",
			row.sent - row.succeeded, row.sent, words(said, "failed"),
			number(said, "warm_up_failed", NULL));
	else
		rc = 0;
	/* A row in which not all were answered says so itself. */
	if (!rc || (!late && row.sent != row.succeeded))
		cells_write(&row, stdout);
	json_object_put(said);
	return rc;
}

/* ---- table ------------------------------------------------------------------------------------*/

static const struct scenario {
	const char *word, *title, *label; /* of a table, of a plot */
} scenarios_known[] = {
	{"0", "All healthy", "healthy"},
	{"1", "1 slow of 4 (+5 ms)", "1 slow of 4"},
	{"2", "2 slow of 4 (+5 ms)", "2 slow of 4"},
	{"3", "3 slow of 4 (+5 ms)", "3 slow of 4"},
	{"stall", "One stalls 500 ms each 5 s", "1 stalls"},
	{"half", "One at half speed", "1 at half speed"},
};

static struct scenario told(const char *word)
{
	for (size_t i = 0; i < sizeof(scenarios_known) / sizeof(scenarios_known[0]); i++)
		if (!strcmp(scenarios_known[i].word, word))
			return scenarios_known[i];
	return (struct scenario){word, word, word};
}

static void put_figure(struct cells_values values)
{
	struct sample_range range = sample_bootstrap(values.v, values.n, SEED);

	printf(" | %.0f | %.0f to %.0f", cells_median(values), range.low, range.high);
}

static void print_scenario(const struct cells *c, const char *mode, const char *scenario,
			   const char *policies[], size_t n)
{
	printf("\n### %s, %s\n\n", told(scenario).title, mode);
	printf("| policy | p50 us | 95 %% | p99 us | 95 %% | p999 us | 95 %% | share of b1, b2, "
	       "b3, "
	       "b4 in %% | repetitions |\n|---|--:|--:|--:|--:|--:|--:|---|--:|\n");
	for (size_t p = 0; p < n; p++) {
		struct cells_key key = {mode, policies[p], scenario};
		struct cells_values before = {};

		if (!cells_us(c, key, CELLS_P50).n)
			continue;
		printf("| %s", policies[p]);
		for (int f = 0; f < CELLS_FIGURES; f++)
			put_figure(cells_us(c, key, (enum cells_figure)f));
		printf(" | ");
		/* a server's share is what the sum grows by */
		for (int s = 1; s <= CELLS_SERVERS; s++) {
			struct cells_values upto = cells_sum(c, key, s), own = upto;

			for (size_t i = 0; i < own.n; i++)
				own.v[i] -= before.v[i];
			printf("%s%.1f", s > 1 ? ", " : "", 100 * cells_median(own));
			before = upto;
		}
		printf(" | %zu |\n", before.n);
	}
}

static int print_table(const struct cells *c)
{
	const char *modes[WORDS], *policies[WORDS], *scenarios[WORDS];
	size_t m = cells_words(c, offsetof(struct cells_row, mode), modes, WORDS);
	size_t p = cells_words(c, offsetof(struct cells_row, policy), policies, WORDS);
	size_t s = cells_words(c, offsetof(struct cells_row, scenario), scenarios, WORDS);

	for (size_t i = 0; i < m; i++)
		for (size_t k = 0; k < s; k++)
			print_scenario(c, modes[i], scenarios[k], policies, p);
	return 0;
}

/* ---- plot -------------------------------------------------------------------------------------*/

/* Blocks are separated by two empty lines: gnuplot's index. */
static int print_plot(const struct cells *c)
{
	const char *modes[WORDS], *policies[WORDS], *scenarios[WORDS];
	size_t m = cells_words(c, offsetof(struct cells_row, mode), modes, WORDS);
	size_t p = cells_words(c, offsetof(struct cells_row, policy), policies, WORDS);
	size_t s = cells_words(c, offsetof(struct cells_row, scenario), scenarios, WORDS);

	for (size_t i = 0; i < m; i++) {
		printf("%s%s", i ? "\n\n" : "", modes[i]);
		for (size_t k = 0; k < p; k++)
			printf(" %s", policies[k]);
		for (size_t l = 0; l < s; l++) {
			printf("\n\"%s\"", told(scenarios[l]).label);
			for (size_t k = 0; k < p; k++) {
				struct cells_key key = {modes[i], policies[k], scenarios[l]};
				double ms = cells_median(cells_us(c, key, CELLS_P99)) / 1e3;

				isnan(ms) ? printf(" ?") : printf(" %.3f", ms);
			}
		}
		printf("\n");
	}
	return 0;
}

/* ---- the command line -------------------------------------------------------------------------*/

static int print_claims(const char *path, const struct cells *c)
{
	FILE *stalls = fopen(path, "re");

	if (!stalls) {
		fprintf(stderr, "report: %s: %s\n", path, strerror(errno));
		return 1;
	}
	claims_print(c, stalls, stdout);
	fclose(stalls);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	struct cells cells;
	FILE *csv;
	int rc = 2;

	if (argc == 6 && !strcmp(what, "row"))
		return print_row(argv + 2);
	if (argc < 3) {
		fprintf(stderr,
			"usage: report row MODE POLICY SCENARIO REP <JSON | claims CSV STALLS | "
			"table CSV | plot CSV\n");
		return 2;
	}
	csv = fopen(argv[2], "re");
	if (!csv) {
		fprintf(stderr, "report: %s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	if (cells_read(&cells, csv, argv[2])) {
		if (argc == 4 && !strcmp(what, "claims"))
			rc = print_claims(argv[3], &cells);
		else if (argc == 3 && !strcmp(what, "table"))
			rc = print_table(&cells);
		else if (argc == 3 && !strcmp(what, "plot"))
			rc = print_plot(&cells);
		free(cells.rows);
	}
	fclose(csv);
	return rc;
}
