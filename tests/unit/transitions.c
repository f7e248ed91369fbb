// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The flow word's transition table, each cell: given a word in a state and of an age, when a packet
 * of a kind comes, then the word's state, member and stamp, and what was opened and closed.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/hash.h"
#include "tests/support/native.h"

#define T0 5000 /* when the word was stamped, on the stamps' clock */

/* syn 30 s, closing and udp 2 min, idle 15 min. Two members: a word that says the one the table
 * does not say shows whether a packet was chosen for afresh. */
static const char yaml[] = "services:\n"
			   "  - name: web\n"
			   "    listen: [ '10.2.0.1:80', '10.2.0.1:53/udp' ]\n"
			   "    forward: l2\n"
			   "    track: always\n"
			   "    idle: 15m\n"
			   "    backends: [ { address: 10.3.0.1 }, { address: 10.3.0.2 } ]\n";

enum kind { SYN, DATA, FIN, RST, UDP };

static const char *const frames[] = {
	[SYN] = "ip4 10.1.0.9 > 10.2.0.1 | tcp 1234 > 80 S",
	[DATA] = "ip4 10.1.0.9 > 10.2.0.1 | tcp 1234 > 80 A | data 5",
	[FIN] = "ip4 10.1.0.9 > 10.2.0.1 | tcp 1234 > 80 FA",
	[RST] = "ip4 10.1.0.9 > 10.2.0.1 | tcp 1234 > 80 R",
	[UDP] = "ip4 10.1.0.9 > 10.2.0.1 | udp 1234 > 53 | data 5",
};

static const char *const kinds[] = {"SYN", "data", "FIN", "RST", "UDP"};
static const char *const states[] = {"free", "NEW", "PICKUP", "EST", "FIN", "RST", "AFFINITY"};

/* What the word's member is when the packet comes. */
enum member_is {
	USABLE,
	KEEPS,	/* draining: flows go on there, new ones do not */
	DOWN,	/* its flows have to move */
	VOID,	/* removed: nobody's */
	OTHERS, /* another service's: the word is not ours */
};

struct cell {
	__u8 from; /* state; FREE: no word */
	enum kind kind;
	__u16 age;
	enum member_is member;
	__u8 to;	     /* state */
	bool afresh;	     /* by the table, else the word's member */
	bool stamped;	     /* the stamp is now */
	__s8 opened, closed; /* of all members together */
};

#define NEW    POISE_FLOW_NEW
#define PICKUP POISE_FLOW_PICKUP
#define EST    POISE_FLOW_EST
#define CFIN   POISE_FLOW_FIN
#define CRST   POISE_FLOW_RST
#define FREE   POISE_FLOW_FREE

/* clang-format off */
static const struct cell cells[] = {
	/* from  packet age  member   to    afresh stamped opened closed */

	/* miss */
	{FREE,   SYN,   0,  USABLE, NEW,    true,  true,  1, 0},
	{FREE,   UDP,   0,  USABLE, NEW,    true,  true,  1, 0},
	{FREE,   DATA,  0,  USABLE, PICKUP, true,  true,  1, 0},
	{FREE,   FIN,   0,  USABLE, CFIN,   true,  true,  0, 0},
	{FREE,   RST,   0,  USABLE, FREE,   true,  false, 0, 0},

	/* NEW */
	{NEW,    SYN,   0,  USABLE, NEW,    false, true,  0, 0},
	{NEW,    SYN,   5,  USABLE, NEW,    false, true,  0, 0},
	{NEW,    SYN,   5,  KEEPS,  NEW,    true,  true,  1, 1},
	{NEW,    DATA,  0,  USABLE, EST,    false, true,  0, 0},
	{NEW,    DATA,  5,  USABLE, EST,    false, true,  0, 0},
	{NEW,    DATA,  5,  KEEPS,  EST,    false, true,  0, 0},
	{NEW,    FIN,   5,  USABLE, CFIN,   false, true,  0, 1},
	{NEW,    RST,   5,  USABLE, CRST,   false, true,  0, 1},
	{NEW,    UDP,   0,  USABLE, NEW,    false, false, 0, 0},
	{NEW,    UDP,   1,  USABLE, EST,    false, true,  0, 0},
	{NEW,    UDP,   5,  KEEPS,  EST,    false, true,  0, 0},

	/* PICKUP */
	{PICKUP, SYN,   5,  USABLE, PICKUP, false, false, 0, 0},
	{PICKUP, SYN,   5,  KEEPS,  PICKUP, false, false, 0, 0},
	{PICKUP, SYN,   59, USABLE, PICKUP, false, false, 0, 0},
	{PICKUP, SYN,   60, USABLE, NEW,    true,  true,  1, 1},
	{PICKUP, DATA,  0,  USABLE, PICKUP, false, false, 0, 0},
	{PICKUP, DATA,  1,  USABLE, EST,    false, true,  0, 0},
	{PICKUP, FIN,   0,  USABLE, CFIN,   false, true,  0, 1},
	{PICKUP, RST,   0,  USABLE, CRST,   false, true,  0, 1},

	/* EST: a SYN is news only after a minute's silence, and moves nobody before */
	{EST,    SYN,   0,  USABLE, EST,    false, false, 0, 0},
	{EST,    SYN,   59, USABLE, EST,    false, false, 0, 0},
	{EST,    SYN,   59, KEEPS,  EST,    false, false, 0, 0},
	{EST,    SYN,   60, USABLE, NEW,    true,  true,  1, 1},
	{EST,    SYN,   60, KEEPS,  NEW,    true,  true,  1, 1},
	{EST,    DATA,  0,  USABLE, EST,    false, true,  0, 0},
	{EST,    DATA,  5,  USABLE, EST,    false, true,  0, 0},
	{EST,    DATA, 600, USABLE, EST,    false, true,  0, 0},
	{EST,    DATA,  5,  KEEPS,  EST,    false, true,  0, 0},
	{EST,    FIN,   5,  USABLE, CFIN,   false, true,  0, 1},
	{EST,    RST,   5,  USABLE, CRST,   false, true,  0, 1},
	{EST,    RST,   5,  KEEPS,  CRST,   false, true,  0, 1},
	{EST,    UDP,   5,  USABLE, EST,    false, true,  0, 0},
	{EST,    UDP,   5,  KEEPS,  EST,    false, true,  0, 0},

	/* FIN: a half-open download lives on */
	{CFIN,   SYN,   0,  USABLE, NEW,    true,  true,  1, 0},
	{CFIN,   SYN,   5,  KEEPS,  NEW,    true,  true,  1, 0},
	{CFIN,   DATA,  5,  USABLE, CFIN,   false, true,  0, 0},
	{CFIN,   FIN,   5,  USABLE, CFIN,   false, true,  0, 0},
	{CFIN,   RST,   5,  USABLE, CFIN,   false, false, 0, 0},

	/* RST: it may have been a spoofed one */
	{CRST,   SYN,   0,  USABLE, NEW,    true,  true,  1, 0},
	{CRST,   DATA,  5,  USABLE, EST,    false, true,  1, 0},
	{CRST,   FIN,   5,  USABLE, CFIN,   false, true,  0, 0},
	{CRST,   RST,   5,  USABLE, CRST,   false, false, 0, 0},

	/* silent beyond its timeout, swept or not: no flow that begins inherits from it */
	{NEW,    SYN,   31, USABLE, NEW,    true,  true,  1, 1},
	{NEW,    UDP,  121, USABLE, NEW,    true,  true,  1, 1},
	{EST,    UDP,  120, USABLE, EST,    false, true,  0, 0},
	{EST,    UDP,  121, USABLE, NEW,    true,  true,  1, 1},
	{EST,    DATA, 901, USABLE, EST,    false, true,  0, 0},

	/* a member whose flows have to move: rule 4, and TCP with on-down move */
	{NEW,    SYN,   1,  DOWN,   NEW,    true,  true,  1, 1},
	{EST,    SYN,   1,  DOWN,   NEW,    true,  true,  1, 1},
	{EST,    DATA,  1,  DOWN,   PICKUP, true,  true,  1, 1},
	{EST,    FIN,   1,  DOWN,   CFIN,   true,  true,  0, 1},
	{EST,    UDP,   1,  DOWN,   NEW,    true,  true,  1, 1},
	{NEW,    UDP,   0,  DOWN,   NEW,    true,  true,  1, 1},
	{CFIN,   DATA,  1,  DOWN,   PICKUP, true,  true,  1, 0},
	{CRST,   DATA,  1,  DOWN,   PICKUP, true,  true,  1, 0},
	{EST,    RST,   1,  DOWN,   EST,    false, false, 0, 0},

	/* a member that is gone: its word is as good a place as any */
	{EST,    SYN,   1,  VOID,   NEW,    true,  true,  1, 1},
	{EST,    DATA,  1,  VOID,   PICKUP, true,  true,  1, 1},
	{EST,    UDP,   1,  VOID,   NEW,    true,  true,  1, 1},
	{CFIN,   FIN,   1,  VOID,   CFIN,   true,  true,  0, 0},
};
/* clang-format on */

struct scene {
	struct native n;
	__u16 chosen, other; /* by the table, and not */
};

static void set_member(struct scene *s, enum member_is what)
{
	struct poise_member *m = &s->n.i->members[s->other];
	__u32 hits = POISE_L_HIT_TCP | POISE_L_HIT_UDP;

	switch (what) {
	case KEEPS: m->live = POISE_RANK_DRAINING | hits; break;
	case DOWN: m->live = POISE_RANK_FAILED; break;
	case VOID: m->service = 0; break;
	case OTHERS: m->service = 9; break;
	case USABLE: m->live = POISE_RANK_UP | hits; break;
	}
}

/* The flow's word as if it had been made by packets, with its gauge. */
static __u64 *put_word(struct scene *s, __u8 state, enum kind kind)
{
	__u64 *word;

	run_set_seconds(T0);
	native_send(&s->n, NULL, frames[kind == UDP ? UDP : SYN]);
	word = native_word(&s->n);
	cr_assert(word && POISE_WORD_STATE(*word) == NEW);
	s->chosen = POISE_WORD_MEMBER(*word);
	s->other = s->chosen == native_member(&s->n, "10.3.0.1") ? native_member(&s->n, "10.3.0.2")
								 : native_member(&s->n, "10.3.0.1");
	*word = (*word & 0xffffffff00000000) | (__u64)s->other << POISE_WORD_MEMBER_SHIFT |
		(__u64)state << POISE_WORD_STATE_SHIFT | (T0 & POISE_WORD_STAMP);
	if (!state)
		*word = 0;
	return word;
}

static void check(struct scene *s, const struct cell *c)
{
	__u64 opened = 0, closed = 0, was, *word = put_word(s, c->from, c->kind);
	__u16 members[] = {s->chosen, s->other}, to;
	char name[64];

	snprintf(name, sizeof(name), "%s of age %u, %s, member case %d", states[c->from], c->age,
		 kinds[c->kind], c->member);
	set_member(s, c->member);
	was = *word;
	for (int k = 0; k < 2; k++) {
		opened -= native_counts(&s->n, members[k]).opened;
		closed -= native_counts(&s->n, members[k]).closed;
	}
	run_set_seconds(T0 + c->age);
	to = native_to(&s->n, frames[c->kind]);
	for (int k = 0; k < 2; k++) {
		opened += native_counts(&s->n, members[k]).opened;
		closed += native_counts(&s->n, members[k]).closed;
	}

	cr_expect_eq(POISE_WORD_STATE(*word), c->to, "%s: now %s, not %s", name,
		     states[POISE_WORD_STATE(*word)], states[c->to]);
	cr_expect_eq(opened, c->opened, "%s: opened %lld", name, opened);
	cr_expect_eq(closed, c->closed, "%s: closed %lld", name, closed);
	if (c->to != FREE && (c->stamped || c->afresh)) {
		cr_expect_eq(POISE_WORD_MEMBER(*word), c->afresh ? s->chosen : s->other,
			     "%s: the wrong member", name);
		cr_expect_eq(*word & POISE_WORD_STAMP, (T0 + c->age) & POISE_WORD_STAMP,
			     "%s: not stamped", name);
	} else if (c->to != FREE) {
		cr_expect_eq(*word, was, "%s: the word changed", name);
	}
	if (c->member != DOWN || c->afresh)
		cr_expect_eq(to, c->afresh ? s->chosen : s->other, "%s: went to %u", name, to);
	else
		cr_expect_eq(to, s->chosen, "%s: went to a member that is down", name);
}

Test(transitions, each_cell)
{
	for (size_t k = 0; k < sizeof(cells) / sizeof(cells[0]); k++) {
		struct scene s;

		native_open(&s.n, yaml, 1024);
		check(&s, &cells[k]);
		native_close(&s.n);
	}
}

/* A word with our tag whose member is another service's is not our flow, and stays (rule 1). */
Test(transitions, another_services_word)
{
	struct scene s;
	__u64 *word, was, *own = NULL;

	native_open(&s.n, yaml, 1024);
	word = put_word(&s, EST, DATA);
	set_member(&s, OTHERS);
	was = *word;
	cr_assert_eq(native_to(&s.n, frames[DATA]), s.chosen);
	cr_assert_eq(*word, was);
	for (int k = 0; k < POISE_BUCKET_WORDS; k++) {
		__u64 *w = (__u64 *)((unsigned long)word & ~63ul) + k;

		if (*w && w != word)
			own = w;
	}
	cr_assert(own, "the flow was not recorded beside the other service's word");
	cr_assert_eq(POISE_WORD_MEMBER(*own), s.chosen);
	cr_assert_eq(native_to(&s.n, frames[DATA]), s.chosen, "and is found there");
	native_close(&s.n);
}

/* With an idle timeout over an hour the stamp counts in 16 s, and the word says so. */
Test(transitions, the_long_unit)
{
	struct scene s;
	__u64 *word;

	native_open(&s.n, yaml, 1024);
	native_record(&s.n, native_service(&s.n, "web"))->idle = 3601;
	word = put_word(&s, NEW, DATA);
	run_set_seconds(T0 + 1);
	native_send(&s.n, NULL, frames[DATA]);
	cr_assert_eq(POISE_WORD_STATE(*word), EST);
	cr_assert(*word & POISE_WORD_UNIT);
	cr_assert_eq(*word & POISE_WORD_STAMP, (T0 + 1) / 16 & POISE_WORD_STAMP);

	/* a minute of silence is four units: it is known to the unit, no better */
	run_set_seconds((T0 + 1) / 16 * 16 + 63);
	native_send(&s.n, NULL, frames[SYN]);
	cr_assert_eq(POISE_WORD_STATE(*word), EST);
	run_set_seconds((T0 + 1) / 16 * 16 + 64);
	native_send(&s.n, NULL, frames[SYN]);
	cr_assert_eq(POISE_WORD_STATE(*word), NEW);
	cr_assert_not(*word & POISE_WORD_UNIT);
	native_close(&s.n);
}

/* The stamps' 12 bits wrap; a word stamped by a CPU that was a moment ahead is not hours old. */
Test(transitions, the_clock_wraps)
{
	struct scene s;
	__u64 *word;

	native_open(&s.n, yaml, 1024);
	word = put_word(&s, EST, DATA);
	*word = (*word & ~(__u64)POISE_WORD_STAMP) | ((T0 + 1) & POISE_WORD_STAMP);
	native_send(&s.n, NULL, frames[SYN]);
	cr_assert_eq(POISE_WORD_STATE(*word), EST, "a SYN moved a flow of this second");

	run_set_seconds(8191);
	native_send(&s.n, NULL, frames[DATA]);
	run_set_seconds(8192 + 58);
	native_send(&s.n, NULL, frames[SYN]);
	cr_assert_eq(POISE_WORD_STATE(*word), EST);
	run_set_seconds(8192 + 59);
	native_send(&s.n, NULL, frames[SYN]);
	cr_assert_eq(POISE_WORD_STATE(*word), NEW);
	native_close(&s.n);
}
