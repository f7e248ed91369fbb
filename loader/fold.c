/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fold. Simple loops over contiguous ids, so that the compiler makes vectors of them. */
#include <stdlib.h>
#include <string.h>

#include "fold.h"

void fold_init(struct fold *f, __u32 cpus)
{
	memset(f, 0, sizeof(*f));
	f->cpus = cpus;
	f->snapshot = calloc((size_t)cpus * FOLD_CHUNK, sizeof(f->snapshot[0]));
	if (!f->snapshot)
		abort();
}

void fold_free(struct fold *f)
{
	free(f->range);
	free(f->snapshot);
	memset(f, 0, sizeof(*f));
}

static int by_id(const void *a, const void *b)
{
	return *(const __u16 *)a - *(const __u16 *)b;
}

/* Ids of cfg's members, ascending, malloc'ed. */
static __u16 *ids_of(const struct config *cfg, size_t *count)
{
	size_t n = 0, room = 0;
	__u16 *id;

	for (size_t s = 0; s < cfg->services; s++)
		room += cfg->service[s]->members;
	id = malloc((room + 1) * sizeof(*id));
	if (!id)
		abort();
	for (size_t s = 0; s < cfg->services; s++)
		for (size_t m = 0; m < cfg->service[s]->members; m++)
			if (cfg->service[s]->member[m].id)
				id[n++] = cfg->service[s]->member[m].id;
	qsort(id, n, sizeof(*id), by_id);
	*count = n;
	return id;
}

void fold_members(struct fold *f, const struct config *cfg)
{
	struct fold_range *last = NULL;
	size_t n;
	__u16 *id = ids_of(cfg, &n);

	free(f->range);
	f->range = calloc(n + 1, sizeof(f->range[0]));
	if (!f->range)
		abort();
	f->ranges = 0;
	for (size_t k = 0; k < n; k++) {
		if (!last || last->first + last->count + FOLD_GAP < id[k]) {
			last = &f->range[f->ranges++];
			last->first = id[k];
		}
		last->count = id[k] + 1 - last->first;
	}
	free(id);
}

/* own is read once: a count that changed between two reads would be counted wrongly for good. */
static void fold_chunk(const struct fold *f, struct poise_loads *loads, __u32 row, __u32 count)
{
	poise_load total[FOLD_CHUNK];

	memset(total, 0, count * sizeof(*total));
	for (__u32 c = 0; c < f->cpus; c++) {
		poise_load *snapshot = &f->snapshot[c * FOLD_CHUNK];

		const struct poise_loads *from = &loads[(size_t)c * row];

		for (__u32 k = 0; k < count; k++) {
			snapshot[k] = *(const volatile poise_load *)&from[k].own;
			total[k] += snapshot[k];
		}
	}
	for (__u32 c = 0; c < f->cpus; c++) {
		const poise_load *snapshot = &f->snapshot[c * FOLD_CHUNK];
		struct poise_loads *to = &loads[(size_t)c * row];

		/* Stores only what changed: CPUs that read a line keep it. */
		for (__u32 k = 0; k < count; k++)
			if (to[k].others != total[k] - snapshot[k])
				to[k].others = total[k] - snapshot[k];
	}
}

void fold_run(const struct fold *f, struct poise_loads *loads, __u32 row)
{
	for (size_t r = 0; r < f->ranges; r++) {
		__u32 at = f->range[r].first, end = at + f->range[r].count;

		while (at < end) {
			__u32 count = end - at < FOLD_CHUNK ? end - at : FOLD_CHUNK;

			fold_chunk(f, &loads[at], row, count);
			at += count;
		}
	}
}
