/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bytes that repeat nowhere near: what serve and bulk send each other. */
#ifndef LAB_PATTERN_H
#define LAB_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* xorshift64 (Marsaglia 2003). *seed must not be 0 and goes on from call to call. */
static inline void pattern_fill(uint64_t *seed, void *buf, size_t len)
{
	uint8_t *p = buf;

	for (size_t i = 0; i < len; i++) {
		*seed ^= *seed << 13;
		*seed ^= *seed >> 7;
		*seed ^= *seed << 17;
		p[i] = *seed >> 32;
	}
}

#endif
