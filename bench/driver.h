/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the driver program is told and what it counts: its .bss, shared with user space. */
#ifndef POISE_BENCH_DRIVER_H
#define POISE_BENCH_DRIVER_H

#include <linux/types.h>

/* Bytes rewritten before every packet: Ethernet, IPv4 and TCP (54), or Ethernet, IPv6 and the first
 * 8 bytes of TCP. */
#define DRIVER_FRAME 62

struct driver_state {
	__u8 frame[64] __attribute__((aligned(8))); /* DRIVER_FRAME of them */
	__u32 length;				    /* of the frame, before */
	__s32 growth;	/* bytes the program under test is to add in front */
	__u32 flows;	/* a power of two, minus 1; 0: always the same flow */
	__u32 net;	/* of the clients, host order: no two drivers have the same flows */
	__u32 vary_at;	/* offset of the 4 bytes of source address that tell the flows apart */
	__u32 sequence; /* goes on over runs, so that a flood stays fresh */
	__u32 ends_at; /* offset of TCP's flags: every other packet resets its flow; 0: none does */
	__u64 unexpected; /* packets that were found not to have grown by `growth` */
};

#endif
