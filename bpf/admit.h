/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * May a member take a new flow? The one question that every policy asks about whom it would choose;
 * on a no it goes on to the next. It is only a question: a policy that compares members asks about
 * several and takes one.
 */
#ifndef POISE_ADMIT_H
#define POISE_ADMIT_H

#include "hold.h"
#include "stamp.h"

/* A member that fades in (maps/fade.h) takes its share of the flows that come to it, and no more
 * than its cap when nobody keeps that share up any more. */
static __always_inline bool admit_share(const struct poise_member *m, __u64 draw)
{
	__u32 now = stamp_seconds();
	__u16 share = ONCE(m->fade);

	if ((__s32)(ONCE(m->fade_until) - now) < 0)
		share = ONCE(m->fade_cap);
	return !share || (__u16)(poise_mix(draw) >> 16) < share;
}

/* A function of its own: those who ask have no stack to spare. */
__noinline int admit_fading(struct poise_member *m, __u64 draw)
{
	return m && admit_share(m, draw);
}

/* The flow's place decides, so that under a hash policy each packet of a flow gets the same answer.
 * apart: 0, or what gives this member an answer of its own: a flow that several who fade in are
 * asked about is theirs or none's where a table shares flows out, but where load decides each of
 * them must get its own. */
static __always_inline bool admitted(const struct flow *f, const struct poise_service_rec *rec,
				     __u32 id, struct poise_member *m, __u32 apart)
{
	return member_usable(m, f->service, rec->rung) &&
	       (LIKELY(!member_fades(m)) || admit_fading(m, f->place + apart * POISE_GOLD)) &&
	       !hold_full(m, id, f->has);
}

/* The same without a call more, for who is called so deep that there is no stack for one. */
static __always_inline bool admitted_deep(const struct flow *f, const struct poise_service_rec *rec,
					  __u32 id, const struct poise_member *m, __u32 apart)
{
	__u32 most, has = f->has;

	if (!member_usable(m, f->service, rec->rung))
		return false;
	if (UNLIKELY(member_fades(m)) && !admit_share(m, f->place + apart * POISE_GOLD))
		return false;
	most = ONCE(m->max_conns);
	return LIKELY(!most) || hold_room(most, id, has);
}

#endif
