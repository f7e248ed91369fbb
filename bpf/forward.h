/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Step 6: on to the member, in its mode, and out by its path. Each mode is a file and a line here:
 *
 *   answer_t forward(ctx, packet, member, path, nexthop): rewrites the frame; 0, or why not.
 */
#ifndef POISE_FORWARD_H
#define POISE_FORWARD_H

#include "answer.h"
#include "count.h"
#include "gue.h"
#include "ipip.h"
#include "l2.h"
#include "member.h"

#define POISE_MODE_TABLE(M)                                                                        \
	M(POISE_L2, l2_forward)                                                                    \
	M(POISE_IPIP, ipip_forward)                                                                \
	M(POISE_GUE, gue_forward)

static __always_inline answer_t forward_mode(struct xdp_md *ctx, const struct packet *p,
					     const struct poise_member *m,
					     const struct poise_path *path, __u64 nexthop)
{
	switch (m->mode) {
#define MODE_FORWARD(id, forward)                                                                  \
	case id: return forward(ctx, p, m, path, nexthop);
		POISE_MODE_TABLE(MODE_FORWARD)
	}
	return DROP(UNSUPPORTED);
}

/* XDP_*. answers: the packet's sender may be told why it is not forwarded; a constant, since
 * answer() takes room on the stack that not every caller has. Without it, why not is returned, as
 * it is: negative. */
static __always_inline int forward(struct xdp_md *ctx, const struct packet *p,
				   const struct poise_member *m, __u32 member, bool answers)
{
	struct poise_path *path;
	__u64 nexthop;
	answer_t failed;
	__u32 out;

	if (!m)
		return drop(p->service, DROP(BROKEN));
	nexthop = ONCE(m->nexthop);
	if (!nexthop)
		return drop(p->service, DROP(NO_NEXT_HOP));
	out = nexthop >> 48;
	path = bpf_map_lookup_elem(&paths, &out);
	if (!path)
		return drop(p->service, DROP(BROKEN));
	failed = forward_mode(ctx, p, m, path, nexthop);
	if (UNLIKELY(failed))
		return answers ? answer(ctx, p->service, failed, ASKED(p)) : (int)failed;
	count_packet(member, p->length);
	if (LIKELY(path->ifindex == ctx->ingress_ifindex))
		return XDP_TX;
	if (bpf_redirect_map(&devmap, out, XDP_DROP) == XDP_REDIRECT)
		return XDP_REDIRECT;
	return drop(p->service, DROP(BROKEN));
}

#endif
