/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A flow that is surely new: whether the service takes one more now (pace.h), and where it goes:
 * where the client's last one went (affinity.h), else where the policy says. What the flow takes on
 * this way is its own only once its word stands; until then, and if it never does, it is given
 * back.
 */
#ifndef POISE_NEW_FLOW_H
#define POISE_NEW_FLOW_H

#include "affinity.h"
#include "pace.h"
#include "pressure.h"

/* base: whom it would have if nothing were known of it. */
static __always_inline answer_t new_flow(struct flow *f, const struct poise_service_rec *rec,
					 __u32 base)
{
	answer_t member, other;

	/* A flow that moves, because its backend let it go, was taken before. */
	if (UNLIKELY(rec->rate) && !(f->has & (FLOW_PACED | FLOW_MOVES)) && !pace_take(f))
		return DROP(RATE);
	member = rec->affinity ? affinity_get(f) : 0;
	if (member)
		return member;
	member = pressure_choose(f, rec, base);
	if (!rec->affinity || IS_DROP(member) || affinity_put(f, member))
		return member;
	/* Another CPU has begun a flow of this client at the same time. */
	other = affinity_get(f);
	return other ? other : member;
}

/* Its word stands, or there was no room for it. */
static __always_inline void new_flow_begun(struct flow *f)
{
	f->has &= ~FLOW_PACED;
}

/* It was refused, or another CPU has begun it. */
static __always_inline void new_flow_over(struct flow *f)
{
	if (UNLIKELY(f->has & FLOW_PACED))
		pace_return(f);
}

#endif
