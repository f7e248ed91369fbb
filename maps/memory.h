/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that never fails: whoever has none left ends, with a word. No caller could do better, and
 * what packets see does not need the caller.
 */
#ifndef POISE_MEMORY_H
#define POISE_MEMORY_H

#include <stddef.h>

/* As calloc and realloc. */
void *memory_alloc(size_t size);
void *memory_realloc(void *old, size_t size);
/* As strdup; of NULL, NULL. */
char *memory_text(const char *text);
/* Makes room for one more entry of this size in array, doubling. Returns the array. */
void *memory_grow(void *array, size_t used, size_t *room, size_t entry);

#endif
