// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * No flow moves whose backend stays: whatever an operator changes in whatever order, however long
 * flows are silent, while time settles slots in between. A ledger plays the clients; hours pass in
 * milliseconds. Half of the random sequences run over a flow table that is far too small, so that
 * words are evicted and flows go unrecorded; what is then changed leaves every flow a base to go
 * by.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/aging.h"
#include "maps/text.h"
#include "tests/support/ledger.h"
#include "tests/support/native.h"
#include "tests/support/longest.h"

static struct native n;
static struct ledger l;
static struct aging *aging;

TestSuite(moves, .timeout = TEST_LONGEST);

/* ---- the world --------------------------------------------------------------------------------*/

static int send_native(void *ctx, const __u8 *frame, size_t length)
{
	static __u8 buffer[512];
	struct run_frame f = {
		.start = buffer + 2,
		.data = buffer + 130,
		.end = buffer + 130 + length,
		.limit = buffer + 130 + length,
	};

	(void)ctx;
	memcpy(f.data, frame, length);
	return run_xdp(&f, NATIVE_DEVICE) == XDP_TX ? f.data[5] : 0;
}

static struct config_service *svc(void)
{
	return config_service_named(n.cfg, "web");
}

static void open_world(const char *yaml, __u32 flow_slots, size_t flows, __u64 seed, __u32 idle,
		       __u32 udp)
{
	native_open(&n, yaml, flow_slots);
	ledger_open(&l, flows, seed);
	l.send = send_native;
	l.idle = idle;
	l.udp = udp;
	l.now = 100000;
	run_set_seconds(l.now);
	aging = aging_new();
}

static void close_world(void)
{
	aging_free(aging);
	ledger_close(&l);
	native_close(&n);
}

static void commit(void)
{
	native_commit(&n);
}

/* Time passes, and with it what poised does each second. */
static void pass(__u32 seconds)
{
	struct poise_sweep io = {.kind = POISE_SWEEP_EXPIRED};
	struct poise_error err = {0};
	struct config *cfg;

	l.now += seconds;
	run_set_seconds(l.now);
	native_sweep(&n, &io);
	cr_assert(aging_tick(aging, n.i, l.now, &err) >= 0, "%s", err.message);
	if (n.cfg->generation == n.i->meta->committed)
		return;
	cr_assert(!instance_load(n.i, &cfg, &err), "%s", err.message);
	config_free(n.cfg);
	n.cfg = cfg;
}

static struct config_member *backend(int number)
{
	union poise_addr a;
	struct poise_error err;
	char text[24];

	snprintf(text, sizeof(text), "10.3.0.%d", number);
	cr_assert(!poise_parse_addr(text, &a, &err));
	return config_member_at(svc(), &a, 0);
}

static void add(int number)
{
	union poise_addr a;
	struct poise_error err;
	char text[24];

	snprintf(text, sizeof(text), "10.3.0.%d", number);
	cr_assert(!poise_parse_addr(text, &a, &err));
	cr_assert(config_member_add(svc(), &a, 0, &err), "%s", err.message);
}

static void del(int number)
{
	config_member_del(svc(), backend(number));
	ledger_release(&l, number, false);
}

static void expect_none_moved(const char *when)
{
	cr_assert_eq(l.moved, 0, "%s: %lu flows of %lu moved; first %s", when, l.moved, l.begun,
		     l.first);
	cr_assert_eq(l.lost, 0, "%s: %lu packets of %lu went nowhere", when, l.lost, l.packets);
}

static struct aging_counts counts(void)
{
	struct aging_counts c;

	aging_count(n.i, native_service(&n, "web"), &c);
	return c;
}

/* ---- random sequences -------------------------------------------------------------------------*/

#define BACKENDS 9 /* numbers 1 to 9 may come and go */

static void change_size(void)
{
	static const __u32 sizes[] = {67, 97, 251};

	svc()->conf.table_size = sizes[ledger_random(&l, 3)];
}

/* The first two find a flow again by its hash. */
static void change_policy(unsigned int among)
{
	static const __u8 policies[] = {POISE_MAGLEV,	  POISE_SOURCE_HASH, POISE_ROUND_ROBIN,
					POISE_LEAST_CONN, POISE_P2C,	     POISE_RANDOM};

	svc()->conf.policy = policies[ledger_random(&l, among)];
}

#define HASH_POLICIES 2
#define ALL_POLICIES  6

static void change_track(void)
{
	svc()->conf.track = ledger_random(&l, 2) ? POISE_TRACK_AUTO : POISE_TRACK_ALWAYS;
}

static unsigned int in_selection(void)
{
	unsigned int in = 0;

	for (size_t m = 0; m < svc()->members; m++)
		in += svc()->member[m].conf.admin == POISE_ENABLED &&
		      svc()->member[m].conf.health != POISE_HEALTH_DOWN;
	return in;
}

static void change_backend(void)
{
	int number = 1 + (int)ledger_random(&l, BACKENDS);
	struct config_member *m = backend(number);
	bool last = m && in_selection() <= 2; /* somebody must be there */

	if (!m) {
		add(number);
		return;
	}
	switch (ledger_random(&l, 5)) {
	case 0:
		if (!last)
			del(number);
		break;
	case 1: m->conf.weight = (__u16)ledger_random(&l, 8); break;
	case 2: m->conf.admin = last ? POISE_ENABLED : POISE_DRAINING; break;
	case 3:
		m->conf.health = last ? POISE_HEALTH_UP : POISE_HEALTH_DOWN;
		if (!last)
			ledger_release(&l, number, true);
		break;
	case 4:
		m->conf.admin = POISE_ENABLED;
		m->conf.health = POISE_HEALTH_UP;
		m->conf.weight = 1;
		break;
	}
}

/* Changes under which even a flow without a word keeps its backend. */
static void change_gently(void)
{
	int number = 1 + (int)ledger_random(&l, BACKENDS);
	struct config_member *m = backend(number);

	switch (ledger_random(&l, 6)) {
	case 0: change_size(); break;
	case 1: change_policy(HASH_POLICIES); break;
	case 2:
		/* a base table's slots of a backend that is gone are nobody's */
		if (m && svc()->members > 2 && !svc()->conf.base_size)
			del(number);
		break;
	default:
		if (!m)
			add(number);
		else
			m->conf.weight = (__u16)(1 + ledger_random(&l, 7));
	}
	commit();
}

static void change_something(void)
{
	switch (ledger_random(&l, 12)) {
	case 0: change_size(); break;
	case 1: change_policy(ALL_POLICIES); break;
	case 2: change_track(); break;
	default: change_backend(); break;
	}
	commit();
}

static const char random_yaml[] = "services:\n"
				  "  - { name: web, listen: " LEDGER_LISTENERS ",\n"
				  "      forward: l2, idle: 60s, udp: 20s, syn: 5s, closing: 10s,\n"
				  "      table-size: 67, backends: [ { address: 10.3.0.1 },\n"
				  "        { address: 10.3.0.2 }, { address: 10.3.0.3 } ] }\n";

static void random_steps(__u32 flow_slots, __u64 seed, unsigned int steps, void (*change)(void))
{
	char when[64];

	open_world(random_yaml, flow_slots, 600, seed, 60, 20);
	for (unsigned int step = 0; step < steps; step++) {
		for (__u32 k = ledger_random(&l, 3); k; k--)
			change();
		ledger_talk_some(&l, 60);
		/* mostly quick after another; now and then long enough for everything to settle */
		pass(ledger_random(&l, 100) ? ledger_random(&l, 4) : 0);
		if (!ledger_random(&l, 40))
			for (__u32 k = 0; k < 60; k++) {
				pass(2);
				ledger_talk_some(&l, 20);
			}
		snprintf(when, sizeof(when), "seed %llu, %u slots, step %u", seed, flow_slots,
			 step);
		expect_none_moved(when);
	}
	close_world();
}

Test(moves, random_sequences)
{
	for (__u64 seed = 1; seed <= 20; seed++) {
		random_steps(65536, seed, 400, change_something);
		random_steps(64, seed, 400, change_gently);
	}
	/* In this one a full bucket would give up the word of a datagram that is the only one of
	 * its flow yet. */
	random_steps(64, 195, 400, change_gently);
}

/* ---- a day's work -----------------------------------------------------------------------------*/

#define FLOWS	  100000
#define IDLE	  (135 * 60) /* the defaults */
#define UDP	  120
#define STEP	  100	/* seconds between looks of ours; UDP flows talk that often */
#define DATAGRAMS 20000 /* how many of the flows are UDP */
#define SILENT	  40000 /* how many never say a word between two trials */

static const char day_yaml[] = "services:\n"
			       "  - { name: web, listen: " LEDGER_LISTENERS ", forward: l2,\n"
			       "      table-size: 4099, backends: [ { address: 10.3.0.1 },\n"
			       "        { address: 10.3.0.2 }, { address: 10.3.0.3 },\n"
			       "        { address: 10.3.0.4 }, { address: 10.3.0.5 },\n"
			       "        { address: 10.3.0.6 }, { address: 10.3.0.7 },\n"
			       "        { address: 10.3.0.8 } ] }\n";

/* Flows 0 .. DATAGRAMS - 1 are UDP, the last SILENT ones are silent. */
static void begin_day(__u8 track)
{
	open_world(day_yaml, 1 << 20, FLOWS, 1, IDLE, UDP);
	svc()->conf.track = track;
	commit();
	for (size_t f = 0; f < FLOWS; f++)
		ledger_begin(&l, f, f < DATAGRAMS);
}

static void talk_from(size_t first, size_t end)
{
	while (first < end)
		ledger_talk(&l, first++);
}

/* Time in which datagrams flow, connections show life now and then, and a third is silent. */
static void go_on(__u32 seconds)
{
	for (__u32 at = 0; at < seconds; at += STEP) {
		pass(STEP);
		talk_from(0, DATAGRAMS);
		if (at % 600 < STEP)
			talk_from(DATAGRAMS, FLOWS - SILENT);
	}
	expect_none_moved("time passed");
}

/* Everything at once that may be told to a service, in ways that differ each time. */
static void all_changes(int which)
{
	static const __u32 sizes[] = {16381, 65537, 4099, 251};
	static const __u8 policies[] = {POISE_SOURCE_HASH, POISE_MAGLEV, POISE_P2C, POISE_MAGLEV};

	add(9 + which);
	commit();
	talk_from(0, 1000);
	svc()->conf.table_size = sizes[which];
	commit();
	talk_from(1000, 2000);
	backend(1 + which % 3)->conf.weight = (__u16)(which % 5 + 2);
	backend(5)->conf.admin = which % 2 ? POISE_ENABLED : POISE_DRAINING;
	commit();
	ledger_talk_some(&l, 1000);
	svc()->conf.policy = policies[which];
	commit();
	talk_from(DATAGRAMS, DATAGRAMS + 1000);
	if (which % 2)
		del(9 + which - 1);
	commit();
	for (size_t k = 0; k < 500; k++) /* new ones in the middle of it */
		ledger_begin(&l, DATAGRAMS + ledger_random(&l, FLOWS - SILENT - DATAGRAMS), false);
}

static void day(__u8 track)
{
	struct aging_counts c;

	begin_day(track);
	all_changes(0);
	pass(4);
	all_changes(1);
	pass(4);
	expect_none_moved("twice within ten seconds");
	go_on(60);
	all_changes(2);
	go_on(30 * 60);
	aging_free(aging); /* poised was killed; its clocks begin anew */
	aging = aging_new();
	go_on(60 * 60);
	all_changes(3);
	go_on(40 * 60);
	ledger_talk_all(&l);
	expect_none_moved("the silent ones, after two hours");
	go_on(2 * IDLE + 20 * STEP);
	c = counts();
	cr_assert(!c.base && !c.differing && !c.untracked, "%u slots still differ%s", c.differing,
		  c.base ? " and there is a base table" : "");
	ledger_talk_all(&l);
	expect_none_moved("all is settled");
	/* Silence, and nothing is left of the day. */
	pass(2 * IDLE);
	for (int k = 0; k < 3; k++)
		pass(IDLE + 10 * STEP);
	c = counts();
	cr_assert(track == POISE_TRACK_ALWAYS || !c.mixed, "%u slots are still mixed", c.mixed);
	for (unsigned int m = 1; m < n.i->meta->members; m++)
		cr_assert_eq(native_gauge(&n, (__u16)m), 0, "member %u", m);
	close_world();
}

Test(moves, a_day_of_track_auto)
{
	day(POISE_TRACK_AUTO);
}

Test(moves, a_day_of_track_always)
{
	day(POISE_TRACK_ALWAYS);
}
