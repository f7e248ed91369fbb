// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The ring of events, and what they are called; see events.h. */
#include "clock.h"
#include "events.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "store.h"
#include "text.h"

#define WORDS	(sizeof(struct poise_event) / sizeof(__u64))
#define CONTENT (offsetof(struct poise_event, number) / sizeof(__u64) + 1)
_Static_assert(offsetof(struct poise_event, number) == 0, "all that follows it is content");

/* ---- kinds ------------------------------------------------------------------------------------*/

static const struct {
	const char *name;
	bool bad;
	const char *said;
} kinds[] = {[POISE_EVENT_NONE] = {"?", false, "?"},
#define KIND_LINE(sym, name, bad, said) [POISE_EVENT_##sym] = {name, bad, said},
	     POISE_EVENT_KINDS(KIND_LINE)};

static int known(int kind)
{
	return kind > POISE_EVENT_NONE && kind < POISE_EVENT_COUNT ? kind : POISE_EVENT_NONE;
}

const char *events_name(int kind)
{
	return kinds[known(kind)].name;
}

bool events_bad(int kind)
{
	return kinds[known(kind)].bad;
}

const char *events_object_word(int kind)
{
	if (kind <= POISE_EVENT_HOP_LOST)
		return "backend";
	if (kind >= POISE_EVENT_ANNOUNCED && kind <= POISE_EVENT_RELEASED)
		return "address";
	if (kind == POISE_EVENT_TABLE_RESTORED)
		return "table";
	return kind == POISE_EVENT_ATTACHED || kind == POISE_EVENT_DETACHED ? "device" : "";
}

/* A kind is named after what it is of, and the state. */
const char *events_state(const struct poise_event *e)
{
	static const char *const of[] = {"backend-", "next-",	"service-", "address-",
					 "device-",  "poised-", "table-"};
	const char *name = events_name(e->kind);

	if (e->kind == POISE_EVENT_RUNG || e->kind == POISE_EVENT_RUNG_WORSE)
		return ladder_rung_word(e->rung);
	for (size_t k = 0; k < sizeof(of) / sizeof(of[0]); k++)
		if (!strncmp(name, of[k], strlen(of[k])))
			return name + strlen(of[k]);
	return name;
}

char *events_time(__u64 realtime_ns, char buf[EVENTS_TIME])
{
	time_t s = (time_t)(realtime_ns / NS_PER_S);
	char seconds[32] = "";
	struct tm tm;

	if (gmtime_r(&s, &tm))
		strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf, EVENTS_TIME, "%s.%03lluZ", seconds, realtime_ns / NS_PER_MS % 1000);
	return buf;
}

/* What it is about, as messages name it. */
static int subject(const struct poise_event *e, char *buf, size_t size)
{
	const char *what = events_object_word(e->kind);

	if (e->kind == POISE_EVENT_CHANGE)
		return snprintf(buf, size, "user %u", e->uid);
	if (e->kind == POISE_EVENT_STARTED || e->kind == POISE_EVENT_STOPPED)
		return snprintf(buf, size, "poised");
	if (!e->service[0])
		return snprintf(buf, size, "%s %s", what, e->object);
	return snprintf(buf, size, "service \"%s\"%s%s%s%s", e->service, *what ? ": " : "", what,
			*what ? " " : "", e->object);
}

char *events_words(const struct poise_event *e, char *buf, size_t size)
{
	const char *said = kinds[known(e->kind)].said;
	int used = subject(e, buf, size);

	if (used < 0 || (size_t)used >= size)
		return buf;
	snprintf(buf + used, size - (size_t)used, "%s%s%s%s", said[0] ? " " : "", said,
		 e->words[0] ? ": " : "", e->words);
	return buf;
}

/* ---- telling ----------------------------------------------------------------------------------*/

static void copy_words(__u64 *to, const __u64 *from)
{
	for (size_t w = CONTENT; w < WORDS; w++)
		__atomic_store_n(&to[w], __atomic_load_n(&from[w], __ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
}

static __u32 crc_of(const struct poise_event *e)
{
	struct poise_event copy = *e;

	copy.crc = 0;
	return store_crc(0, &copy, sizeof(copy));
}

void events_put(struct instance *i, struct poise_event *e)
{
	struct poise_event *at;

	e->number = __atomic_add_fetch(&i->meta->events, 1, __ATOMIC_RELAXED);
	e->at = clock_realtime();
	poise_printable(e->words); /* it may have been cut within a character */
	e->generation = __atomic_load_n(&i->meta->committed, __ATOMIC_RELAXED);
	e->crc = crc_of(e);
	at = &i->events[e->number % POISE_EVENT_RING];
	__atomic_store_n(&at->number, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* nothing that follows is seen before */
	copy_words((__u64 *)(void *)at, (const __u64 *)(const void *)e);
	__atomic_store_n(&at->number, e->number, __ATOMIC_RELEASE);
}

static void put_words(struct poise_event *e, const char *fmt, va_list args)
{
	if (fmt)
		vsnprintf(e->words, sizeof(e->words), fmt, args);
}

void events_name_backend(const struct instance *i, struct poise_event *e,
			 const struct poise_member_conf *m)
{
	e->service[0] = e->object[0] = '\0';
	if (m->service < i->meta->services)
		snprintf(e->service, sizeof(e->service), "%s", store_service(i, m->service)->name);
	if (m->name[0])
		snprintf(e->object, sizeof(e->object), "%s", m->name);
	else
		poise_format_endpoint(&m->addr, m->port, e->object, sizeof(e->object));
}

void events_backend(struct instance *i, enum poise_event_kind kind, __u16 member, const char *fmt,
		    ...)
{
	struct poise_event e = {.kind = (__u8)kind};
	va_list args;

	events_name_backend(i, &e, store_member(i, member));
	va_start(args, fmt);
	put_words(&e, fmt, args);
	va_end(args);
	events_put(i, &e);
}

void events_object(struct instance *i, enum poise_event_kind kind, const char *object,
		   const char *fmt, ...)
{
	struct poise_event e = {.kind = (__u8)kind, .uid = events_user()};
	va_list args;

	if (object)
		snprintf(e.object, sizeof(e.object), "%s", object);
	va_start(args, fmt);
	put_words(&e, fmt, args);
	va_end(args);
	events_put(i, &e);
}

__u32 events_user(void)
{
	const char *sudo = getuid() ? NULL : getenv("SUDO_UID");
	__u64 uid;

	if (sudo && !poise_parse_number(sudo, &uid, NULL) && uid <= 0xffffffffu)
		return (__u32)uid;
	return getuid();
}

void events_change(struct instance *i, enum poise_owner owner, const char *command)
{
	struct poise_event e = {
		.kind = POISE_EVENT_CHANGE, .owner = (__u8)owner, .uid = events_user()};

	snprintf(e.words, sizeof(e.words), "%s", command);
	events_put(i, &e);
}

/* ---- reading ----------------------------------------------------------------------------------*/

static __u64 head_of(const struct instance *i)
{
	return __atomic_load_n(&i->meta->events, __ATOMIC_ACQUIRE);
}

void events_open(struct events_reader *r, const struct instance *i, bool oldest)
{
	__u64 head = head_of(i);

	*r = (struct events_reader){.next = head + 1};
	if (oldest)
		r->next = head > POISE_EVENT_RING ? head - POISE_EVENT_RING + 1 : 1;
}

enum found { FOUND, FOUND_NEWER, FOUND_UNFINISHED };

static enum found look(const struct instance *i, __u64 number, struct poise_event *e)
{
	const struct poise_event *at = &i->events[number % POISE_EVENT_RING];
	__u64 there = __atomic_load_n(&at->number, __ATOMIC_ACQUIRE);

	if (there != number)
		return there > number ? FOUND_NEWER : FOUND_UNFINISHED;
	copy_words((__u64 *)(void *)e, (const __u64 *)(const void *)at);
	e->number = number;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&at->number, __ATOMIC_RELAXED) != number || e->crc != crc_of(e))
		return FOUND_UNFINISHED;
	e->service[sizeof(e->service) - 1] = '\0';
	e->object[sizeof(e->object) - 1] = '\0';
	e->words[sizeof(e->words) - 1] = '\0';
	return FOUND;
}

/* Whether the next one may still be finished by whoever began it. */
static bool is_patient(struct events_reader *r)
{
	__u64 now = clock_monotonic() / NS_PER_MS;

	if (!r->waits)
		r->waits = now;
	return now - r->waits < EVENTS_PATIENCE_MS;
}

bool events_next(struct events_reader *r, const struct instance *i, struct poise_event *e)
{
	for (;;) {
		__u64 head = head_of(i);
		enum found found;

		if (r->next > head)
			return false;
		if (head - r->next >= POISE_EVENT_RING) {
			r->missed += head - POISE_EVENT_RING + 1 - r->next;
			r->next = head - POISE_EVENT_RING + 1;
		}
		found = look(i, r->next, e);
		if (found == FOUND_UNFINISHED && is_patient(r))
			return false;
		r->waits = 0;
		r->next++;
		if (found == FOUND)
			return true;
		r->missed++;
	}
}
