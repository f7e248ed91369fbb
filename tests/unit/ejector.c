// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pools under faults, in a time of the test's own: clients whose packets go through the natively
 * built datapath, backends that answer, refuse, are silent, hang or are slow, and poised's ejector
 * looking on once a second. Who is ejected, how soon, and for how long.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/eject.h"
#include "maps/store.h"
#include "tests/support/native.h"
#include "tests/support/longest.h"

#define SECOND	   1000000000ull
#define NATIVE_FIN 0x01
#define MS	   1000
#define T0	   1000		/* the stamps' clock at the beginning ... */
#define REALTIME0  (1ull << 60) /* ... and CLOCK_REALTIME's, ns */
#define POOL	   6		/* backends at most */
#define SECONDS	   1200		/* of any run */
#define FLOWS	   (1 << 17)
#define SLOTS	   (1 << 17)
#define ATTEMPTS   3 /* SYNs that a client sends */
#define NOBODY	   0xffffffffu

/* What a backend does with flows: answers, refuses, is silent, hangs, is slow, is not there yet. */
enum behaviour {
	GOOD = '.',
	REFUSES = 'R',
	SILENT = 'S',
	HANGS = 'H',
	SLOW = 'W',
	AWAY = '-',
};

struct world {
	const char *what;
	const char *keys;    /* of the service, after policy random */
	const char *then;    /* what backends do from `at` on; before, all are good */
	int at, until;	     /* seconds */
	int rate;	     /* flows a second, of all */
	double lasts;	     /* seconds, on average or exactly */
	bool exact;	     /* each of them */
	int lost;	     /* percent of packets, either way, all the time */
	int scanned;	     /* percent of flows whose client resets the answer */
	int flooded;	     /* percent of flows whose client does not exist */
	const char *ejected; /* who is some time: * */
	int within;	     /* seconds from `at` on until the first is */
	int most;	     /* at once */
};

static struct native n;
static struct ejector *ejector;
static struct frame frame;
static const struct world *world;
static int now;
static __u32 flows;
static __u32 next[FLOWS], ends[SECONDS + 1], tries[SECONDS + 1]; /* lists, by second */
static __u8 attempts[FLOWS];

/* What is seen. */
static int first;
static bool was[POOL], ever[POOL]; /* ejected */
static __u32 times[16], episodes;  /* ms of each ejection of anybody */

/* ---- clients ----------------------------------------------------------------------------------*/

static bool chance(int percent)
{
	return drand48() * 100 < percent;
}

static enum behaviour behaviour(unsigned int backend)
{
	if (now < world->at || now >= world->until || backend < 1)
		return GOOD;
	return (enum behaviour)world->then[backend - 1];
}

static void later(__u32 *list, double seconds, __u32 k)
{
	int at = now + (int)ceil(seconds);

	if (at > SECONDS)
		return;
	next[k] = list[at];
	list[at] = k;
}

static void answered(__u32 k, bool slow)
{
	double lasts = world->exact ? world->lasts : -log(1 - drand48()) * world->lasts;

	if (chance(world->scanned)) {
		native_flow(&frame, k, NATIVE_RST);
		return;
	}
	native_flow(&frame, k, NATIVE_ACK);
	if (slow)
		lasts += 4;
	if (lasts < 0.5)
		native_flow(&frame, k, (NATIVE_FIN | NATIVE_ACK));
	else
		later(ends, lasts, k);
}

static void begin(__u32 k)
{
	bool again = ++attempts[k] < ATTEMPTS, lost = chance(world->lost);
	unsigned int to = lost ? 0 : native_flow(&frame, k, NATIVE_SYN);

	if (chance(world->flooded))
		return;
	lost |= chance(world->lost);
	switch (lost ? SILENT : behaviour(to)) {
	case SILENT:
		if (again)
			later(tries, 1, k);
		return;
	case HANGS: native_flow(&frame, k, NATIVE_ACK); return;
	case GOOD:
	case AWAY:
	case SLOW: answered(k, behaviour(to) == SLOW); return;
	default: return;
	}
}

static void take(__u32 *list, void (*each)(__u32 k))
{
	for (__u32 k = list[now], then; k != NOBODY; k = then) {
		then = next[k];
		each(k);
	}
}

static void end(__u32 k)
{
	native_flow(&frame, k, (NATIVE_FIN | NATIVE_ACK));
}

/* ---- time -------------------------------------------------------------------------------------*/

static __u16 id_of(int backend)
{
	return n.cfg->service[0]->member[backend].id;
}

static void watch(int backends)
{
	int ejected = 0;

	for (int b = 0; b < backends; b++) {
		const struct poise_member_conf *m = store_member(n.i, id_of(b));

		if (m->ejected && !was[b]) {
			ever[b] = true;
			first = first ? first : now;
			if (episodes < 16)
				times[episodes++] = m->eject_time;
		}
		was[b] = m->ejected;
		ejected += was[b];
	}
	cr_assert_leq(ejected, world->most, "%s, second %d: %d ejected", world->what, now, ejected);
}

/* A backend that is away comes. */
static void arrive(int backends)
{
	struct poise_error err = {0};
	struct config *cfg;

	if (now != world->at || !strchr(world->then, AWAY))
		return;
	cr_assert(!instance_lock(n.i, &err) && !instance_load(n.i, &cfg, &err));
	for (int b = 0; b < backends; b++)
		cfg->service[0]->member[b].conf.admin = POISE_ENABLED;
	cr_assert(!instance_commit(n.i, cfg, NULL, &err));
	config_free(cfg);
	instance_unlock(n.i);
}

static void second(int backends)
{
	struct poise_sweep io = {.kind = POISE_SWEEP_EXPIRED};
	struct poise_error err = {0};

	run_set_seconds(T0 + (__u32)now);
	arrive(backends);
	take(ends, end);
	take(tries, begin);
	for (int f = 0; f < world->rate && flows < FLOWS; f++)
		begin(flows++);
	native_sweep(&n, &io);
	cr_assert(
		!ejector_tick(ejector, n.i, (__u64)(now + 1) * MS, REALTIME0 + now * SECOND, &err),
		"%s", err.message);
	watch(backends);
}

static void create(const struct world *w)
{
	char yaml[1024];
	int used = snprintf(yaml, sizeof(yaml),
			    "services:\n"
			    "  - name: web\n"
			    "    listen: [ '10.2.0.1:80' ]\n"
			    "    forward: l2\n"
			    "    fade-in: 0s\n"
			    "%s"
			    "    backends: [",
			    w->keys);

	for (size_t b = 0; w->then[b]; b++)
		used += snprintf(yaml + used, sizeof(yaml) - used, "%s { address: 10.3.0.%zu%s }",
				 b ? "," : "", b + 1,
				 w->then[b] == AWAY ? ", admin: disabled" : "");
	snprintf(yaml + used, sizeof(yaml) - used, " ]\n");
	world = w;
	native_open(&n, yaml, SLOTS);
	instance_unlock(n.i);
	ejector = ejector_new(n.i);
	frame_build(&frame, "ip4 10.1.0.9 > 10.2.0.1 | tcp 1024 > 80 S");
	srand48(1);
	memset(ends, 0xff, sizeof(ends));
	memset(tries, 0xff, sizeof(tries));
	memset(attempts, 0, sizeof(attempts));
	memset(was, 0, sizeof(was));
	memset(ever, 0, sizeof(ever));
	flows = episodes = 0;
	first = 0;
}

static void destroy(void)
{
	ejector_free(ejector);
	native_close(&n);
}

/* ---- worlds -----------------------------------------------------------------------------------*/

#define RANDOM "    policy: random\n"

static const struct world worlds[] = {
	{.what = "all is well", .keys = RANDOM, .then = "....", .ejected = "    "},
	{.what = "one refuses",
	 .keys = RANDOM,
	 .then = ".R..",
	 .ejected = " *  ",
	 .within = 15,
	 .most = 1},
	{.what = "one is silent",
	 .keys = RANDOM,
	 .then = "..S.",
	 .ejected = "  * ",
	 .within = 15,
	 .most = 1},
	{.what = "one hangs",
	 .keys = RANDOM,
	 .then = "...H",
	 .ejected = "   *",
	 .within = 35,
	 .most = 1},
	{.what = "one hangs, of three, in turn",
	 .keys = "    policy: round-robin\n",
	 .then = "H..",
	 .ejected = "*  ",
	 .within = 35,
	 .most = 1},
	{.what = "one hangs, by hash",
	 .keys = "    track: always\n",
	 .then = "H...",
	 .ejected = "*   ",
	 .within = 35,
	 .most = 1},
	{.what = "one is slow", .keys = RANDOM, .then = ".W..", .ejected = "    "},
	{.what = "one of two", .keys = RANDOM, .then = ".R", .ejected = "  "},
	{.what = "one of two, as told",
	 .keys = RANDOM "    max-ejected: 50%\n",
	 .then = ".R",
	 .ejected = " *",
	 .within = 15,
	 .most = 1},
	{.what = "most refuse", .keys = RANDOM, .then = "RR.R", .ejected = "    "},
	{.what = "all refuse", .keys = RANDOM, .then = "RRRR", .ejected = "    "},
	{.what = "all are silent", .keys = RANDOM, .then = "SSSS", .ejected = "    "},
	{.what = "all hang", .keys = RANDOM, .then = "HHHH", .ejected = "    "},
	{.what = "two of six",
	 .keys = RANDOM,
	 .then = "S.R...",
	 .rate = 150,
	 .ejected = "* *   ",
	 .within = 15,
	 .most = 2},
	{.what = "two of six, as told",
	 .keys = RANDOM "    max-ejected: 20%\n",
	 .then = "S.R...",
	 .rate = 150,
	 .ejected = NULL,
	 .within = 15,
	 .most = 1},
	{.what = "a lossy link", .keys = RANDOM, .then = "....", .lost = 30, .ejected = "    "},
	{.what = "and one refuses",
	 .keys = RANDOM,
	 .then = "R...",
	 .lost = 30,
	 .ejected = "*   ",
	 .within = 25,
	 .most = 1},
	{.what = "a scan", .keys = RANDOM, .then = "....", .scanned = 95, .ejected = "    "},
	{.what = "a scan while one is slow",
	 .keys = RANDOM,
	 .then = "W...",
	 .scanned = 95,
	 .ejected = "    "},
	{.what = "a flood",
	 .keys = RANDOM,
	 .then = "....",
	 .rate = 400,
	 .flooded = 90,
	 .ejected = "    "},
	{.what = "flows that last", .keys = RANDOM, .then = "....", .lasts = 60, .ejected = "    "},
	{.what = "a newcomer to them",
	 .keys = RANDOM,
	 .then = ".-..",
	 .at = 200,
	 .lasts = 60,
	 .ejected = "    "},
	{.what = "a newcomer to flows that last alike",
	 .keys = RANDOM,
	 .then = ".-..",
	 .at = 200,
	 .lasts = 60,
	 .exact = true,
	 .ejected = "    "},
	{.what = "a newcomer to short ones",
	 .keys = RANDOM,
	 .then = "-...",
	 .at = 50,
	 .lasts = 2,
	 .ejected = "    "},
	{.what = "one hangs where flows last",
	 .keys = RANDOM,
	 .then = ".H..",
	 .at = 200,
	 .lasts = 30,
	 .ejected = " *  ",
	 .within = 320,
	 .most = 1},
	{.what = "few flows",
	 .keys = RANDOM,
	 .then = "..R.",
	 .rate = 2,
	 .ejected = "  * ",
	 .within = 150,
	 .most = 1},
	/* where flows say too little, they are not asked */
	{.what = "not all is recorded", .keys = "", .then = "R...", .ejected = "    "},
	{.what = "a client, a backend",
	 .keys = "    policy: source-hash\n    track: always\n",
	 .then = "R...",
	 .ejected = "    "},
	{.what = "affinity",
	 .keys = RANDOM "    affinity: yes\n",
	 .then = "R...",
	 .ejected = "    "},
	{.what = "not wanted",
	 .keys = RANDOM "    passive: no\n",
	 .then = "R...",
	 .ejected = "    "},
};

#define WORLDS (sizeof(worlds) / sizeof(worlds[0]))

TestSuite(ejector, .timeout = TEST_LONGEST);

static void play(const struct world *given)
{
	struct world w = *given;
	int backends = (int)strlen(w.then);
	char who[POOL + 1] = "";

	w.at = w.at ? w.at : 30;
	w.until = w.at + (w.within > 100 ? w.within + 10 : 90);
	w.rate = w.rate ? w.rate : 60;
	create(&w);
	for (now = 0; now < w.until; now++)
		second(backends);
	for (int b = 0; b < backends; b++)
		who[b] = ever[b] ? '*' : ' ';
	if (w.ejected)
		cr_expect_str_eq(who, w.ejected, "%s: \"%s\"", w.what, who);
	if (w.within)
		cr_expect(first >= w.at && first <= w.at + w.within, "%s: after %d s", w.what,
			  first - w.at);
	destroy();
}

Test(ejector, who_is_ejected)
{
	for (size_t k = 0; k < WORLDS; k++)
		play(&worlds[k]);
}

/* ---- there and back ---------------------------------------------------------------------------*/

static const struct world persistent = {
	.what = "one refuses for long",
	.keys = RANDOM,
	.then = ".R..",
	.at = 30,
	.until = 400,
	.rate = 60,
	.most = 1,
};

/* Back after its time, it is found again, and away for twice as long; a poised that was killed
 * meanwhile knows no less. Once it has been well for long, it begins anew. */
Test(ejector, ejections_grow_and_are_forgotten)
{
	create(&persistent);
	for (now = 0; now < 400; now++) {
		if (now % 40 == 0) {
			ejector_free(ejector);
			ejector = ejector_new(n.i);
		}
		second(4);
	}
	cr_assert_geq(episodes, 3);
	cr_assert_eq(times[0], 30000);
	cr_assert_eq(times[1], 60000);
	cr_assert_eq(times[2], 120000);
	destroy();
}

/* Well again, it takes its share of new flows again. */
Test(ejector, who_is_back_is_chosen)
{
	struct world w = persistent;
	__u16 id;
	__u32 before;

	w.until = 45;
	create(&w);
	id = id_of(1);
	for (now = 0; now < 50; now++)
		second(4);
	cr_assert_eq(store_member(n.i, id)->ejected, POISE_FAULT_UNANSWERED);
	before = native_counts(&n, id).signal[POISE_BEGUN];
	for (; now < 60; now++)
		second(4);
	cr_assert_eq(native_counts(&n, id).signal[POISE_BEGUN], before, "it is left alone");
	for (; now < 120; now++)
		second(4);
	cr_assert_eq(store_member(n.i, id)->ejected, POISE_FAULT_NONE);
	cr_assert_gt(native_counts(&n, id).signal[POISE_BEGUN], before + 300);
	cr_assert_eq(episodes, 1);
	destroy();
}

/* A guess must not take what a check has left. */
Test(ejector, when_others_go_down_it_is_taken_back)
{
	struct world w = persistent;
	struct poise_error err = {0};
	struct config *cfg;

	w.until = 45;
	create(&w);
	for (now = 0; now < 50; now++)
		second(4);
	cr_assert(store_member(n.i, id_of(1))->ejected);
	for (int b = 2; b < 4; b++) {
		cr_assert(!instance_lock(n.i, &err) && !instance_load(n.i, &cfg, &err));
		cfg->service[0]->member[b].conf.health = POISE_HEALTH_DOWN;
		cr_assert(!instance_commit(n.i, cfg, NULL, &err));
		config_free(cfg);
		instance_unlock(n.i);
		second(4);
		now++;
		cr_assert_eq(!store_member(n.i, id_of(1))->ejected, b == 3,
			     "one of three may be, of two none");
	}
	destroy();
}
