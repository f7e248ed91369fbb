/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Backends of mode nat that no attached device leads to, beyond a tunnel for example, get their
 * packets by the host's own stack, and that has to translate their sources (maps/nat.h). Here the
 * table of nftables that does it (nft.h) comes and goes with the need, and is put back if somebody
 * takes it away; meta.overlay says how it stands, and next hops follow from that (hop.c).
 *
 * The table stays till there is no backend of mode nat, since flows that began while it was needed
 * may go on; and it stays while poised is away, as packets do.
 */
#ifndef POISE_NET_OVERLAY_H
#define POISE_NET_OVERLAY_H

#include "net.h"

struct overlay {
	__u64 next; /* CLOCK_MONOTONIC ns: it is looked at again */
};

/* Brings the table in step with what a pass over all members has seen. True if meta.overlay
 * changed: next hops are to be looked for again. A failure is in err, and the next try a second
 * later. */
bool overlay_settle(struct overlay *o, struct instance *i, const struct net_seen *seen,
		    struct poise_error *err);
/* The instance goes, or no device is attached: takes the table away, if there is one. */
int overlay_remove(struct instance *i, struct poise_error *err);

#endif
