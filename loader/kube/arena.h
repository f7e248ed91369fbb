/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of one object: taken piece by piece, given back all at once. A piece costs its bytes and
 * no more, so a hundred thousand endpoints are as small as they are few.
 */
#ifndef POISE_KUBE_ARENA_H
#define POISE_KUBE_ARENA_H

#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *last;
};

/* Zeroed, aligned for anything. */
void *arena_alloc(struct arena *a, size_t size);
char *arena_text(struct arena *a, const char *text);
void arena_free(struct arena *a);

#endif
