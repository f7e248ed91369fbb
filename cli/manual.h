/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The manual pages of `poise` and of its file, from the tables of commands, options, keys and drop
 * reasons that the program itself is built from. Used by docs/man.c when poise is built, and by
 * tests; the program carries none of it.
 *
 * A template (docs/man/poise.8.in) is mdoc with lines of the form @NAME@, each replaced by the list
 * of that name.
 */
#ifndef POISE_CLI_MANUAL_H
#define POISE_CLI_MANUAL_H

#include <stdbool.h>
#include <stdio.h>

/* Writes a list by the name it has in templates; false if there is none of this name. */
bool manual_list(FILE *out, const char *name);
/* DIRECTORY/poise.8 from .../poise.8.in. Exits with a message if it cannot, as the next one. */
void manual_template(const char *directory, const char *template);
/* A page for every first word of a command; its line in NAME is the help of the first command. */
void manual_groups(const char *directory);

#endif
