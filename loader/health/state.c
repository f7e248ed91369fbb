// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "state.h"

void state_init(struct state *s, enum poise_health known, __u64 now)
{
	*s = (struct state){.health = known, .quiet_since = now};
	if (known != POISE_HEALTH_UP && known != POISE_HEALTH_DOWN)
		s->health = POISE_HEALTH_CHECKING;
}

void state_remember(struct state *s, __u32 hold, __u64 left, __u64 now)
{
	s->hold = hold;
	if (s->health == POISE_HEALTH_DOWN)
		s->held_until = now + (left < hold ? left : hold);
}

__u64 state_held(const struct state *s, __u64 now)
{
	return s->health == POISE_HEALTH_DOWN && s->held_until > now ? s->held_until - now : 0;
}

static void count(struct state *s, bool good)
{
	if (good) {
		s->good++;
		s->bad = 0;
	} else {
		s->bad++;
		s->good = 0;
	}
}

static bool fall(struct state *s, const struct state_rules *r, __u64 now)
{
	__u64 hold = s->hold ? 2ull * s->hold : r->hold_down;

	s->health = POISE_HEALTH_DOWN;
	s->hold = hold > r->hold_max ? r->hold_max : (__u32)hold;
	s->held_until = now + s->hold;
	return true;
}

static bool rise(struct state *s, __u64 now)
{
	s->health = POISE_HEALTH_UP;
	s->quiet_since = now;
	return true;
}

static void forget_hold(struct state *s, const struct state_rules *r, __u64 now)
{
	if (s->hold && now - s->quiet_since >= (__u64)STATE_QUIET * r->interval)
		s->hold = 0;
}

bool state_result(struct state *s, const struct state_rules *r, bool good, __u64 now)
{
	count(s, good);
	switch (s->health) {
	case POISE_HEALTH_UP:
		forget_hold(s, r, now);
		if (good)
			return false;
		s->quiet_since = now;
		return s->bad >= r->fall && fall(s, r, now);
	case POISE_HEALTH_DOWN: return s->good >= r->rise && now >= s->held_until && rise(s, now);
	default:
		/* One that was never up has not flapped: it is not held down. */
		s->health = good ? POISE_HEALTH_UP : POISE_HEALTH_DOWN;
		s->quiet_since = now;
		return true;
	}
}

__u32 state_wait(const struct state *s, const struct state_rules *r, __u64 now, __u32 chance)
{
	bool suspect = s->health == POISE_HEALTH_UP ? s->bad > 0 : s->good > 0;
	__u32 wait = suspect ? r->fast_interval : r->interval;
	__u64 held = s->good >= r->rise ? state_held(s, now) : 0, most;

	if (held > wait)
		wait = held < r->interval ? (__u32)held : r->interval;
	most = (__u64)wait * r->jitter / 100;

	return wait - (__u32)(most * chance >> 32);
}
