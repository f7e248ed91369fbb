/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keys with their values, as text in a field of a record: KEY NUL VALUE NUL, one pair behind
 * another, sorted by key, and zeros to the field's end. For what few have and each has little of.
 */
#ifndef POISE_PAIRS_H
#define POISE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

/* The value of a key in a field of `size` bytes, which it points into; NULL: it has none. */
const char *pairs_find(const char *field, size_t size, const char *key);
/* Gives a key a value in place of what it had; NULL: none. False, and nothing changed, if the field
 * has no room. */
bool pairs_put(char *field, size_t size, const char *key, const char *value);

#endif
