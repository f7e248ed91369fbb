/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Regular expressions over what a stranger wrote: as Perl's, with ^ and $ at the ends of lines, but
 * never for long. Whatever the expression and the text, a search gives up after PATTERN_STEPS; what
 * could read on without taking steps, references back, looks around and the like, is refused.
 */
#ifndef POISE_PATTERN_H
#define POISE_PATTERN_H

#include <stddef.h>

#include "error.h"

/* Each some ten nanoseconds. A line of a thousand bytes can be read anew from each of them. */
#define PATTERN_STEPS 1000000

enum pattern_found {
	PATTERN_ABSENT = 0,
	PATTERN_PRESENT,
	PATTERN_ENDLESS, /* so many steps did not say */
};

/* Whether it can be used. */
int pattern_check(const char *pattern, struct poise_error *err);
/* Whether it is anywhere in these bytes. One that pattern_check refuses is in none. */
enum pattern_found pattern_find(const char *pattern, const void *text, size_t length);

#endif
