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

/* What a flow that wants a slot begins with. */
struct birth {
	__u32 seconds;
	__u32 seq;     /* of its SYN, host order */
	__u32 stamp;   /* its timestamp ... */
	__u32 stamped; /* ... if it has one */
	__u32 member;  /* that it is for */
};

/* Who talks to whom, as the client's packets say; sent: as what they become does. */
struct talk {
	union poise_addr client;
	union poise_addr address;
	__u32 ports;
	__u32 udp;
	__u32 sent;
	__u32 spare;
};

struct scratch {
	struct flow flow;
	struct pick pick;
	/* mode nat */
	struct birth birth; /* or its end */
	struct talk talk;
	struct talk sent;     /* mode local: what it becomes, else sent.sent is 0 */
	struct poise_way way; /* but for the source */
	__u16 vlan[POISE_PATH_MAX_VLANS];
	__u16 tpid[POISE_PATH_MAX_VLANS];
	__u32 at; /* the slot, for POISE_TAIL_LOCAL; that and more for POISE_TAIL_NAT_FRAGMENT */
	__u32 spare;
	__u64 datagram; /* of a first fragment */
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
