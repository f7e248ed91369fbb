// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Passive signals: what packets count of a backend's flows, and what is made of the counts: who is
 * found sick in which pool, over which time, how many are ejected, and for how long.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "loader/health/passive.h"
#include "tests/support/native.h"

/* ---- what packets count -----------------------------------------------------------------------*/

#define T0 1000

static const char yaml[] = "services:\n"
			   "  - name: web\n"
			   "    listen: [ '10.2.0.1:80', '10.2.0.1:80/udp' ]\n"
			   "    forward: l2\n"
			   "    track: always\n"
			   "    backends: [ { address: 10.3.0.1 } ]\n";

static const char nat[] = "services:\n"
			  "  - name: web\n"
			  "    listen: [ '10.2.0.1:80', '10.2.0.1:80/udp' ]\n"
			  "    forward: nat\n"
			  "    backends: [ { address: 10.3.0.1 } ]\n";

/* Packets, a letter each: Syn, Ack, Fin, Reset, a Datagram, small ones are the backend's; _: two
 * seconds pass, =: two minutes. */
struct story {
	const char *packets;
	__u32 signal[POISE_SIGNALS]; /* begun, answered, finished, refused */
};

static const struct story direct[] = {
	{"S", {1, 0, 0, 0}},
	{"SS", {1, 0, 0, 0}},
	{"S_S_S", {1, 0, 0, 0}},
	{"SA", {1, 1, 0, 0}},
	{"S_SA", {1, 1, 0, 0}},
	{"SAA_A_A", {1, 1, 0, 0}},
	{"SAF", {1, 1, 1, 0}},
	{"SAFFA", {1, 1, 1, 0}},
	{"SAR", {1, 1, 1, 0}},
	{"SARR", {1, 1, 1, 0}},
	/* a scan: the client's kernel knows nothing of the flow that is answered */
	{"SR", {1, 1, 1, 0}},
	{"SF", {1, 1, 1, 0}},
	/* its ports are used again */
	{"SAFS", {2, 1, 1, 0}},
	{"SAFSAF", {2, 2, 2, 0}},
	{"SA=S", {2, 1, 0, 0}},
	{"S=S", {2, 0, 0, 0}},
	{"SAS", {1, 1, 0, 0}}, /* spoofed, most likely */
	/* met in its middle: who answered it is not known, that it ends is */
	{"A", {0, 0, 0, 0}},
	{"A_AF", {0, 0, 1, 0}},
	{"F", {0, 0, 0, 0}},
	{"R", {0, 0, 0, 0}},
	/* nobody knows whether a datagram is answered */
	{"D", {0, 0, 0, 0}},
	{"D_D_D", {0, 0, 0, 0}},
};

static const struct story both[] = {
	{"S", {1, 0, 0, 0}},	   {"SS_S", {1, 0, 0, 0}},    {"Ss", {1, 0, 0, 0}},
	{"SsA", {1, 1, 0, 0}},	   {"SsAaAfF", {1, 1, 1, 0}}, {"SsAaF", {1, 1, 1, 0}},
	{"SsAR", {1, 1, 1, 0}},	   {"Sr", {1, 0, 0, 1}}, /* refused */
	{"Srr", {1, 0, 0, 1}},	   {"SsAr", {1, 1, 0, 1}},    {"SsAAar", {1, 1, 0, 1}},
	{"Sa", {1, 0, 0, 0}}, /* of somebody who had the port before */
	{"D", {1, 0, 0, 0}},	   {"DD_D", {1, 0, 0, 0}},    {"Dd", {1, 1, 0, 0}},
	{"Dddd_Dd", {1, 1, 0, 0}},
};

/* The source port of a packet to the backend. */
static int port_of(const struct frame *f)
{
	return f->byte[34] << 8 | f->byte[35];
}

static void play(const struct native *n, const char *packets)
{
	static const char *const l4[] = {
		['S'] = "S",  ['s'] = "SA", ['A'] = "A",  ['a'] = "A", ['F'] = "FA",
		['f'] = "FA", ['R'] = "RA", ['r'] = "RA", ['D'] = "",  ['d'] = ""};
	__u32 second = T0;
	int port = 0;

	run_set_seconds(second);
	for (const char *p = packets; *p; p++) {
		const char *proto = strchr("Dd", *p) ? "udp" : "tcp";
		struct frame out;
		char words[96];

		if (*p == '_' || *p == '=') {
			run_set_seconds(second += *p == '_' ? 2 : 120);
			continue;
		}
		if (*p > 'Z')
			snprintf(words, sizeof(words), "ip4 10.3.0.1 > 10.3.0.254 | %s 80 > %d %s",
				 proto, port, l4[(unsigned char)*p]);
		else
			snprintf(words, sizeof(words), "ip4 10.1.0.9 > 10.2.0.1 | %s 1234 > 80 %s",
				 proto, l4[(unsigned char)*p]);
		native_send(n, &out, words);
		if (*p <= 'Z')
			port = port_of(&out);
	}
}

static void expect_signals(const char *config, const char *packets, const __u32 *signal)
{
	struct poise_counter c;
	struct native n;

	native_open(&n, config, 1024);
	play(&n, packets);
	c = native_counts(&n, native_member(&n, "10.3.0.1"));
	for (int s = 0; s < POISE_SIGNALS; s++)
		cr_expect_eq(c.signal[s], signal[s], "%s: signal %d is %u, not %u", packets, s,
			     c.signal[s], signal[s]);
	native_close(&n);
}

Test(passive, what_clients_packets_tell)
{
	for (size_t f = 0; f < sizeof(direct) / sizeof(direct[0]); f++)
		expect_signals(yaml, direct[f].packets, direct[f].signal);
}

Test(passive, what_packets_of_both_tell)
{
	for (size_t f = 0; f < sizeof(both) / sizeof(both[0]); f++)
		expect_signals(nat, both[f].packets, both[f].signal);
}

/* The sweeper is no packet: what it frees was counted when it was seen. */
Test(passive, silence_tells_nothing_more)
{
	struct poise_sweep io = {.kind = POISE_SWEEP_EXPIRED};
	struct poise_counter c;
	struct native n;

	native_open(&n, yaml, 1024);
	play(&n, "S");
	run_set_seconds(T0 + 60);
	native_sweep(&n, &io);
	cr_assert_eq(io.freed, 1);
	c = native_counts(&n, native_member(&n, "10.3.0.1"));
	cr_assert_eq(c.signal[POISE_BEGUN], 1);
	cr_assert_eq(c.signal[POISE_ANSWERED] + c.signal[POISE_FINISHED], 0);
	native_close(&n);
}

/* ---- who is sick ------------------------------------------------------------------------------*/

#define POOL 8

/* A pool: flows of each backend and how many of them are good, and who is found sick (*), well
 * ( ), or has too few (-), or does not count (x); the median, -1: the window
 * goes on. */
static const struct {
	const char *what;
	enum poise_fault fault;
	struct {
		__u32 flows, by;
	} m[POOL];
	const char *found;
	int median;
} pools[] = {
	{"all is well",
	 POISE_FAULT_UNANSWERED,
	 {{100, 100}, {100, 99}, {90, 90}, {95, 95}},
	 "    ",
	 0},
	{"one is silent",
	 POISE_FAULT_UNANSWERED,
	 {{100, 100}, {100, 0}, {90, 90}, {95, 95}},
	 " *  ",
	 0},
	{"one loses every second",
	 POISE_FAULT_UNANSWERED,
	 {{100, 100}, {100, 50}, {90, 90}, {9, 9}},
	 " * -",
	 0},
	{"one loses less",
	 POISE_FAULT_UNANSWERED,
	 {{100, 100}, {100, 51}, {90, 90}, {95, 95}},
	 "    ",
	 0},
	{"half of them are",
	 POISE_FAULT_UNANSWERED,
	 {{100, 0}, {100, 0}, {90, 90}, {95, 95}},
	 "**  ",
	 0},
	{"most of them are",
	 POISE_FAULT_UNANSWERED,
	 {{100, 0}, {100, 0}, {90, 0}, {95, 95}},
	 "    ",
	 100},
	{"all are", POISE_FAULT_UNANSWERED, {{100, 0}, {100, 0}, {90, 0}, {95, 0}}, "    ", 100},
	{"the network loses a third",
	 POISE_FAULT_UNANSWERED,
	 {{100, 66}, {100, 70}, {90, 54}, {95, 80}},
	 "    ",
	 30},
	{"and one is silent",
	 POISE_FAULT_UNANSWERED,
	 {{100, 66}, {100, 0}, {90, 60}, {95, 80}},
	 " *  ",
	 33},
	{"a flood",
	 POISE_FAULT_UNANSWERED,
	 {{9000, 40}, {9100, 45}, {8999, 0}, {9050, 44}},
	 "    ",
	 99},
	{"one of two", POISE_FAULT_UNANSWERED, {{100, 100}, {100, 0}}, " *", 0},
	{"alone", POISE_FAULT_UNANSWERED, {{100, 0}}, "", -1},
	{"few flows", POISE_FAULT_UNANSWERED, {{19, 19}, {19, 0}, {19, 19}, {19, 19}}, "", -1},
	{"half have enough, and plenty",
	 POISE_FAULT_UNANSWERED,
	 {{70, 70}, {72, 0}, {18, 18}, {0, 0}},
	 " *--",
	 0},
	{"and not plenty", POISE_FAULT_UNANSWERED, {{69, 69}, {70, 0}, {19, 19}, {1, 1}}, "", -1},
	{"of fewer",
	 POISE_FAULT_UNANSWERED,
	 {{999, 999}, {999, 0}, {19, 19}, {1, 1}, {1, 1}},
	 "",
	 -1},
	{"more answered than begun: older ones were",
	 POISE_FAULT_UNANSWERED,
	 {{100, 120}, {100, 0}, {90, 91}, {95, 95}},
	 " *  ",
	 0},
	{"an application resets everything",
	 POISE_FAULT_UNFINISHED,
	 {{100, 100}, {100, 98}, {90, 0}, {95, 95}},
	 "  * ",
	 0},
	{"some flows last",
	 POISE_FAULT_UNFINISHED,
	 {{100, 60}, {100, 55}, {90, 20}, {95, 60}},
	 "    ",
	 40},
	{"a newcomer's do",
	 POISE_FAULT_UNFINISHED,
	 {{100, 100}, {100, 99}, {90, 60}, {95, 95}},
	 "    ",
	 0},
	{"of all", POISE_FAULT_UNFINISHED, {{100, 0}, {100, 1}, {90, 0}, {95, 0}}, "    ", 100},
	{"one refuses", POISE_FAULT_REFUSED, {{100, 0}, {100, 2}, {90, 88}, {95, 0}}, "  * ", 0},
	{"all refuse: a scan",
	 POISE_FAULT_REFUSED,
	 {{100, 99}, {100, 98}, {90, 88}, {95, 95}},
	 "    ",
	 98},
};

/* The signals of a fault, in a window that crosses the end of a counter. */
static void fill(enum poise_fault fault, struct passive_member *m, __u32 of, __u32 by)
{
	enum poise_signal first = fault == POISE_FAULT_UNANSWERED ? POISE_BEGUN : POISE_ANSWERED;
	enum poise_signal second = fault == POISE_FAULT_UNANSWERED   ? POISE_ANSWERED
				   : fault == POISE_FAULT_UNFINISHED ? POISE_FINISHED
								     : POISE_REFUSED;

	*m = (struct passive_member){.counts = true};
	for (int s = 0; s < POISE_SIGNALS; s++)
		m->before[s] = m->now[s] = (__u32)-10;
	m->now[first] += of;
	m->now[second] += by;
}

Test(passive, who_is_sick)
{
	for (size_t p = 0; p < sizeof(pools) / sizeof(pools[0]); p++) {
		struct passive_member m[POOL];
		size_t n = 0;
		char found[POOL + 1] = "";
		__u8 median;
		bool judged;

		for (; n < POOL && (n < strlen(pools[p].found) || pools[p].m[n].flows); n++)
			fill(pools[p].fault, &m[n], pools[p].m[n].flows, pools[p].m[n].by);
		judged = passive_judge(pools[p].fault, m, n, &median);
		cr_expect_eq(judged, pools[p].median >= 0, "%s", pools[p].what);
		for (size_t k = 0; k < n; k++)
			found[k] = m[k].sick ? '*' : m[k].measured || !judged ? ' ' : '-';
		if (judged)
			cr_expect_eq(median, pools[p].median, "%s: median %u", pools[p].what,
				     median);
		if (judged)
			cr_expect_str_eq(found, pools[p].found, "%s: \"%s\"", pools[p].what, found);
	}
}

/* Who came, went or was ejected meanwhile is no measure and is not measured. */
Test(passive, who_was_away_does_not_count)
{
	struct passive_member m[4];
	__u8 median;

	for (size_t k = 0; k < 4; k++)
		fill(POISE_FAULT_UNANSWERED, &m[k], 100, k < 2 ? 0 : 100);
	m[0].counts = false;
	cr_assert(passive_judge(POISE_FAULT_UNANSWERED, m, 4, &median));
	cr_assert_not(m[0].measured || m[0].sick);
	cr_assert(m[1].sick);
	m[2].counts = m[3].counts = false;
	cr_assert_not(passive_judge(POISE_FAULT_UNANSWERED, m, 4, &median));
	cr_assert_not(m[1].sick);
}

/* ---- over which time --------------------------------------------------------------------------*/

Test(passive, flows_that_last_are_judged_over_longer)
{
	static const struct {
		__u64 live[4], age, window;
	} cases[] = {
		{{0, 0, 0, 0}, 10000, 10000},
		/* 10 a second, 1 live: they last a tenth of a second */
		{{1, 1, 1, 1}, 10000, 10000},
		/* 600 live: a minute */
		{{600, 600, 600, 600}, 10000, 180000},
		/* nobody knows how long those of the third are to last */
		{{1, 1, 9999, 1}, 10000, 10000},
		{{600, 600, 600, 600}, 5000, 10000},
	};
	struct passive_member m[4];

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		for (size_t k = 0; k < 4; k++) {
			fill(POISE_FAULT_UNFINISHED, &m[k], 100, 100);
			m[k].live = cases[c].live[k];
		}
		cr_expect_eq(passive_window(POISE_FAULT_UNFINISHED, 5000, m, 4, cases[c].age),
			     cases[c].window, "case %zu", c);
		cr_expect_eq(passive_window(POISE_FAULT_UNANSWERED, 5000, m, 4, cases[c].age),
			     5000);
	}
}

/* ---- how many, and for how long ---------------------------------------------------------------*/

Test(passive, no_more_than_a_share_and_never_the_last)
{
	static const struct {
		__u8 percent; /* 0: a third */
		long up, ejected, room;
	} cases[] = {
		{0, 0, 0, 0},
		{0, 1, 0, 0},
		{0, 2, 0, 0},
		{0, 3, 0, 1},
		{0, 2, 1, 0},
		{0, 4, 0, 1},
		{0, 3, 1, 0},
		{0, 6, 0, 2},
		{0, 5, 1, 1},
		{0, 100, 0, 33},
		{50, 2, 0, 1},
		{50, 1, 1, 0},
		{50, 3, 0, 1},
		{50, 4, 0, 2},
		{99, 2, 0, 1},
		{99, 4, 0, 3},
		{99, 1, 3, 0},
		{99, 1, 0, 0},
		{1, 99, 0, 0},
		{1, 100, 0, 1},
		{99, 200, 0, 198},
		/* others have gone down since */
		{0, 1, 1, -1},
		{0, 3, 2, -1},
		{0, 0, 1, -1},
		{10, 10, 5, -4},
		{99, 2, 98, 1},
	};

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct poise_service_conf conf = {.max_ejected = cases[c].percent};
		struct passive_pool p = {
			.up = cases[c].up, .reached = cases[c].up, .ejected = cases[c].ejected};
		long room = passive_room(&conf, &p);

		cr_expect_eq(room, cases[c].room, "%u %%, %ld up, %ld ejected: %ld",
			     cases[c].percent, cases[c].up, cases[c].ejected, room);
	}
}

/* Who cannot be reached does not serve in place of another, and as many as are wanted stay up. */
Test(passive, the_last_that_is_reached_stays_and_min_up_do)
{
	static const struct {
		struct passive_pool pool;
		long room;
	} cases[] = {
		{{.up = 10, .reached = 3}, 2}, {{.up = 10, .reached = 1}, 0},
		{{.up = 10, .reached = 0}, 0}, {{.up = 10, .reached = 10}, 5},
		{{10, 10, 0, .enough = 8}, 2}, {{10, 10, 0, .enough = 10}, 0},
		{{8, 8, 2, .enough = 8}, 0},   {{7, 7, 2, .enough = 8}, -1},
	};
	struct poise_service_conf conf = {.max_ejected = 50};

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
		cr_expect_eq(passive_room(&conf, &cases[c].pool), cases[c].room, "case %zu", c);
}

#define SECOND_NS 1000000000ull

Test(passive, ejections_grow_until_it_was_quiet)
{
	struct poise_service_conf conf = {.eject_time = 30000, .eject_max = 100000};
	struct poise_member_conf m = {0};
	__u64 now = 1000 * SECOND_NS;

	cr_assert_eq(passive_time(&conf, &m, now), 30000);
	m.eject_time = 30000;
	m.eject_until = now;
	cr_assert_eq(passive_time(&conf, &m, now + SECOND_NS), 60000);
	m.eject_time = 60000;
	cr_assert_eq(passive_time(&conf, &m, now + SECOND_NS), 100000, "the most");
	cr_assert_eq(passive_time(&conf, &m, now + 299 * SECOND_NS), 100000, "not yet quiet");
	cr_assert_eq(passive_time(&conf, &m, now + 300 * SECOND_NS), 30000, "quiet for long");
	cr_assert_eq(passive_time(&conf, &m, now - SECOND_NS), 100000, "the clock was set back");
}
