// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Members whose flows are counted in held[] too, for max-conns (bpf/hold.h). What was counted until
 * then goes there in one step for each counter, while packets come: only kernel code, which runs to
 * its end, can do that without ever losing count, so the sweeper's program does.
 */
#include "derive.h"

/* An anonymous instance has no kernel. */
static void hold_counter(__u64 *counter, poise_load *held, int sign, bool holds)
{
	__u64 was = holds ? __atomic_fetch_or(counter, POISE_COUNT_HELD, __ATOMIC_SEQ_CST)
			  : __atomic_fetch_and(counter, ~POISE_COUNT_HELD, __ATOMIC_SEQ_CST);

	if (!(was & POISE_COUNT_HELD) == holds)
		__atomic_fetch_add(held, (holds ? sign : -sign) * (poise_load)was,
				   __ATOMIC_SEQ_CST);
}

static void hold_memory(struct instance *i, __u16 id, bool holds)
{
	for (__u32 cpu = 0; cpu < i->meta->cpus; cpu++) {
		struct poise_counter *c = &i->counters[(size_t)cpu * i->meta->members + id];

		hold_counter(&c->opened, &i->held[id], 1, holds);
		hold_counter(&c->closed, &i->held[id], -1, holds);
	}
}

bool held_is(const struct instance *i, __u16 id)
{
	return i->counters[id].opened & POISE_COUNT_HELD;
}

void held_set(struct instance *i, __u16 id, bool holds)
{
	struct poise_sweep io = {.kind = holds ? POISE_SWEEP_HOLD : POISE_SWEEP_LOOSE,
				 .member = id};

	if (holds == held_is(i, id))
		return;
	store_step();
	if (i->anonymous)
		hold_memory(i, id, holds);
	else
		sweep_run(i, &io, NULL);
}
