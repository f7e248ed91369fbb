// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ranks, the rung, and whose flows go on; see ladder.h. */
#include "derive.h"
#include "ladder.h"

/*
 * A member with two faults (draining and down) is not one "whose only fault is a failed check". A
 * drain past its deadline has promised that nothing goes there any more; until tick.c has said so
 * in the record, it goes on.
 */
enum poise_rank ladder_own_rank(const struct poise_member_conf *m)
{
	bool draining = m->admin == POISE_DRAINING || !m->weight;

	if (m->r.state != POISE_REC_USED || m->admin == POISE_DISABLED)
		return POISE_RANK_NEVER;
	if (m->admin == POISE_DRAINING && m->deadline == DERIVE_ENDED)
		return POISE_RANK_NEVER;
	if (m->health == POISE_HEALTH_DOWN)
		return draining ? POISE_RANK_NEVER : POISE_RANK_FAILED;
	if (m->sorry)
		return draining ? POISE_RANK_SORRY_DRAINING : POISE_RANK_SORRY;
	if (draining)
		return POISE_RANK_DRAINING;
	if (m->health == POISE_HEALTH_CHECKING)
		return POISE_RANK_CHECKING;
	return m->ejected ? POISE_RANK_FAILED : POISE_RANK_UP;
}

bool ladder_ejected(const struct poise_member_conf *m)
{
	return m->health != POISE_HEALTH_DOWN && ladder_own_rank(m) == POISE_RANK_FAILED;
}

/* Whom only a check keeps from being up. */
static bool is_taker(const struct poise_member_conf *m)
{
	enum poise_rank rank = ladder_own_rank(m);

	return !m->sorry &&
	       (rank == POISE_RANK_UP || rank == POISE_RANK_CHECKING || rank == POISE_RANK_FAILED);
}

void ladder_begin(struct ladder *l, const struct poise_service_conf *conf, __u8 stood)
{
	*l = (struct ladder){.conf = conf, .was_below = stood & POISE_STANDS_BELOW};
}

void ladder_count(struct ladder *l, const struct poise_member_conf *m)
{
	l->at[ladder_own_rank(m)]++;
	l->takers += is_taker(m);
	l->ejected += ladder_ejected(m);
}

/* Ejections are guesses: they hold while somebody else is up. */
static bool would_pardon(const struct ladder *l)
{
	return l->ejected && !l->at[POISE_RANK_UP];
}

/* As many as min-up asks for; a part is rounded up. */
static __u32 least(const struct ladder *l)
{
	__u32 part = l->conf->min_up & ~POISE_PART_PERCENT;

	return l->conf->min_up & POISE_PART_PERCENT ? (part * l->takers + 99) / 100 : part;
}

__u32 ladder_enough(const struct ladder *l)
{
	__u32 min = least(l), back = min + l->conf->min_up_margin;

	/* All there are is enough, whatever the margin. */
	if (back > l->takers)
		back = l->takers > min ? l->takers : min;
	return l->was_below && min ? back : min;
}

bool ladder_below(const struct ladder *l)
{
	__u32 up = would_pardon(l) ? l->ejected : l->at[POISE_RANK_UP];

	return up < ladder_enough(l);
}

/* Who is up gives way to the sorry ones. */
static bool yields(const struct ladder *l)
{
	return l->at[POISE_RANK_SORRY] && ladder_below(l);
}

bool ladder_pardons(const struct ladder *l)
{
	return would_pardon(l) && !yields(l);
}

/* With nobody up it is for on-none-up to say. It is checks that are not believed: whoever is
 * ejected has a good one. */
bool ladder_panics(const struct ladder *l)
{
	__u64 up = l->at[POISE_RANK_UP] + l->ejected;

	return up && up * 100 < (__u64)l->conf->panic * l->takers && !yields(l);
}

static bool refuses(const struct ladder *l)
{
	return l->conf->on_none_up == POISE_NONE_UP_REFUSE;
}

enum poise_rank ladder_rung(const struct ladder *l)
{
	enum poise_rank rung = POISE_RANK_UP;

	if (yields(l))
		return POISE_RANK_SORRY;
	if (ladder_pardons(l))
		return rung;
	while (rung < POISE_RANK_NOBODY && !l->at[rung])
		rung++;
	return rung == POISE_RANK_FAILED && refuses(l) ? POISE_RANK_NOBODY : rung;
}

__u8 ladder_standing(const struct ladder *l)
{
	return (ladder_panics(l) ? POISE_STANDS_PANIC : 0) |
	       (ladder_below(l) ? POISE_STANDS_BELOW : 0);
}

enum poise_rank ladder_rank(const struct ladder *l, const struct poise_member_conf *m)
{
	enum poise_rank rank = ladder_own_rank(m);

	if (is_taker(m) && ladder_panics(l))
		return POISE_RANK_UP;
	if (ladder_pardons(l) && ladder_ejected(m))
		return POISE_RANK_UP;
	return rank == POISE_RANK_FAILED && refuses(l) ? POISE_RANK_NEVER : rank;
}

static __u32 tcp_when_down(const struct poise_service_conf *conf)
{
	switch (conf->on_down) {
	case POISE_ON_DOWN_RESET: return POISE_L_RESET;
	case POISE_ON_DOWN_MOVE: return 0;
	}
	return POISE_L_HIT_TCP;
}

/*
 * The end of a drain cuts all. A leaver keeps TCP as long as it is not down: to another backend it
 * would be no use. Whoever is down and may be chosen all the same keeps what it is given.
 */
static __u32 hits(const struct ladder *l, const struct poise_member_conf *m, enum poise_rank rank)
{
	bool leaving = m->r.state == POISE_REC_LEAVING;
	bool down = m->admin == POISE_DISABLED || m->health == POISE_HEALTH_DOWN;
	__u32 udp =
		leaving || (down && l->conf->on_down_udp == POISE_UDP_MOVE) ? 0 : POISE_L_HIT_UDP;

	if (m->admin == POISE_DRAINING && m->deadline == DERIVE_ENDED)
		return 0;
	if (rank <= ladder_rung(l))
		return POISE_L_HIT_TCP | POISE_L_HIT_UDP;
	return (down ? tcp_when_down(l->conf) : POISE_L_HIT_TCP) | udp;
}

__u32 ladder_live(const struct ladder *l, const struct poise_member_conf *m)
{
	enum poise_rank rank = ladder_rank(l, m);

	return rank | hits(l, m, rank);
}
