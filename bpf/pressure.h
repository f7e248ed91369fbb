/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pressure: words are lost before their flows are established, since more begin than there is room
 * for (record.h). A word that may be lost at once had better say no more than the table would
 * without it, so for a moment flows begin where a packet in their middle would be taken to.
 */
#ifndef POISE_PRESSURE_H
#define POISE_PRESSURE_H

#include "choose.h"

static __always_inline bool pressure_on(__u32 seconds)
{
	__u32 zero = 0;
	struct poise_meta *shared = bpf_map_lookup_elem(&meta, &zero);
	__u32 since = shared ? ONCE(shared->pressure) : 0;

	return since && seconds - since <= POISE_PRESSED_FOR;
}

/* The policy's choice, but under pressure base: the member that unknown flows of this place have.
 */
static __always_inline answer_t pressure_choose(struct flow *f, const struct poise_service_rec *rec,
						__u32 base)
{
	struct poise_member *m;

	if (LIKELY(!pressure_on(f->seconds)))
		return policy_choose(f, rec);
	count_reason(f->service, POISE_R_PRESSURE);
	m = member_get(base);
	if (member_usable(m, f->service, rec->rung) && !member_fades(m) &&
	    !hold_full(m, base, f->has))
		return base;
	return table_choose(f);
}

#endif
