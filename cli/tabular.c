// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Aligned tables; see tabular.h. */
#include "../maps/memory.h"
#include "tabular.h"

#include <stdlib.h>
#include <string.h>

#define GAP 2 /* spaces between columns */

struct table_row {
	unsigned int group;
	size_t cells;
	char *cell[TABLE_COLUMNS];
	enum table_colour colour[TABLE_COLUMNS];
};

void table_start(struct table *t)
{
	memset(t, 0, sizeof(*t));
}

void table_right(struct table *t, unsigned int group, unsigned int column)
{
	t->right[group][column] = true;
}

void table_indent(struct table *t, unsigned int group, unsigned int spaces)
{
	t->indent[group] = spaces;
}

void table_row(struct table *t, unsigned int group, const char *const *cell, size_t n)
{
	struct table_row *r;

	t->row = memory_grow(t->row, t->rows, &t->room, sizeof(*t->row));
	r = &t->row[t->rows++];
	memset(r, 0, sizeof(*r));
	r->group = group;
	r->cells = n < TABLE_COLUMNS ? n : TABLE_COLUMNS;
	for (size_t i = 0; i < r->cells; i++) {
		r->cell[i] = strdup(cell[i] ? cell[i] : "");
		if (!r->cell[i])
			abort();
	}
}

void table_colour(struct table *t, unsigned int column, enum table_colour colour)
{
	if (t->rows && column < TABLE_COLUMNS)
		t->row[t->rows - 1].colour[column] = colour;
}

/* One code point of UTF-8; a byte that is none counts as one of itself. */
static unsigned int next_code(const unsigned char **p)
{
	unsigned int c = *(*p)++;
	int more = c >= 0xf0 ? 3 : (c >= 0xe0 ? 2 : (c >= 0xc0 ? 1 : 0));

	if (more)
		c &= 0x3fu >> more;
	while (more-- && (**p & 0xc0) == 0x80)
		c = c << 6 | (*(*p)++ & 0x3fu);
	return c;
}

/* The ranges that matter in names people give: combining marks, and East Asian wide characters.
 * wcwidth would need the user's locale to be UTF-8, which in scripts it is not. */
static size_t code_width(unsigned int c)
{
	if ((c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200f) || c == 0xfeff)
		return 0;
	if ((c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
	    (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
	    (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
	    (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd))
		return 2;
	return 1;
}

size_t text_width(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t width = 0;

	while (*p)
		width += code_width(next_code(&p));
	return width;
}

static void print_spaces(FILE *out, size_t n)
{
	fprintf(out, "%*s", (int)n, "");
}

static void print_cell(FILE *out, const char *text, enum table_colour colour)
{
	static const char *const codes[] = {
		[COLOUR_GOOD] = "32",
		[COLOUR_WARN] = "33",
		[COLOUR_BAD] = "31",
		[COLOUR_FAINT] = "2",
	};

	if (colour)
		fprintf(out, "\033[%sm%s\033[0m", codes[colour], text);
	else
		fputs(text, out);
}

static void print_row(const struct table *t, const struct table_row *r, FILE *out, bool colour,
		      size_t width[TABLE_GROUPS][TABLE_COLUMNS])
{
	size_t last = r->cells;

	while (last && !*r->cell[last - 1])
		last--; /* no blanks at the end of a line */
	print_spaces(out, last ? t->indent[r->group] : 0);
	for (size_t i = 0; i < last; i++) {
		size_t pad = width[r->group][i] - text_width(r->cell[i]);
		bool right = t->right[r->group][i];

		print_spaces(out, right ? pad : 0);
		print_cell(out, r->cell[i], colour ? r->colour[i] : COLOUR_NONE);
		if (i + 1 < last)
			print_spaces(out, (right ? 0 : pad) + GAP);
	}
	fputc('\n', out);
}

void table_print(struct table *t, FILE *out, bool colour)
{
	size_t width[TABLE_GROUPS][TABLE_COLUMNS] = {0};

	for (size_t i = 0; i < t->rows; i++) {
		for (size_t k = 0; k < t->row[i].cells; k++) {
			size_t w = text_width(t->row[i].cell[k]);
			size_t *max = &width[t->row[i].group][k];

			*max = w > *max ? w : *max;
		}
	}
	for (size_t i = 0; i < t->rows; i++) {
		print_row(t, &t->row[i], out, colour, width);
		for (size_t k = 0; k < t->row[i].cells; k++)
			free(t->row[i].cell[k]);
	}
	free(t->row);
	table_start(t);
}
