/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Step 5: a flow's word goes into its bucket: the lowest free slot, else in place of the least
 * valuable word. Then the eight words are read again, since another CPU may have recorded the same
 * flow meanwhile: of two words with one tag the higher-indexed goes.
 */
#ifndef POISE_RECORD_H
#define POISE_RECORD_H

#include "calm.h"
#include "transition.h"

enum recorded {
	RECORDED,
	RECORD_AGAIN,	  /* somebody was quicker: look again */
	RECORD_WITHDRAWN, /* likewise, but it had been recorded, and was counted */
	RECORD_FULL,
};

#define VICTIM_CLASS_SHIFT 24 /* above any age */

/* Whom a full bucket gives up first; 0 never goes. */
const __u8 victim_class[TRANSITION_ROWS] = {
	[POISE_FLOW_RST] = 5,	   [POISE_FLOW_FIN] = 4,    [POISE_FLOW_NEW] = 3,
	[POISE_FLOW_AFFINITY] = 2, [POISE_FLOW_PICKUP] = 1,
};

/* A flow met in its middle that shows no second packet for so long is worth no more than one that
 * begins: whoever sends stray packets must not take the room of all who come. */
#define RECORD_DOUBTFUL 30

/* How soon a full bucket gives a word up: by class, and of a class the oldest; 0 never. */
static __always_inline __u32 record_value(__u64 word, __u32 seconds)
{
	__u32 state = POISE_WORD_STATE(word), age = stamp_age(word, seconds);

	if (state == POISE_FLOW_PICKUP && age >= RECORD_DOUBTFUL)
		state = POISE_FLOW_NEW;
	return victim_class[state] ? victim_class[state] << VICTIM_CLASS_SHIFT | age : 0;
}

/* A flow of one datagram that its base does not have (track_born), while that is no doubtful one.
 */
static __always_inline bool record_keeps(__u64 word, __u32 seconds)
{
	return POISE_WORD_STATE(word) == POISE_FLOW_PICKUP && flow_is_udp(word) &&
	       stamp_age(word, seconds) < RECORD_DOUBTFUL;
}

/* The slot to record in, and what it holds now (0: free); -1 if all eight are established. gently:
 * whom we record finds its way without, so who would not keeps its place. */
__noinline int record_slot(struct poise_bucket *b, __u32 seconds, __u64 *old, int gently)
{
	__u32 best = 0;
	int slot = -1;

	if (!b || !old)
		return -1;
	for (int i = 0; i < POISE_BUCKET_WORDS; i++) {
		__u64 w = ONCE(b->word[i]);
		__u32 value = gently && record_keeps(w, seconds) ? 0 : record_value(w, seconds);

		if (!w) {
			*old = 0;
			return i;
		}
		if (value > best) {
			best = value;
			slot = i;
			*old = w;
		}
	}
	return slot;
}

/* Among established flows, one that is over but not yet swept; -1 if there is none. */
__noinline int record_dead_slot(struct poise_bucket *b, __u32 seconds, __u64 *old)
{
	if (!b || !old)
		return -1;
	for (int i = 0; i < POISE_BUCKET_WORDS; i++) {
		__u64 w = ONCE(b->word[i]);

		if (!flow_is_dead(w, seconds))
			continue;
		*old = w;
		return i;
	}
	return -1;
}

/* Who lost its word is counted where it belongs; one that was young tells everybody. */
__noinline int record_evicted(__u64 word, __u32 seconds)
{
	struct poise_member *m = member_get(POISE_WORD_MEMBER(word));
	struct poise_meta *shared;
	__u32 zero = 0;

	count_reason(m ? m->service : 0, POISE_R_EVICTED);
	if (m)
		calm_end(m->service);
	if (!flow_is_live(word) || stamp_age(word, seconds) >= POISE_YOUNG_SECONDS)
		return 0;
	shared = bpf_map_lookup_elem(&meta, &zero);
	if (shared && ONCE(shared->pressure) != seconds)
		*(volatile __u32 *)&shared->pressure = seconds;
	return 0;
}

static __always_inline enum recorded record_alone(struct poise_bucket *b, __u32 service, int slot,
						  __u64 word)
{
	__u64 twin = 0;
	__u32 tag = POISE_WORD_TAG(word);
	int other = flow_is_client(word) ? client_find(b, tag, service, slot, &twin)
					 : flow_find(b, tag, service, slot, &twin);

	if (LIKELY(other < 0))
		return RECORDED;
	count_reason(service, POISE_R_DUPLICATE);
	if (other > slot) {
		flow_swap(&b->word[other & 7], twin, 0, 0);
		return RECORDED;
	}
	flow_swap(&b->word[slot & 7], word, 0, 0);
	return RECORD_WITHDRAWN;
}

#define RECORD_GENTLY 0x4 /* beside SWAP_*: see record_slot */

/* how: as of flow_swap, and RECORD_GENTLY. */
static __always_inline enum recorded record(struct poise_bucket *b, __u32 service, __u64 word,
					    __u32 seconds, int how)
{
	__u64 old = 0;
	int slot = record_slot(b, seconds, &old, how & RECORD_GENTLY);

	if (UNLIKELY(slot < 0))
		slot = record_dead_slot(b, seconds, &old);
	if (UNLIKELY(slot < 0))
		return RECORD_FULL;
	if (!flow_swap(&b->word[slot & 7], old, word, how | SWAP_FLOW))
		return RECORD_AGAIN;
	if (old)
		record_evicted(old, seconds);
	return record_alone(b, service, slot, word);
}

#endif
