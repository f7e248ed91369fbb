/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The weighted Maglev table: which member answers which slot. */
#ifndef POISE_MAGLEV_H
#define POISE_MAGLEV_H

#include <stddef.h>

#include "abi.h"

struct maglev_member {
	union poise_addr addr;
	__u16 port;    /* network order */
	__u16 ordinal; /* what the table holds */
	__u32 weight;  /* at least 1 */
};

/* Fills table[size] with the ordinals of member[n], n >= 1. Sorts member. A pure function of the
 * addresses, ports, weights, size and key: neither the ordinals nor the order given matter. */
void maglev_fill(__u16 *table, __u32 size, struct maglev_member *member, size_t n,
		 const __u64 key[2]);

#endif
