/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The forward modes. Each is a file and a line here:
 *
 *   answer_t forward(ctx, packet, member, path, nexthop): rewrites the frame; 0, or why not.
 */
#ifndef POISE_MODE_H
#define POISE_MODE_H

#include "gue.h"
#include "ipip.h"
#include "l2.h"

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

#endif
