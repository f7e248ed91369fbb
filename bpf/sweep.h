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

/* Callback of bpf_loop. */
static long sweep_bucket(__u32 index, struct sweep *s)
{
	__u32 at = s->io.first + index;
	struct poise_bucket *b;

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
