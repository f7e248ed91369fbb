/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * May a member take a new flow? The one question that every policy asks about whom it would choose;
 * on a no it goes on to the next. It is only a question: a policy that compares members asks about
 * several and takes one.
 */
#ifndef POISE_ADMIT_H
#define POISE_ADMIT_H

#include "member.h"

/* A member that fades in takes its share of the flows that come to it. The flow's place decides, so
 * that under a hash policy each packet of a flow gets the same answer. */
static __always_inline bool admit_faded(const struct flow *f, const struct poise_member *m)
{
	return !member_fades(m) || (__u16)(poise_mix(f->place) >> 16) < ONCE(m->fade);
}

/* look: the chance, in 65536ths, that the policy looks at this member for a given flow;
 * POISE_LOOK_EVERY if it looks at all of them, or goes by a table. */
static __always_inline bool admitted(const struct flow *f, const struct poise_service_rec *rec,
				     __u32 id, const struct poise_member *m, __u32 look)
{
	(void)id;
	(void)look;
	return member_usable(m, f->service, rec->rung) && admit_faded(f, m);
}

#endif
