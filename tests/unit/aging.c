// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What time settles about tracking: when to the step, what begins a clock anew, and what is never
 * settled. Entries are set by hand, so that each test has one thing to settle.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "maps/aging.h"
#include "tests/support/native.h"

#define T0   50000
#define IDLE 600
#define T    (IDLE + 20) /* with what clocks round away */
#define STEP 2		 /* a slot's clock counts so many seconds at once */

static const char yaml[] = "services:\n"
			   "  - { name: web, listen: [ '10.2.0.1:80', '10.2.0.1:53/udp' ],\n"
			   "      forward: l2, idle: 10m, udp: 1m, table-size: 67,\n"
			   "      backends: [ { address: 10.3.0.1 }, { address: 10.3.0.2 } ] }\n"
			   "  - { name: dns, listen: [ '10.2.0.2:53/udp' ], forward: l2, udp: 1m,\n"
			   "      table-size: 67, backends: [ { address: 10.3.0.3 } ] }\n";

#define DATA "ip4 10.1.0.9 > 10.2.0.1 | tcp 1234 > 80 A"

#define DIFFER (POISE_ENTRY(0, 1) | POISE_ENTRY_MIXED)
#define MIXED  (POISE_ENTRY(0, 0) | POISE_ENTRY_MIXED)
#define AGREE  POISE_ENTRY(0, 0)

static struct native n;
static struct aging *aging;
static __u32 now;

static void setup(void)
{
	native_open(&n, yaml, 1024);
	aging = aging_new();
	now = T0;
	run_set_seconds(now);
}

static void teardown(void)
{
	aging_free(aging);
	native_close(&n);
}

TestSuite(aging, .init = setup, .fini = teardown);

static struct poise_service_rec *record(const char *service)
{
	return native_record(&n, native_service(&n, service));
}

static __u32 *entry(const char *service)
{
	return &n.i->table[record(service)->table_at];
}

/* Sets every slot: packets of any flow then find the same. */
static void put(const char *service, __u32 value)
{
	for (__u32 s = 0; s < record(service)->table_size; s++)
		entry(service)[s] = value;
}

static int look(void)
{
	struct poise_error err = {0};
	int rc = aging_tick(aging, n.i, now, &err);

	cr_assert(rc >= 0, "%s", err.message);
	return rc;
}

/* Time passes, and poised looks at its end. */
static int after(__u32 seconds)
{
	now += seconds;
	run_set_seconds(now);
	return look();
}

static __u32 settled(const char *service)
{
	return *entry(service) & ~POISE_ENTRY_AGING;
}

/* ---- slots ------------------------------------------------------------------------------------*/

Test(aging, the_base_follows_after_the_longest_silence_and_not_before)
{
	put("web", DIFFER);
	look();
	after(T);
	cr_assert_eq(settled("web"), DIFFER, "too early");
	after(STEP);
	cr_assert_eq(settled("web"), MIXED);
	look();
	after(T);
	cr_assert_eq(settled("web"), MIXED, "another such time until nobody has a word");
	after(STEP);
	cr_assert_eq(*entry("web"), AGREE);
}

Test(aging, a_service_of_datagrams_waits_for_their_timeout)
{
	put("dns", DIFFER);
	look();
	after(60 + 20);
	cr_assert_eq(settled("dns"), DIFFER);
	after(STEP);
	cr_assert_eq(settled("dns"), MIXED);
}

Test(aging, time_begins_when_it_is_first_seen)
{
	put("web", DIFFER);
	after(10 * T);
	after(T);
	cr_assert_eq(settled("web"), DIFFER);
}

Test(aging, a_new_process_begins_anew)
{
	put("web", DIFFER);
	look();
	after(T);
	aging_free(aging);
	aging = aging_new();
	after(T);
	after(T);
	cr_assert_eq(settled("web"), DIFFER);
	after(STEP);
	cr_assert_eq(settled("web"), MIXED);
}

/* Shorter than the time between two looks, as two commits may be. */
Test(aging, a_break_that_nobody_saw)
{
	put("web", DIFFER);
	look();
	after(T);
	put("web", MIXED);
	put("web", DIFFER);
	after(STEP);
	cr_assert_eq(settled("web"), DIFFER);
	after(T + STEP);
	cr_assert_eq(settled("web"), MIXED);
}

Test(aging, a_word_in_use_keeps_its_slot_mixed)
{
	cr_assert_eq(native_send(&n, NULL, DATA), XDP_TX);
	put("web", DIFFER);
	cr_assert_eq(native_send(&n, NULL, DATA), XDP_TX);
	cr_assert(native_word(&n));
	put("web", MIXED); /* the word says another backend than the table */
	look();
	for (int k = 0; k < 5; k++) {
		now += T - 20;
		run_set_seconds(now);
		cr_assert_eq(native_send(&n, NULL, DATA), XDP_TX);
		look();
	}
	cr_assert_eq(settled("web"), AGREE | (settled("web") & POISE_ENTRY_MIXED));
	for (__u32 s = 0, mixed = 0; s < 67; s++) {
		mixed += !!(entry("web")[s] & POISE_ENTRY_MIXED);
		cr_assert(s < 66 || mixed == 1, "%u slots, not the flow's alone", mixed);
	}
	after(T + STEP);
	after(T + STEP);
	for (__u32 s = 0; s < 67; s++)
		cr_assert_eq(entry("web")[s], AGREE, "slot %u", s);
}

Test(aging, where_all_is_recorded_nothing_is_unmixed)
{
	struct config_service *svc = config_service_named(n.cfg, "web");

	svc->conf.track = POISE_TRACK_ALWAYS;
	native_commit(&n);
	put("web", MIXED);
	for (int k = 0; k < 4; k++)
		after(T + STEP);
	for (__u32 s = 0; s < 67; s++)
		cr_assert(entry("web")[s] & POISE_ENTRY_MIXED, "slot %u", s);
}

/* ---- records that were lost -------------------------------------------------------------------*/

Test(aging, a_lost_record_begins_all_clocks_anew)
{
	struct poise_drops *drops = (struct poise_drops *)n.i->drops;

	put("web", DIFFER);
	look();
	look();
	after(T);
	drops[native_service(&n, "web")].count[POISE_R_EVICTED]++;
	after(STEP);
	cr_assert_eq(settled("web"), DIFFER);
	after(T);
	drops[native_service(&n, "web")].count[POISE_R_UNRECORDED]++;
	after(STEP);
	drops[native_service(&n, "dns")].count[POISE_R_EVICTED]++; /* another's */
	after(T);
	cr_assert_eq(settled("web"), DIFFER);
	after(STEP);
	cr_assert_eq(settled("web"), MIXED);
}

/* ---- a service as a whole ---------------------------------------------------------------------*/

static __u16 base_of(const char *service)
{
	struct aging_counts c;

	aging_count(n.i, native_service(&n, service), &c);
	return c.base;
}

static void reload(void)
{
	struct poise_error err = {0};

	config_free(n.cfg);
	cr_assert(!instance_load(n.i, &n.cfg, &err), "%s", err.message);
}

Test(aging, a_base_table_goes_and_its_slots_are_free)
{
	config_service_named(n.cfg, "web")->conf.table_size = 97;
	native_commit(&n);
	cr_assert(base_of("web"));
	look();
	cr_assert_eq(after(T), 0);
	cr_assert(base_of("web"));
	cr_assert_eq(after(1), 1);
	cr_assert_not(base_of("web"));
	cr_assert_eq(record("web")->base_size, 0);
	for (__u32 s = 0; s < 97; s++)
		cr_assert(entry("web")[s] & POISE_ENTRY_MIXED, "slot %u may have words", s);
	cr_assert_eq(instance_check(n.i, NULL, NULL, NULL), 0);
}

Test(aging, a_base_table_waits_again_when_the_table_beside_it_is_another)
{
	config_service_named(n.cfg, "web")->conf.table_size = 97;
	native_commit(&n);
	look();
	after(T);
	config_service_named(n.cfg, "web")->conf.table_size = 101;
	native_commit(&n);
	after(1);
	after(T);
	cr_assert(base_of("web"));
	cr_assert_eq(after(1), 1);
}

Test(aging, what_went_unrecorded_is_over_datagrams_first)
{
	__u32 udp = 60 + 20;

	config_service_named(n.cfg, "web")->conf.track = POISE_TRACK_ALWAYS;
	native_commit(&n);
	cr_assert(record("web")->flags & POISE_S_UNTRACKED);
	look();
	cr_assert_eq(after(udp), 0);
	cr_assert_eq(after(1), 1);
	cr_assert_not(record("web")->flags & POISE_S_UNTRACKED);
	cr_assert_eq(after(2 * T - udp - 1), 0);
	cr_assert_eq(after(1), 1);
	reload();
	cr_assert_eq(config_service_named(n.cfg, "web")->conf.untracked, 0);
}

/* ---- datagrams -------------------------------------------------------------------------------*/

#define UDP_CALM (60 + 4) /* the timeout, and what clocks round away */

/* Where a new client's datagram goes; each is another's. */
static __u16 datagram(void)
{
	static unsigned int port = 1000;
	char frame[80];

	snprintf(frame, sizeof(frame), "ip4 10.1.0.9 > 10.2.0.1 | udp %u > 53", port++);
	return native_to(&n, frame);
}

/* Every slot's current is the second backend, its base the first: a datagram without a record goes
 * to the base only as long as it may be of a flow from before; TCP's idle has no say in that. */
Test(aging, datagrams_are_new_after_their_own_timeout)
{
	__u16 first = record("web")->extent[0].first;

	put("web", POISE_ENTRY(1, 0) | POISE_ENTRY_MIXED);
	after(0);
	after(1);
	cr_assert_eq(datagram(), first);
	after(UDP_CALM - 1);
	cr_assert_eq(datagram(), first, "too early");
	after(2);
	cr_assert_eq(datagram(), first + 1);
	cr_assert_eq(*entry("web") & ~POISE_ENTRY_AGING, (POISE_ENTRY(1, 0) | POISE_ENTRY_MIXED),
		     "the base is TCP's still");
	/* Any change of the service begins the wait anew, before anything else of it. */
	native_commit(&n);
	config_member_at(config_service_named(n.cfg, "web"), &n.i->members[first].addr, 0)
		->conf.weight = 2;
	native_commit(&n);
	cr_assert_eq(n.i->services[native_service(&n, "web")].calm, 0);
}

/* Who lost a record may be a flow from before once more. */
Test(aging, a_lost_record_ends_the_calm)
{
	struct poise_service *s = &n.i->services[native_service(&n, "web")];
	__u16 first = record("web")->extent[0].first;

	put("web", POISE_ENTRY(1, 0) | POISE_ENTRY_MIXED);
	after(0);
	after(1);
	after(UDP_CALM + 1);
	cr_assert_eq(s->calm, 1);
	for (__u32 b = 0; b < n.i->meta->flow_buckets; b++)
		for (int w = 0; w < POISE_BUCKET_WORDS; w++)
			n.i->flows[b].word[w] = (__u64)(w + 1) << 36 | (__u64)first << 16 |
						POISE_FLOW_NEW << POISE_WORD_STATE_SHIFT;
	datagram();
	cr_assert_eq(s->calm, 0, "an evicted word was of this service");
	cr_assert_eq(datagram(), first);
}
