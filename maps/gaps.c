// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Finding free places: all that are taken, sorted, leave the gaps between.
 */
#include <stdlib.h>

#include "memory.h"
#include "gaps.h"

void gaps_add(struct gaps *g, __u32 at, __u32 count)
{
	if (!at || !count)
		return;
	g->gap = memory_grow(g->gap, g->n, &g->room, sizeof(*g->gap));
	g->gap[g->n++] = (struct gap){at, count};
}

/* What packets may still read by one id: its active record, and both until a grace period. */
static void add_published(struct gaps *taken, const struct instance *i,
			  const struct gaps_pool *pool, __u32 id)
{
	const struct poise_service *s = &i->services[id];
	bool graced = store_graced(i, s->retired);
	bool gone = s->active & POISE_SERVICE_GONE;

	for (int copy = 0; copy < 2; copy++)
		if (!graced || (!gone && (s->active & 1) == (__u32)copy))
			pool->rec(taken, &s->rec[copy]);
}

static int by_place(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

void gaps_find(struct gaps *g, const struct instance *i, const struct gaps_pool *pool)
{
	struct gaps taken = {0};
	__u32 at = 1;

	if (g->gap)
		return;
	*g = (struct gaps){0};
	for (__u32 id = 1; id < i->meta->services; id++) {
		const struct poise_service_conf *conf = store_service(i, id);

		if (conf->r.state == POISE_REC_USED)
			pool->conf(&taken, conf);
		add_published(&taken, i, pool, id);
	}
	if (taken.n)
		qsort(taken.gap, taken.n, sizeof(*taken.gap), by_place);
	for (size_t t = 0; t < taken.n; t++) {
		if (taken.gap[t].at > at)
			gaps_add(g, at, taken.gap[t].at - at);
		if (taken.gap[t].at + taken.gap[t].count > at)
			at = taken.gap[t].at + taken.gap[t].count;
	}
	if (at < pool->end)
		gaps_add(g, at, pool->end - at);
	free(taken.gap);
}

__u32 gaps_take(struct gaps *g, __u32 count)
{
	for (size_t n = 0; n < g->n; n++)
		if (g->gap[n].count >= count) {
			__u32 at = g->gap[n].at;

			g->gap[n].at += count;
			g->gap[n].count -= count;
			return at;
		}
	return 0;
}

__u32 gaps_left(const struct gaps *g, __u32 *largest)
{
	__u32 left = 0;

	*largest = 0;
	for (size_t n = 0; n < g->n; n++) {
		left += g->gap[n].count;
		if (g->gap[n].count > *largest)
			*largest = g->gap[n].count;
	}
	return left;
}

void gaps_free(struct gaps *g)
{
	free(g->gap);
	*g = (struct gaps){0};
}
