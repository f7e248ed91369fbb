/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Policy maglev: a flow's backend stands in the service's table where the hash of its 5-tuple
 * points. The table is filled after Eisenbud et al., "Maglev: A Fast and Reliable Software Network
 * Load Balancer", NSDI 2016, by maps/.
 */
#ifndef POISE_MAGLEV_H
#define POISE_MAGLEV_H

#include "packet.h"

static __always_inline __u64 maglev_place(const struct packet *p,
					  const struct poise_service_rec *rec)
{
	(void)rec;
	return p->hash;
}

#endif
