/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Splitting a line of a batch, or the command of a check, into words, as a shell would without its
 * expansions. */
#ifndef POISE_SPLIT_H
#define POISE_SPLIT_H

#include "error.h"

/* Splits line in place at blanks; 'x y' and "x y" are one word, \x is x, # at the start of a word
 * ends the line. *argv is malloc'ed (NULL-ended) and points into line. The number of words, or -1
 * for a quote that is not closed. */
int split_words(char *line, char ***argv, struct poise_error *err);

#endif
