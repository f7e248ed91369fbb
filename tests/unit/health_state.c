// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The state machine of health: its whole table, and what it promises of time.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "loader/health/state.h"

#define INTERVAL 2000u
#define FAST	 500u
#define TIMEOUT	 1000u

static const struct state_rules rules = {
	.interval = INTERVAL,
	.fast_interval = FAST,
	.rise = 2,
	.fall = 3,
	.jitter = 10,
	.hold_down = 5000,
	.hold_max = 300000,
};

#define CHECKING POISE_HEALTH_CHECKING
#define UP	 POISE_HEALTH_UP
#define DOWN	 POISE_HEALTH_DOWN

/* Every state that differs in what it does next, and what one result makes of it. */
static const struct cell {
	const char *what;
	struct state from;
	bool held; /* the hold-down is not over */
	struct {
		enum poise_health health;
		__u32 good, bad;
	} if_good, if_bad;
} table[] = {
	{"never looked", {.health = CHECKING}, false, {UP, 1, 0}, {DOWN, 0, 1}},
	{"up", {.health = UP}, false, {UP, 1, 0}, {UP, 0, 1}},
	{"up for long", {.health = UP, .good = 99}, false, {UP, 100, 0}, {UP, 0, 1}},
	{"up, one bad", {.health = UP, .bad = 1}, false, {UP, 1, 0}, {UP, 0, 2}},
	{"up, two bad", {.health = UP, .bad = 2}, false, {UP, 1, 0}, {DOWN, 0, 3}},
	{"down", {.health = DOWN}, false, {DOWN, 1, 0}, {DOWN, 0, 1}},
	{"down for long", {.health = DOWN, .bad = 99}, false, {DOWN, 1, 0}, {DOWN, 0, 100}},
	{"down, one good", {.health = DOWN, .good = 1}, false, {UP, 2, 0}, {DOWN, 0, 1}},
	{"held down", {.health = DOWN}, true, {DOWN, 1, 0}, {DOWN, 0, 1}},
	{"held down, good", {.health = DOWN, .good = 7}, true, {DOWN, 8, 0}, {DOWN, 0, 1}},
	{"held, over", {.health = DOWN, .good = 7}, false, {UP, 8, 0}, {DOWN, 0, 1}},
};

static void check_cell(const struct cell *c, bool good)
{
	const __u64 now = 1000000;
	struct state s = c->from;
	enum poise_health wanted = good ? c->if_good.health : c->if_bad.health;

	s.held_until = c->held ? now + 1 : now;
	s.quiet_since = now;
	cr_assert_eq(state_result(&s, &rules, good, now), wanted != c->from.health, "%s, %s",
		     c->what, good ? "good" : "bad");
	cr_assert_eq(s.health, wanted, "%s, %s: %d", c->what, good ? "good" : "bad", s.health);
	cr_assert_eq(s.good, good ? c->if_good.good : c->if_bad.good, "%s", c->what);
	cr_assert_eq(s.bad, good ? c->if_good.bad : c->if_bad.bad, "%s", c->what);
}

Test(health_state, whole_table)
{
	for (size_t n = 0; n < sizeof(table) / sizeof(table[0]); n++) {
		check_cell(&table[n], true);
		check_cell(&table[n], false);
	}
}

Test(health_state, what_was_known_stands_after_a_restart)
{
	static const enum poise_health known[] = {POISE_HEALTH_NONE, CHECKING, UP, DOWN};
	static const enum poise_health then[] = {CHECKING, CHECKING, UP, DOWN};
	struct state s;

	for (size_t n = 0; n < sizeof(known) / sizeof(known[0]); n++) {
		state_init(&s, known[n], 0);
		cr_assert_eq(s.health, then[n]);
	}
	state_init(&s, UP, 0);
	cr_assert_not(state_result(&s, &rules, false, 1), "up, and down by one result");
	state_init(&s, DOWN, 0);
	cr_assert_not(state_result(&s, &rules, true, 1), "down, and up by one result");
}

/* Results at once: how long it is held down each time. */
Test(health_state, the_hold_down_doubles_to_its_most)
{
	static const __u32 held[] = {5000,   10000,  20000,  40000, 80000,
				     160000, 300000, 300000, 300000};
	struct state s;
	__u64 now = 1;

	state_init(&s, UP, now);
	for (size_t n = 0; n < sizeof(held) / sizeof(held[0]); n++) {
		__u64 fell = now;

		for (__u32 k = 0; k < rules.fall; k++)
			state_result(&s, &rules, false, now);
		cr_assert_eq(s.health, DOWN);
		while (s.health == DOWN)
			state_result(&s, &rules, true, now++);
		cr_assert_eq(now - 1 - fell, held[n], "fall %zu: held for %llu", n,
			     (unsigned long long)(now - 1 - fell));
		now--;
	}
}

/* The hold-down of a backend that is down goes on, that of one that is up doubles from there. */
Test(health_state, the_hold_down_outlives_who_began_it)
{
	static const enum poise_health known[] = {UP, DOWN};
	struct state s;
	__u64 now = 100;

	state_init(&s, DOWN, now);
	state_remember(&s, 20000, 15000, now);
	cr_assert_eq(state_held(&s, now), 15000);
	while (s.health == DOWN)
		state_result(&s, &rules, true, now++);
	cr_assert_eq(now - 1, 15100);
	cr_assert_eq(state_held(&s, now), 0);
	for (size_t n = 0; n < 2; n++) {
		state_init(&s, known[n], now);
		state_remember(&s, 10000, 0, now);
		for (__u32 k = 0; s.health == DOWN && k < rules.rise; k++)
			state_result(&s, &rules, true, now);
		cr_assert_eq(s.health, UP);
		for (__u32 k = 0; k < rules.fall; k++)
			state_result(&s, &rules, false, now);
		cr_assert_eq(state_held(&s, now), 20000);
	}
	/* A clock that was set back holds nobody for ever. */
	state_init(&s, DOWN, now);
	state_remember(&s, 20000, 1000000, now);
	cr_assert_eq(state_held(&s, now), 20000);
}

Test(health_state, the_hold_down_is_forgotten_after_quiet)
{
	struct state s;
	__u64 now = 1;

	for (int late = 0; late < 2; late++) {
		state_init(&s, UP, now);
		for (__u32 k = 0; k < rules.fall; k++)
			state_result(&s, &rules, false, now);
		now += rules.hold_down;
		state_result(&s, &rules, true, now);
		state_result(&s, &rules, true, now);
		cr_assert_eq(s.health, UP);
		now += STATE_QUIET * INTERVAL - (late ? 0 : 1);
		for (__u32 k = 0; k < rules.fall; k++)
			state_result(&s, &rules, false, now);
		cr_assert_eq(s.held_until - now, late ? rules.hold_down : 2 * rules.hold_down);
	}
}

Test(health_state, a_failure_breaks_the_quiet)
{
	struct state s;
	__u64 now = 1;

	state_init(&s, UP, now);
	for (__u32 k = 0; k < rules.fall; k++)
		state_result(&s, &rules, false, now);
	now += rules.hold_down;
	state_result(&s, &rules, true, now);
	state_result(&s, &rules, true, now);
	for (int k = 0; k < 5; k++) {
		now += (STATE_QUIET - 1) * INTERVAL;
		state_result(&s, &rules, false, now);
		state_result(&s, &rules, true, now);
	}
	cr_assert_neq(s.hold, 0);
}

/* The longest it takes to see a failure that begins at any moment, every check lasting `timeout`:
 * what the head of state.h promises. */
Test(health_state, a_failure_is_found_in_time)
{
	const __u64 bound =
		INTERVAL + (rules.fall - 1) * (FAST > TIMEOUT ? FAST : TIMEOUT) + TIMEOUT;
	unsigned int seed = 7;

	for (int n = 0; n < 20000; n++) {
		__u64 begun = 0, broken = (__u64)rand_r(&seed) % (3 * INTERVAL);
		struct state s;

		state_init(&s, UP, 0);
		for (;;) {
			bool good = begun < broken;
			__u64 ended = begun + (good ? 1 : TIMEOUT), next;

			if (state_result(&s, &rules, good, ended))
				break;
			next = begun + state_wait(&s, &rules, ended, (__u32)rand_r(&seed) << 1);
			begun = next > ended ? next : ended;
		}
		begun = begun + TIMEOUT - broken;
		cr_assert_leq(begun, bound, "%llu of %llu ms", (unsigned long long)begun,
			      (unsigned long long)bound);
	}
}

/* A second up, a second down, for a minute. */
Test(health_state, flapping_is_damped)
{
	unsigned int seed = 11;

	for (int n = 0; n < 200; n++) {
		__u64 offset = (__u64)rand_r(&seed) % 2000;
		int changes = 0;
		struct state s;
		__u64 now = 0;

		state_init(&s, UP, 0);
		while (now < 60000) {
			bool good = (now + offset) / 1000 % 2;

			changes += state_result(&s, &rules, good, now);
			now += state_wait(&s, &rules, now, (__u32)rand_r(&seed) << 1);
		}
		cr_assert_leq(changes, 6, "%d changes in a minute", changes);
	}
}

/* It falls, and is well from then on: not asked more often than one that is up, but for the results
 * that `rise` takes, and up again as soon as the hold-down is over. */
Test(health_state, held_down_it_is_not_hurried)
{
	const __u64 over = rules.hold_down;
	unsigned int seed = 13;

	for (int n = 0; n < 2000; n++) {
		__u64 now = (__u64)rand_r(&seed) % INTERVAL;
		__u32 asked = 0;
		struct state s = {.health = DOWN, .bad = 3, .hold = 5000, .held_until = over};

		while (!state_result(&s, &rules, true, now)) {
			now += state_wait(&s, &rules, now, (__u32)rand_r(&seed) << 1);
			asked++;
			cr_assert_lt(asked, 20);
		}
		cr_assert_geq(now, over);
		cr_assert_leq(now, over + FAST, "up %llu ms after it could be",
			      (unsigned long long)(now - over));
		cr_assert_leq(asked, rules.rise + over / (INTERVAL * 9 / 10) + 2, "asked %u times",
			      asked);
	}
}

Test(health_state, jitter_only_shortens)
{
	struct state s = {.health = UP};
	__u32 least = ~0u, most = 0;

	for (__u64 chance = 0; chance <= 0xffffffff; chance += 0x00ffffff) {
		__u32 wait = state_wait(&s, &rules, 0, (__u32)chance);

		least = wait < least ? wait : least;
		most = wait > most ? wait : most;
	}
	cr_assert_eq(most, INTERVAL);
	cr_assert_eq(least, INTERVAL * 9 / 10 + 1);
}
