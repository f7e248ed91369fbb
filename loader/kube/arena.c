// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory of one object; see arena.h. */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "maps/memory.h"

#define CHUNK 448 /* bytes: most objects need one or two */
#define ALIGN sizeof(max_align_t)

struct arena_chunk {
	struct arena_chunk *before;
	size_t used, size;
	_Alignas(max_align_t) char at[];
};

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_chunk *c = a->last;
	void *piece;

	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (!c || c->size - c->used < size) {
		size_t room = size > CHUNK ? size : CHUNK;

		c = memory_alloc(sizeof(*c) + room);
		c->size = room;
		c->before = a->last;
		a->last = c;
	}
	piece = c->at + c->used;
	c->used += size;
	return piece;
}

char *arena_text(struct arena *a, const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(arena_alloc(a, size), text, size);
}

void arena_free(struct arena *a)
{
	while (a->last) {
		struct arena_chunk *before = a->last->before;

		free(a->last);
		a->last = before;
	}
}
