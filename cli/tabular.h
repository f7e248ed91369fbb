/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables for people: columns as wide as their widest cell, counted in characters as a terminal
 * shows them. Several tables may share one output by groups: rows of one group are aligned with
 * each other wherever they stand.
 */
#ifndef POISE_CLI_TABULAR_H
#define POISE_CLI_TABULAR_H

#include <stdbool.h>
#include <stdio.h>

#define TABLE_COLUMNS 16
#define TABLE_GROUPS  2

enum table_colour {
	COLOUR_NONE = 0,
	COLOUR_GOOD,
	COLOUR_WARN,
	COLOUR_BAD,
	COLOUR_FAINT,
};

struct table_row;

struct table {
	struct table_row *row;
	size_t rows, room;
	unsigned int indent[TABLE_GROUPS];
	bool right[TABLE_GROUPS][TABLE_COLUMNS];
};

void table_start(struct table *t);
/* Columns of a group that are numbers: aligned at the right. */
void table_right(struct table *t, unsigned int group, unsigned int column);
void table_indent(struct table *t, unsigned int group, unsigned int spaces);
/* Copies n cells; NULL is an empty one. */
void table_row(struct table *t, unsigned int group, const char *const *cell, size_t n);
/* Colours a cell of the last row. */
void table_colour(struct table *t, unsigned int column, enum table_colour colour);
/* Prints and frees. */
void table_print(struct table *t, FILE *out, bool colour);

/* Columns that text takes on a terminal: code points, wide ones twice, combining ones none. */
size_t text_width(const char *text);

#endif
