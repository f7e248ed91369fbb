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

/* Beyond every reason: look again, for another CPU was quicker. */
#define NEW_FLOW_AGAIN (DROP_BIT | POISE_REASON_SLOTS)

/* base: whom it would have if nothing were known of it. */
static __always_inline answer_t new_flow(struct flow *f, const struct poise_service_rec *rec,
					 __u32 base)
{
	answer_t member = 0;

	/* A flow that moves, because its backend let it go, was taken before. */
	if (UNLIKELY(rec->rate) && !(f->has & (FLOW_PACED | FLOW_MOVES)) && !pace_take(f))
		return DROP(RATE);
	f->has |= FLOW_NEW;
	if (rec->affinity)
		member = affinity_get(f);
	if (!member)
		member = pressure_choose(f, rec, base);
	if (IS_DROP(member))
		return member;
	/* Somebody took the last place, or the client has begun another flow. */
	if (!hold_take(f, member) || (rec->affinity && !affinity_put(f, member)))
		return NEW_FLOW_AGAIN;
	return member;
}

/* Its word stands. */
static __always_inline void new_flow_begun(struct flow *f)
{
	f->has &= ~FLOW_PACED;
	f->held = 0;
}

/* It stood, and was withdrawn and counted as closed, since another CPU's did too. */
static __always_inline void new_flow_withdrawn(struct flow *f)
{
	f->held = 0;
}

/* There was no room for it. */
static __always_inline void new_flow_unrecorded(struct flow *f)
{
	f->has &= ~FLOW_PACED;
}

/* What it took and has no word for. */
static __always_inline void new_flow_over(struct flow *f)
{
	if (UNLIKELY(f->has & FLOW_PACED))
		pace_return(f);
	if (UNLIKELY(f->held))
		hold_return(f);
}

#endif
