/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef POISE_DIVISOR_H
#define POISE_DIVISOR_H

#include <linux/types.h>

/* The greatest that both have (Euclid); of 0 and another, that one. */
static inline __u32 common_divisor(__u32 a, __u32 b)
{
	while (b) {
		__u32 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

#endif
