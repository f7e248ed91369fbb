/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What bench/tail/run measured: a row for each cell of each repetition, as in tail.csv. */
#ifndef BENCH_CELLS_H
#define BENCH_CELLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/sample.h"

#define CELLS_WORD    24
#define CELLS_SERVERS 4
#define CELLS_REPS    64 /* repetitions that are looked at */
#define CELLS_HEADER  "mode,policy,scenario,rep,sent,succeeded,p50_us,p99_us,p999_us,shares"

enum cells_figure {
	CELLS_P50,
	CELLS_P99,
	CELLS_P999,
	CELLS_FIGURES,
};

struct cells_row {
	char mode[CELLS_WORD], policy[CELLS_WORD], scenario[CELLS_WORD];
	unsigned int rep;
	uint64_t sent, succeeded;
	double us[CELLS_FIGURES];
	double share[CELLS_SERVERS]; /* of b1, b2, ... in the answers */
};

struct cells {
	struct cells_row *rows;
	size_t count;
};

/* Values of one cell over its repetitions. */
struct cells_values {
	double v[CELLS_REPS];
	size_t n;
};

struct cells_key {
	const char *mode, *policy, *scenario;
};

/* Reads them; rows of which not all were answered are left out. False: says which line is wrong. */
bool cells_read(struct cells *c, FILE *csv, const char *name);
void cells_write(const struct cells_row *row, FILE *csv);
/* The cell's row of that repetition, NULL if there is none. */
const struct cells_row *cells_row(const struct cells *c, struct cells_key key, unsigned int rep);
struct cells_values cells_us(const struct cells *c, struct cells_key key, enum cells_figure f);
/* The largest share of the first so many servers; or their sum. */
struct cells_values cells_largest(const struct cells *c, struct cells_key key, int servers);
struct cells_values cells_sum(const struct cells *c, struct cells_key key, int servers);
/* One cell's figure in units of another's, repetition by repetition. */
struct cells_values cells_ratio(const struct cells *c, struct cells_key of, struct cells_key to,
				enum cells_figure f);
/* Of a copy: the values stay as they are. NAN of none. */
double cells_median(struct cells_values values);
/* Words of that column, in order of their first appearance; how many. */
size_t cells_words(const struct cells *c, size_t offset, const char *words[], size_t room);

#endif
