// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A backend under check, its server answering by a script: when its state changes and when not,
 * what a change of the check does to what was counted, and that nobody waits for another.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "loader/health/target.h"
#include "maps/text.h"
#include "tests/support/probing.h"

TestSuite(health_target, .init = probing_begin, .fini = probing_end, .timeout = PROBING_LONGEST);

#define GOOD "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define BAD  "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno"

/* G and B: what the server answers, one after the other. What came of each, in a letter: u up, d
 * down, U and D if it became that by this answer. */
static struct server server;
static const char *script;
static char story[64];
static size_t told;

static struct target_about about(__u16 port)
{
	struct target_about a = {
		.port = port,
		.conf =
			{
				.type = POISE_CHECK_HTTP,
				.status = "200",
				.rise = 2,
				.fall = 3,
				.interval = 20,
				.fast_interval = 10,
				.timeout = 5000,
			},
	};

	poise_parse_addr("127.0.0.1", &a.addr, NULL);
	return a;
}

static void next_answer(void)
{
	server.answer = script[told] == 'B' ? BAD : GOOD;
}

static void on_told(void *ctx, struct target *t, bool changed)
{
	bool up = t->state.health == POISE_HEALTH_UP;

	(void)ctx;
	cr_assert_lt(told, sizeof(story) - 1);
	story[told++] = changed ? up ? 'U' : 'D' : up ? 'u' : 'd';
	next_answer();
}

static struct target *begin(const char *answers, enum poise_health known)
{
	struct target_about a;

	script = answers;
	told = 0;
	memset(story, 0, sizeof(story));
	next_answer();
	server_tcp(&server, AF_INET);
	a = about(server.port);
	return target_start(probing_prober, &probing_loop, &a, known, on_told, NULL);
}

/* Until so many answers were told of. */
static void run_to(size_t n)
{
	while (told < n)
		uv_run(&probing_loop, UV_RUN_ONCE);
}

static void end(struct target *t)
{
	target_stop(t);
	uv_run(&probing_loop, UV_RUN_NOWAIT);
	server_stop(&server);
}

static void check_story(enum poise_health known, const char *answers, const char *wanted)
{
	struct target *t = begin(answers, known);

	run_to(strlen(answers));
	end(t);
	story[strlen(answers)] = '\0'; /* one more may have come */
	cr_expect_str_eq(story, wanted, "%s: %s, not %s", answers, story, wanted);
}

Test(health_target, no_single_result_decides_but_the_first)
{
	check_story(POISE_HEALTH_NONE, "GBGBBGBBGBBB", "UuuuuuuuuuuD");
	check_story(POISE_HEALTH_NONE, "BGBGG", "DdddU");
	check_story(POISE_HEALTH_UP, "BBGBBB", "uuuuuD");
	check_story(POISE_HEALTH_DOWN, "GBGG", "dddU");
}

/* How often or how patiently one asks does not change what was counted; what one asks does. */
Test(health_target, another_question_begins_a_new_count)
{
	struct target *t = begin("BBBBBBBB", POISE_HEALTH_UP);
	struct target_about a = about(server.port);

	run_to(2);
	strcpy(a.conf.path, "/other");
	target_change(t, &a);
	run_to(4);
	cr_expect_str_eq(story, "uuuu");
	a.conf.interval = 30;
	target_change(t, &a);
	run_to(5);
	cr_expect_str_eq(story, "uuuuD");
	end(t);
}

static void count(void *ctx, struct target *t, bool changed)
{
	(void)t;
	(void)changed;
	++*(int *)ctx;
}

/* One that hangs is told of once in its time-out; the other twenty times as often meanwhile, or
 * half of that on a busy machine. */
Test(health_target, one_that_hangs_delays_no_other)
{
	struct server slow = {.manner = DRIBBLE, .answer = GOOD};
	struct target *hangs, *goes_on;
	struct target_about a;
	int hung = 0, gone_on = 0;

	server_tcp(&slow, AF_INET);
	server.answer = GOOD;
	server_tcp(&server, AF_INET);
	a = about(slow.port);
	a.conf.timeout = PROBING_TIMEOUT;
	hangs = target_start(probing_prober, &probing_loop, &a, POISE_HEALTH_NONE, count, &hung);
	a = about(server.port);
	goes_on =
		target_start(probing_prober, &probing_loop, &a, POISE_HEALTH_NONE, count, &gone_on);
	while (hung < 2)
		uv_run(&probing_loop, UV_RUN_ONCE);
	cr_expect_gt(gone_on, 2 * PROBING_TIMEOUT / 20 / 2, "%d results", gone_on);
	target_stop(hangs);
	end(goes_on);
	server_stop(&slow);
}
