// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One member's line. Its identity is written while nobody can mean the id; afterwards only single
 * words change: live, the weights, and mode with flags.
 */
#include "derive.h"
#include "fade.h"
#include "table.h"

/* A gauge counts one member's flows: an id's new owner begins at nothing. Nobody counts under an
 * id whose service is 0 and that no flow word names. */
static void clear_counters(struct instance *i, __u16 id)
{
	static const struct poise_counter counter;
	static const struct poise_rate rate;
	static const struct poise_check_result check;
	static const struct poise_latency latency;

	for (__u32 cpu = 0; cpu < i->meta->cpus; cpu++) {
		size_t line = (size_t)cpu * i->meta->members + id;

		store_words(&i->counters[line], &counter, sizeof(counter));
		store32((__u32 *)&instance_loads(i, cpu, id)->own, 0);
		store32((__u32 *)&instance_loads(i, cpu, id)->others, 0);
		store32(&instance_loads(i, cpu, id)->eased, 0);
		store32(&instance_loads(i, cpu, id)->refused, 0);
	}
	store32((__u32 *)&i->held[id], 0);
	store_words(&i->rates[id], &rate, sizeof(rate));
	store_words(&i->checks[id], &check, sizeof(check));
	store_words(instance_latencies(i, id, 1), &latency, sizeof(latency));
}

/* Who has a limit is counted before packets ask, and until none does. */
static void set_max_conns(struct instance *i, __u16 id, __u32 most)
{
	struct poise_member *m = &i->members[id];

	if (most)
		held_set(i, id, true);
	store32(&m->max_conns, held_is(i, id) ? most : 0);
	if (!most)
		held_set(i, id, false);
}

/* mode and flags lie side by side and change together. */
static __u16 mode_and_flags(const struct poise_member *m)
{
	union {
		__u8 b[2];
		__u16 h;
	} u = {.b = {m->mode, m->flags}};

	return u.h;
}

static bool is_up(const struct poise_member *m)
{
	return (m->live & POISE_L_RANK) == POISE_RANK_UP;
}

/* The flag of fading, before `live` is stored: who becomes choosable begins, with its share said
 * before; who is, goes on as poised has it. */
static __u32 fade_of(const struct instance *i, struct poise_member *m,
		     const struct poise_member *want)
{
	if (!is_up(want))
		return 0;
	if (is_up(m))
		return m->live & POISE_L_FADING;
	if (!want->fade)
		return 0;
	store16(&m->fade, want->fade);
	store16(&m->fade_cap, want->fade_cap);
	store32(&m->fade_until, instance_stamp_now(i) + FADE_KEPT);
	return POISE_L_FADING;
}

static void store_words_of_use(struct instance *i, __u16 id, const struct poise_member *want)
{
	_Static_assert(offsetof(struct poise_member, flags) ==
				       offsetof(struct poise_member, mode) + 1 &&
			       offsetof(struct poise_member, mode) % 2 == 0,
		       "one store for both");
	struct poise_member *m = &i->members[id];
	__u32 fading = fade_of(i, m, want);

	store16(&m->gue_port, want->gue_port); /* before a mode that reads it */
	store16((__u16 *)(void *)&m->mode, mode_and_flags(want));
	store16(&m->weight, want->weight);
	set_max_conns(i, id, want->max_conns);
	store32(&m->live, want->live | fading);
	if (fading)
		return;
	store16(&m->fade, 0);
	store16(&m->fade_cap, 0);
	store32(&m->fade_until, 0);
}

/* In mode local the host's own routing knows the way; in any other it has yet to be found, and in
 * mode nat that may be what was found. */
static void settle_nexthop(struct instance *i, __u16 id)
{
	const struct poise_member *m = &i->members[id];

	if (m->mode == POISE_LOCAL)
		instance_set_nexthop(i, id, POISE_NEXTHOP_LOCAL);
	else if (m->mode != POISE_NAT && m->nexthop == POISE_NEXTHOP_LOCAL)
		instance_set_nexthop(i, id, 0);
}

void derive_member_use(struct instance *i, __u16 id, const struct poise_member *want)
{
	struct poise_member *m = &i->members[id];

	if (m->service == want->service) {
		store_words_of_use(i, id, want);
		settle_nexthop(i, id);
		return;
	}
	clear_counters(i, id);
	instance_set_nexthop(i, id, 0);
	store_words(&m->addr, &want->addr, sizeof(want->addr));
	store16(&m->port, want->port);
	store16(&m->ordinal, want->ordinal);
	store32(&m->watched, 0);
	store32(&m->live, POISE_RANK_NEVER);
	store_words_of_use(i, id, want);
	store16(&m->service, want->service);
	settle_nexthop(i, id);
}

/* Address and next hop stay for the packets that are just leaving by them; a sweep clears the next
 * hop, a new owner the rest. */
void derive_member_void(struct instance *i, __u16 id)
{
	struct poise_member *m = &i->members[id];

	store32(&m->live, POISE_RANK_NEVER);
	store16(&m->service, 0);
}
