/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ABI of latencies as packets show them: of some requests of a backend's clients, the time from
 * the request to the first byte of its answer; of some connections, from the SYN to its answer.
 *
 * Times are in ticks of 1,024 ns, ages in units of 2^20 ns: what shifts make of the kernel's clock.
 * All CPUs share a backend's lines, for a request and its answer need not meet at one CPU, and few
 * are timed: of each kind about one a jiffy, backend and CPU. Which one is told by counting them
 * (struct poise_turn): the first of a jiffy would have found others waiting before it less often
 * than most do. In the buckets it counts for all that came since the one before.
 */
#ifndef POISE_LATENCY_H
#define POISE_LATENCY_H

#define POISE_TICK_SHIFT 10
#define POISE_TICK_NS	 (1u << POISE_TICK_SHIFT)
#define POISE_AGE_SHIFT	 20 /* of nanoseconds; 32 bits of them last 52 days */

enum poise_sample {
	POISE_SAMPLE_REQUEST = 0,
	POISE_SAMPLE_CONNECT,
	POISE_SAMPLE_SHORT, /* to the client's acknowledgement of an answer of one segment */
	POISE_SAMPLES,
};

#define POISE_SAMPLE_ROOM 4 /* a power of two: a mask bounds a kind */

/*
 * Requests by their time: octaves, cut into equal parts (as HdrHistogram has it), so that the
 * middle of a part is within 1/16 of whatever fell there. Below 8 ticks each has its own.
 */
#define POISE_LATENCY_PART_BITS 3
#define POISE_LATENCY_PARTS	(1u << POISE_LATENCY_PART_BITS)
#define POISE_LATENCY_BITS	26 /* longer ones, above 68 s, count as the longest */
#define POISE_LATENCY_BUCKETS                                                                      \
	((POISE_LATENCY_BITS - POISE_LATENCY_PART_BITS + 1) * POISE_LATENCY_PARTS)

/* After so long what was waited for will not come: its client or its packet is gone, and the next
 * that is sent counts. 4.3 s: longer than anybody waits before asking another. */
#define POISE_WAITS_TICKS (1u << 22)

/* latencies[member] */
struct poise_latency {
	__u64 mean[POISE_SAMPLE_ROOM]; /* poise_mean_next(); 0: none yet */
	/* Ticks when the first request or SYN was sent of those that are timed and came after the
	 * last answer; 0: none is waited for. */
	__u32 waits;
	/* Where only clients are heard (bpf/watch.h): when a round trip was last known, of short
	 * answers the least so far, since when, and of how many. Ticks. */
	__u32 known, least, least_since, least_of;
	__u32 by_client; /* 1: they are heard */
	__u32 spare[2];
	__u64 peak[POISE_SAMPLE_ROOM]; /* poise_peak_next(); 0: none yet */
	__u64 samples[POISE_SAMPLE_ROOM];
	__u32 requests[POISE_LATENCY_BUCKETS]; /* modulo 2^32; those not timed as the next that was
						*/
};

POISE_ASSERT_SIZE(struct poise_latency, 128 + 4 * POISE_LATENCY_BUCKETS);

/* The number of the highest bit of n, which is below 2^POISE_LATENCY_BITS; without branches. */
static inline __attribute__((always_inline)) __u32 poise_octave(__u32 n)
{
	__u32 bit = 0;

	for (__u32 step = 16; step; step >>= 1) {
		__u32 by = (n >> step != 0) * step;

		n >>= by;
		bit += by;
	}
	return bit;
}

static inline __attribute__((always_inline)) __u32 poise_latency_bucket(__u32 ticks)
{
	__u32 octave;

	if (ticks < POISE_LATENCY_PARTS)
		return ticks;
	if (ticks >> POISE_LATENCY_BITS)
		return POISE_LATENCY_BUCKETS - 1;
	octave = poise_octave(ticks) - POISE_LATENCY_PART_BITS;
	return (octave << POISE_LATENCY_PART_BITS) + (ticks >> octave);
}

/* The least that falls into a bucket. */
static inline __attribute__((always_inline)) __u32 poise_latency_floor(__u32 bucket)
{
	__u32 octave = bucket >> POISE_LATENCY_PART_BITS;

	if (!octave)
		return bucket;
	return (POISE_LATENCY_PARTS | (bucket & (POISE_LATENCY_PARTS - 1))) << (octave - 1);
}

/*
 * An average that goes up at once and down slowly (peak EWMA), in ticks, with when it was last
 * changed, in units of age: the half of what was known is forgotten within 1,024 of these, 1.07 s,
 * or a little more, however many samples come in that time.
 */
#define POISE_PEAK(ticks, age) ((__u64)(ticks) << 32 | (__u32)(age))
#define POISE_PEAK_TICKS(word) ((__u32)((word) >> 32))
#define POISE_PEAK_HALF_SHIFT  10
#define POISE_PEAK_FORGETS     31 /* half-lives */

/* Since then. What another CPU has noted meanwhile may be ahead of our clock, by as long as we may
 * have been held up since we read it. */
#define POISE_AGE_AHEAD (1u << POISE_PEAK_HALF_SHIFT)

static inline __attribute__((always_inline)) __u32 poise_age_since(__u64 word, __u32 age)
{
	__u32 since = age - (__u32)word;

	return 0u - since < POISE_AGE_AHEAD ? 0 : since;
}

/* What is left, after so long, of 65,536: halves, and straight lines between them. */
static inline __attribute__((always_inline)) __u32 poise_peak_left(__u32 age)
{
	__u32 halves = age >> POISE_PEAK_HALF_SHIFT,
	      part = age & ((1u << POISE_PEAK_HALF_SHIFT) - 1);
	__u32 left = 65536;

	if (halves >= POISE_PEAK_FORGETS)
		return 0;
	left >>= halves;
	return left - (left * part >> (POISE_PEAK_HALF_SHIFT + 1));
}

/* The average as it is now, when nothing came since. */
static inline __attribute__((always_inline)) __u32 poise_peak_now(__u64 word, __u32 age)
{
	return (__u64)POISE_PEAK_TICKS(word) * poise_peak_left(poise_age_since(word, age)) >> 16;
}

/* The average with another sample. */
static inline __attribute__((always_inline)) __u64 poise_peak_next(__u64 word, __u32 ticks,
								   __u32 age)
{
	__u32 was = POISE_PEAK_TICKS(word), left;

	if (!ticks)
		ticks = 1;
	if (ticks >= was)
		return POISE_PEAK(ticks, age);
	left = poise_peak_left(poise_age_since(word, age));
	return POISE_PEAK(ticks + ((__u64)(was - ticks) * left >> 16), age);
}

/*
 * An average by time, in parts of a tick, with when it was last changed: a sample weighs as much as
 * the time since the one before it has made that one forgotten. So where samples are dense it is
 * their mean over a second or two, of which one that was held up makes next to nothing, and where
 * they are rare it is the last one.
 */
#define POISE_MEAN_SHIFT       6 /* parts of a tick: less and small differences would be lost */
#define POISE_MEAN_MOST	       ((1u << POISE_LATENCY_BITS) - 1) /* ticks */
#define POISE_MEAN_TICKS(word) (POISE_PEAK_TICKS(word) >> POISE_MEAN_SHIFT)

static inline __attribute__((always_inline)) __u64 poise_mean_next(__u64 word, __u32 ticks,
								   __u32 age)
{
	__u32 was = POISE_PEAK_TICKS(word), is;
	__u64 left = word ? poise_peak_left(poise_age_since(word, age)) : 0;

	if (ticks > POISE_MEAN_MOST)
		ticks = POISE_MEAN_MOST;
	is = ticks ? ticks << POISE_MEAN_SHIFT : 1;
	return POISE_PEAK((was * left + is * (65536 - left) + 32768) >> 16, age);
}

#endif
