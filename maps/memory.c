// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory that never fails; see memory.h. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 8

void *memory_realloc(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);

	if (!p) {
		fprintf(stderr, "poise: out of memory\n");
		abort();
	}
	return p;
}

void *memory_alloc(size_t size)
{
	void *p = memory_realloc(NULL, size);

	memset(p, 0, size);
	return p;
}

char *memory_text(const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;

	return text ? memcpy(memory_realloc(NULL, size), text, size) : NULL;
}

void *memory_grow(void *array, size_t used, size_t *room, size_t entry)
{
	if (used < *room)
		return array;
	*room = *room ? *room * 2 : FIRST_ROOM;
	return memory_realloc(array, *room * entry);
}
