/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cells.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows -------------------------------------------------------------------------------------*/

static bool parse_shares(const char *text, double share[CELLS_SERVERS])
{
	for (int used; *text && *text != '\n'; text += used) {
		unsigned int server;
		double value;

		used = 0;
		if (sscanf(text, " b%u:%lf%n", &server, &value, &used) != 2 || !server ||
		    server > CELLS_SERVERS)
			return false;
		share[server - 1] = value;
	}
	return true;
}

static bool parse_row(const char *line, struct cells_row *r)
{
	int used = 0;

	*r = (struct cells_row){};
	return sscanf(line, "%23[^,],%23[^,],%23[^,],%u,%lu,%lu,%lf,%lf,%lf,%n", r->mode, r->policy,
		      r->scenario, &r->rep, &r->sent, &r->succeeded, &r->us[CELLS_P50],
		      &r->us[CELLS_P99], &r->us[CELLS_P999], &used) == 9 &&
	       used && parse_shares(line + used, r->share);
}

bool cells_read(struct cells *c, FILE *csv, const char *name)
{
	char line[512];

	*c = (struct cells){};
	for (unsigned int at = 1; fgets(line, sizeof(line), csv); at++) {
		struct cells_row row, *more;

		if (at == 1 && !strcmp(line, CELLS_HEADER "\n"))
			continue;
		if (at == 1 || !parse_row(line, &row)) {
			fprintf(stderr, "report: %s:%u: not a %s: %s", name, at,
				at == 1 ? "header " CELLS_HEADER : "row of it", line);
			free(c->rows);
			return false;
		}
		if (row.sent != row.succeeded)
			continue;
		more = realloc(c->rows, (c->count + 1) * sizeof(*more));
		if (!more)
			abort();
		c->rows = more;
		c->rows[c->count++] = row;
	}
	return true;
}

void cells_write(const struct cells_row *r, FILE *csv)
{
	fprintf(csv, "%s,%s,%s,%u,%lu,%lu,%.0f,%.0f,%.0f,", r->mode, r->policy, r->scenario, r->rep,
		r->sent, r->succeeded, r->us[CELLS_P50], r->us[CELLS_P99], r->us[CELLS_P999]);
	for (int s = 0; s < CELLS_SERVERS; s++)
		fprintf(csv, "%sb%d:%.4f", s ? " " : "", s + 1, r->share[s]);
	fprintf(csv, "\n");
}

static bool is_of(const struct cells_row *row, struct cells_key key)
{
	return !strcmp(row->mode, key.mode) && !strcmp(row->policy, key.policy) &&
	       !strcmp(row->scenario, key.scenario);
}

const struct cells_row *cells_row(const struct cells *c, struct cells_key key, unsigned int rep)
{
	for (size_t i = 0; i < c->count; i++)
		if (is_of(&c->rows[i], key) && c->rows[i].rep == rep)
			return &c->rows[i];
	return NULL;
}

size_t cells_words(const struct cells *c, size_t offset, const char *words[], size_t room)
{
	size_t n = 0, w;

	for (size_t i = 0; i < c->count; i++) {
		const char *word = (const char *)&c->rows[i] + offset;

		for (w = 0; w < n && strcmp(words[w], word) != 0; w++)
			;
		if (w == n && n < room)
			words[n++] = word;
	}
	return n;
}

/* ---- a cell over its repetitions --------------------------------------------------------------*/

static double largest(const struct cells_row *row, int servers)
{
	double most = 0;

	for (int s = 0; s < servers; s++)
		most = row->share[s] > most ? row->share[s] : most;
	return most;
}

static double sum(const struct cells_row *row, int servers)
{
	double all = 0;

	for (int s = 0; s < servers; s++)
		all += row->share[s];
	return all;
}

static double us(const struct cells_row *row, int figure)
{
	return row->us[figure];
}

static struct cells_values collect(const struct cells *c, struct cells_key key,
				   double (*value)(const struct cells_row *, int), int which)
{
	struct cells_values values = {};

	for (size_t i = 0; i < c->count && values.n < CELLS_REPS; i++)
		if (is_of(&c->rows[i], key))
			values.v[values.n++] = value(&c->rows[i], which);
	return values;
}

struct cells_values cells_us(const struct cells *c, struct cells_key key, enum cells_figure f)
{
	return collect(c, key, us, (int)f);
}

struct cells_values cells_largest(const struct cells *c, struct cells_key key, int servers)
{
	return collect(c, key, largest, servers);
}

struct cells_values cells_sum(const struct cells *c, struct cells_key key, int servers)
{
	return collect(c, key, sum, servers);
}

struct cells_values cells_ratio(const struct cells *c, struct cells_key of, struct cells_key to,
				enum cells_figure f)
{
	struct cells_values values = {};

	for (size_t i = 0; i < c->count && values.n < CELLS_REPS; i++) {
		const struct cells_row *other;

		if (!is_of(&c->rows[i], of))
			continue;
		other = cells_row(c, to, c->rows[i].rep);
		if (other && other->us[f] > 0)
			values.v[values.n++] = c->rows[i].us[f] / other->us[f];
	}
	return values;
}

double cells_median(struct cells_values values)
{
	return sample_median(values.v, values.n);
}
