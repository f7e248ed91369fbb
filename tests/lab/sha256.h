/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* SHA-256 (FIPS 180-4), so that the lab's programs need no library for it. */
#ifndef LAB_SHA256_H
#define LAB_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BLOCK 64
#define SHA256_HEX   65 /* 64 digits and NUL */

struct sha256 {
	uint32_t state[8];
	uint64_t bytes;
	uint8_t block[SHA256_BLOCK]; /* what does not fill a block yet */
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
/* The digest in hex; s is used up. */
void sha256_end(struct sha256 *s, char hex[SHA256_HEX]);

#endif
