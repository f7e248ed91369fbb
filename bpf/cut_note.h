/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What XDP (cut.h) writes in front of a packet for the program that cuts it in two (cut.bpf.c). */
#ifndef POISE_CUT_NOTE_H
#define POISE_CUT_NOTE_H

#include <linux/if_ether.h>
#include <linux/types.h>

#include "../maps/hash.h"

#define CUT_TYPE  0x88b5 /* for experiments of one's own, not to be forwarded (IEEE 802, 9.2.3) */
#define CUT_LOCAL 0x02	 /* first byte of a MAC address that is no group's and nobody's */
#define CUT_UNIT  8	 /* bytes: what fragments' offsets count */

/* The link header of a packet to be cut. Frames of this type also come by the link, from anybody:
 * only the programs know the key of the seal, and no note leaves the host. */
struct cut_note {
	__u8 local;   /* CUT_LOCAL */
	__u8 second;  /* 1: this is to become the second piece, 0: both are to be made */
	__u16 member; /* to whom */
	__u16 first;  /* bytes that the first piece carries */
	__u16 seal[3];
	__be16 type; /* CUT_TYPE */
};

_Static_assert(sizeof(struct cut_note) == ETH_HLEN, "a note stands where the link header was");

/* By the key of the instance; a guess is right once in 2^48. */
static inline __attribute__((always_inline)) void cut_seal(const struct cut_note *note, __u64 k0,
							   __u64 k1, __u16 seal[3])
{
	__u64 h = poise_mix(poise_mix(((__u32)note->member << 16 | note->first) ^ k0) + k1);

	seal[0] = h >> 48;
	seal[1] = h >> 32;
	seal[2] = h >> 16;
}

#endif
