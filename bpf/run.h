/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The datapath as a library: the very source of the programs, compiled for this machine and run on
 * the memory of an instance (instance_anonymous). For unit tests, fuzzing and instruction counts.
 */
#ifndef POISE_RUN_H
#define POISE_RUN_H

#include <stddef.h>

#include "../maps/instance.h"

/* Packets of all threads work on this instance's maps from now on; NULL: on none. */
void run_use(struct instance *i);

/* The clock, which stands still unless set, or moved on by ticks. */
#define RUN_HZ 256 /* any will do, this one makes poise_jiffies_mult exact */
void run_set_seconds(__u32 seconds);
void run_tick(__u32 ticks);

/* Which CPU the calling thread is: its counters; below meta.cpus. */
void run_set_cpu(__u32 cpu);
/* What the kernel's clock says from now on, ns. */
void run_set_ns(__u64 ns);

/* As many answers may be sent as after a rest. */
void run_refill(void);

/* A frame within a buffer of the caller's: what may be written is start .. limit. */
struct run_frame {
	__u8 *start;
	__u8 *data;
	__u8 *end;
	__u8 *limit;
};

/* Puts a frame through the pipeline, as received on this interface; data and end move. XDP_*. */
int run_xdp(struct run_frame *f, __u32 ifindex);

/* Puts a frame through the program by which mode local's answers leave; TC_ACT_*. */
int run_leave(struct run_frame *f);

void run_sweep(struct poise_sweep *io);

/* What was dropped and why, of a service (0: of none), since run_use. */
const struct poise_drops *run_drops(__u16 service);

#endif
