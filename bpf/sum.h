/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adding up all of a packet, where no checksum says what it adds up to.
 */
#ifndef POISE_SUM_H
#define POISE_SUM_H

#include "platform.h"

#define SUM_CHUNK  128		       /* bytes added up at a time, on the stack */
#define SUM_CHUNKS (65536 / SUM_CHUNK) /* of the longest packet */

/* Bytes of a packet being added up. */
struct summing {
	void *ctx;
	__u32 at;
	__u32 bytes;
	__u64 sum;
};

/*
 * What `bytes` from offset `at` add up to, a chunk a call of bpf_loop. Places follow from the
 * index, which the verifier can take for any: it need not go through all rounds. What cannot be
 * read leaves the sum short, so wrong.
 */
#define SUM(name, context, load_bytes)                                                             \
	static long name##_chunk(__u32 index, struct summing *s)                                   \
	{                                                                                          \
		__u32 chunk[SUM_CHUNK / 4] = {}, done = index * SUM_CHUNK, more;                   \
                                                                                                   \
		if (done >= s->bytes)                                                              \
			return 1;                                                                  \
		more = s->bytes - done - 1; /* so that 6.1 sees: not 0 bytes */                    \
		if (more >= SUM_CHUNK)                                                             \
			more = SUM_CHUNK - 1;                                                      \
		BOUND(more, SUM_CHUNK - 1);                                                        \
		if (load_bytes(s->ctx, s->at + done, chunk, more + 1))                             \
			return 1;                                                                  \
		s->sum += (__u32)bpf_csum_diff(NULL, 0, chunk, SUM_CHUNK, 0);                      \
		return 0;                                                                          \
	}                                                                                          \
                                                                                                   \
	__noinline __u64 name(struct context *ctx, __u32 at, __u32 bytes)                          \
	{                                                                                          \
		struct summing s = {.ctx = ctx, .at = at, .bytes = bytes};                         \
                                                                                                   \
		bpf_loop(SUM_CHUNKS, name##_chunk, &s, 0);                                         \
		return s.sum;                                                                      \
	}

SUM(sum_xdp, xdp_md, bpf_xdp_load_bytes)

#endif
