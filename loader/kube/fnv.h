/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * FNV-1a, 64 bits (Fowler, Noll, Vo): a hash that is the same on every node, for what is only
 * compared. Nothing is safe from collisions that somebody makes on purpose.
 */
#ifndef POISE_KUBE_FNV_H
#define POISE_KUBE_FNV_H

#include <linux/types.h>
#include <stddef.h>

#define FNV_BEGIN 0xcbf29ce484222325ull

static inline __u64 fnv(__u64 hash, const void *data, size_t size)
{
	const __u8 *b = data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ b[i]) * 0x100000001b3ull;
	return hash;
}

#endif
