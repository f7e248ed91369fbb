/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sweeper: frees the words of flows that are over, or by force those of a service, member,
 * state, or long silence, and brings over what a resize has left beside. A SEC("syscall") program:
 * once begun it runs to its end whatever happens to its caller, so a word that is freed is also
 * counted. Callers hold the instance's lock, so no member's id is given away under a sweep.
 */
#ifndef POISE_SWEEP_H
#define POISE_SWEEP_H

#include "beside.h"
#include "hold.h"
#include "links.h"

struct sweep {
	struct poise_sweep io;
	__u32 seconds;
	__u32 spare;
};

static __always_inline bool sweep_frees(const struct sweep *s, __u64 word)
{
	__u32 id = POISE_WORD_MEMBER(word);
	struct poise_member *m;

	if (s->io.kind != POISE_SWEEP_FORCE)
		return flow_is_dead(word, s->seconds);
	if (s->io.member && s->io.member != id)
		return false;
	if (s->io.state && s->io.state != POISE_WORD_STATE(word))
		return false;
	if (stamp_age(word, s->seconds) < s->io.idle)
		return false;
	m = member_get(id);
	return !s->io.service || (m && m->service == s->io.service);
}

/* Where the table in force has more buckets, only its flow's packet knows a word's place. */
static __always_inline bool sweep_moves(const struct sweep *s)
{
	return poise_beside_buckets > poise_bucket_mask && s->io.beside &&
	       s->io.kind == POISE_SWEEP_MOVE;
}

static __always_inline void sweep_word(struct sweep *s, __u32 bucket, __u64 *at)
{
	__u64 word = ONCE(*at);

	if (!word)
		return;
	if (sweep_frees(s, word) ? flow_swap(at, word, 0, 0)
				 : sweep_moves(s) && beside_move(bucket, at, word)) {
		s->io.freed++;
		return;
	}
	s->io.used++;
	s->io.live += flow_is_live(word);
}

/* ---- slots of mode nat ------------------------------------------------------------------------*/

static __always_inline bool sweep_slot_dead(__u64 head, __u32 seconds)
{
	struct poise_service_rec *rec = flow_record(head);

	if (POISE_WORD_STATE(head) == POISE_SLOT_REST)
		return stamp_expired(head, POISE_REST_SECONDS, seconds);
	return !rec || !(rec->flags & POISE_S_LINKS) ||
	       stamp_expired(head, slot_timeout(rec, head), seconds);
}

/* A flow that goes on at the last moment keeps its link, and nobody has the port before the link is
 * gone. */
static __always_inline bool sweep_slot_free(__u32 at, struct poise_slot *slot, __u64 head)
{
	if (!slot_free(slot, head))
		return false;
	links_drop(at, head);
	ports_give(at / POISE_PORTS, at % POISE_PORTS);
	return true;
}

static __always_inline bool sweep_slot_rest(const struct sweep *s, __u32 at, __u64 head)
{
	links_drop(at, head);
	return slot_rest(at, s->seconds);
}

/* One that is over is free again, or, by force, rests. */
static __always_inline void sweep_slot(struct sweep *s, __u32 at)
{
	struct poise_slot *slot = slot_get(at);
	__u64 head = slot ? ONCE(slot->head) : 0;
	__u32 state = POISE_WORD_STATE(head);

	if (!slot || state == POISE_FLOW_FREE || state == POISE_SLOT_FILLING)
		return;
	if (s->io.kind == POISE_SWEEP_FORCE
		    ? slot_found(head) && sweep_frees(s, head) && sweep_slot_rest(s, at, head)
		    : sweep_slot_dead(head, s->seconds) && sweep_slot_free(at, slot, head)) {
		s->io.freed++;
		return;
	}
	if (!slot_found(head))
		return;
	s->io.used++;
	s->io.live += flow_is_live(head);
}

static __noinline long sweep_slots(__u32 bucket, struct sweep *s)
{
	__u32 first = bucket * POISE_BUCKET_WORDS, port = first % POISE_PORTS;
	__u64 *bits = ports_word(first / POISE_PORTS, port / 64);

	if (!bits || !(ONCE(*bits) >> (port % 64) & 0xff)) /* nobody has any of them */
		return 0;
	for (__u32 i = 0; i < POISE_BUCKET_WORDS; i++)
		sweep_slot(s, first + i);
	return 0;
}

/* Ports of this word that were barred and no longer are: free in each group, but where a flow from
 * before that has one still, whose end frees it. Nobody can have begun one meanwhile. */
static __always_inline void sweep_unbar(__u32 group, __u32 word, __u64 unbarred)
{
	__u64 *bits = ports_word(group, word);

	for (int i = 0; bits && i < 64; i++) {
		struct poise_slot *s = slot_get(group * POISE_PORTS + word * 64 + i);

		if (unbarred >> i & 1 && s && POISE_WORD_STATE(ONCE(s->head)) == POISE_FLOW_FREE)
			__sync_fetch_and_and(bits, ~(1ull << i));
	}
}

struct unbar {
	__u32 group;
	__u32 word;
	__u64 barred;
	__u64 unbarred;
};

/* Callback of bpf_loop, for each group. */
static long sweep_group(__u32 group, struct unbar *u)
{
	__u64 *bits = ports_word(group, u->word);

	if (!bits)
		return 1;
	if (u->barred)
		__sync_fetch_and_or(bits, u->barred);
	if (u->unbarred)
		sweep_unbar(group, u->word, u->unbarred);
	ports_summary(group, u->word, ~ONCE(*bits) != 0);
	return 0;
}

/* Callback of bpf_loop, for each word of a bitmap. */
static long sweep_word_of_ports(__u32 index, __u32 *first)
{
	__u32 word = *first + index;
	__u64 *barred, *wanted, was;
	struct unbar u;

	if (word >= POISE_PORT_WORDS)
		return 1;
	barred = ports_word(poise_groups + POISE_PORTS_BARRED, word);
	wanted = ports_word(poise_groups + POISE_PORTS_WANTED, word);
	if (!barred || !wanted)
		return 1;
	was = *barred;
	/* First, so that whoever frees a port from now on goes by it. */
	*(volatile __u64 *)barred = *wanted;
	u = (struct unbar){0, word, *wanted, was & ~*wanted};
	bpf_loop(poise_groups, sweep_group, &u, 0);
	return 0;
}

static __always_inline int sweep_ports(__u32 first, __u32 count)
{
	bpf_loop(count, sweep_word_of_ports, &first, 0);
	return 0;
}

/* ---- the call ---------------------------------------------------------------------------------*/

/* Callback of bpf_loop. */
static long sweep_bucket(__u32 index, struct sweep *s)
{
	__u32 at = s->io.first + index;
	struct poise_bucket *b;

	if (poise_groups && s->io.beside == POISE_SWEEP_SLOTS)
		return sweep_slots(at, s);
	if (poise_beside_buckets && s->io.beside)
		b = bpf_map_lookup_elem(&flows_beside, &at);
	else
		b = bpf_map_lookup_elem(&flows, &at);
	if (!b)
		return 1;
	for (int i = 0; i < POISE_BUCKET_WORDS; i++)
		sweep_word(s, at, &b->word[i]);
	return 0;
}

static __always_inline int sweep(struct poise_sweep *io)
{
	struct sweep s = {.io = *io, .seconds = stamp_seconds()};

	if (io->kind == POISE_SWEEP_HOLD || io->kind == POISE_SWEEP_LOOSE)
		return hold(io->member, io->kind == POISE_SWEEP_HOLD);
	if (io->kind == POISE_SWEEP_PORTS)
		return sweep_ports(io->first, io->count);
	if (s.io.count > POISE_SWEEP_BUCKETS)
		s.io.count = POISE_SWEEP_BUCKETS;
	s.io.freed = s.io.live = s.io.used = 0;
	bpf_loop(s.io.count, sweep_bucket, &s, 0);
	io->freed = s.io.freed;
	io->live = s.io.live;
	io->used = s.io.used;
	return 0;
}

#endif
