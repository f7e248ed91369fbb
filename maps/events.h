/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events: telling one, and reading them.
 *
 * The ring needs no lock. A writer takes a number (one atomic addition to meta.events), which says
 * its entry, and writes that entry: number 0 first, the true number last. A reader takes an entry
 * for what it looks for if it says that number before and after it was copied, and its CRC fits:
 * two writers can be in one entry if one of them slept for a whole round. Who was killed in the
 * midst of writing leaves an entry that never becomes what is looked for: after EVENTS_PATIENCE_MS
 * a reader goes on without it.
 *
 * Events are told by whoever changes something, after it is done, so that what happens while poised
 * does not run is told too. poised reads the ring as anybody does: for its log, and for `notify`.
 */
#ifndef POISE_EVENTS_H
#define POISE_EVENTS_H

#include "instance.h"

#define EVENTS_PATIENCE_MS 100 /* an entry is written in a microsecond: its writer is dead */
#define EVENTS_TEXT	   512 /* bytes of any event in words, with NUL */

/* ---- telling ----------------------------------------------------------------------------------*/

/* Tells that this happened to a backend, why (fmt: NULL, no reason). Its name and its service's are
 * looked up by its id. Any thread, with or without the lock. */
void events_backend(struct instance *i, enum poise_event_kind kind, __u16 member, const char *fmt,
		    ...) __attribute__((format(printf, 4, 5)));
/* Any event: number, time, generation and CRC are filled in. */
void events_put(struct instance *i, struct poise_event *e);
/* The names of a backend and its service, as they are now, into e. */
void events_name_backend(const struct instance *i, struct poise_event *e,
			 const struct poise_member_conf *m);
/* The same for what is neither a backend nor a service: object may be NULL. */
void events_object(struct instance *i, enum poise_event_kind kind, const char *object,
		   const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Tells that the present user's command changed what is in force. */
void events_change(struct instance *i, enum poise_owner owner, const char *command);
/* Who runs this process: behind sudo, who called it. */
__u32 events_user(void);

/* What derive has done to a member and to a service: tells it if it is an event. before: what was
 * in force, and what packets saw. */
void events_of_member(struct instance *i, __u16 id, const struct poise_member_conf *before);
void events_of_address(struct instance *i, __u32 slot);
void events_of_service(struct instance *i, __u16 id, const struct poise_service_rec *before,
		       const struct ladder *ladder);

/* ---- reading ----------------------------------------------------------------------------------*/

struct events_reader {
	__u64 next;   /* number of the event that comes next */
	__u64 missed; /* so far: overwritten before they were read, or never finished */
	__u64 waits; /* CLOCK_MONOTONIC ms since when the next one is being written; 0: it is not */
};

/* Begins with the oldest that is still there, or with those that are yet to come. */
void events_open(struct events_reader *r, const struct instance *i, bool oldest);
/* The next one into e; false if there is none now. */
bool events_next(struct events_reader *r, const struct instance *i, struct poise_event *e);

/* The name of a kind: "backend-down"; "?" if there is no such. */
const char *events_name(int kind);
/* What its object is: "backend", "address", "device"; "" where it has none. */
const char *events_object_word(int kind);
/* What it says of the state of what it is about, in a word or two: up, withdrawn, nobody. */
const char *events_state(const struct poise_event *e);
/* A time as RFC 3339 has it, UTC, with milliseconds. */
#define EVENTS_TIME 40 /* bytes with NUL */
char *events_time(__u64 realtime_ns, char buf[EVENTS_TIME]);
/* Whether it is worth a warning. */
bool events_bad(int kind);
/* The event as a sentence, without its time: service "web": backend 10.0.0.1 is down: refused. */
char *events_words(const struct poise_event *e, char *buf, size_t size);

#endif
