// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What follows which answer of an API server, and after how long.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "loader/kube/course.h"
#include "tests/support/longest.h"

static struct kube_course c;
static struct kube_times t;

static void up(void)
{
	t = KUBE_TIMES;
	kube_course_begin(&c);
}

TestSuite(kube_course, .init = up, .timeout = TEST_LONGEST);

static __u32 next(struct kube_outcome o)
{
	return kube_course_next(&c, &t, &o, 0);
}

#define GOOD_PAGE  ((struct kube_outcome){.status = 200})
#define OTHER_PAGE ((struct kube_outcome){.status = 200, .more = true})
#define NO_ANSWER  ((struct kube_outcome){.end = KUBE_END_NONE})
#define STATUS(n)  ((struct kube_outcome){.status = (n)})
/* As watches have it: HTTP's status was 200. */
#define ERROR(n) ((struct kube_outcome){.status = (n), .error_event = true})

static void watching(void)
{
	cr_assert_eq(next(GOOD_PAGE), 0);
	cr_assert_eq(c.step, KUBE_STEP_WATCH);
}

Test(kube_course, pages)
{
	cr_assert_eq(c.step, KUBE_STEP_LIST);
	cr_assert_eq(next(OTHER_PAGE), 0);
	cr_assert_eq(c.step, KUBE_STEP_PAGE);
	cr_assert_not(c.synced);
	cr_assert_eq(next(OTHER_PAGE), 0);
	cr_assert_eq(next(GOOD_PAGE), 0);
	cr_assert_eq(c.step, KUBE_STEP_WATCH);
	cr_assert(c.synced);
}

Test(kube_course, page_that_fails_begins_anew)
{
	next(OTHER_PAGE);
	cr_assert_gt(next(STATUS(500)), 0);
	cr_assert(c.abort);
	cr_assert_eq(c.step, KUBE_STEP_LIST);
	cr_assert_not(c.whole);
	next(OTHER_PAGE);
	cr_assert_not(c.abort);
}

Test(kube_course, expired_continue_asks_for_all_at_once)
{
	next(OTHER_PAGE);
	cr_assert_eq(next(STATUS(410)), 0);
	cr_assert(c.abort && c.whole);
	cr_assert_eq(c.step, KUBE_STEP_LIST);
	next(GOOD_PAGE);
	cr_assert_not(c.whole);
}

Test(kube_course, no_answer_waits_longer_up_to_a_bound)
{
	__u32 last = 0;

	for (int k = 0; k < 100; k++) {
		__u32 ms = next(NO_ANSWER);

		cr_assert_geq(ms, last);
		cr_assert_leq(ms, t.retry_most, "what changed meanwhile waits for it");
		last = ms;
	}
	cr_assert_eq(last, t.retry_most);
	cr_assert_eq(c.step, KUBE_STEP_LIST);
	next(GOOD_PAGE);
	cr_assert_eq(next(NO_ANSWER), t.retry, "begins anew");
	cr_assert_eq(c.step, KUBE_STEP_WATCH);
}

Test(kube_course, delays_are_spread)
{
	struct kube_outcome o = NO_ANSWER;
	__u32 least = UINT32_MAX, most = 0;

	for (__u32 chance = 0; chance < 1000; chance++) {
		__u32 ms;

		kube_course_begin(&c);
		c.failures = 20;
		ms = kube_course_next(&c, &t, &o, chance * 7919);
		least = ms < least ? ms : least;
		most = ms > most ? ms : most;
	}
	cr_assert_leq(most, t.retry_most);
	cr_assert_geq(least, t.retry_most / 2);
	cr_assert_gt(most - least, t.retry_most / 3);
}

/* Whoever says no is not asked every second. */
Test(kube_course, refusals)
{
	static const int no[] = {401, 403, 404, 429};

	for (size_t k = 0; k < sizeof(no) / sizeof(no[0]); k++) {
		__u32 ms = 0;

		kube_course_begin(&c);
		for (int n = 0; n < 20; n++)
			ms = next(STATUS(no[k]));
		cr_expect_eq(ms, t.deny_most, "%d: %u", no[k], ms);
	}
}

Test(kube_course, unauthorized_tries_another_token_at_once)
{
	cr_assert_eq(next(STATUS(401)), 0);
	cr_assert(c.doubt_token);
	cr_assert_gt(next(STATUS(401)), 0);
	cr_assert(c.doubt_token);
	watching();
	cr_assert_not(c.doubt_token);
	cr_assert_eq(next(STATUS(401)), 0);
	cr_assert(c.doubt_token);
	cr_assert_eq(c.step, KUBE_STEP_WATCH, "the version is still good");
}

Test(kube_course, retry_after)
{
	struct kube_outcome o = STATUS(429);

	o.retry_after = 7000;
	cr_assert_eq(next(o), 7000);
	cr_assert_geq(kube_course_next(&c, &t, &o, 12345), 7000, "never sooner");
	o.retry_after = UINT32_MAX;
	cr_assert_eq(next(o), KUBE_RETRY_AFTER, "nor as late as it likes");
	o.status = 503;
	o.retry_after = 2000;
	cr_assert_eq(next(o), 2000);
}

Test(kube_course, watch_ends_cleanly)
{
	watching();
	cr_assert_eq(next((struct kube_outcome){.status = 200, .lasted = 300000, .told = 5}), 0);
	cr_assert_eq(c.step, KUBE_STEP_WATCH);
}

Test(kube_course, watch_is_cut)
{
	struct kube_outcome o = {.end = KUBE_END_CUT, .status = 200, .lasted = 5000};

	watching();
	for (int k = 0; k < 10; k++) {
		cr_assert_leq(kube_course_next(&c, &t, &o, (__u32)k * 7919), t.retry);
		cr_assert_eq(c.step, KUBE_STEP_WATCH, "from the last version");
	}
	/* It told nothing, but nor had it the time to. */
	cr_assert_eq(c.silent, 0);
}

Test(kube_course, watches_that_end_at_once_are_no_busy_loop)
{
	struct kube_outcome o = {.status = 200, .lasted = 3};
	__u32 waited = 0;

	watching();
	for (int k = 0; k < 20; k++) {
		waited += next(o);
		if (c.step == KUBE_STEP_LIST)
			waited += next(GOOD_PAGE);
	}
	cr_assert_gt(waited, 10000, "lists between do not make it forget");
}

Test(kube_course, too_old_either_way)
{
	watching();
	cr_assert_eq(next(ERROR(410)), 0);
	cr_assert_eq(c.step, KUBE_STEP_LIST);
	next(GOOD_PAGE);
	cr_assert_gt(next(STATUS(410)), 0, "the second in a row waits");
	cr_assert_eq(c.step, KUBE_STEP_LIST);
	next(GOOD_PAGE);
	next((struct kube_outcome){.status = 200, .lasted = 10, .told = 1});
	cr_assert_eq(next(ERROR(410)), 0, "the first again");
}

Test(kube_course, error_events)
{
	watching();
	cr_assert_gt(next(ERROR(500)), 0);
	cr_assert_eq(c.step, KUBE_STEP_WATCH, "the server is ill, the version is not");
	cr_assert_gt(next(ERROR(403)), 0);
	cr_assert_eq(c.step, KUBE_STEP_LIST);
}

Test(kube_course, outage_and_return)
{
	watching();
	next((struct kube_outcome){.end = KUBE_END_CUT, .status = 200, .lasted = 5000});
	for (int k = 0; k < 60; k++)
		cr_assert_leq(next(NO_ANSWER), t.retry_most);
	cr_assert_eq(c.step, KUBE_STEP_WATCH, "no need of a list");
	for (int k = 0; k < 3; k++)
		cr_assert_leq(next(STATUS(500)), t.retry_most);
	cr_assert_eq(c.step, KUBE_STEP_WATCH);
	/* It goes on so: perhaps a list is what it can do. */
	next(STATUS(500));
	next(STATUS(500));
	cr_assert_eq(c.step, KUBE_STEP_LIST);
}

#define RETURN 2000  /* ms: what changed meanwhile is known so long after its return */
#define AWAY   60000 /* ms */
#define ILL    5000  /* ms: then it answers, but with errors */

/* Ends each request that begins before `back` so, at once, from *now on. How many ms after `back`
 * it asks again. */
static __u64 asks_again(__u64 *now, __u64 back, struct kube_outcome o)
{
	static __u32 any;

	while (*now < back)
		*now += kube_course_next(&c, &t, &o, any += 2654435769u);
	return *now - back;
}

/* An outage of any length, and a server that is ill when it comes back: whatever chance says, it is
 * asked again so soon that what changed can be known in time. */
Test(kube_course, what_changed_meanwhile_is_asked_for_in_time)
{
	for (__u64 away = 500; away <= AWAY; away += 37) {
		__u64 now = 0;

		kube_course_begin(&c);
		watching();
		next((struct kube_outcome){.end = KUBE_END_CUT, .status = 200, .lasted = 5000});
		cr_assert_leq(asks_again(&now, away, NO_ANSWER), RETURN / 2, "%llu ms", away);
		cr_assert_leq(asks_again(&now, now + ILL, STATUS(500)), RETURN / 2, "%llu ms",
			      away);
		/* what it was watching from is gone: a list, and no delay before it or after */
		if (c.step == KUBE_STEP_WATCH)
			cr_assert_eq(next(ERROR(410)), 0);
		cr_assert_eq(c.step, KUBE_STEP_LIST);
		cr_assert_eq(next(GOOD_PAGE), 0);
		cr_assert_eq(c.step, KUBE_STEP_WATCH);
	}
}

/* What a server says that is back is the first of its kind, however long it was away. */
Test(kube_course, history_that_is_gone_after_an_outage)
{
	watching();
	for (int k = 0; k < 60; k++)
		next(NO_ANSWER);
	next(STATUS(500));
	cr_assert_eq(next(ERROR(410)), 0);
	cr_assert_eq(c.step, KUBE_STEP_LIST);
	for (int k = 0; k < 60; k++)
		next(NO_ANSWER);
	cr_assert_leq(next(STATUS(403)), t.retry, "its rules may not be loaded yet");
	cr_assert_eq(c.step, KUBE_STEP_LIST);
	for (int k = 0; k < 10; k++)
		next(STATUS(403));
	cr_assert_leq(next(NO_ANSWER), t.retry);
}

Test(kube_course, garbage)
{
	watching();
	cr_assert_gt(next((struct kube_outcome){.end = KUBE_END_AWRY, .status = 200, .lasted = 9}),
		     0);
	cr_assert_eq(c.step, KUBE_STEP_LIST);
	cr_assert_gt(next((struct kube_outcome){.end = KUBE_END_AWRY, .status = 200}), 0);
	cr_assert(c.abort);
}

/* A version that the server has yet to reach is watched in silence. */
Test(kube_course, silence)
{
	struct kube_outcome o = {.status = 200, .lasted = 300000};

	watching();
	next(o);
	next(o);
	cr_assert_eq(c.step, KUBE_STEP_WATCH, "a quiet cluster");
	next(o);
	cr_assert_eq(c.step, KUBE_STEP_LIST);
	watching();
	o.end = KUBE_END_LATE;
	next(o);
	cr_assert_eq(c.step, KUBE_STEP_LIST, "it should have ended the watch");
}

Test(kube_course, watches_do_not_end_together)
{
	__u32 least = UINT32_MAX, most = 0;

	for (__u32 chance = 0; chance < 1000; chance++) {
		__u32 ms = kube_course_watch(&t, chance * 7919003);

		least = ms < least ? ms : least;
		most = ms > most ? ms : most;
	}
	cr_assert_geq(least, t.watch);
	cr_assert_leq(most, t.watch + t.watch / 2);
	cr_assert_gt(most - least, t.watch / 3);
}
