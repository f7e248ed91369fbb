/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the slow paths work on, a line or two per CPU. The stack has 512 bytes for all functions
 * under way together, and choosing is the deepest of them.
 *
 * One packet at a time: whoever is interrupted by another of the same CPU may find that one's
 * notes. Nobody trusts them further than to choose a member, which is then asked whose it is.
 */
#ifndef POISE_SCRATCH_H
#define POISE_SCRATCH_H

#include "packet.h"

struct rival {
	__u64 load;
	__u32 slot; /* of the cycle; 0: nobody */
	__u32 tie;  /* the smaller of two equals wins */
};

/* Members being compared (load.h). */
struct pick {
	struct rival best;
	struct rival asked; /* better, if it may take the flow */
	__u32 careful;	    /* ask everybody */
	__u32 next;	    /* whom to look at */
	__u32 row;	    /* where this CPU's part of own and others begins */
	__u32 draw;
	__u64 start; /* of chance (p2c.h) */
	__u64 chance;
	__u64 taken;
};

struct scratch {
	struct flow flow;
	struct pick pick;
};

/* [cpu]. Not pinned: of no use to the next packet. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct scratch *scratch_get(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&scratches, &cpu);
}

#endif
