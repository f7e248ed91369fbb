/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the programs run: in the kernel, or natively (native.h supplies maps and helpers) for unit
 * tests, fuzzing and instruction counts. Nothing else in bpf/ asks which.
 */
#ifndef POISE_PLATFORM_H
#define POISE_PLATFORM_H

#ifdef __bpf__
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#define POISE_KNOB const volatile
/* Before a loop of few rounds: it is written out, which saves counting. */
#define UNROLL _Pragma("unroll")
/* A map whose values are rows of what its declaration says, as long as the loader made them. */
#define row_lookup(map, key, length) bpf_map_lookup_elem(map, key)
#else
#include "native.h"
#endif

#include <stdbool.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "words are put together from bytes: poise knows little-endian machines only");

/* A word that others change while we look: read it once. */
#define ONCE(x) (*(const volatile typeof(x) *)&(x))
/* x is at most `mask`, as we know and the verifier is to know too: compilers drop a plain mask. */
#define BOUND(x, mask)                                                                             \
	do {                                                                                       \
		asm volatile("" : "+r"(x));                                                        \
		(x) &= (mask);                                                                     \
	} while (0)
#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
/* Hides from the compiler where a value came from. */
#define BARRIER(x) asm volatile("" : "+r"(x))

#endif
