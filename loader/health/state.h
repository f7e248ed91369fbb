/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a backend's check results make of it: up, down, or not known yet. Pure: time and chance are
 * given, so that the whole of it can be tested.
 *
 *  - checking: nobody looked yet. The first result decides alone.
 *  - up: `fall` failures in a row, seen in quick succession, make it down.
 *  - down: `rise` successes in a row make it up, but not before the hold-down is over. That starts
 *    at hold_down, doubles with every fall to hold_max, and is forgotten once the backend has been
 *    up and without a failure for STATE_QUIET intervals.
 *
 * A single result changes nothing but the first. A failure is found within
 *
 *   interval + (fall - 1) * max(fast_interval, timeout) + timeout
 *
 * of its beginning: fast_interval is for as long as results say something else than the state does
 * and one more of them may change it. While a hold-down alone is in the way interval is enough, but
 * for the check that falls due when it ends. The next check begins at most fast_interval after the
 * last one *began*, or at once if that took longer, and jitter only ever shortens.
 */
#ifndef POISE_HEALTH_STATE_H
#define POISE_HEALTH_STATE_H

#include <stdbool.h>

#include "maps/abi.h"

#define STATE_QUIET 10 /* intervals without a failure after which the hold-down begins anew */

/* Milliseconds, as the configuration has them. */
struct state_rules {
	__u32 interval;
	__u32 fast_interval;
	__u32 rise;
	__u32 fall;
	__u32 jitter; /* percent that an interval may be shortened by */
	__u32 hold_down;
	__u32 hold_max;
};

/* Times are milliseconds of one monotonic clock. */
struct state {
	enum poise_health health;
	__u32 good; /* successes in a row */
	__u32 bad;  /* failures in a row */
	__u32 hold; /* the hold-down of the last fall; 0: forgotten */
	__u64 held_until;
	__u64 quiet_since; /* up, and no failure since then */
};

/* A backend of which nothing is known but what its record says: CHECKING unless it was UP or DOWN
 * when poised last ran, in which case that stands until `fall` or `rise` results say otherwise. */
void state_init(struct state *s, enum poise_health known, __u64 now);

/* What a poised before this one had held down: hold as above, left ms of it to go if it is down. */
void state_remember(struct state *s, __u32 hold, __u64 left, __u64 now);

/* Milliseconds for which good results will not yet make it up; 0: it is not held down. */
__u64 state_held(const struct state *s, __u64 now);

/* Takes a result. Returns whether s->health changed. */
bool state_result(struct state *s, const struct state_rules *r, bool good, __u64 now);

/* Milliseconds from the beginning of the check whose result came last, now, to the next one's.
 * chance is any random number. */
__u32 state_wait(const struct state *s, const struct state_rules *r, __u64 now, __u32 chance);

#endif
