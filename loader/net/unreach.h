/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Addresses of services that a router leads here and that this host does not have: what passes on,
 * since nobody balances it or the program is gone, would go back to the router and come again until
 * its TTL is used up. For each such address there is an `unreachable` route, which every other
 * route for the same address goes before; but for those of Kubernetes Services.
 *
 * The route itself says that it is ours, by protocol and metric, and whose of several instances: so
 * nothing is noted anywhere, whoever was killed when, and nothing else is ever removed.
 */
#ifndef POISE_NET_UNREACH_H
#define POISE_NET_UNREACH_H

#include "claim.h"

#define UNREACH_PROTOCOL POISE_IFA_PROTO /* likewise among the numbers of routing daemons */
#define UNREACH_METRIC	 0xff000000u	 /* and 24 bits of the instance */

/* Puts and takes off what cfg asks for; of a part nothing, NULL: none is wanted any more. Only an
 * address whose packets would leave by a gateway gets one. The number of changes; -1: the kernel
 * could not be asked. Repeatable; needs no lock. */
int net_unreach_settle(struct net *n, const char *instance, const struct config *cfg,
		       net_claim_say say, void *ctx, struct poise_error *err);

#endif
