/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Arrays that are kept sorted: where an entry is or would be, and room for it there. Looking is
 * inline, so that the order is, too: configurations are looked up in by the ten thousand.
 */
#ifndef POISE_SORTED_H
#define POISE_SORTED_H

#include <stdbool.h>
#include <string.h>

#include "memory.h"

/* Below, at or above 0 as key is before, at or behind the entry. */
typedef int (*sorted_order)(const void *key, const void *entry);

/* The place of the first of n entries of this size that key is not behind; n: it is behind all. */
static inline size_t sorted_place(const void *key, const void *array, size_t n, size_t entry,
				  sorted_order order)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (order(key, (const char *)array + middle * entry) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The same; *found tells whether that entry is key's own. */
static inline size_t sorted_find(const void *key, const void *array, size_t n, size_t entry,
				 sorted_order order, bool *found)
{
	size_t at = sorted_place(key, array, n, entry, order);

	*found = at < n && !order(key, (const char *)array + at * entry);
	return at;
}

/* The array, grown if it has no more room (memory_grow), those from `at` on moved up by one, *n
 * counted up. What the entry there holds is undefined. */
static inline void *sorted_open(void *array, size_t at, size_t *n, size_t *room, size_t entry)
{
	char *grown = memory_grow(array, *n, room, entry), *place = grown + at * entry;

	memmove(place + entry, place, (*n - at) * entry);
	++*n;
	return grown;
}

/* Takes out the entry at `at`. */
static inline void sorted_close(void *array, size_t at, size_t *n, size_t entry)
{
	char *place = (char *)array + at * entry;

	--*n;
	memmove(place, place + entry, (*n - at) * entry);
}

#endif
