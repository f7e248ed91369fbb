/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The flow table is resized while packets run (loader/attach/resize.c): whoever misses a word looks
 * into the table beside, and brings it over. Words there are never changed in place, only taken.
 *
 * First it is put into its new bucket as any other, then it is taken out of the old one; both count
 * as always, so that gauges are what a recount of both tables gives, whoever else does the same at
 * the same time. Without a resize the verifier finds all of this to be dead.
 *
 * Where the table in force is the smaller one, a word's place in it follows from where it is: then
 * the sweeper brings over what silent flows have left there.
 */
#ifndef POISE_BESIDE_H
#define POISE_BESIDE_H

#include "record.h"

/* The flow is the same, and so are the totals of flows that began and ended. */
static __always_inline void beside_uncount(__u64 word)
{
	__u32 place = count_place(POISE_WORD_MEMBER(word));
	struct poise_counter *c = bpf_map_lookup_elem(&counters, &place);

	if (!c || !flow_is_live(word))
		return;
	__sync_fetch_and_add(&c->opened, -1);
	__sync_fetch_and_add(&c->closed, -1);
	if (POISE_WORD_STATE(word) == POISE_FLOW_NEW && !flow_is_udp(word))
		c->signal[POISE_BEGUN]--;
}

/* Brings the word with this tag, if it is not in its bucket, from the table beside. */
static __always_inline void beside_fetch(__u64 hash, __u32 tag, const struct flow *f, bool client)
{
	struct poise_bucket *to = flow_bucket(hash), *from = flow_bucket_beside(hash);
	enum recorded recorded;
	__u64 word = 0;
	int slot;

	slot = client ? client_find(to, tag, f->service, -1, &word)
		      : flow_find(to, tag, f->service, -1, &word);
	if (slot >= 0 || !from || !to)
		return;
	slot = client ? client_find(from, tag, f->service, -1, &word)
		      : flow_find(from, tag, f->service, -1, &word);
	if (slot < 0)
		return;
	if (flow_is_dead(word, f->seconds)) {
		flow_swap(&from->word[slot & 7], word, 0, 0);
		return;
	}
	recorded = record(to, f->service, word, f->seconds, 0);
	if (recorded == RECORD_FULL) {
		count_reason(f->service, POISE_R_UNRECORDED);
		calm_end(f->service);
	}
	if (flow_swap(&from->word[slot & 7], word, 0, 0) && recorded == RECORDED)
		beside_uncount(word);
}

/* Two functions, so that what each keeps on the stack is little: track, which is called after them,
 * needs it. */
__noinline int beside_flow(struct flow *f)
{
	if (f)
		beside_fetch(f->hash, poise_flow_tag(f->hash, f->kind == PACKET_UDP), f, false);
	return 0;
}

__noinline int beside_client(struct flow *f)
{
	if (f)
		beside_fetch(f->client, poise_flow_tag(f->client, 0), f, true);
	return 0;
}

/* A free slot of the bucket, -1 if there is none or a packet is about to bring the word over. */
__noinline int beside_room(struct poise_bucket *to, __u32 service, __u64 word)
{
	__u32 tag = POISE_WORD_TAG(word);
	__u64 twin = 0;

	if (!to || (flow_is_client(word) ? client_find(to, tag, service, -1, &twin)
					 : flow_find(to, tag, service, -1, &twin)) >= 0)
		return -1;
	for (int i = 0; i < POISE_BUCKET_WORDS; i++)
		if (!ONCE(to->word[i]))
			return i;
	return -1;
}

/* The sweeper's: brings over a word at `from`, in bucket `at` of the table beside, where there is a
 * free slot: nobody loses a word for it. Whether it did. */
__noinline int beside_move(__u32 at, __u64 *from, __u64 word)
{
	struct poise_member *m = member_get(POISE_WORD_MEMBER(word));
	struct poise_bucket *to = flow_bucket(at);
	int slot;

	if (!m || !to || !from)
		return 0;
	slot = beside_room(to, m->service, word);
	if (slot < 0 || !flow_swap(&to->word[slot & 7], 0, word, SWAP_FLOW))
		return 0;
	if (!flow_swap(from, word, 0, 0)) { /* a packet was quicker */
		flow_swap(&to->word[slot & 7], word, 0, 0);
		return 0;
	}
	beside_uncount(word);
	record_alone(to, m->service, slot & 7, word);
	return 1;
}

/* What is known of the flow, and of its client, is in the table in force from now on. */
static __always_inline void beside_bring(struct flow *f)
{
	if (!poise_beside_buckets)
		return;
	beside_flow(f);
	if (f->client)
		beside_client(f);
}

#endif
