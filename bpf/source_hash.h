/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Policy source-hash: the same table, read where the hash of the client's address alone points, so
 * that all flows of a client share a backend.
 */
#ifndef POISE_SOURCE_HASH_H
#define POISE_SOURCE_HASH_H

#include "packet.h"

static __always_inline __u64 source_hash_place(const struct packet *p,
					       const struct poise_service_rec *rec)
{
	(void)rec;
	return poise_client_hash(&p->src, poise_key0, poise_key1);
}

#endif
