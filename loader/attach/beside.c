// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table beside the one in force, which is to go (resize.c): what is left in it, what of that
 * the sweeper can bring over at once, and what time will do about the rest.
 *
 * A word tells the low bits of its flow's hash by where it is, and the high ones by its tag. A
 * table of fewer buckets asks for no more, so there the sweeper knows where a word belongs; in one
 * of more buckets only the flow's next packet does.
 */
#include "internal.h"

static __u64 words_in(const struct poise_bucket *b)
{
	__u64 words = 0;

	for (int w = 0; w < POISE_BUCKET_WORDS; w++)
		words += __atomic_load_n(&b->word[w], __ATOMIC_RELAXED) != 0;
	return words;
}

/* Would all that is in the larger table in force find room in the smaller one beside it? */
static bool fits_beside(const struct instance *i)
{
	if (!i->beside_buckets || i->beside_buckets > i->flow_buckets)
		return false;
	for (__u32 b = 0; b < i->beside_buckets; b++) {
		__u64 words = words_in(instance_bucket(i, i->flow_buckets + b));

		for (__u32 at = b; at < i->flow_buckets; at += i->beside_buckets)
			words += words_in(instance_bucket(i, at));
		if (words > POISE_BUCKET_WORDS)
			return false;
	}
	return true;
}

/* Seconds until all of the table beside is over, if none of its flows sends a packet. */
static __u32 longest_left(const struct instance *i)
{
	__u32 now = instance_stamp_now(i), longest = 0;

	for (__u32 b = i->flow_buckets; b < instance_table_buckets(i); b++)
		for (int w = 0; w < POISE_BUCKET_WORDS; w++) {
			__u64 word = instance_word(i, b, w);
			__u32 left = word ? instance_word_left(i, word, now) : 0;

			longest = left > longest ? left : longest;
		}
	return longest;
}

int attach_beside_empty(const struct instance_where *where, struct attach_beside *beside,
			struct poise_error *err)
{
	struct poise_sweep io = {.kind = POISE_SWEEP_MOVE};
	struct instance *i;
	int rc;

	if (instance_open(&i, where, err))
		return -1;
	io.first = i->flow_buckets;
	io.count = i->beside_buckets;
	rc = instance_sweep_range(i, &io, err);
	*beside = (struct attach_beside){
		.buckets = i->beside_buckets,
		.left = io.used,
		.seconds = longest_left(i),
		.takes_all = fits_beside(i),
	};
	instance_close(i);
	return rc;
}
