// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What `track auto` records and answers, step by step: a table entry says who is current, under
 * whom untracked flows were born (base), and whether some are mixed; the word, if there is one,
 * decides where they differ. And what `always` and `off` do instead.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/native.h"

#define T0 1000

static const char yaml[] = "services:\n"
			   "  - name: web\n"
			   "    listen: [ '10.2.0.1:80', '10.2.0.1:53/udp' ]\n"
			   "    forward: l2\n"
			   "    idle: 15m\n"
			   "    backends: [ { address: 10.3.0.1 }, { address: 10.3.0.2 },\n"
			   "                { address: 10.3.0.3 } ]\n";

#define SYN  "ip4 10.1.0.9 > 10.2.0.1 | tcp 1234 > 80 S"
#define DATA "ip4 10.1.0.9 > 10.2.0.1 | tcp 1234 > 80 A"
#define FIN  "ip4 10.1.0.9 > 10.2.0.1 | tcp 1234 > 80 FA"
#define RST  "ip4 10.1.0.9 > 10.2.0.1 | tcp 1234 > 80 R"
#define UDP  "ip4 10.1.0.9 > 10.2.0.1 | udp 1234 > 53"

#define HITS (POISE_L_HIT_TCP | POISE_L_HIT_UDP)

static struct native n;
static struct poise_service_rec *rec;
static __u16 service, current, base, third; /* members of ordinals 0, 1, 2 */

static void setup(void)
{
	native_open(&n, yaml, 1024);
	service = native_service(&n, "web");
	rec = native_record(&n, service);
	current = rec->extent[0].first;
	base = current + 1;
	third = current + 2;
	run_set_seconds(T0);
}

static void teardown(void)
{
	native_close(&n);
}

TestSuite(tracking, .init = setup, .fini = teardown);

/* Every slot says the same. */
static void all_slots(__u32 entry)
{
	for (__u32 k = 0; k < rec->table_size; k++)
		n.i->table[rec->table_at + k] = entry;
}

#define DIFFER (POISE_ENTRY(0, 1) | POISE_ENTRY_MIXED)
#define AGREE  POISE_ENTRY(0, 0)

static void set_track(__u8 track)
{
	rec->track = track;
	rec->flags &= ~POISE_S_TABLE;
}

static void live(__u16 member, __u32 value)
{
	n.i->members[member].live = value;
}

static void check_word(__u32 state, __u16 member)
{
	__u64 *w = native_word(&n);

	cr_assert(w, "nothing is recorded");
	cr_assert_eq(POISE_WORD_STATE(*w), state, "state %u", POISE_WORD_STATE(*w));
	cr_assert_eq(POISE_WORD_MEMBER(*w), member, "member %u", POISE_WORD_MEMBER(*w));
	cr_assert_eq(native_gauge(&n, member), native_live(&n, member));
}

#define TO(frame, member) cr_assert_eq(native_to(&n, frame), member)

/* Fills the flow's bucket with established flows of other tags. */
static void fill_bucket(const char *frame)
{
	struct poise_bucket *b;
	__u64 *w;

	live(third, POISE_RANK_UP | HITS);
	all_slots(POISE_ENTRY(2, 2) | POISE_ENTRY_MIXED);
	set_track(POISE_TRACK_ALWAYS);
	native_send(&n, NULL, frame);
	set_track(POISE_TRACK_AUTO);
	w = native_word(&n);
	cr_assert(w);
	b = (struct poise_bucket *)((unsigned long)w & ~63ul);
	for (__u32 k = 0; k < POISE_BUCKET_WORDS; k++)
		b->word[k] = (__u64)(k + 1) << 33 | (__u64)third << POISE_WORD_MEMBER_SHIFT |
			     POISE_FLOW_EST << POISE_WORD_STATE_SHIFT | (T0 & POISE_WORD_STAMP);
}

/* ---- where table and base agree ---------------------------------------------------------------*/

Test(tracking, nothing_is_recorded_where_nothing_changes)
{
	static const char *const all[] = {SYN, DATA, FIN, RST, UDP};

	all_slots(AGREE);
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		TO(all[k], current);
	cr_assert_null(native_word(&n));
	cr_assert_eq(native_counts(&n, current).opened, 0);
}

Test(tracking, a_word_that_says_what_the_table_says_is_freed)
{
	all_slots(DIFFER);
	TO(SYN, current);
	check_word(POISE_FLOW_NEW, current);
	all_slots(AGREE | POISE_ENTRY_MIXED);
	TO(DATA, current);
	cr_assert_null(native_word(&n));
	cr_assert_eq(native_gauge(&n, current), 0);
	cr_assert_eq(native_counts(&n, current).closed, 1);
	TO(SYN, current);
	cr_assert_null(native_word(&n), "and not made again");
}

Test(tracking, an_up_to_date_word_that_says_what_the_table_says_is_freed_too)
{
	all_slots(DIFFER);
	TO(SYN, current);
	TO(DATA, current);
	check_word(POISE_FLOW_EST, current);
	all_slots(AGREE | POISE_ENTRY_MIXED);
	TO(DATA, current);
	cr_assert_null(native_word(&n));
}

Test(tracking, a_word_that_says_otherwise_decides_and_stays)
{
	all_slots(POISE_ENTRY(1, 1) | POISE_ENTRY_MIXED);
	set_track(POISE_TRACK_ALWAYS);
	TO(SYN, base);
	set_track(POISE_TRACK_AUTO);
	all_slots(AGREE | POISE_ENTRY_MIXED);
	TO(DATA, base);
	TO(DATA, base);
	check_word(POISE_FLOW_EST, base);
}

/* ---- where they differ ------------------------------------------------------------------------*/

Test(tracking, a_syn_goes_to_current_and_is_recorded)
{
	all_slots(DIFFER);
	TO(SYN, current);
	check_word(POISE_FLOW_NEW, current);
	TO(DATA, current);
	check_word(POISE_FLOW_EST, current);
}

Test(tracking, what_was_going_on_goes_to_the_base_and_is_recorded)
{
	all_slots(DIFFER);
	TO(DATA, base);
	check_word(POISE_FLOW_PICKUP, base);
}

Test(tracking, so_does_every_udp_packet)
{
	all_slots(DIFFER);
	TO(UDP, base);
	check_word(POISE_FLOW_NEW, base);
}

Test(tracking, a_fin_is_recorded_as_one_a_reset_not_at_all)
{
	all_slots(DIFFER);
	TO(RST, base);
	cr_assert_null(native_word(&n));
	TO(FIN, base);
	check_word(POISE_FLOW_FIN, base);
	cr_assert_eq(native_gauge(&n, base), 0);
}

Test(tracking, a_draining_base_keeps_what_it_has)
{
	all_slots(DIFFER);
	live(base, POISE_RANK_DRAINING | HITS);
	TO(DATA, base);
	check_word(POISE_FLOW_PICKUP, base);
}

Test(tracking, a_base_that_keeps_nothing_is_as_a_syn)
{
	all_slots(DIFFER);
	live(base, POISE_RANK_FAILED);
	TO(DATA, current);
	check_word(POISE_FLOW_PICKUP, current);
}

Test(tracking, tcp_stays_with_a_down_base_while_udp_moves)
{
	all_slots(DIFFER);
	live(base, POISE_RANK_FAILED | POISE_L_HIT_TCP);
	TO(DATA, base);
	check_word(POISE_FLOW_PICKUP, base);
	memset(n.i->flows, 0, n.i->meta->flow_buckets * sizeof(struct poise_bucket));
	TO(UDP, current);
	check_word(POISE_FLOW_NEW, current);
}

Test(tracking, tcp_waits_for_its_bases_next_hop_while_udp_moves)
{
	all_slots(DIFFER);
	n.i->members[base].nexthop = 0;
	cr_assert_eq(native_send(&n, NULL, DATA), XDP_DROP);
	cr_assert_eq(run_drops(service)->count[POISE_R_NO_NEXT_HOP], 1);
	cr_assert_null(native_word(&n));
	TO(UDP, current);
	check_word(POISE_FLOW_NEW, current);
}

/* ---- current may not be chosen ----------------------------------------------------------------*/

Test(tracking, an_alternate_is_recorded_and_keeps_its_flow)
{
	__u16 to;

	/* whoever the alternates are, they are not current */
	for (__u32 k = 0; k < rec->table_size; k++)
		n.i->table[rec->table_at + k] = k % 3 ? POISE_ENTRY(k % 3, k % 3) : AGREE;
	live(current, POISE_RANK_DRAINING | HITS);
	for (__u32 port = 1; port < 200; port++) {
		char frame[96];
		struct poise_sweep io = {.kind = POISE_SWEEP_FORCE};
		__u64 alternates = run_drops(service)->count[POISE_R_ALTERNATE];

		snprintf(frame, sizeof(frame), "ip4 10.1.0.9 > 10.2.0.1 | tcp %u > 80 S", port);
		to = native_to(&n, frame);
		cr_assert(to == base || to == third, "port %u went to %u", port, to);
		if (run_drops(service)->count[POISE_R_ALTERNATE] == alternates)
			continue;
		check_word(POISE_FLOW_NEW, to);
		live(current, POISE_RANK_UP | HITS);
		snprintf(frame, sizeof(frame), "ip4 10.1.0.9 > 10.2.0.1 | tcp %u > 80 A", port);
		TO(frame, to);
		live(current, POISE_RANK_DRAINING | HITS);
		native_sweep(&n, &io);
	}
	cr_assert_gt(run_drops(service)->count[POISE_R_ALTERNATE], 30);
}

Test(tracking, an_established_flow_of_a_draining_current_is_picked_up_there)
{
	all_slots(AGREE);
	live(current, POISE_RANK_DRAINING | HITS);
	TO(DATA, current);
	check_word(POISE_FLOW_PICKUP, current);
}

Test(tracking, a_fading_member_gets_its_share_and_those_are_recorded)
{
	unsigned int fading = 0;

	for (__u32 k = 0; k < rec->table_size; k++)
		n.i->table[rec->table_at + k] = POISE_ENTRY(k & 1, k & 1);
	live(current, POISE_RANK_UP | HITS | POISE_L_FADING);
	n.i->members[current].fade = 65536 / 4;
	n.i->members[current].fade_until = T0 + 2;
	for (__u32 port = 1; port <= 4000; port++) {
		struct poise_sweep io = {.kind = POISE_SWEEP_FORCE};
		char frame[96];

		snprintf(frame, sizeof(frame), "ip4 10.1.0.9 > 10.2.0.1 | tcp %u > 80 S", port);
		fading += native_to(&n, frame) == current;
		native_sweep(&n, &io);
	}
	/* half of the slots are its own, and it admits a quarter of what comes */
	cr_assert(fading > 400 && fading < 600, "%u of 4000", fading);
	live(base, POISE_RANK_FAILED);
	live(third, POISE_RANK_FAILED);
	TO(SYN, current);
	cr_assert_eq(native_gauge(&n, current), 1, "all fading is none fading");
}

/* ---- no room ----------------------------------------------------------------------------------*/

Test(tracking, an_unrecorded_flow_goes_by_the_base_from_its_first_packet)
{
	fill_bucket(SYN);
	all_slots(DIFFER);
	TO(SYN, base);
	TO(DATA, base);
	cr_assert_eq(run_drops(service)->count[POISE_R_UNRECORDED], 2);
	live(base, POISE_RANK_FAILED);
	TO(SYN, current);
	TO(DATA, current);
}

Test(tracking, under_pressure_a_flow_begins_by_the_base)
{
	__u64 before = run_drops(service)->count[POISE_R_PRESSURE];

	all_slots(DIFFER);
	n.i->meta->pressure = T0 - 1;
	TO(SYN, base);
	check_word(POISE_FLOW_NEW, base);
	cr_assert_eq(run_drops(service)->count[POISE_R_PRESSURE], before + 1);
	memset(n.i->flows, 0, n.i->meta->flow_buckets * sizeof(struct poise_bucket));
	TO(DATA, base); /* also if the word was lost */
	memset(n.i->flows, 0, n.i->meta->flow_buckets * sizeof(struct poise_bucket));
	live(base, POISE_RANK_DRAINING | HITS);
	TO(SYN, current);
	memset(n.i->flows, 0, n.i->meta->flow_buckets * sizeof(struct poise_bucket));
	live(base, POISE_RANK_UP | HITS);
	n.i->meta->pressure = T0 - 2;
	TO(SYN, current);
	cr_assert_eq(run_drops(service)->count[POISE_R_PRESSURE], before + 2);
}

/* ---- a base table of its own, always, off -----------------------------------------------------*/

Test(tracking, a_base_table_of_another_size_and_hash)
{
	__u32 at = rec->table_at + rec->table_size;

	rec->base_at = at;
	rec->base_size = 7;
	rec->flags &= ~POISE_S_TABLE;
	rec->base_hash = POISE_SOURCE_HASH;
	all_slots(POISE_ENTRY(0, 1) | POISE_ENTRY_MIXED);
	for (__u32 k = 0; k < 7; k++)
		n.i->table[at + k] = POISE_ENTRY(1, 2);
	TO(DATA, third);
	check_word(POISE_FLOW_PICKUP, third);
}

Test(tracking, always_records_everything_and_takes_udp_for_new)
{
	all_slots(AGREE);
	set_track(POISE_TRACK_ALWAYS);
	TO(SYN, current);
	check_word(POISE_FLOW_NEW, current);
	TO(DATA, current);
	check_word(POISE_FLOW_EST, current);
	memset(n.i->flows, 0, n.i->meta->flow_buckets * sizeof(struct poise_bucket));
	all_slots(DIFFER);
	TO(UDP, current);
	TO(DATA, base);
}

Test(tracking, off_records_nothing)
{
	all_slots(DIFFER);
	set_track(POISE_TRACK_OFF);
	TO(SYN, current);
	TO(DATA, current);
	TO(UDP, current);
	live(current, POISE_RANK_FAILED);
	cr_assert_neq(native_to(&n, SYN), current);
	cr_assert_null(native_word(&n));
}
