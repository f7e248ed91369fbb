// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Round-robin's turns are spread over the round as evenly as weights allow: the round is as many
 * equal parts as a member has turns, and the member has one in each, always at the same place of
 * the part. Members differ in that place, by the golden ratio, so that those of one weight do not
 * have their turns in a row. A member of small weight waits no longer for its first turn than for
 * any other.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "cycle.h"
#include "divisor.h"
#include "hash.h"

#define TURN_BITS 40 /* of a turn's place in the round: with 17 bits of turns, within 64 */

/* What weights are divided by to get turns: exact if the round is not too long for it, else as near
 * as whole turns come, and nobody has none. */
struct share {
	__u64 sum;
	__u32 divisor;
};

static struct share share_of(const struct cycle_member *member, size_t n)
{
	struct share s = {0};

	for (size_t m = 0; m < n; m++) {
		s.sum += member[m].weight;
		s.divisor = common_divisor(member[m].weight, s.divisor);
	}
	return s;
}

static __u32 turns(const struct share *s, const struct cycle_member *member)
{
	__u64 exact = member->weight / s->divisor;

	if (s->sum / s->divisor <= POISE_CYCLE_EXACT)
		return (__u32)exact;
	exact = ((__u64)member->weight * POISE_CYCLE_EXACT + s->sum / 2) / s->sum;
	return exact ? (__u32)exact : 1;
}

__u32 cycle_size(enum poise_policy policy, const struct cycle_member *member, size_t n)
{
	struct share s = share_of(member, n);
	__u32 size = 0;

	if (POISE_CYCLE_LOADED(policy))
		return (__u32)n;
	/* Who alone may be chosen need not be drawn (bpf/cycle.h, cycle_only). */
	if (n == 1 && (policy == POISE_RANDOM || policy == POISE_LATENCY_AWARE))
		return 1;
	if (policy == POISE_ROUND_ROBIN)
		for (size_t m = 0; m < n; m++)
			size += turns(&s, &member[m]);
	return size;
}

struct turn {
	__u64 place; /* in the round */
	__u32 order; /* of members, where two would have the same place */
	__u16 id;
};

static int by_place(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void fill_turns(const struct cycle_member *member, size_t n, __u32 *slot, __u32 size)
{
	struct turn *turn = calloc(size, sizeof(*turn));
	struct share s = share_of(member, n);
	__u32 at = 0;

	if (!turn)
		abort();
	for (size_t m = 0; m < n; m++) {
		__u64 phase = m * POISE_GOLD >> (64 - TURN_BITS);
		__u32 count = turns(&s, &member[m]);

		for (__u32 k = 0; k < count && at < size; k++)
			turn[at++] = (struct turn){
				.place = (((__u64)k << TURN_BITS) + phase) / count,
				.order = (__u32)m,
				.id = member[m].id,
			};
	}
	qsort(turn, size, sizeof(*turn), by_place);
	for (__u32 t = 0; t < size; t++)
		slot[t] = turn[t].id;
	free(turn);
}

void cycle_fill(enum poise_policy policy, const struct cycle_member *member, size_t n, __u32 *slot,
		__u32 size)
{
	if (!POISE_CYCLE_LOADED(policy)) {
		fill_turns(member, n, slot, size);
		return;
	}
	for (size_t m = 0; m < n && m < size; m++) {
		*slot++ = member[m].id;
		*slot++ = POISE_COST / member[m].weight;
	}
}

__u64 cycle_key(enum poise_policy policy, const struct cycle_member *member, size_t n)
{
	bool roster = POISE_CYCLE_LOADED(policy);
	__u64 key = roster;

	for (size_t m = 0; m < n; m++)
		key = poise_mix(
			(key ^ (member[m].id | (roster ? 0u : (__u32)member[m].weight << 16))) *
			POISE_GOLD);
	return key;
}
