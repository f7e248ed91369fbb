/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Flow words (maps/abi.h): what they say, and how they are found. A word changes by compare-and-
 * swap alone, and who swaps it counts what that opened and closed, so gauges are exact.
 */
#ifndef POISE_FLOW_H
#define POISE_FLOW_H

#include "count.h"
#include "listener.h"
#include "member.h"
#include "stamp.h"

static __always_inline __u64 flow_word(__u32 tag, __u32 member, __u32 low)
{
	return (__u64)tag << POISE_WORD_TAG_SHIFT | member << POISE_WORD_MEMBER_SHIFT | low;
}

static __always_inline bool flow_is_udp(__u64 word)
{
	return POISE_WORD_TAG(word) & POISE_TAG_UDP;
}

/* NEW, PICKUP, EST: the states that gauges count. */
static __always_inline bool flow_is_live(__u64 word)
{
	__u32 state = POISE_WORD_STATE(word);

	return state >= POISE_FLOW_NEW && state <= POISE_FLOW_EST;
}

/* Member, state and what a slot's head has of the backend (in a flow word parts of the tag): where
 * nothing else changes, no count does. */
#define WORD_SAME                                                                                  \
	(0xffffull << POISE_WORD_MEMBER_SHIFT | 7u << POISE_WORD_STATE_SHIFT |                     \
	 POISE_SLOT_FIN_SERVER | POISE_SLOT_ANSWERED)

#define SWAP_FLOW   0x1 /* the slot now holds another flow, even if its member is the same */
#define SWAP_PLACED 0x2 /* that has its place at the member already (hold.h) */
#define SWAP_SLOT   0x8 /* (0x4: record.h) it is a slot's (slots.h): the backend is heard, too */

/*
 * What a flow's new word tells of its backend, of which in direct modes nothing else is ever heard:
 * who is not answered has nothing to say but its SYN again, and who was reset falls silent without
 * a FIN. In mode nat the backend's resets and its answers to datagrams are seen.
 */
static __always_inline void flow_signal(__u64 from, __u64 to, int how)
{
	__u32 was = POISE_WORD_STATE(from), is = POISE_WORD_STATE(to);
	__u32 member = POISE_WORD_MEMBER(to);
	__u64 news = to & ~from;

	if (how & SWAP_FLOW) {
		if (is == POISE_FLOW_NEW && (how & SWAP_SLOT || !flow_is_udp(to)))
			count_signal(member, POISE_BEGUN);
		return;
	}
	if (flow_is_udp(to)) {
		if (news & POISE_SLOT_ANSWERED)
			count_signal(member, POISE_ANSWERED);
		return;
	}
	if (is == POISE_FLOW_RST && news & POISE_SLOT_FIN_SERVER) {
		count_signal(member, POISE_REFUSED);
		return;
	}
	if (was == POISE_FLOW_NEW && is > POISE_FLOW_NEW && is <= POISE_FLOW_RST)
		count_signal(member, POISE_ANSWERED);
	if (flow_is_live(from) && (is == POISE_FLOW_FIN || is == POISE_FLOW_RST))
		count_signal(member, POISE_FINISHED);
}

/* Puts `to` in place of `from` and counts; 0 if somebody else was quicker. how: SWAP_*. */
__noinline int flow_swap(__u64 *word, __u64 from, __u64 to, int how)
{
	bool was, is;

	if (!word || !__sync_bool_compare_and_swap(word, from, to))
		return 0;
	if (!(how & SWAP_FLOW) && !((from ^ to) & WORD_SAME))
		return 1;
	flow_signal(from, to, how);
	was = flow_is_live(from);
	is = flow_is_live(to);
	if (!(how & SWAP_FLOW) && was == is && POISE_WORD_MEMBER(from) == POISE_WORD_MEMBER(to))
		return 1;
	if (was)
		count_closed(POISE_WORD_MEMBER(from));
	if (is)
		count_opened(POISE_WORD_MEMBER(to), !!(how & SWAP_PLACED));
	return 1;
}

static __always_inline struct poise_bucket *flow_bucket(__u64 hash)
{
	__u32 at = hash & poise_bucket_mask;

	return bpf_map_lookup_elem(&flows, &at);
}

/* In the table beside, while the flow table is resized. */
static __always_inline struct poise_bucket *flow_bucket_beside(__u64 hash)
{
	__u32 at = hash & (poise_beside_buckets - 1);

	return poise_beside_buckets ? bpf_map_lookup_elem(&flows_beside, &at) : NULL;
}

static __always_inline bool flow_is_client(__u64 word)
{
	return POISE_WORD_STATE(word) == POISE_FLOW_AFFINITY;
}

/* The lowest slot but `except` with this tag and a member of this service, or of nobody any more
 * (then the word is void, and as good a place as any); -1 if there is none. */
static __always_inline int word_find(struct poise_bucket *b, __u32 tag, __u32 service, int except,
				     __u64 *word, bool client)
{
	if (!b || !word)
		return -1;
	for (int i = 0; i < POISE_BUCKET_WORDS; i++) {
		__u64 w = ONCE(b->word[i]);
		struct poise_member *m;

		if (i == except || !w || POISE_WORD_TAG(w) != tag || flow_is_client(w) != client)
			continue;
		m = member_get(POISE_WORD_MEMBER(w));
		if (m && m->service && m->service != service)
			continue;
		*word = w;
		return i;
	}
	return -1;
}

__noinline int flow_find(struct poise_bucket *b, __u32 tag, __u32 service, int except, __u64 *word)
{
	return word_find(b, tag, service, except, word, false);
}

/* The same among the words of clients (affinity.h), whose tags may be those of flows. */
__noinline int client_find(struct poise_bucket *b, __u32 tag, __u32 service, int except,
			   __u64 *word)
{
	return word_find(b, tag, service, except, word, true);
}

/* The record of the service that a word's member is of; NULL: the word is void. */
static __always_inline struct poise_service_rec *flow_record(__u64 word)
{
	struct poise_member *m = member_get(POISE_WORD_MEMBER(word));
	struct poise_service *s;
	__u32 service, active;

	if (!m || !(service = m->service))
		return NULL;
	s = bpf_map_lookup_elem(&services, &service);
	if (!s)
		return NULL;
	active = ONCE(s->active);
	return active & POISE_SERVICE_GONE ? NULL : &s->rec[active & 1];
}

/* A word that only waits for the sweeper: its member is gone, its service tracks no more, or it has
 * been silent for too long. */
__noinline int flow_is_dead(__u64 word, __u32 seconds)
{
	struct poise_service_rec *rec = flow_record(word);

	if (!rec || rec->track == POISE_TRACK_OFF)
		return 1;
	if (rec->flags & POISE_S_LINKS && POISE_WORD_STATE(word) != POISE_FLOW_AFFINITY)
		return 1; /* of another mode, where flows of this one stand elsewhere */
	return stamp_expired(word, stamp_timeout(rec, POISE_WORD_STATE(word), flow_is_udp(word)),
			     seconds);
}

#endif
