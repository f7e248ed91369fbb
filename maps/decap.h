/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ABI of the decapsulator, on the backends: maps `decap_addresses` (HASH: union poise_addr ->
 * __u8) and `decap_counts` (PERCPU_ARRAY of one). */
#ifndef POISE_DECAP_ABI_H
#define POISE_DECAP_ABI_H

#define POISE_DECAP_ADDRESSES 1024 /* virtual addresses that one backend serves */
#define POISE_DECAP_PORTS     16   /* of mode gue: map `decap_ports`, HASH: __be16 -> __u8 */

struct poise_decap_counts {
	__u64 packets; /* stripped and passed on */
	__u64 bytes;   /* of their inner packets */
	__u64 ecn; /* dropped: congestion marked outside on a packet that cannot tell (RFC 6040) */
	__u64 failed; /* dropped: the kernel refused to shorten the packet */
};

POISE_ASSERT_SIZE(struct poise_decap_counts, 32);

#endif
