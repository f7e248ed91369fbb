/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers of chance that come out the same from the same seed, on every machine. */
#ifndef POISE_BENCH_RANDOM_H
#define POISE_BENCH_RANDOM_H

#include <stdint.h>

/* splitmix64 (Steele, Lea, Flood 2014): any seed will do, and neighbouring seeds are independent.
 */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* In [0, 1), in steps of 2^-53. */
static inline double random_unit(uint64_t *state)
{
	return (double)(random_next(state) >> 11) * 0x1p-53;
}

#endif
