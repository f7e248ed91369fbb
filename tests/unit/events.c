// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The ring of events: what is told is read, in order and whole; what was overwritten or never
 * finished is missed and counted; and which changes are events, in which words.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "maps/derive.h"
#include "maps/events.h"
#include "tests/support/store.h"

#define WRITERS 3		       /* processes that tell at once */
#define TOLD	(4 * POISE_EVENT_RING) /* by each: several rounds */

/* ---- the ring ---------------------------------------------------------------------------------*/

static void tell(struct instance *i, unsigned int n)
{
	char name[32];

	snprintf(name, sizeof(name), "eth%u", n);
	events_object(i, POISE_EVENT_ATTACHED, name, "the words of %u", n);
}

static bool is_whole(const struct poise_event *e)
{
	char words[POISE_EVENT_WORDS];
	unsigned int n;

	if (sscanf(e->object, "eth%u", &n) != 1)
		return false;
	snprintf(words, sizeof(words), "the words of %u", n);
	return !strcmp(words, e->words);
}

Test(events, what_is_told_is_read_in_order)
{
	struct instance *i = store_tiny();
	struct events_reader r, late;
	struct poise_event e;

	events_open(&r, i, true);
	cr_assert(!events_next(&r, i, &e), "nothing was told");
	for (unsigned int n = 1; n <= 5; n++)
		tell(i, n);
	events_open(&late, i, false);
	for (unsigned int n = 1; n <= 5; n++) {
		cr_assert(events_next(&r, i, &e));
		cr_assert_eq(e.number, n);
		cr_assert(is_whole(&e));
	}
	cr_assert(!events_next(&r, i, &e));
	cr_assert(!events_next(&late, i, &e), "those were before");
	tell(i, 6);
	cr_assert(events_next(&late, i, &e));
	cr_assert_eq(e.number, 6);
	cr_assert_eq(r.missed + late.missed, 0);
	instance_close(i);
}

/* Words are cut to their room, and who told them may have had anything from anybody. */
Test(events, words_are_text)
{
	struct instance *i = store_tiny();
	char words[POISE_EVENT_WORDS + 1], cut[POISE_EVENT_WORDS];
	struct events_reader r;
	struct poise_event e;

	memset(words, 'x', sizeof(words));
	memcpy(words + POISE_EVENT_WORDS - 2, "\xc3\xa4", 3); /* its second byte has no room */
	memcpy(cut, words, sizeof(cut));
	cut[POISE_EVENT_WORDS - 2] = '?';
	cut[POISE_EVENT_WORDS - 1] = '\0';
	events_open(&r, i, true);
	events_object(i, POISE_EVENT_ATTACHED, "eth0", "%s", words);
	events_change(i, POISE_OWNER_HAND, "a\nb\x1b[1m \xff\xc2\x9b");
	cr_assert(events_next(&r, i, &e));
	cr_assert_str_eq(e.words, cut);
	cr_assert(events_next(&r, i, &e));
	cr_assert_str_eq(e.words, "a?b?[1m ???");
	instance_close(i);
}

Test(events, who_falls_behind_is_told_how_many)
{
	struct instance *i = store_tiny();
	struct events_reader r;
	struct poise_event e;
	unsigned int read = 0;

	events_open(&r, i, true);
	for (unsigned int n = 1; n <= POISE_EVENT_RING + 10; n++)
		tell(i, n);
	cr_assert(events_next(&r, i, &e));
	cr_assert_eq(e.number, 11);
	cr_assert_eq(r.missed, 10);
	for (read = 1; events_next(&r, i, &e); read++)
		;
	cr_assert_eq(read, POISE_EVENT_RING);
	events_open(&r, i, true);
	cr_assert(events_next(&r, i, &e));
	cr_assert_eq(e.number, 11, "the oldest that is there");
	cr_assert_eq(r.missed, 0, "it begins there");
	instance_close(i);
}

/* A writer was killed between taking a number and storing it, or slept for a round and wrote into
 * what another had written since. */
static void leave_torn(struct instance *i, bool overwrites)
{
	struct poise_event *at;

	tell(i, 1);
	tell(i, 2);
	tell(i, 3);
	at = &i->events[2];
	if (overwrites)
		memcpy(at->words, "another's", sizeof("another's"));
	else
		at->number = 0;
}

static void check_torn(bool overwrites)
{
	struct instance *i = store_tiny();
	struct events_reader r;
	struct poise_event e;
	int tries = 0;

	leave_torn(i, overwrites);
	events_open(&r, i, true);
	cr_assert(events_next(&r, i, &e));
	cr_assert_eq(e.number, 1);
	cr_assert(!events_next(&r, i, &e), "it may be finished yet");
	while (!events_next(&r, i, &e) && tries++ < 1000)
		usleep(EVENTS_PATIENCE_MS * 1000 / 20);
	cr_assert_eq(e.number, 3);
	cr_assert_eq(r.missed, 1);
	instance_close(i);
}

Test(events, one_that_was_never_finished_is_passed_over)
{
	check_torn(false);
}

Test(events, one_of_two_writers_is_passed_over)
{
	check_torn(true);
}

static void write_many(struct instance *i, unsigned int first)
{
	for (unsigned int n = 0; n < TOLD; n++)
		tell(i, first + n);
	_exit(0);
}

/* Whatever is read is whole, and nothing is neither read nor missed. */
Test(events, several_tell_at_once)
{
	struct instance *i = store_tiny();
	struct events_reader r;
	struct poise_event e;
	__u64 read = 0, last = 0;
	int status, left = WRITERS;

	events_open(&r, i, true);
	for (unsigned int w = 0; w < WRITERS; w++)
		if (!fork())
			write_many(i, w * TOLD);
	while (left || r.next <= i->meta->events) {
		if (left && waitpid(-1, &status, WNOHANG) > 0)
			left--;
		while (events_next(&r, i, &e)) {
			cr_assert(is_whole(&e), "%llu: %s, %s", e.number, e.object, e.words);
			cr_assert_gt(e.number, last);
			last = e.number;
			read++;
		}
	}
	cr_assert_eq(i->meta->events, (__u64)WRITERS * TOLD);
	cr_assert_eq(read + r.missed, (__u64)WRITERS * TOLD, "%llu read, %llu missed", read,
		     r.missed);
	instance_close(i);
}

/* Kinds are named after what they are of. */
Test(events, kinds_and_their_objects)
{
	static const struct {
		const char *of, *object;
	} names[] = {{"backend-", "backend"}, {"next-hop-", "backend"},
		     {"address-", "address"}, {"device-", "device"},
		     {"service-", ""},	      {"poised-", ""},
		     {"table-", "table"},     {"change", ""}};

	for (int kind = POISE_EVENT_NONE + 1; kind < POISE_EVENT_COUNT; kind++) {
		const char *name = events_name(kind), *object = NULL;

		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
			if (!strncmp(name, names[n].of, strlen(names[n].of)))
				object = names[n].object;
		cr_assert_not_null(object, "%s", name);
		cr_expect_str_eq(events_object_word(kind), object, "%s", name);
	}
}

/* ---- what is an event -------------------------------------------------------------------------*/

static void add_web(struct config *cfg, unsigned long backends)
{
	struct config_service *svc = store_add_service(cfg, "web", 1, 1, (unsigned int)backends);

	svc->conf.table_size = 61;
	svc->conf.health.type = POISE_CHECK_TCP;
}

static struct config_member *first(struct config *cfg)
{
	return &config_service_named(cfg, "web")->member[0];
}

static void set_admin(struct config *cfg, unsigned long admin)
{
	config_member_admin(config_service_named(cfg, "web"), first(cfg), (enum poise_admin)admin,
			    0, 1);
}

static void end_drain(struct config *cfg, unsigned long unused)
{
	(void)unused;
	first(cfg)->conf.deadline = DERIVE_ENDED;
}

static void set_health(struct config *cfg, unsigned long health)
{
	first(cfg)->conf.health = (__u8)health;
}

static void set_all(struct config *cfg, unsigned long health)
{
	struct config_service *svc = config_service_named(cfg, "web");

	for (size_t m = 0; m < svc->members; m++)
		svc->member[m].conf.health = (__u8)health;
}

static void set_panic(struct config *cfg, unsigned long percent)
{
	config_service_named(cfg, "web")->conf.panic = (__u8)percent;
}

static void leave(struct config *cfg, unsigned long unused)
{
	(void)unused;
	config_member_leave(config_service_named(cfg, "web"), first(cfg), 1);
}

static void cut(struct config *cfg, unsigned long unused)
{
	(void)unused;
	config_member_del(config_service_named(cfg, "web"), first(cfg));
}

static void set_weight(struct config *cfg, unsigned long weight)
{
	first(cfg)->conf.weight = (__u16)weight;
}

#define WEB "service \"web\""
#define B1  WEB ": backend 10.0.0.2 "
#define B2  WEB ": backend 10.0.0.3 "

/* One after the other, of two backends; what is told of each, a line each. */
static const struct {
	const char *what;
	store_edit edit;
	unsigned long argument;
	const char *told;
} steps[] = {
	{"both come up", set_all, POISE_HEALTH_UP, B1 "is up\n" B2 "is up\n"},
	{"only the weight", set_weight, 3, ""},
	{"one goes down", set_health, POISE_HEALTH_DOWN, B1 "is down\n"},
	{"two of three quarters", set_panic, 75,
	 WEB " panics: 1 of 2 backends up, fewer than panic 75%: all of them serve\n"},
	{"none up", set_all, POISE_HEALTH_DOWN,
	 WEB " panics no more: no backend is up: the 2 whose check failed are tried "
	     "(on-none-up try)\n" WEB
	     " is served otherwise: no backend is up: the 2 whose check failed are tried "
	     "(on-none-up try)\n" B2 "is down\n"},
	{"one is back", set_health, POISE_HEALTH_UP,
	 WEB " panics: 1 of 2 backends up, fewer than panic 75%: all of them serve\n" WEB
	     " is served otherwise: 1 of 2 backends up, fewer than panic 75%: all of them "
	     "serve\n" B1 "is up\n"},
	{"no panic", set_panic, 0, WEB " panics no more: 1 of 2 backends up: they serve\n"},
	{"both", set_all, POISE_HEALTH_UP, B2 "is up\n"},
	{"drain", set_admin, POISE_DRAINING, B1 "drains\n"},
	{"its end", end_drain, 0, B1 "is drained: its deadline has passed\n"},
	{"disable", set_admin, POISE_DISABLED, B1 "is disabled\n"},
	{"enable", set_admin, POISE_ENABLED, B1 "is enabled\n"},
	{"leave", leave, 0, B1 "leaves\n"},
	{"gone", cut, 0, B1 "is gone\n"},
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

static void read_lines(struct instance *i, struct events_reader *r, char *lines, size_t size)
{
	struct poise_event e;
	char text[EVENTS_TEXT];
	size_t used = 0;

	lines[0] = '\0';
	while (events_next(r, i, &e))
		used += (size_t)snprintf(lines + used, size - used, "%s\n",
					 events_words(&e, text, sizeof(text)));
}

Test(events, changes_of_state_and_no_others)
{
	struct instance *i = store_tiny();
	struct events_reader r;
	char lines[2048];

	store_change(i, add_web, 2);
	events_open(&r, i, false);
	for (size_t s = 0; s < STEPS; s++) {
		store_change(i, steps[s].edit, steps[s].argument);
		read_lines(i, &r, lines, sizeof(lines));
		cr_assert_str_eq(lines, steps[s].told, "%s: told\n%snot\n%s", steps[s].what, lines,
				 steps[s].told);
	}
	store_check(i, "the end");
	instance_close(i);
}

/* The reason is what the check said, if it still says so. */
Test(events, down_has_its_reason)
{
	struct instance *i = store_tiny();
	struct poise_check_result *result;
	struct events_reader r;
	char lines[512];

	store_change(i, add_web, 1);
	store_change(i, set_all, POISE_HEALTH_UP);
	result = &i->checks[i->services[1].rec[i->services[1].active & 1].extent[0].first];
	*result = (struct poise_check_result){.at = 1, .words = "connect: refused"};
	events_open(&r, i, false);
	store_change(i, set_health, POISE_HEALTH_DOWN);
	read_lines(i, &r, lines, sizeof(lines));
	cr_assert(strstr(lines, B1 "is down: connect: refused\n"), "%s", lines);
	store_change(i, set_health,
		     POISE_HEALTH_UP); /* by an answer that was followed by this one */
	read_lines(i, &r, lines, sizeof(lines));
	cr_assert(strstr(lines, B1 "is up\n"), "%s", lines);
	instance_close(i);
}
