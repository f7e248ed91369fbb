/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a client's packet finds its slot: a word in the bucket of its flow's hash (maps/nat.h). The
 * slot is the flow; the word only leads there, and is void once the slot has another one.
 *
 * A link goes into a free word, or in place of a void one, or of one whose flow is worth least: its
 * slot then rests, as if the flow were over. Then the bucket is read again, since another CPU may
 * have begun the same flow: of two links of one flow the higher-indexed goes, with its slot.
 *
 * A flow of mode local has a second link, by what its packets become (sent.h): answers find the
 * slot by that.
 */
#ifndef POISE_LINKS_H
#define POISE_LINKS_H

#include "record.h"
#include "sent.h"

#define LINK_VOID 7 /* a class above all of victim_class */

static __always_inline struct poise_bucket *link_bucket(__u64 hash)
{
	__u32 at = hash & poise_link_mask;

	return bpf_map_lookup_elem(&links, &at);
}

static __always_inline __u64 talk_hash(const struct talk *t)
{
	return poise_flow_hash(&t->client, &t->address, t->ports,
			       t->udp ? IPPROTO_UDP : IPPROTO_TCP, poise_key0, poise_key1);
}

static __always_inline bool slot_is_of(const struct poise_slot *s, __u64 head,
				       const union poise_addr *client,
				       const union poise_addr *address, __u32 ports, bool udp)
{
	return slot_found(head) && s->ports == ports && s->client.q[1] == client->q[1] &&
	       s->client.q[0] == client->q[0] && s->address.q[1] == address->q[1] &&
	       s->address.q[0] == address->q[0] && flow_is_udp(head) == udp &&
	       POISE_SLOT_COUNT(ONCE(s->head)) == POISE_SLOT_COUNT(head);
}

static __always_inline __u64 slot_hash(const struct poise_slot *s, bool udp)
{
	return poise_flow_hash(&s->client, &s->address, s->ports, udp ? IPPROTO_UDP : IPPROTO_TCP,
			       poise_key0, poise_key1);
}

/* Is the slot's flow one that goes by the host's stack, and its packets become these? */
__noinline int slot_is_sent(__u32 at, struct talk *t)
{
	struct poise_slot *s = slot_get(at);
	struct poise_way *w = way_get(at);
	struct poise_member *m;
	struct rewrite is;
	__u64 head;

	if (!s || !w || !t)
		return 0;
	head = ONCE(s->head);
	m = member_get(POISE_WORD_MEMBER(head));
	if (!m || !sent_by_stack(s, w, m) || !slot_found(head) || m->service != s->service ||
	    flow_is_udp(head) != t->udp)
		return 0;
	sent_as(at, s, w, m, &is);
	return is.ports == t->ports && is.src.q[1] == t->client.q[1] &&
	       is.src.q[0] == t->client.q[0] && is.dst.q[1] == t->address.q[1] &&
	       is.dst.q[0] == t->address.q[0] &&
	       POISE_SLOT_COUNT(ONCE(s->head)) == POISE_SLOT_COUNT(head);
}

/* The hash of what the packets of a slot become that go by the host's stack; 0: it has no second
 * link. */
__noinline __u64 slot_sent_hash(__u32 at, __u64 head)
{
	struct poise_member *m = member_get(POISE_WORD_MEMBER(head));
	struct poise_slot *s = slot_get(at);
	struct poise_way *w = way_get(at);
	struct rewrite is;

	if (!s || !w || !m || !sent_by_stack(s, w, m))
		return 0;
	sent_as(at, s, w, m, &is);
	return poise_flow_hash(&is.src, &is.dst, is.ports,
			       flow_is_udp(head) ? IPPROTO_UDP : IPPROTO_TCP, poise_key0,
			       poise_key1);
}

/* Does the word lead to its slot still? */
static __always_inline bool link_leads(__u64 word, const struct poise_slot *s, __u64 head)
{
	__u64 tag = POISE_LINK_TAG(word);

	return slot_found(head) &&
	       (POISE_LINK_TAG(slot_hash(s, flow_is_udp(head))) == tag ||
		POISE_LINK_TAG(slot_sent_hash(POISE_LINK_SLOT(word), head)) == tag);
}

/* The flow's link but the one at `except`: its index, and the slot; -1 if there is none. */
__noinline int link_find(struct poise_bucket *b, __u64 hash, struct talk *t, int except, __u32 *at)
{
	if (!b || !t || !at)
		return -1;
	for (int i = 0; i < POISE_BUCKET_WORDS; i++) {
		__u64 w = ONCE(b->word[i]);
		struct poise_slot *s;

		if (i == except || !w || POISE_LINK_TAG(w) != POISE_LINK_TAG(hash))
			continue;
		s = slot_get(POISE_LINK_SLOT(w));
		if (!s)
			continue;
		if (t->sent ? !slot_is_sent(POISE_LINK_SLOT(w), t)
			    : !slot_is_of(s, ONCE(s->head), &t->client, &t->address, t->ports,
					  t->udp))
			continue;
		*at = POISE_LINK_SLOT(w);
		return i;
	}
	return -1;
}

/* How soon a full bucket gives a link up, as record_value. */
__noinline __u32 link_value(__u64 word, __u32 seconds)
{
	struct poise_slot *s = slot_get(POISE_LINK_SLOT(word));
	__u64 head = s ? ONCE(s->head) : 0;

	if (!s || !link_leads(word, s, head))
		return LINK_VOID << VICTIM_CLASS_SHIFT;
	return record_value(head, seconds);
}

/* Where a link goes, and what is there now (0: nothing); -1 if all eight are of flows that stay. */
__noinline int link_place(struct poise_bucket *b, __u32 seconds, __u64 *old)
{
	__u32 best = 0;
	int place = -1;

	if (!b || !old)
		return -1;
	for (int i = 0; i < POISE_BUCKET_WORDS; i++) {
		*old = ONCE(b->word[i]);
		if (!*old)
			return i;
	}
	for (int i = 0; i < POISE_BUCKET_WORDS; i++) {
		__u64 w = ONCE(b->word[i]);
		__u32 value = link_value(w, seconds);

		if (value <= best)
			continue;
		best = value;
		place = i;
		*old = w;
	}
	return place;
}

/* A link had to go: so does its flow, unless it had gone before. */
__noinline int link_evicted(__u64 word, __u32 seconds)
{
	struct poise_slot *s = slot_get(POISE_LINK_SLOT(word));
	__u64 head = s ? ONCE(s->head) : 0;

	if (!s || !link_leads(word, s, head))
		return 0;
	count_reason(s->service, POISE_R_EVICTED);
	return slot_rest(POISE_LINK_SLOT(word), seconds);
}

/* Takes the word that leads to this slot away, if it is there. */
__noinline int link_drop(__u64 hash, __u32 at)
{
	struct poise_bucket *b = link_bucket(hash);
	__u64 word = POISE_LINK(hash, at);

	if (!b)
		return 0;
	for (int i = 0; i < POISE_BUCKET_WORDS; i++)
		if (ONCE(b->word[i]) == word)
			__sync_bool_compare_and_swap(&b->word[i], word, 0);
	return 0;
}

/* Takes away all that leads to a slot that has, or had, this head. */
__noinline int links_drop(__u32 at, __u64 head)
{
	struct poise_slot *s = slot_get(at);
	__u64 sent;

	if (!s)
		return 0;
	link_drop(slot_hash(s, flow_is_udp(head)), at);
	sent = slot_sent_hash(at, head);
	return sent ? link_drop(sent, at) : 0;
}

/* Of two links of one flow, this one, to slot `at`, at `place`, the higher goes. */
static __always_inline enum recorded link_alone(struct poise_bucket *b, __u64 hash, struct talk *t,
						int place, __u32 at, __u32 service, __u32 seconds)
{
	__u32 twin = 0;
	int other = link_find(b, hash, t, place, &twin);

	if (LIKELY(other < 0))
		return RECORDED;
	if (twin == at) { /* void, until the same flow got the same slot again */
		__sync_bool_compare_and_swap(&b->word[other & 7], POISE_LINK(hash, at), 0);
		return RECORDED;
	}
	count_reason(service, POISE_R_DUPLICATE);
	if (other > place) {
		slot_rest(twin, seconds);
		__sync_bool_compare_and_swap(&b->word[other & 7], POISE_LINK(hash, twin), 0);
		return RECORDED;
	}
	slot_rest(at, seconds);
	__sync_bool_compare_and_swap(&b->word[place & 7], POISE_LINK(hash, at), 0);
	return RECORD_WITHDRAWN;
}

/* Leads the flow to slot `at`, which has been published. */
__noinline int link_put(__u64 hash, struct talk *t, __u32 at, __u32 service, __u32 seconds)
{
	struct poise_bucket *b = link_bucket(hash);
	__u64 old = 0;
	int place;

	if (!b || !t)
		return RECORD_FULL;
	for (int i = 0; i < SLOT_TRIES; i++) {
		place = link_place(b, seconds, &old);
		if (place < 0)
			return RECORD_FULL;
		if (!__sync_bool_compare_and_swap(&b->word[place & 7], old, POISE_LINK(hash, at)))
			continue;
		if (old)
			link_evicted(old, seconds);
		return link_alone(b, hash, t, place, at, service, seconds);
	}
	return RECORD_AGAIN;
}

#endif
