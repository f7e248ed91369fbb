/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Step 3, the thorough way: whatever the table or an unchanged word could not answer at once. Finds
 * the flow's word, moves it on, or begins a flow.
 *
 * Under `track auto` a flow is recorded only where the table alone would not answer every one of
 * its packets alike: where current and base differ, or where current may not be chosen or fades.
 * Elsewhere (settled) a word that says what the table says is freed again.
 *
 * A packet that goes by a word marks its slot as mixed, and stops the clock by which poised would
 * find that no word is in use there any more (maps/aging.c).
 */
#ifndef POISE_TRACK_H
#define POISE_TRACK_H

#include "new_flow.h"

#define TRACK_TRIES 4 /* lost races before a packet goes unrecorded */
/* Beyond every reason: */
#define TRACK_AGAIN  (DROP_BIT | (POISE_REASON_SLOTS + 1)) /* look again */
#define TRACK_AFRESH (DROP_BIT | (POISE_REASON_SLOTS + 2)) /* a flow begins */

struct track {
	struct poise_service_rec *rec;
	struct poise_bucket *bucket;
	__u32 *entry; /* of the table, NULL if that is empty */
	__u32 tag;
	__u32 base;    /* member */
	__u32 settled; /* the member that the table gives to every packet; 0: it depends */
};

/* Who the table says it is. */
static __always_inline void track_table(struct track *t, const struct flow *f)
{
	struct poise_service_rec *rec = t->rec;
	__u32 entry, current;
	struct poise_member *m;
	bool agree;

	t->entry = table_slot(rec->table_at, rec->table_size, f->place);
	entry = t->entry ? ONCE(*t->entry) : 0;
	current = table_current(rec, entry);
	m = member_get(current);
	t->base = table_base(rec, f, entry);
	t->settled = 0;
	/* Beside a base table the entry has a base too, for when that table goes. */
	agree = current == t->base && POISE_ENTRY_CURRENT(entry) == POISE_ENTRY_BASE(entry);
	if (rec->track == POISE_TRACK_AUTO && agree && member_usable(m, f->service, rec->rung) &&
	    !member_fades(m))
		t->settled = current;
}

/* Is this packet surely a flow's first, if we know nothing of the flow? */
static __always_inline bool track_first(const struct track *t, const struct flow *f)
{
	if (f->kind != PACKET_UDP)
		return f->kind == PACKET_SYN;
	if (t->rec->track == POISE_TRACK_ALWAYS)
		return !(t->rec->flags & POISE_S_UNTRACKED);
	return calm(f->service);
}

/* The member of a flow that begins, or that we have not met before. Only what is surely new is the
 * policy's: anything else may have been going on unrecorded, under the base. */
static __always_inline answer_t track_choose(struct track *t, struct flow *f)
{
	struct poise_member *m;

	if (f->bound)
		return f->bound;
	if (track_first(t, f))
		return new_flow(f, t->rec, t->base);
	m = member_get(t->base);
	if (!member_keeps(m, f->service, f->kind == PACKET_UDP))
		return table_choose(f);
	if (ONCE(m->nexthop))
		return t->base;
	return f->kind == PACKET_UDP ? table_choose(f) : DROP(NO_NEXT_HOP);
}

/* Can every packet of the flow find its way by the table? */
static __always_inline bool track_by_base(const struct track *t, const struct flow *f)
{
	struct poise_member *m = member_get(t->base);

	return !f->bound && member_keeps(m, f->service, f->kind == PACKET_UDP) && ONCE(m->nexthop);
}

/* All eight slots are taken: every packet of the flow must find its way by the table. */
static __always_inline answer_t track_full(struct track *t, struct flow *f, __u32 chosen)
{
	count_reason(f->service, POISE_R_UNRECORDED);
	calm_end(f->service);
	return track_by_base(t, f) ? t->base : chosen;
}

/* The state that a flow begins in. A datagram's second one may come much later, and without a word
 * it goes by the base. Where the policy is a hash, few begin elsewhere, and none once a word was
 * lost (calm.h): those have words that a flood does not take. */
static __always_inline __u32 track_born(const struct track *t, const struct flow *f,
					answer_t member)
{
	if (f->kind == PACKET_UDP && f->has & FLOW_NEW && member != t->base &&
	    t->rec->policy <= POISE_SOURCE_HASH)
		return POISE_FLOW_PICKUP;
	return flow_born(f->kind);
}

/* A word of this slot is in use. Aging is taken off first: if poised was about to find the slot
 * unmixed, it either sees that, or has done so before we mark it. */
static __always_inline void track_mix(const struct track *t)
{
	__u32 entry;

	if (t->rec->track != POISE_TRACK_AUTO || !t->entry)
		return;
	entry = ONCE(*t->entry);
	if (LIKELY(entry & POISE_ENTRY_MIXED && !table_rests(entry)))
		return;
	__sync_fetch_and_and(t->entry, ~POISE_ENTRY_AGING);
	__sync_fetch_and_or(t->entry, POISE_ENTRY_MIXED);
}

/* Is this a flow that the service has taken before, whose member lets it go? */
static __always_inline bool track_moves(const struct track *t, const struct flow *f, __u64 old)
{
	__u32 state = POISE_WORD_STATE(old);
	bool udp = f->kind == PACKET_UDP;

	return (udp ? flow_is_live(old) : state == POISE_FLOW_NEW) &&
	       !stamp_expired(old, stamp_timeout(t->rec, state, udp), f->seconds);
}

/* A flow begins: in `slot` if that holds a word of its own from before, else wherever there is
 * room. */
static __always_inline answer_t track_begin(struct track *t, struct flow *f, int slot, __u64 old)
{
	enum recorded recorded = RECORDED;
	answer_t member;
	__u64 word = 0;
	__u32 state;
	int how;

	f->has = (f->has & ~FLOW_MOVES) | (track_moves(t, f, old) ? FLOW_MOVES : 0);
	if (UNLIKELY(f->held)) /* by a try before this one */
		hold_return(f);
	member = track_choose(t, f);
	state = track_born(t, f, member);
	if (IS_DROP(member) || !state)
		return member;
	if (member != t->settled)
		word = flow_word(t->tag, member,
				 stamp_low(state,
					   stamp_timeout(t->rec, state, f->kind == PACKET_UDP),
					   f->seconds));
	if (word)
		track_mix(t);
	how = SWAP_FLOW | (f->held ? SWAP_PLACED : 0);
	if (slot >= 0 && !flow_swap(&t->bucket->word[slot & 7], old, word, how))
		return TRACK_AGAIN;
	if (slot < 0 && word)
		recorded = record(t->bucket, f->service, word, f->seconds,
				  how | (track_by_base(t, f) ? RECORD_GENTLY : 0));
	switch (recorded) {
	case RECORDED: new_flow_begun(f); return member;
	case RECORD_FULL: new_flow_unrecorded(f); return track_full(t, f, member);
	case RECORD_WITHDRAWN: new_flow_withdrawn(f); return TRACK_AGAIN;
	default: return TRACK_AGAIN;
	}
}

/* A TCP flow is over, since its backend is down (on-down reset): its client is told. Its word stays
 * for a while, so that all of its packets are answered alike. */
static __always_inline answer_t track_reset(struct track *t, struct flow *f, int slot, __u64 old)
{
	__u32 seconds = stamp_timeout(t->rec, POISE_FLOW_RST, false);
	__u64 word = flow_word(t->tag, POISE_WORD_MEMBER(old),
			       stamp_low(POISE_FLOW_RST, seconds, f->seconds));

	if (flow_is_live(old) && !flow_swap(&t->bucket->word[slot & 7], old, word, 0))
		return TRACK_AGAIN;
	return DROP(DOWN);
}

/* A flow goes on: its word as the transition table says. Or TRACK_AFRESH. */
static __always_inline answer_t track_go_on(struct track *t, struct flow *f, int slot, __u64 old)
{
	bool udp = f->kind == PACKET_UDP;
	__u32 member = POISE_WORD_MEMBER(old);
	struct poise_member *m = member_get(member);
	__u64 word = old;
	__u32 cell;

	if (!udp && f->kind != PACKET_SYN && member_resets(m, f->service))
		return track_reset(t, f, slot, old);
	if (!member_keeps(m, f->service, udp) || (f->bound && f->bound != member))
		return TRACK_AFRESH;
	cell = flow_transition(old, f->kind, f->seconds,
			       stamp_timeout(t->rec, POISE_WORD_STATE(old), udp),
			       member_usable(m, f->service, t->rec->rung));
	if (cell & CELL_AFRESH)
		return TRACK_AFRESH;
	if (!(cell & CELL_KEEP))
		word = flow_word(t->tag, member,
				 stamp_low(cell, stamp_timeout(t->rec, cell, udp), f->seconds));
	if (member == t->settled)
		word = 0;
	else
		track_mix(t);
	if (word == old || flow_swap(&t->bucket->word[slot & 7], old, word, 0))
		return member;
	return TRACK_AGAIN;
}

/* Again and again, as long as other CPUs are quicker. */
static __always_inline answer_t track_try(struct track *t, struct flow *f)
{
	answer_t answer = TRACK_AGAIN;

	for (int i = 0; i < TRACK_TRIES; i++) {
		__u64 word = 0;
		int slot = flow_find(t->bucket, t->tag, f->service, -1, &word);

		answer = slot < 0 ? TRACK_AFRESH : track_go_on(t, f, slot, word);
		if (answer == TRACK_AFRESH)
			answer = track_begin(t, f, slot, word);
		if (answer != TRACK_AGAIN && answer != NEW_FLOW_AGAIN)
			return answer;
	}
	if (answer == NEW_FLOW_AGAIN)
		return DROP(FULL);
	answer = table_choose(f);
	return IS_DROP(answer) ? answer : track_full(t, f, answer);
}

__noinline answer_t track(struct flow *f)
{
	struct track t = {};
	answer_t answer;

	if (!f)
		return DROP(BROKEN);
	t.rec = service_record(f->service, f->record);
	t.bucket = flow_bucket(f->hash);
	if (!t.rec || !t.bucket)
		return DROP(BROKEN);
	t.tag = poise_flow_tag(f->hash, f->kind == PACKET_UDP);
	track_table(&t, f);
	answer = track_try(&t, f);
	new_flow_over(f);
	return answer;
}

#endif
