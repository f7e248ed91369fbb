// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The flow word's transition table, each cell, on the really loaded program.
 *
 * Every cell starts from a word in a given state and age that names the member which the table
 * would not choose: "the same member" and "chosen afresh" then cannot be mistaken for each other.
 */
#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/rig.h"

#define SERVICE(name, address, more)                                                               \
	"  - name: " name "\n"                                                                     \
	"    listen: [ '" address ":80', '" address ":53/udp' ]\n"                                 \
	"    forward: l2\n" more                                                                   \
	"    backends: [ { address: 10.3.0.1 }, { address: 10.3.0.2 } ]\n"

/* Timeouts of their own, so that no two are taken for each other. */
static const char setup[] = "services:\n" SERVICE("flows", "10.2.0.1",
						  "    track: always\n"
						  "    idle: 30m\n"
						  "    syn: 30s\n"
						  "    closing: 100s\n"
						  "    udp: 200s\n");

static struct rig rig;

TestSuite(flow, .fini = place_cleanup);

#define CLIENT	 "ip4 10.1.0.9 > 10.2.0.1 | "
#define STRANGER "ip4 10.1.0.200 > 10.2.0.1 | tcp 999 > 80 S"

enum kind { SYN, DATA, FIN, RST, UDP, KINDS };

static const char *const packets[KINDS] = {
	[SYN] = CLIENT "tcp 1234 > 80 S",	 [DATA] = CLIENT "tcp 1234 > 80 A | data 5",
	[FIN] = CLIENT "tcp 1234 > 80 FA",	 [RST] = CLIENT "tcp 1234 > 80 R",
	[UDP] = CLIENT "udp 1234 > 53 | data 5",
};

static const char *const kinds[KINDS] = {"SYN", "data", "FIN", "RST", "UDP"};
static const char *const states[] = {"free", "NEW", "PICKUP", "EST", "FIN", "RST", "AFFINITY"};

/* ---- cells ------------------------------------------------------------------------------------*/

enum then {
	SAME,	 /* member and slot as they were, stamp now */
	KEPT,	 /* the whole word as it was */
	AFRESH,	 /* the table's member, stamp now */
	NOTHING, /* no word */
};

struct cell {
	enum poise_flow_state from;
	unsigned int age; /* seconds since its stamp */
	enum kind kind;
	enum then then;
	enum poise_flow_state to;
	int opened, closed;
};

#define N POISE_FLOW_NEW
#define P POISE_FLOW_PICKUP
#define E POISE_FLOW_EST
#define F POISE_FLOW_FIN
#define R POISE_FLOW_RST
#define O POISE_FLOW_FREE

static const struct cell cells[] = {
	/* a miss */
	{O, 0, SYN, AFRESH, N, 1, 0},
	{O, 0, DATA, AFRESH, P, 1, 0},
	{O, 0, FIN, AFRESH, F, 0, 0}, /* met at its end: never live */
	{O, 0, RST, NOTHING, O, 0, 0},
	{O, 0, UDP, AFRESH, N, 1, 0},
	/* NEW */
	{N, 0, SYN, SAME, N, 0, 0},
	{N, 29, SYN, SAME, N, 0, 0},
	{N, 31, SYN, AFRESH, N, 1, 1}, /* over, if not yet swept */
	{N, 0, DATA, SAME, E, 0, 0},
	{N, 29, DATA, SAME, E, 0, 0},
	{N, 5, FIN, SAME, F, 0, 1},
	{N, 5, RST, SAME, R, 0, 1},
	{N, 0, UDP, KEPT, N, 0, 0},
	{N, 1, UDP, SAME, E, 0, 0},
	{N, 199, UDP, SAME, E, 0, 0},
	{N, 201, UDP, AFRESH, N, 1, 1},
	/* PICKUP */
	{P, 0, SYN, KEPT, P, 0, 0},
	{P, 29, SYN, KEPT, P, 0, 0},
	{P, 59, SYN, KEPT, P, 0, 0},
	{P, 60, SYN, AFRESH, N, 1, 1},
	{P, 0, DATA, KEPT, P, 0, 0},
	{P, 1, DATA, SAME, E, 0, 0},
	{P, 5, FIN, SAME, F, 0, 1},
	{P, 5, RST, SAME, R, 0, 1},
	/* EST */
	{E, 0, SYN, KEPT, E, 0, 0},
	{E, 59, SYN, KEPT, E, 0, 0},
	{E, 60, SYN, AFRESH, N, 1, 1},
	{E, 1799, SYN, AFRESH, N, 1, 1},
	{E, 1801, SYN, AFRESH, N, 1, 1},
	{E, 0, DATA, KEPT, E, 0, 0},
	{E, 1, DATA, SAME, E, 0, 0},
	{E, 1799, DATA, SAME, E, 0, 0},
	{E, 5, FIN, SAME, F, 0, 1},
	{E, 5, RST, SAME, R, 0, 1},
	{E, 0, UDP, KEPT, E, 0, 0},
	{E, 1, UDP, SAME, E, 0, 0},
	{E, 201, UDP, AFRESH, N, 1, 1},
	/* FIN */
	{F, 0, SYN, AFRESH, N, 1, 0},
	{F, 99, SYN, AFRESH, N, 1, 0},
	{F, 0, DATA, KEPT, F, 0, 0},
	{F, 99, DATA, SAME, F, 0, 0}, /* a half-open download lives on */
	{F, 5, FIN, SAME, F, 0, 0},
	{F, 5, RST, KEPT, F, 0, 0},
	/* RST */
	{R, 0, SYN, AFRESH, N, 1, 0},
	{R, 9, SYN, AFRESH, N, 1, 0},
	{R, 5, DATA, SAME, E, 1, 0}, /* it was spoofed */
	{R, 5, FIN, SAME, F, 0, 0},
	{R, 5, RST, KEPT, R, 0, 0},
};

/* The member that the table gives to the flow of this kind of packet, and the other one. */
static void members(enum kind kind, __u16 *chosen, __u16 *other)
{
	__u16 first = rig_member(&rig, "10.3.0.1"), second = rig_member(&rig, "10.3.0.2");

	rig_forget(&rig);
	rig_send(&rig, packets[kind == UDP ? UDP : SYN], NULL);
	cr_assert(rig_word(&rig));
	*chosen = POISE_WORD_MEMBER(*rig_word(&rig));
	*other = *chosen == first ? second : first;
}

static void sum_gauges(const struct rig_counts *c, long long *opened, long long *closed)
{
	*opened = *closed = 0;
	for (__u32 m = 0; m < rig.i->meta->members; m++) {
		*opened += (long long)c->member[m].opened;
		*closed += (long long)c->member[m].closed;
	}
}

static bool word_is(const struct cell *c, __u64 start, __u16 chosen, __u16 other, __u32 now)
{
	__u64 *word = rig_word(&rig);
	__u16 member = c->then == AFRESH ? chosen : other;

	if (c->then == NOTHING || !word)
		return c->then == NOTHING && !word;
	if (c->then == KEPT)
		return *word == start;
	return *word == rig_word_as(*word, member, c->to, now);
}

/* One cell; false if the second changed under it and it must be tried again. */
static bool try_cell(const struct cell *c, __u16 chosen, __u16 other)
{
	static struct rig_counts was, is;
	static struct frame out;
	long long opened[2], closed[2];
	__u32 now = rig_second(&rig, STRANGER);
	__u64 *word, start = 0;
	bool right;
	int verdict;

	if (c->from != O) {
		rig_send(&rig, packets[c->kind == UDP ? UDP : SYN], NULL);
		word = rig_word(&rig);
		start = *word = rig_word_as(*word, other, c->from, now - c->age);
	}
	rig_count(&rig, &was);
	verdict = rig_send(&rig, packets[c->kind], &out);
	rig_count(&rig, &is);
	right = word_is(c, start, chosen, other, now);
	word = rig_word(&rig);
	sum_gauges(&was, &opened[0], &closed[0]);
	sum_gauges(&is, &opened[1], &closed[1]);
	start = word ? *word : 0;
	if (rig_second(&rig, STRANGER) != now)
		return false;
	cr_expect(verdict == XDP_TX, "%s of %u s, %s: verdict %d", states[c->from], c->age,
		  kinds[c->kind], verdict);
	cr_expect(right, "%s of %u s, %s: word is %s of member %u, stamp %llu; now %u, chosen %u",
		  states[c->from], c->age, kinds[c->kind], states[POISE_WORD_STATE(start)],
		  POISE_WORD_MEMBER(start), start & POISE_WORD_STAMP, now, chosen);
	cr_expect(opened[1] - opened[0] == c->opened && closed[1] - closed[0] == c->closed,
		  "%s of %u s, %s: opened %lld, closed %lld", states[c->from], c->age,
		  kinds[c->kind], opened[1] - opened[0], closed[1] - closed[0]);
	return true;
}

#define TRIES 5 /* two seconds' ends in a row are no chance any more */

static void transitions(void)
{
	rig_open(&rig, setup);
	for (size_t k = 0; k < sizeof(cells) / sizeof(cells[0]); k++) {
		__u16 chosen, other;
		int left = TRIES;

		members(cells[k].kind, &chosen, &other);
		while (left && !try_cell(&cells[k], chosen, other))
			left--;
		cr_assert(left, "the clock never stood still");
	}
}

/* Every state that a word can have and every kind of packet is in the table above. */
static void table_is_complete(void)
{
	for (enum poise_flow_state s = O; s <= R; s++)
		for (enum kind p = 0; p < KINDS; p++) {
			bool found = false;

			if (p == UDP && s != O && s != N && s != E)
				continue; /* no word of a UDP flow is ever in those */
			for (size_t k = 0; k < sizeof(cells) / sizeof(cells[0]); k++)
				found |= cells[k].from == s && cells[k].kind == p;
			cr_expect(found, "%s, %s", states[s], kinds[p]);
		}
}

/* ---- whose flow it is -------------------------------------------------------------------------*/

/* Puts a word for the flow of `kind` in place: state, member, age. */
static __u64 *place_word(enum kind kind, enum poise_flow_state state, __u16 member)
{
	__u32 now = rig_second(&rig, STRANGER);
	__u64 *word;

	rig_send(&rig, packets[kind == UDP ? UDP : SYN], NULL);
	word = rig_word(&rig);
	cr_assert(word);
	*word = rig_word_as(*word, member, state, now);
	return word;
}

static bool went_to(const struct frame *out, const char *backend)
{
	__u8 mac[6];

	frame_mac(backend, mac);
	return !memcmp(out->byte, mac, sizeof(mac));
}

/* What happens to an established flow when its member's state changes. */
static void expect_flow(enum kind kind, const char *when, bool stays)
{
	__u16 chosen, other;
	static struct frame out;
	char backend[8];
	__u64 *word;

	members(kind, &chosen, &other);
	word = place_word(kind, POISE_FLOW_EST, other);
	rig_send(&rig, packets[kind], &out);
	snprintf(backend, sizeof(backend), "b%d", other == rig_member(&rig, "10.3.0.1") ? 1 : 2);
	cr_expect(went_to(&out, backend) == stays, "%s: %s %s", when, kinds[kind],
		  stays ? "moved" : "stayed");
	cr_expect((POISE_WORD_MEMBER(*word) == other) == stays, "%s: the word of %s", when,
		  kinds[kind]);
}

static void set_state(const char *address, __u8 admin, __u8 health)
{
	__u16 id = rig_member(&rig, address);
	struct config_service *s = config_service_named(rig.cfg, "flows");

	for (size_t m = 0; m < s->members; m++)
		if (s->member[m].id == id) {
			s->member[m].conf.admin = admin;
			s->member[m].conf.health = health;
		}
	rig_commit(&rig);
}

/* The flow of `kind` is bound to the member that `address` is; the other one stays up. */
static void expect_state(__u8 admin, __u8 health, const char *when, bool tcp_stays, bool udp_stays)
{
	static const char *const addresses[] = {"10.3.0.1", "10.3.0.2"};
	static const enum kind flows[] = {DATA, UDP};
	__u16 chosen, other;

	for (int k = 0; k < 2; k++) {
		const char *address = addresses[0];

		members(flows[k], &chosen, &other);
		if (rig_member(&rig, address) != other)
			address = addresses[1];
		set_state(address, admin, health);
		expect_flow(flows[k], when, k ? udp_stays : tcp_stays);
		set_state(address, POISE_ENABLED, POISE_HEALTH_UP);
	}
}

static void member_states(void)
{
	rig_open(&rig, setup);
	expect_state(POISE_ENABLED, POISE_HEALTH_UP, "up", true, true);
	expect_state(POISE_DRAINING, POISE_HEALTH_UP, "draining", true, true);
	expect_state(POISE_ENABLED, POISE_HEALTH_CHECKING, "checking", true, true);
	expect_state(POISE_ENABLED, POISE_HEALTH_DOWN, "down", true, false);
	expect_state(POISE_DISABLED, POISE_HEALTH_UP, "disabled", true, false);
}

/* The next hop of an established flow's member is lost: dropped, said so, and the word stays. */
static void no_next_hop(void)
{
	static struct rig_counts was, is;
	__u16 chosen, other, service;
	__u64 *word;

	rig_open(&rig, setup);
	service = rig_service(&rig, "flows");
	members(DATA, &chosen, &other);
	word = place_word(DATA, POISE_FLOW_EST, other);
	instance_set_nexthop(rig.i, other, 0);
	rig_count(&rig, &was);
	cr_expect(rig_send(&rig, packets[DATA], NULL) == XDP_DROP);
	rig_count(&rig, &is);
	cr_expect(is.service[service].count[POISE_R_NO_NEXT_HOP] -
			  was.service[service].count[POISE_R_NO_NEXT_HOP] ==
		  1);
	cr_expect(POISE_WORD_MEMBER(*word) == other && POISE_WORD_STATE(*word) == E);
}

/* A word counts only if its member is this service's, whatever its tag. */
static void of_another_service(void)
{
	static struct frame out;
	__u16 chosen, other, foreign;
	__u64 *word, before;
	int words = 0;

	rig_open(&rig, "services:\n" SERVICE(
			       "flows", "10.2.0.1",
			       "    track: always\n") "  - { name: foreign, listen: [ "
						      "'10.2.0.2:80' ], forward: l2, "
						      "backends: [ { address: 10.3.0.9 } ] }\n");
	members(DATA, &chosen, &other);
	foreign = rig_member(&rig, "10.3.0.9");
	word = place_word(DATA, POISE_FLOW_EST, foreign);
	before = *word;
	cr_expect(rig_send(&rig, packets[DATA], &out) == XDP_TX);
	cr_expect(!went_to(&out, "b9"), "a packet reached another service's backend");
	cr_expect(*word == before, "another service's word was changed");
	for (__u32 b = 0; b < rig.i->meta->flow_buckets; b++)
		for (int w = 0; w < POISE_BUCKET_WORDS; w++)
			words += instance_bucket(rig.i, b)->word[w] != 0;
	cr_expect(words == 2, "%d words", words);
}

/* A word of a member that nobody has any more is void: a new flow, in its place. */
static void of_nobody(void)
{
	static struct frame out;
	__u64 *word;

	rig_open(&rig, setup);
	word = place_word(DATA, POISE_FLOW_EST, (__u16)(rig.i->meta->members - 1));
	cr_expect(rig_send(&rig, packets[DATA], &out) == XDP_TX);
	cr_expect(rig_word(&rig) == word && POISE_WORD_STATE(*word) == P);
	cr_expect(rig.i->members[POISE_WORD_MEMBER(*word)].service == rig_service(&rig, "flows"));
}

/* Idle timeouts over an hour count in units of 16 s. */
static void long_idle(void)
{
	__u16 chosen, other;
	__u64 *word;
	__u32 units;

	rig_open(&rig, "services:\n" SERVICE("flows", "10.2.0.1",
					     "    track: always\n    idle: 2h15m\n"));
	members(DATA, &chosen, &other);
	word = place_word(DATA, POISE_FLOW_NEW, other);
	rig_send(&rig, packets[DATA], NULL);
	cr_assert(POISE_WORD_STATE(*word) == E && *word & POISE_WORD_UNIT);
	units = (__u32)*word & POISE_WORD_STAMP;
	/* three units are less than the 60 s after which a SYN is a new flow, five are more */
	*word = (rig_word_as(*word, other, E, units - 3)) | POISE_WORD_UNIT;
	rig_send(&rig, packets[SYN], NULL);
	cr_expect(POISE_WORD_STATE(*word) == E && POISE_WORD_MEMBER(*word) == other);
	*word = (rig_word_as(*word, other, E, units - 5)) | POISE_WORD_UNIT;
	rig_send(&rig, packets[SYN], NULL);
	cr_expect(POISE_WORD_STATE(*word) == N && POISE_WORD_MEMBER(*word) == chosen);
}

/* ---- full buckets -----------------------------------------------------------------------------*/

/* The bucket of the flow under test, filled with established flows of other tags. */
static struct poise_bucket *fill_bucket(__u32 now)
{
	__u64 *word;
	struct poise_bucket *bucket;

	rig_forget(&rig);
	rig_send(&rig, packets[SYN], NULL);
	word = rig_word(&rig);
	bucket = &rig.i->flows[(word - rig.i->flows[0].word) / POISE_BUCKET_WORDS];
	for (int k = 0; k < POISE_BUCKET_WORDS; k++)
		bucket->word[k] =
			rig_word_as((__u64)(k + 1) << 40, rig_member(&rig, "10.3.0.1"), E, now - 1);
	return bucket;
}

static __u64 event(const struct rig_counts *c, enum poise_reason reason)
{
	return c->service[rig_service(&rig, "flows")].count[reason];
}

/* Slots `first` and `second` hold these; a new flow takes the place of `first`. */
static void expect_victim(enum poise_flow_state first, unsigned int first_age,
			  enum poise_flow_state second, unsigned int second_age)
{
	static struct rig_counts was, is;
	__u32 now = rig_second(&rig, STRANGER);
	struct poise_bucket *b = fill_bucket(now);
	__u64 kept;

	b->word[5] = rig_word_as(b->word[5], rig_member(&rig, "10.3.0.1"), first, now - first_age);
	kept = rig_word_as(b->word[2], rig_member(&rig, "10.3.0.1"), second, now - second_age);
	b->word[2] = kept;
	rig_count(&rig, &was);
	cr_expect(rig_send(&rig, packets[SYN], NULL) == XDP_TX);
	rig_count(&rig, &is);
	cr_expect(POISE_WORD_STATE(b->word[5]) == N && b->word[2] == kept,
		  "%s of %u s before %s of %u s", states[first], first_age, states[second],
		  second_age);
	cr_expect(event(&is, POISE_R_EVICTED) - event(&was, POISE_R_EVICTED) == 1);
}

static void victims(void)
{
	rig_open(&rig, setup);
	expect_victim(R, 1, F, 90);
	expect_victim(F, 1, N, 25);
	expect_victim(N, 1, P, 25);
	expect_victim(P, 31, N, 25); /* a stray packet's, most likely */
	expect_victim(P, 1, E, 1000);
	expect_victim(R, 9, R, 3);
	expect_victim(F, 50, F, 40);
	expect_victim(N, 20, N, 19);
	expect_victim(P, 20, P, 19);
}

/* All eight established: the flow goes by the table, unrecorded, and none is lost for it. */
static void full(void)
{
	static struct rig_counts was, is;
	struct poise_bucket *b, before;
	static struct frame first, again;

	rig_open(&rig, setup);
	b = fill_bucket(rig_second(&rig, STRANGER));
	before = *b;
	rig_count(&rig, &was);
	cr_expect(rig_send(&rig, packets[SYN], &first) == XDP_TX);
	cr_expect(rig_send(&rig, packets[DATA], &again) == XDP_TX);
	rig_count(&rig, &is);
	cr_expect(!memcmp(first.byte, again.byte, 6), "SYN and data went to different backends");
	cr_expect(!memcmp(&before, b, sizeof(before)), "an established flow's word was changed");
	cr_expect(event(&is, POISE_R_UNRECORDED) - event(&was, POISE_R_UNRECORDED) == 2);
}

/* One after another over one loaded program. */
Test(flow, stories)
{
	transitions();
	table_is_complete();
	member_states();
	no_next_hop();
	of_another_service();
	of_nobody();
	long_idle();
	victims();
	full();
	rig_close(&rig);
}
