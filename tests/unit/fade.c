// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Fade-in: who begins, with what share, how it grows, and when it is over; the time is the test's.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/fade.h"
#include "maps/text.h"
#include "tests/support/native.h"

#define SECOND 1000000000ull

static const char yaml[] =
	"services:\n"
	"  - { name: load, listen: [ '10.2.0.1:80' ], health: none, forward: l2,\n"
	"      backends: [ 10.3.0.1, 10.3.0.2, 10.3.0.3, { address: 10.3.0.4, admin: disabled } ] "
	"}\n"
	"  - { name: hash, listen: [ '10.2.0.2:80' ], health: none, forward: l2,\n"
	"      fade-in: 20s, fade-floor: 5%, fade-exponent: 2,\n"
	"      backends: [ 10.3.0.5, { address: 10.3.0.6, admin: disabled } ] }\n"
	"  - { name: none, listen: [ '10.2.0.3:80' ], health: none, forward: l2,\n"
	"      backends: [ 10.3.0.7, { address: 10.3.0.8, admin: disabled } ] }\n";

static struct native n;
static __u64 began; /* CLOCK_REALTIME */

static void setup(void)
{
	native_open(&n, yaml, 1 << 18); /* no flow has to go for another */
	config_service_named(n.cfg, "load")->conf.policy = POISE_LEAST_CONN;
	native_commit(&n);
	run_set_seconds(instance_stamp_now(n.i));
	native_beat(&n, true);
}

static void teardown(void)
{
	native_close(&n);
}

TestSuite(fade, .init = setup, .fini = teardown);

static struct config_member *member(const char *address)
{
	for (size_t s = 0; s < n.cfg->services; s++) {
		struct config_member *m = config_member_find(n.cfg->service[s], address, NULL);

		if (m)
			return m;
	}
	cr_assert_fail("%s", address);
	return NULL;
}

static const struct poise_member *seen(const char *address)
{
	return &n.i->members[member(address)->id];
}

static bool fades(const char *address)
{
	return seen(address)->live & POISE_L_FADING;
}

static void set_admin(const char *address, enum poise_admin admin)
{
	member(address)->conf.admin = (__u8)admin;
	native_commit(&n);
	began = member(address)->conf.since;
}

static void set_health(const char *address, enum poise_health health)
{
	member(address)->conf.health = (__u8)health;
	native_commit(&n);
	began = member(address)->conf.since;
}

static void add(const char *service, const char *address)
{
	union poise_addr a;

	poise_parse_addr(address, &a, NULL);
	cr_assert(config_member_add(config_service_named(n.cfg, service), &a, 0, NULL));
	native_commit(&n);
	began = member(address)->conf.since;
}

/* poised's tick so long after the last begin; true while somebody fades. */
static bool at(double seconds)
{
	return instance_fade(n.i, n.cfg, began + (__u64)(seconds * SECOND),
			     instance_stamp_now(n.i));
}

#define SHARE(address, expected)                                                                   \
	cr_assert_float_eq(seen(address)->fade / 65536.0, expected, 2e-4, "%s: %f, not %f",        \
			   address, seen(address)->fade / 65536.0, (double)(expected))

/* ---- who begins -------------------------------------------------------------------------------*/

Test(fade, nobody_who_is_there_when_the_service_is_made)
{
	for (int k = 1; k <= 8; k++) {
		char address[32];

		snprintf(address, sizeof(address), "10.3.0.%d", k);
		cr_assert_not(fades(address), "%s", address);
		cr_assert_eq(seen(address)->fade, 0);
	}
	cr_assert_not(at(0));
}

Test(fade, who_joins_while_others_are_up)
{
	add("load", "10.3.0.44");
	cr_assert(fades("10.3.0.44"));
	cr_assert_not(fades("10.3.0.1"));
	add("none", "10.3.0.77");
	cr_assert_not(fades("10.3.0.77"), "under a hash: auto is 0");
}

Test(fade, who_is_enabled_again)
{
	set_admin("10.3.0.4", POISE_ENABLED);
	cr_assert(fades("10.3.0.4"));
	set_admin("10.3.0.6", POISE_ENABLED);
	cr_assert(fades("10.3.0.6"));
	set_admin("10.3.0.8", POISE_ENABLED);
	cr_assert_not(fades("10.3.0.8"));
}

Test(fade, who_recovers)
{
	config_service_named(n.cfg, "load")->conf.health.type = POISE_CHECK_TCP;
	set_health("10.3.0.1", POISE_HEALTH_UP); /* its first result: it was up before */
	cr_assert_not(fades("10.3.0.1"));
	set_health("10.3.0.1", POISE_HEALTH_DOWN);
	cr_assert_not(fades("10.3.0.1"));
	set_health("10.3.0.1", POISE_HEALTH_UP);
	cr_assert(fades("10.3.0.1"));
	cr_assert(at(5));
	/* and again from the floor, when it was down meanwhile */
	set_health("10.3.0.1", POISE_HEALTH_DOWN);
	cr_assert_not(fades("10.3.0.1"));
	cr_assert_eq(seen("10.3.0.1")->fade, 0);
	set_health("10.3.0.1", POISE_HEALTH_UP);
	cr_assert(at(0));
	SHARE("10.3.0.1", 0.1 * 2 / 3);
}

Test(fade, not_the_first_who_is_up)
{
	set_admin("10.3.0.5", POISE_DISABLED);
	set_admin("10.3.0.6", POISE_ENABLED);
	cr_assert_not(fades("10.3.0.6"));
	/* nor two who come when the only other goes */
	member("10.3.0.5")->conf.admin = POISE_ENABLED;
	member("10.3.0.6")->conf.admin = POISE_DISABLED;
	native_commit(&n);
	cr_assert_not(fades("10.3.0.5"));
}

Test(fade, nobody_without_poised)
{
	native_beat(&n, false);
	set_admin("10.3.0.4", POISE_ENABLED);
	cr_assert_not(fades("10.3.0.4"));
	native_beat(&n, true);
	cr_assert_not(at(0), "nor when it starts");
	cr_assert_not(fades("10.3.0.4"));
}

/* ---- how it grows -----------------------------------------------------------------------------*/

Test(fade, from_the_floor_in_a_line)
{
	set_admin("10.3.0.4", POISE_ENABLED);
	/* least-conn looks at all: two fair shares of four are half */
	SHARE("10.3.0.4", 0.1 * 0.5);
	cr_assert(at(0.5));
	SHARE("10.3.0.4", 0.1 * 0.5);
	cr_assert(at(4));
	SHARE("10.3.0.4", 0.4 * 0.5);
	cr_assert(at(9.99));
	SHARE("10.3.0.4", 0.999 * 0.5);
}

Test(fade, by_a_power_where_a_table_decides)
{
	set_admin("10.3.0.6", POISE_ENABLED);
	SHARE("10.3.0.6", 0.05);
	cr_assert(at(10));
	SHARE("10.3.0.6", 0.25);
	cr_assert(at(19));
	SHARE("10.3.0.6", 0.9025);
	cr_assert_not(at(20));
	cr_assert_not(fades("10.3.0.6"));
	cr_assert_eq(seen("10.3.0.6")->fade, 0);
	cr_assert_eq(seen("10.3.0.6")->fade_until, 0);
}

Test(fade, the_cap_goes_by_weight_and_by_who_is_looked_at)
{
	member("10.3.0.4")->conf.weight = 3;
	set_admin("10.3.0.4", POISE_ENABLED);
	cr_assert(at(5));
	SHARE("10.3.0.4", 0.5 * 1.0); /* 3 of 6: twice that is all */
	member("10.3.0.1")->conf.weight = 9;
	native_commit(&n);
	cr_assert(at(5));
	SHARE("10.3.0.4", 0.5 * 2 * 3 / 14);
	config_service_named(n.cfg, "load")->conf.policy = POISE_P2C;
	config_service_named(n.cfg, "load")->conf.choices = 2;
	native_commit(&n);
	cr_assert(at(5));
	SHARE("10.3.0.4", 0.5 * 2 * 3 / 14 / (2.0 / 4)); /* two of four are looked at */
	config_service_named(n.cfg, "load")->conf.policy = POISE_RANDOM;
	native_commit(&n);
	cr_assert_not(at(5), "random: auto is 0");
}

Test(fade, a_clock_that_is_set_back_ends_nothing)
{
	set_admin("10.3.0.4", POISE_ENABLED);
	cr_assert(at(-3600));
	SHARE("10.3.0.4", 0.1 * 0.5);
}

/* ---- when it is over --------------------------------------------------------------------------*/

static void load(const char *address, int flows)
{
	instance_loads(n.i, 0, member(address)->id)->own = flows;
}

Test(fade, caught_up_at_the_mean)
{
	double ratio = 0;

	for (int k = 1; k <= 3; k++)
		load(k == 1 ? "10.3.0.1" : k == 2 ? "10.3.0.2" : "10.3.0.3", 100);
	set_admin("10.3.0.4", POISE_ENABLED);
	load("10.3.0.4", 99);
	cr_assert(at(10));
	SHARE("10.3.0.4", 0.5);
	cr_assert(instance_member_fades(n.i, config_service_named(n.cfg, "load"),
					member("10.3.0.4"), began + 10 * SECOND,
					instance_stamp_now(n.i), &ratio));
	cr_assert_eq(ratio, 1);
	cr_assert(at(10000));
	load("10.3.0.4", 100);
	cr_assert_not(at(10001));
	cr_assert_not(fades("10.3.0.4"));
	/* once reached it is over, whatever comes after */
	load("10.3.0.4", 0);
	cr_assert_not(at(10002));
	member("10.3.0.1")->conf.weight = 7;
	native_commit(&n);
	cr_assert_not(fades("10.3.0.4"), "another commit begins nothing");
}

Test(fade, the_mean_is_by_weight)
{
	load("10.3.0.1", 100);
	load("10.3.0.2", 100);
	load("10.3.0.3", 100);
	member("10.3.0.4")->conf.weight = 4;
	set_admin("10.3.0.4", POISE_ENABLED);
	load("10.3.0.4", 399);
	cr_assert(at(11));
	load("10.3.0.4", 400);
	cr_assert_not(at(11));
}

Test(fade, all_is_as_none)
{
	set_admin("10.3.0.4", POISE_ENABLED);
	cr_assert(at(1));
	for (int k = 1; k <= 3; k++)
		member(k == 1	? "10.3.0.1"
		       : k == 2 ? "10.3.0.2"
				: "10.3.0.3")
			->conf.admin = POISE_DISABLED;
	native_commit(&n);
	cr_assert(native_to(&n, "ip4 10.1.0.9 > 10.2.0.1 | tcp 1 > 80 S"),
		  "nobody else is left: served before the next tick, too");
	cr_assert_not(instance_fade(n.i, n.cfg, began + 2 * SECOND, instance_stamp_now(n.i)));
	cr_assert_not(fades("10.3.0.4"));
}

Test(fade, turned_off)
{
	set_admin("10.3.0.4", POISE_ENABLED);
	config_service_named(n.cfg, "load")->conf.fade_in = 0;
	native_commit(&n);
	cr_assert_not(at(1));
	cr_assert_not(fades("10.3.0.4"));
}

/* ---- what packets make of it ------------------------------------------------------------------*/

/* Who gets the k-th flow. */
static __u16 chosen(const char *vip, int k)
{
	char words[80];

	snprintf(words, sizeof(words), "ip4 10.1.%d.%d > %s | tcp %d > 80 S", k >> 8 & 255, k & 255,
		 vip, 1000 + (k >> 16));
	return native_to(&n, words);
}

static int taken(const char *vip, const char *address, int flows)
{
	__u16 id = member(address)->id;
	int got = 0;

	for (int k = 0; k < flows; k++)
		got += chosen(vip, k) == id;
	return got;
}

/* The old ones are far ahead, and who has got a flow stays as it was. */
static void load_the_old(void)
{
	load("10.3.0.1", 1000000);
	load("10.3.0.2", 1000000);
	load("10.3.0.3", 1000000);
}

/* Half of the places are its; a quarter of the flows there. */
Test(fade, a_table_gives_it_its_part)
{
	int got;

	set_admin("10.3.0.6", POISE_ENABLED);
	cr_assert(at(10));
	got = taken("10.2.0.2", "10.3.0.6", 4000);
	cr_assert(got > 400 && got < 600, "%d of 4000", got);
}

Test(fade, what_nobody_keeps_up_does_not_count)
{
	int got;

	set_admin("10.3.0.6", POISE_ENABLED);
	cr_assert(at(0));
	run_set_seconds(instance_stamp_now(n.i) + FADE_KEPT + 1);
	got = taken("10.2.0.2", "10.3.0.6", 2000);
	cr_assert(got > 900 && got < 1100, "%d of 2000", got);
}

/* The cap stays, however long poised is gone: two fair shares of four. */
Test(fade, the_cap_stays_without_poised)
{
	__u16 id;
	int got = 0;

	set_admin("10.3.0.4", POISE_ENABLED);
	cr_assert(at(0));
	run_set_seconds(instance_stamp_now(n.i) + 86400);
	id = member("10.3.0.4")->id;
	for (int k = 0; k < 4000; k++) {
		load_the_old();
		load("10.3.0.4", 0);
		got += chosen("10.2.0.1", k) == id;
	}
	cr_assert_float_eq(got, 0.5 * 4000, 150, "%d", got);
	set_admin("10.3.0.4", POISE_DISABLED);
	cr_assert_eq(seen("10.3.0.4")->fade_cap, 0);
}

/* Two who come together: had they one answer for both, they would get no more than one of them. */
Test(fade, each_has_an_answer_of_its_own)
{
	__u16 one, two;
	int got[2] = {0};

	add("load", "10.3.0.44");
	set_admin("10.3.0.4", POISE_ENABLED);
	cr_assert(at(5));
	one = member("10.3.0.4")->id;
	two = member("10.3.0.44")->id;
	for (int k = 0; k < 4000; k++) {
		__u16 to;

		load_the_old();
		load("10.3.0.4", 0);
		load("10.3.0.44", 0);
		to = chosen("10.2.0.1", k);
		got[0] += to == one;
		got[1] += to == two;
	}
	/* of five, half of two fair shares are a fifth: one of the two takes 1 - 0.8^2 */
	cr_assert_float_eq(got[0] + got[1], 0.36 * 4000, 150, "%d and %d", got[0], got[1]);
	cr_assert_float_eq(got[0], got[1], 150, "%d and %d", got[0], got[1]);
}
