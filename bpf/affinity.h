/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Affinity: a client's new flows go where its last one went, for as long as the service's timeout
 * says after that, whatever the policy would choose. A client is a prefix of addresses; its member
 * stands in a word of state AFFINITY among the flows, in the bucket of the client's own hash.
 *
 * The word ends with the timeout, or when its member may not be chosen: drained, down, full,
 * without a next hop or of weight 0. Then the policy chooses, and the word says whom. Only flows
 * that are surely new look at it and move it on: what goes on is bound to its member anyway, what
 * was picked up goes by the table. No gauge counts it.
 */
#ifndef POISE_AFFINITY_H
#define POISE_AFFINITY_H

#include "hold.h"
#include "record.h"

static __always_inline __u64 affinity_word(const struct flow *f,
					   const struct poise_service_rec *rec, __u32 member)
{
	return flow_word(poise_flow_tag(f->client, 0), member,
			 stamp_low(POISE_FLOW_AFFINITY, rec->affinity, f->seconds));
}

/* The member that the client's flows go to; 0: none that may take this one. */
__noinline __u32 affinity_get(struct flow *f)
{
	struct poise_service_rec *rec;
	struct poise_bucket *b;
	struct poise_member *m;
	__u64 word = 0;

	if (!f)
		return 0;
	rec = service_record(f->service, f->record);
	b = flow_bucket(f->client);
	if (!rec || client_find(b, poise_flow_tag(f->client, 0), f->service, -1, &word) < 0 ||
	    stamp_expired(word, rec->affinity, f->seconds))
		return 0;
	m = member_get(POISE_WORD_MEMBER(word));
	if (!member_usable(m, f->service, rec->rung) ||
	    hold_full(m, POISE_WORD_MEMBER(word), f->has))
		return 0;
	return POISE_WORD_MEMBER(word);
}

/* The client's flows go to this member from now on; false if another CPU was quicker. */
__noinline int affinity_put(struct flow *f, __u32 member)
{
	struct poise_service_rec *rec;
	enum recorded recorded;
	struct poise_bucket *b;
	__u64 old = 0, word;
	int slot;

	if (!f)
		return true;
	rec = service_record(f->service, f->record);
	b = flow_bucket(f->client);
	if (!rec || !b)
		return true;
	word = affinity_word(f, rec, member);
	slot = client_find(b, poise_flow_tag(f->client, 0), f->service, -1, &old);
	if (slot >= 0)
		return word == old || flow_swap(&b->word[slot & 7], old, word, SWAP_FLOW);
	recorded = record(b, f->service, word, f->seconds, 0);
	if (recorded == RECORD_FULL)
		count_reason(f->service, POISE_R_UNRECORDED);
	return recorded == RECORDED || recorded == RECORD_FULL;
}

#endif
