/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hashes that kernel and user space must agree on. Multiply and xor-shift mixing (the finalizer of
 * MurmurHash3, Austin Appleby, public domain), about 3 ns for a 5-tuple; keyed where an outsider
 * could gain by collisions.
 */
#ifndef POISE_HASH_H
#define POISE_HASH_H

#include "abi.h"

#define POISE_MIX1 0xff51afd7ed558ccdULL
#define POISE_MIX2 0xc4ceb9fe1a85ec53ULL
#define POISE_GOLD 0x9e3779b97f4a7c15ULL /* 2^64 / golden ratio, odd */

static inline __attribute__((always_inline)) __u64 poise_mix(__u64 h)
{
	h ^= h >> 32;
	h *= POISE_MIX1;
	h ^= h >> 29;
	h *= POISE_MIX2;
	return h ^ h >> 32;
}

/* A product carries upwards only, and an address's last bytes stand in the highest bits of its
 * words: halves are swapped between products, or what two of them vary would meet in the same bits.
 */
static inline __attribute__((always_inline)) __u64 poise_swap(__u64 h)
{
	return h << 32 | h >> 32;
}

/* Where a listener may stand: port in network order. Not keyed: only the operator adds listeners,
 * and a collision costs nothing, the table has none. */
static inline __attribute__((always_inline)) __u64 poise_listener_hash(const union poise_addr *addr,
								       __u16 port, __u8 proto)
{
	__u64 h = ((__u64)port << 8 | proto) * POISE_GOLD ^ addr->q[0] * POISE_MIX2;

	h = poise_swap(h) ^ addr->q[1];
	h = (h ^ h >> 43) * POISE_MIX1;
	return h ^ h >> 32;
}

/* Slot of a key whose bucket has this seed; mask with slots - 1. */
static inline __attribute__((always_inline)) __u32 poise_listener_slot(__u64 hash, __u32 seed)
{
	return (__u32)(((hash >> 32 ^ seed) * POISE_GOLD) >> 32);
}

/*
 * The hash of a flow: high half the tag, low half chooses bucket (low bits) and table slot (high
 * bits). ports is source | destination << 16, as loaded from the packet. Nothing of the service is
 * in it: a listener belongs to one service, so the 5-tuple says which, and neither a new name nor
 * an id that depends on history moves a flow.
 */
static inline __attribute__((always_inline)) __u64 poise_flow_hash(const union poise_addr *src,
								   const union poise_addr *dst,
								   __u32 ports, __u8 proto,
								   __u64 k0, __u64 k1)
{
	__u64 rest = ((__u64)proto << 32 | ports) ^ k1;

	/* Products side by side: what takes time is how many steps wait for one another. */
	rest = rest * POISE_MIX2 ^ src->q[0] * POISE_MIX1 ^
	       (dst->q[1] ^ dst->q[0] * POISE_MIX1) * POISE_GOLD;
	return poise_mix((src->q[1] ^ k0) * POISE_MIX1 ^ poise_swap(rest));
}

/* Multiplied by POISE_MIX1 and POISE_MIX2 they give 1, modulo 2^64. */
#define POISE_UNMIX1 0x4f74430c22a54005ULL
#define POISE_UNMIX2 0x9cb4b2f8129337dbULL

/* The ports with which these addresses and protocol have this flow hash, for poise_flow_hash has
 * an inverse; false if no ports do. */
static inline __attribute__((always_inline)) int poise_flow_ports(const union poise_addr *src,
								  const union poise_addr *dst,
								  __u64 hash, __u8 proto, __u64 k0,
								  __u64 k1, __u32 *ports)
{
	__u64 h = (hash ^ hash >> 32) * POISE_UNMIX2;
	__u64 rest;

	h = (h ^ h >> 29 ^ h >> 58) * POISE_UNMIX1;
	rest = poise_swap(h ^ h >> 32 ^ (src->q[1] ^ k0) * POISE_MIX1);
	rest ^= src->q[0] * POISE_MIX1 ^ (dst->q[1] ^ dst->q[0] * POISE_MIX1) * POISE_GOLD;
	rest = rest * POISE_UNMIX2 ^ k1;
	*ports = (__u32)rest;
	return rest >> 32 == proto;
}

/* The tag that a flow's word carries: the high half, its lowest bit given to the protocol, on which
 * the word's timeout depends. */
static inline __attribute__((always_inline)) __u32 poise_flow_tag(__u64 hash, int udp)
{
	return ((__u32)(hash >> 32) & ~POISE_TAG_UDP) | (udp ? POISE_TAG_UDP : 0);
}

/* The hash of a client alone, for source-hash and affinity. */
static inline __attribute__((always_inline)) __u64 poise_client_hash(const union poise_addr *src,
								     __u64 k0, __u64 k1)
{
	return poise_mix((src->q[1] ^ k0) * POISE_MIX1 ^ poise_swap((src->q[0] ^ k1) * POISE_GOLD));
}

/* The first `bits` of 64 of an address's half, as it lies in memory. */
static inline __attribute__((always_inline)) __u64 poise_prefix_mask(__s32 bits)
{
	if (bits <= 0)
		return 0;
	return bits >= 64 ? ~0ull : __builtin_bswap64(~0ull << (64 - bits));
}

/* The hash of a client of a service, where a client is an address's first `bits` of 128. */
static inline __attribute__((always_inline)) __u64
poise_affinity_hash(const union poise_addr *src, __s32 bits, __u16 service, __u64 k0, __u64 k1)
{
	union poise_addr client = {.q = {src->q[0] & poise_prefix_mask(bits),
					 src->q[1] & poise_prefix_mask(bits - 64)}};

	return poise_mix(poise_client_hash(&client, k0, k1) + service * POISE_GOLD);
}

/* Table slot of a hash: its low half scaled to size (Lemire's multiply-shift, no division). */
static inline __attribute__((always_inline)) __u32 poise_table_slot(__u64 hash, __u32 size)
{
	return (__u32)((__u64)(__u32)hash * size >> 32);
}

/* Where a server id of a service may stand: two different buckets of at least two. Not keyed: only
 * the operator gives ids. key is POISE_ID_KEY. */
static inline __attribute__((always_inline)) __u32 poise_server_id_bucket(__u64 key, int second,
									  __u32 buckets)
{
	__u64 h = poise_mix(key);
	__u32 first = poise_table_slot(h, buckets);
	__u32 other = first + 1 + poise_table_slot(h >> 32, buckets - 1);

	if (!second)
		return first;
	return other < buckets ? other : other - buckets;
}

/* The group of ports that packets from this source address to a backend are sent from: port in
 * network order, groups a power of two. Keyed by the backend, or one could choose backends that
 * share a group; from there on counted by the source, so that neighbouring addresses never do. */
static inline __attribute__((always_inline)) __u32
poise_port_group(const union poise_addr *backend, __u16 port, __u8 proto,
		 const union poise_addr *source, __u32 groups, __u64 k0, __u64 k1)
{
	__u32 first = poise_table_slot(poise_flow_hash(backend, backend, port, proto, k0, k1) >> 16,
				       groups);

	return (first + source->b[15]) & (groups - 1);
}

/* The k-th alternate of a hash, k = 1..POISE_ALTERNATES. */
#define POISE_ALTERNATES 8

static inline __attribute__((always_inline)) __u64 poise_alternate(__u64 hash, __u32 k)
{
	return poise_mix(hash + k * POISE_GOLD);
}

#endif
