/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What XDP (cut.h) writes in front of a packet for the program that cuts it in two (cut.bpf.c). */
#ifndef POISE_CUT_NOTE_H
#define POISE_CUT_NOTE_H

#include <linux/if_ether.h>
#include <linux/types.h>

#define CUT_TYPE  0x88b5 /* for experiments of one's own, not to be forwarded (IEEE 802, 9.2.3) */
#define CUT_LOCAL 0x02	 /* first byte of a MAC address that is no group's and nobody's */
#define CUT_UNIT  8	 /* bytes: what fragments' offsets count */

/* The link header of a packet to be cut. */
struct cut_note {
	__u8 local;   /* CUT_LOCAL */
	__u8 second;  /* 1: this is to become the second piece, 0: both are to be made */
	__u16 member; /* to whom */
	__u16 first;  /* bytes that the first piece carries */
	__u8 spare[6];
	__be16 type; /* CUT_TYPE */
};

_Static_assert(sizeof(struct cut_note) == ETH_HLEN, "a note stands where the link header was");

#endif
