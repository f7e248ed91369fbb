/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Step 3, the thorough way: whatever the table or an unchanged word could not answer at once. Finds
 * the flow's word, moves it on, or begins a flow.
 *
 * Under `track auto` a flow is recorded only where the table alone would not answer every one of
 * its packets alike: where current and base differ, or where current may not be chosen or fades.
 * Elsewhere (settled) a word that says what the table says is freed again.
 */
#ifndef POISE_TRACK_H
#define POISE_TRACK_H

#include "choose.h"
#include "record.h"

#define TRACK_TRIES 4	     /* lost races before a packet goes unrecorded */
#define TRACK_AGAIN DROP_BIT /* no reason of its own: look again */

struct track {
	struct poise_service_rec *rec;
	struct poise_bucket *bucket;
	__u32 tag;
	__u32 base;    /* member */
	__u32 settled; /* the member that the table gives to every packet; 0: it depends */
	enum packet_kind kind;
};

/* Who the table says it is. */
static __always_inline void track_table(struct track *t, const struct packet *p)
{
	struct poise_service_rec *rec = t->rec;
	__u32 entry = table_entry(rec->table_at, rec->table_size, p->place);
	__u32 current = table_current(rec, entry);
	struct poise_member *m = member_get(current);

	t->base = table_base(rec, p, entry);
	t->settled = 0;
	if (rec->track == POISE_TRACK_AUTO && current == t->base &&
	    member_usable(m, p->service, rec->rung) && !member_fades(m))
		t->settled = current;
}

/* The member of a flow that begins, or that we have not met before. Only what is surely new is the
 * policy's: anything else may have been going on unrecorded, under the base. */
static __always_inline answer_t track_choose(struct track *t, struct packet *p)
{
	bool always = t->rec->track == POISE_TRACK_ALWAYS;
	struct poise_member *m;

	if (t->kind == PACKET_SYN || (t->kind == PACKET_UDP && always))
		return policy_choose(p, t->rec);
	m = member_get(t->base);
	if (!member_keeps(m, p->service, p->proto))
		return table_choose(p);
	if (ONCE(m->nexthop))
		return t->base;
	return t->kind == PACKET_UDP ? table_choose(p) : DROP(NO_NEXT_HOP);
}

/* All eight slots are taken: every packet of the flow must find its way by the table. */
static __always_inline answer_t track_full(struct track *t, struct packet *p, __u32 chosen)
{
	count_reason(p->service, POISE_R_UNRECORDED);
	if (member_usable(member_get(t->base), p->service, t->rec->rung))
		return t->base;
	return chosen;
}

/* A flow begins: in `slot` if that holds a word of its own from before, else wherever there is
 * room. */
static __always_inline answer_t track_begin(struct track *t, struct packet *p, int slot, __u64 old)
{
	answer_t member = track_choose(t, p);
	__u32 state = flow_born(t->kind);
	__u64 word = 0;

	if (IS_DROP(member) || !state)
		return member;
	if (member != t->settled)
		word = flow_word(t->tag, member,
				 stamp_low(state,
					   stamp_timeout(t->rec, state, t->kind == PACKET_UDP),
					   p->seconds));
	if (slot >= 0)
		return flow_swap(&t->bucket->word[slot & 7], old, word, true) ? member
									      : TRACK_AGAIN;
	if (!word)
		return member;
	switch (record(t->bucket, p->service, word, p->seconds)) {
	case RECORDED: return member;
	case RECORD_FULL: return track_full(t, p, member);
	default: return TRACK_AGAIN;
	}
}

/* A flow goes on: its word as the transition table says. */
static __always_inline answer_t track_go_on(struct track *t, struct packet *p, int slot, __u64 old)
{
	bool udp = t->kind == PACKET_UDP;
	__u32 member = POISE_WORD_MEMBER(old);
	struct poise_member *m = member_get(member);
	__u64 word = old;
	__u32 cell;

	if (!member_keeps(m, p->service, p->proto))
		return track_begin(t, p, slot, old);
	cell = flow_transition(old, t->kind, p->seconds,
			       stamp_timeout(t->rec, POISE_WORD_STATE(old), udp),
			       member_usable(m, p->service, t->rec->rung));
	if (cell & CELL_AFRESH)
		return track_begin(t, p, slot, old);
	if (!(cell & CELL_KEEP))
		word = flow_word(t->tag, member,
				 stamp_low(cell, stamp_timeout(t->rec, cell, udp), p->seconds));
	if (member == t->settled)
		word = 0;
	if (word == old || flow_swap(&t->bucket->word[slot & 7], old, word, false))
		return member;
	return TRACK_AGAIN;
}

__noinline answer_t track(struct packet *p)
{
	struct track t = {};
	answer_t answer;

	if (!p)
		return DROP(BROKEN);
	t.rec = service_record(p->service, p->record);
	t.bucket = flow_bucket(p->hash);
	if (!t.rec || !t.bucket)
		return DROP(BROKEN);
	t.kind = packet_kind(p);
	t.tag = poise_flow_tag(p->hash, t.kind == PACKET_UDP);
	track_table(&t, p);
	for (int i = 0; i < TRACK_TRIES; i++) {
		__u64 word = 0;
		int slot = flow_find(t.bucket, t.tag, p->service, -1, &word);

		answer = slot < 0 ? track_begin(&t, p, slot, 0) : track_go_on(&t, p, slot, word);
		if (answer != TRACK_AGAIN)
			return answer;
	}
	answer = track_choose(&t, p);
	return IS_DROP(answer) ? answer : track_full(&t, p, answer);
}

#endif
