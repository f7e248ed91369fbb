/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "service.h"

#include <math.h>

uint64_t service_take(struct service *s, uint64_t arrived)
{
	uint64_t work = (uint64_t)llrint((double)s->work / s->speed);
	uint64_t begins = arrived;
	uint32_t first = 0;

	for (uint32_t w = 1; w < s->workers; w++)
		if (s->free_at[w] < s->free_at[first])
			first = w;
	if (s->workers && s->free_at[first] > arrived)
		begins = s->free_at[first];
	s->free_at[first] = begins + work;
	return begins + work + s->delay;
}

uint64_t service_stalls_until(const struct service *s, uint64_t now)
{
	uint64_t into;

	if (!s->stall)
		return 0;
	into = now % s->stall_period;
	return into >= s->stall_period - s->stall ? now - into + s->stall_period : 0;
}
