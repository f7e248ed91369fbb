/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The native datapath opened up for benches: beside the whole way of a packet (bpf/run.h), single
 * steps that no caller outside bpf/ can reach. Each is a function measured_*, for callgrind counts
 * what happens between entry and return of those and nothing else.
 *
 * The same source is built a second time so that it counts itself (inside_counted): helpers that
 * are calls in the kernel, map look-ups, and distinct cache lines of maps and packet, per call of a
 * measured_*. Those three are the source's own and the same whoever compiles it.
 */
#ifndef POISE_BENCH_INSIDE_H
#define POISE_BENCH_INSIDE_H

#include "bpf/run.h"

#define MEASURED __attribute__((noinline, noclone))
#ifdef __clang__
#undef MEASURED
#define MEASURED __attribute__((noinline))
#endif

/* A packet's whole way; XDP_*. */
int measured_xdp(struct run_frame *f, __u32 ifindex);
/* The choice for a new flow of this hash, alone: a member, or a reason to drop. */
__u32 measured_choose(__u16 service, __u64 hash);
/* Looks for a flow: the slot of its word; -1: none. */
int measured_get(__u32 bucket, __u32 tag, __u16 service);
/* Records a flow's word: 0 if that went. */
int measured_claim(__u32 bucket, __u16 service, __u64 word);
int measured_free(__u32 bucket, int slot);
/* A flow is counted as opened, and as closed. */
void measured_gauge(__u16 member);
void measured_sweep(struct poise_sweep *io);

/* A live word of this member in state NEW or EST, stamped now. */
__u64 inside_word(__u32 tag, __u16 member, __u32 state);

struct inside_counts {
	__u64 calls; /* of measured_* */
	__u64 helpers, lookups, lines;
};

/* False: this is the build that does not count. */
bool inside_counts_itself(void);
void inside_count_from_here(void);
struct inside_counts inside_counted(void);

#endif
