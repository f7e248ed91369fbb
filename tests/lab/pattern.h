/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bytes that repeat nowhere near: what serve and bulk send each other. */
#ifndef LAB_PATTERN_H
#define LAB_PATTERN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* xorshift64 (Marsaglia 2003), eight bytes a step. *seed must not be 0. */
static inline void pattern_fill(uint64_t *seed, void *buf, size_t len)
{
	uint8_t *p = buf;

	while (len) {
		size_t take = len < sizeof(*seed) ? len : sizeof(*seed);

		*seed ^= *seed << 13;
		*seed ^= *seed >> 7;
		*seed ^= *seed << 17;
		memcpy(p, seed, take);
		p += take;
		len -= take;
	}
}

#endif
