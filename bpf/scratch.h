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

/* A member that is being compared with others (load.h). */
struct rival {
	__u64 score;  /* what all of its flows and this one cost there */
	__u64 tie;    /* the smaller of two equals wins */
	__u64 member; /* 0: nobody */
};

struct pick {
	struct rival best;
	struct rival asked; /* better, if it may take the flow */
	__u64 chance;	    /* who wins among equals */
	__u32 at, step;	    /* the place to be looked at, and how far it is to the next */
	__u32 left;	    /* how many are to be looked at */
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
