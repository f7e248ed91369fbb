/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Internet checksum (RFC 1071) and its repair after a change (RFC 1624, equation 3). Folded
 * until no carry can be left, whatever the words were.
 */
#ifndef POISE_CHECKSUM_H
#define POISE_CHECKSUM_H

#include "platform.h"

/* A sum of up to 2^31 32-bit words: 63 bits to 33, 18, 17, and 16. */
static __always_inline __u16 checksum_fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static __always_inline __u16 checksum_repair(__u16 check, __u16 was, __u16 is)
{
	return ~checksum_fold((__u64)(__u16)~check + (__u16)~was + is);
}

#endif
