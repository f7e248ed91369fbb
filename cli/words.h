/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Splitting a line of a batch into words, as a shell would without its expansions. */
#ifndef POISE_CLI_WORDS_H
#define POISE_CLI_WORDS_H

#include "../maps/error.h"

/* Splits line in place at blanks; 'x y' and "x y" are one word, \x is x, # at the start of a word
 * ends the line. *argv is malloc'ed (NULL-ended) and points into line. The number of words, or -1
 * for a quote that is not closed. */
int words_split(char *line, char ***argv, struct poise_error *err);

#endif
