/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What translation does to a checksum: sums of what goes and of what comes in its place (RFC 1624,
 * equation 3). A change is one number, worked out once and applied to each checksum that covers it.
 */
#ifndef POISE_REWRITE_H
#define POISE_REWRITE_H

#include "checksum.h"

/* Words of an address that a pseudo header has: an IPv4 one is the last. */
static __always_inline __u64 rewrite_sum(const union poise_addr *a, bool six)
{
	__u64 sum = a->w[3];

	return six ? sum + a->w[0] + a->w[1] + a->w[2] : sum;
}

static __always_inline __u64 rewrite_sum_not(const union poise_addr *a, bool six)
{
	__u64 sum = (__u32)~a->w[3];

	return six ? sum + (__u32)~a->w[0] + (__u32)~a->w[1] + (__u32)~a->w[2] : sum;
}

/* Addresses and ports (source | destination << 16) as they were and as they become. */
struct rewrite {
	union poise_addr src, dst;
	__u32 ports;
	__u32 six;
};

/* What the checksum of TCP or UDP changes by. The other words of a pseudo header add up to the same
 * in both families. */
static __always_inline __u64 rewrite_change(const struct rewrite *was, const struct rewrite *is)
{
	return rewrite_sum_not(&was->src, was->six) + rewrite_sum_not(&was->dst, was->six) +
	       (__u32)~was->ports + rewrite_sum(&is->src, is->six) +
	       rewrite_sum(&is->dst, is->six) + is->ports;
}

static __always_inline __u16 rewrite_check(__u16 check, __u64 change)
{
	return ~checksum_fold((__u64)(__u16)~check + change);
}

/* Of UDP, where 0 says that there is none (RFC 768). */
static __always_inline __u16 rewrite_check_udp(__u16 check, __u64 change)
{
	__u16 is = rewrite_check(check, change);

	return is ? is : 0xffff;
}

#endif
