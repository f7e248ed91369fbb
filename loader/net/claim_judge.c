// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Whose an address is. With marks the kernel tells, and one of ours is ours even if we were killed
 * before we could note it; without, the record alone does. An address that carries another mark,
 * or none where ours had one, was put there anew by somebody else.
 */
#include "claim.h"

bool net_placed_ours(const struct net_placed *p, __u8 put)
{
	return p && ((put == POISE_PUT_MARKED && p->proto == POISE_IFA_PROTO) ||
		     (put == POISE_PUT_UNMARKED && !p->proto));
}

__u8 net_placed_put(const struct net_placed *p, __u8 put)
{
	if (!p)
		return POISE_PUT_NOT;
	if (p->proto == POISE_IFA_PROTO)
		return POISE_PUT_MARKED;
	return net_placed_ours(p, put) ? put : POISE_PUT_FOREIGN;
}
