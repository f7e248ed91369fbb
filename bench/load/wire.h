/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What load and echod say to each other. A question is this header, filled up to question_bytes.
 * The answer is the server's name, a space, and the header again, with the server's own group,
 * filled up to answer_bytes (0: as many as the question had). `serve` of the lab answers datagrams
 * the same way, without knowing it: it puts its name before what it received.
 *
 * Both programs run on one machine: the byte order is its own, and its monotonic clock is
 * everybody's.
 */
#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#include <assert.h>
#include <stdint.h>
#include <time.h>

#define WIRE_MAGIC     0x706f6c64u
#define WIRE_LAST      1	 /* flag: the server closes after its answer */
#define WIRE_NAME      32	 /* of a server, with its end */
#define WIRE_BYTES_MAX (1 << 20) /* of a question, of an answer */
#define WIRE_UDP_MAX   65000	 /* the same in a datagram, with a name */

struct wire {
	uint32_t magic;
	uint32_t question_bytes, answer_bytes; /* each with this header, without the name */
	uint32_t group; /* question: of the servers meant; answer: of the one that answered */
	uint32_t flags;
	uint32_t unused;
	uint64_t id;
	uint64_t sent; /* CLOCK_MONOTONIC, ns */
};
static_assert(sizeof(struct wire) == 40, "no holes: it is compared and sent as bytes");

/* Bytes that follow the name of the answer to this question. */
static inline uint32_t wire_answer_bytes(const struct wire *question)
{
	uint32_t bytes = question->answer_bytes ?: question->question_bytes;

	return bytes > sizeof(*question) ? bytes : sizeof(*question);
}

static inline uint64_t wire_clock(clockid_t clock) /* ns */
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static inline uint64_t wire_now(void)
{
	return wire_clock(CLOCK_MONOTONIC);
}

#endif
