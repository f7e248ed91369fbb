/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "schedule.h"

#include <math.h>
#include <stdlib.h>

#include "bench/random.h"

/* Sets when this client is due next. */
static void advance(const struct schedule *s, struct schedule_next *n)
{
	double mean = s->clients * 1e9 / s->rate;

	if (s->poisson)
		n->due += (uint64_t)llrint(-log1p(-random_unit(&n->random)) * mean);
	else /* not by adding gaps, whose rounding would add up */
		n->due = (uint64_t)llrint(((double)n->turn * s->clients + n->client) * 1e9 /
					  s->rate);
	n->turn++;
}

static bool before(const struct schedule_next *a, const struct schedule_next *b)
{
	return a->due != b->due ? a->due < b->due : a->client < b->client;
}

static void sift_down(struct schedule *s, uint32_t at)
{
	struct schedule_next moving = s->heap[at];

	for (;;) {
		uint64_t child = 2ull * at + 1;

		if (child + 1 < s->clients && before(&s->heap[child + 1], &s->heap[child]))
			child++;
		if (child >= s->clients || !before(&s->heap[child], &moving))
			break;
		s->heap[at] = s->heap[child];
		at = (uint32_t)child;
	}
	s->heap[at] = moving;
}

bool schedule_open(struct schedule *s, uint32_t clients, double rate, bool poisson, uint64_t seed)
{
	*s = (struct schedule){.clients = clients, .rate = rate, .poisson = poisson};
	s->heap = calloc(clients, sizeof(*s->heap));
	if (!s->heap)
		return false;
	for (uint32_t c = 0; c < clients; c++) {
		s->heap[c] = (struct schedule_next){.client = c, .random = random_next(&seed)};
		advance(s, &s->heap[c]);
	}
	for (uint32_t at = clients / 2; at-- > 0;)
		sift_down(s, at);
	return true;
}

void schedule_close(struct schedule *s)
{
	free(s->heap);
	s->heap = NULL;
}

uint64_t schedule_due(const struct schedule *s)
{
	return s->heap[0].due;
}

uint32_t schedule_take(struct schedule *s)
{
	uint32_t client = s->heap[0].client;

	advance(s, &s->heap[0]);
	sift_down(s, 0);
	return client;
}
