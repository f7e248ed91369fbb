/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Step 6: on to the member, in its mode, and out by its path.
 */
#ifndef POISE_FORWARD_H
#define POISE_FORWARD_H

#include "answer.h"
#include "count.h"
#include "cut.h"
#include "hop.h"
#include "mode.h"
#include "watch.h"

/* What cannot be forwarded as it is, is cut up or answered; XDP_*. where: ASKED(). */
__noinline int forward_not(struct xdp_md *ctx, __u32 member, answer_t why, __u32 where)
{
	struct poise_member *m = member_get(member);

	if (!m)
		return XDP_DROP;
	if (DROP_REASON(why) != POISE_R_TOO_BIG || cut(ctx, member, DROP_MTU(why), where))
		return answer(ctx, m->service, why, where);
	count_packet(member, where >> 16);
	count_reason(m->service, POISE_R_CUT);
	return XDP_PASS;
}

/* XDP_*. answers: what cannot be forwarded goes to forward_not; a constant, since that takes room
 * on the stack that not every caller has. Without it, why not is returned, as it is: negative. */
static __always_inline int forward(struct xdp_md *ctx, const struct packet *p,
				   const struct poise_member *m, __u32 member, bool answers)
{
	struct hop hop;
	answer_t failed;

	if (!m)
		return drop(p->service, DROP(BROKEN));
	failed = hop_find(m, &hop);
	if (failed)
		return drop(p->service, failed);
	if (answers && UNLIKELY(watch_sees(p, m, member)))
		watch(ctx, member, watch_tag(p), LATENCY_HEADERS(p));
	failed = forward_mode(ctx, p, m, hop.path, hop.nexthop);
	if (UNLIKELY(failed))
		return answers ? forward_not(ctx, member, failed, ASKED(p)) : (int)failed;
	count_packet(member, p->length);
	return hop_leave(ctx, &hop, p->service);
}

#endif
