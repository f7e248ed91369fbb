/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the policies that choose anew for each flow keep between two choices: a line per CPU and
 * service, so that no CPU waits for another.
 *
 * Chance comes from the flow's keyed hash, which no outsider can foresee, and a count of choices,
 * so that the same flow does not get the same draw again. A helper would cost 20 ns.
 */
#ifndef POISE_TURN_H
#define POISE_TURN_H

#include "listener.h"

struct turn {
	__u32 count;	/* of draws; may wrap */
	__u32 position; /* round-robin's next slot of the cycle, from 1; 0: not begun */
};

/* Not pinned: a new program begins anew, at random. [cpu * poise_services + service] */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct turn);
} turns SEC(".maps");

static __always_inline struct turn *turn_get(const struct flow *f)
{
	__u32 place = bpf_get_smp_processor_id() * poise_services + f->service;

	return bpf_map_lookup_elem(&turns, &place);
}

/* What a policy chooses by; false: there is no such record or line. */
static __always_inline bool turn_begin(const struct flow *f, struct poise_service_rec **rec,
				       struct turn **turn)
{
	if (!f)
		return false;
	*rec = service_record(f->service, f->record);
	*turn = turn_get(f);
	return *rec && *turn;
}

static __always_inline __u64 turn_draw(struct turn *t, const struct flow *f)
{
	return poise_mix(f->hash + ++t->count * POISE_GOLD);
}

#endif
