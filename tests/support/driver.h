/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the driver programs (driver.bpf.c) and the tests that run them share.
 */
#ifndef POISE_TEST_DRIVER_H
#define POISE_TEST_DRIVER_H

#include <linux/types.h>

#define DRIVER_HEADROOM 128 /* bytes poisoned before each packet: more than is ever put there */
#define DRIVER_POISON	0xa5
#define DRIVER_FRAME	64 /* bytes of the mixed driver's frame */
#define DRIVER_FRAME6	80 /* of fresh6's */

/* The mixed driver's state, a line for each CPU that runs it. */
struct driver_mix {
	__u8 frame[DRIVER_FRAME]; /* Ethernet, IPv4, TCP or UDP: the template */
	__u64 sequence;		  /* operations so far */
	__u32 flows;		  /* how many different ones, a power of two, less 1 */
	__u32 kinds;		  /* bit per packet kind that may be sent (driver.bpf.c) */
	__u32 seed;		  /* CPUs with one seed send the same packets in the same order */
	__u32 abreast;		  /* wait a moment for CPU `peer` to come as far */
	__u32 peer;
	__u32 clients; /* mask: which bits of the source address vary */
	__u32 spare[6];
	__u8 frame6[DRIVER_FRAME6]; /* Ethernet, IPv6, TCP */
};

#define DRIVER_SYN  0x1
#define DRIVER_DATA 0x2
#define DRIVER_FIN  0x4
#define DRIVER_RST  0x8
#define DRIVER_UDP  0x10

#define DRIVER_MIX_CPUS 256

/* splitmix64's output function: what a packet is follows from its number alone, so that a test can
 * work out what was sent. */
static inline __attribute__((always_inline)) __u64 driver_random(const struct driver_mix *m,
								 __u64 number)
{
	__u64 x = (number ^ (__u64)m->seed << 32) + 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static inline __attribute__((always_inline)) __u32 driver_kind(const struct driver_mix *m, __u64 r)
{
	__u32 kind = 1u << (r % 5);

	return m->kinds & kind ? kind : m->kinds & -m->kinds; /* the lowest that is allowed */
}

static inline __attribute__((always_inline)) __u16 driver_flow(const struct driver_mix *m, __u64 r)
{
	return (__u16)(r >> 32) & m->flows;
}

#endif
