/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cycle of a service: whom its policy goes through for new flows, in slots of the pool that
 * tables have theirs from. Under round-robin the turns of one round, under the policies that go by
 * load the roster, each member once with its weight. Hash policies and random have none.
 */
#ifndef POISE_CYCLE_H
#define POISE_CYCLE_H

#include <stddef.h>

#include "abi.h"

struct cycle_member {
	__u16 id;
	__u16 weight; /* at least 1 */
};

/* Places that the cycle of these members has; 0: the policy has none, or nobody is there. */
__u32 cycle_size(enum poise_policy policy, const struct cycle_member *member, size_t n);

/* Fills slot[size * POISE_CYCLE_WIDTH(policy)], size by cycle_size. */
void cycle_fill(enum poise_policy policy, const struct cycle_member *member, size_t n, __u32 *slot,
		__u32 size);

/* Two cycles with the same are of the same members in the same order, and may be changed into one
 * another slot by slot. */
__u64 cycle_key(enum poise_policy policy, const struct cycle_member *member, size_t n);

#endif
