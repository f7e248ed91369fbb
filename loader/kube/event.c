// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Events as a list in the order of findings: those that are found now, and for a while those that
 * were, so that one that comes back is known. Each look merges what was found into it.
 */
#include "event.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "json.h"
#include "maps/clock.h"
#include "maps/hash.h"
#include "maps/memory.h"
#include "rights.h"

#define COMPONENT     "poised"
#define CLUSTER_WIDE  "default" /* the namespace of Events of what is in none */
#define NOTE	      1024	/* bytes of a message that API servers take */
#define TIME	      32	/* 2026-12-01T07:15:00Z and NUL */
#define NAME_KEPT     220 /* bytes of an object's name in that of its Event: . and 16 follow */
#define HTTP_MISSING  404
#define HTTP_CONFLICT 409

struct event {
	struct kube_events *all;
	struct kube_finding what; /* its texts are ours */
	bool found;		  /* now */
	bool due;		  /* something is to be told */
	bool there;		  /* the API server has it, as far as we know */
	__u32 count;		  /* 0: as the API server has it, which is not known */
	__u64 first, last;	  /* ns since 1970: found */
	__u64 told;		  /* ms */
	__u64 next;		  /* ms: not before this */
	__u32 failures;		  /* in a row */
	struct kube_call *call;
};

struct kube_events {
	struct kube_http *http;
	char *source;
	struct event **event; /* in the order of findings */
	size_t events;
	size_t calls;
	__u64 untold;
	__u64 tokens, filled; /* ms of waiting that was not used, and when that was counted */
};

static const struct {
	const char *version, *kind;
} kinds[] = {
	[KUBE_SERVICE] = {"v1", "Service"},
	[KUBE_SLICE] = {"discovery.k8s.io/v1", "EndpointSlice"},
	[KUBE_NODE] = {"v1", "Node"},
};

struct kube_events *kube_events_new(struct kube_http *http, const char *source)
{
	struct kube_events *e = memory_alloc(sizeof(*e));

	e->source = memory_text(source);
	e->http = http;
	e->tokens = KUBE_EVENT_BURST * KUBE_EVENT_EVERY_MS;
	return e;
}

static void event_free(struct event *e)
{
	if (e->call) {
		kube_http_drop(e->call);
		e->all->calls--;
	}
	kube_finding_free(&e->what);
	free(e);
}

void kube_events_free(struct kube_events *e)
{
	if (!e)
		return;
	for (size_t k = 0; k < e->events; k++)
		event_free(e->event[k]);
	free(e->event);
	free(e->source);
	free(e);
}

__u64 kube_events_untold(const struct kube_events *e)
{
	return e->untold;
}

/* ---- what is found ----------------------------------------------------------------------------*/

static struct event *event_new(struct kube_events *all, const struct kube_finding *f)
{
	struct event *e = memory_alloc(sizeof(*e));

	e->all = all;
	e->what = (struct kube_finding){
		.kind = f->kind,
		.reason = f->reason,
		.ns = memory_text(f->ns),
		.name = memory_text(f->name),
		.uid = memory_text(f->uid),
		.field = memory_text(f->field),
		.message = memory_text(f->message),
	};
	e->first = clock_realtime();
	return e;
}

/* It is found now, and was not, or is to be said again before it is forgotten. */
static void event_found(struct event *e, __u64 now)
{
	bool again = e->there && !e->due && now - e->told >= KUBE_EVENT_AGAIN_MS;

	if (e->found && !again)
		return;
	e->found = true;
	e->last = clock_realtime();
	e->due = true;
	if (e->count || !e->there)
		e->count++;
}

/* Whether it may be forgotten: gone, told, and the API server forgets it too. */
static bool is_over(const struct event *e, __u64 now)
{
	return !e->found && !e->call && (!e->due || !e->there) &&
	       now - e->told >= KUBE_EVENT_AGAIN_MS;
}

void kube_events_tell(struct kube_events *e, const struct kube_findings *found, __u64 now)
{
	struct event **was = e->event, **list;
	size_t n = 0, k = 0, room = KUBE_EVENTS_MOST;

	list = memory_alloc((e->events + found->n + 1) * sizeof(struct event *));
	e->untold = 0;
	for (size_t f = 0; f < found->n || k < e->events;) {
		int order = f == found->n    ? -1
			    : k == e->events ? 1
					     : kube_finding_cmp(&was[k]->what, &found->finding[f]);

		if (order > 0 && e->events - k + n >= room) {
			e->untold++;
			f++;
			continue;
		}
		list[n] = order <= 0 ? was[k++] : event_new(e, &found->finding[f]);
		if (order >= 0) {
			event_found(list[n], now);
			f++;
		} else {
			list[n]->found = false;
		}
		if (is_over(list[n], now))
			event_free(list[n]);
		else
			n++;
	}
	free(was);
	e->event = list;
	e->events = n;
}

/* ---- what is sent -----------------------------------------------------------------------------*/

static const char *name_space_of(const struct event *e)
{
	return *e->what.ns ? e->what.ns : CLUSTER_WIDE;
}

static __u64 mix_text(__u64 h, const char *text)
{
	for (; *text; text++)
		h = poise_mix(h ^ (__u8)*text);
	return poise_mix(h + POISE_GOLD);
}

/* The same for the same finding, whoever has it. */
static char *event_name(const struct event *e, char buf[KUBE_NAME + 1])
{
	const struct kube_finding *f = &e->what;
	__u64 h = mix_text(mix_text(f->kind, f->uid), kube_reason_word(f->reason));
	int kept = (int)strnlen(f->name, NAME_KEPT);

	h = mix_text(mix_text(h, f->field), f->message);
	while (kept && strchr("-.", f->name[kept - 1]))
		kept--;
	snprintf(buf, KUBE_NAME + 1, "%.*s.%016llx", kept, f->name, h);
	return buf;
}

static char *time_text(__u64 realtime, char buf[TIME])
{
	time_t seconds = (time_t)(realtime / NS_PER_S);
	struct tm utc;

	gmtime_r(&seconds, &utc);
	strftime(buf, TIME, "%Y-%m-%dT%H:%M:%SZ", &utc);
	return buf;
}

static void put_times(const struct event *e, struct json_object *o)
{
	char text[TIME];

	kube_json_put_text(o, "lastTimestamp", time_text(e->last, text));
	if (e->count)
		json_object_object_add(o, "count", json_object_new_int64(e->count));
}

static void put_about(const struct event *e, struct json_object *o)
{
	struct json_object *about = kube_json_put(o, "involvedObject");

	kube_json_put_text(about, "apiVersion", kinds[e->what.kind].version);
	kube_json_put_text(about, "kind", kinds[e->what.kind].kind);
	if (*e->what.ns)
		kube_json_put_text(about, "namespace", e->what.ns);
	kube_json_put_text(about, "name", e->what.name);
	kube_json_put_text(about, "uid", e->what.uid);
}

/* A new Event. */
static struct json_object *event_json(const struct event *e)
{
	struct json_object *o = json_object_new_object(), *inner;
	char text[TIME], name[KUBE_NAME + 1], note[NOTE];

	kube_json_put_text(o, "apiVersion", "v1");
	kube_json_put_text(o, "kind", "Event");
	inner = kube_json_put(o, "metadata");
	kube_json_put_text(inner, "name", event_name(e, name));
	kube_json_put_text(inner, "namespace", name_space_of(e));
	put_about(e, o);
	kube_json_put_text(o, "type", "Warning");
	kube_json_put_text(o, "reason", kube_reason_word(e->what.reason));
	snprintf(note, sizeof(note), "%s%s%s", e->what.field, *e->what.field ? ": " : "",
		 e->what.message);
	kube_json_put_text(o, "message", note);
	kube_json_put_text(o, "firstTimestamp", time_text(e->first, text));
	put_times(e, o);
	inner = kube_json_put(o, "source");
	kube_json_put_text(inner, "component", COMPONENT);
	kube_json_put_text(inner, "host", e->all->source);
	kube_json_put_text(o, "reportingComponent", COMPONENT);
	kube_json_put_text(o, "reportingInstance", e->all->source);
	return o;
}

/* The API server has one of that name, of an earlier life or leader: ours go on from its count. */
static void adopt(struct event *e, const struct kube_answer *answer)
{
	int count = json_object_get_int(kube_json_field(answer->body, "count"));

	if (e->count || count < 1)
		return;
	e->count = (__u32)count + 1;
	e->due = true;
}

static void on_done(void *ctx, const struct kube_answer *answer)
{
	struct event *e = ctx;
	__u64 now = clock_monotonic() / NS_PER_MS, wait = KUBE_EVENT_GAP_MS;

	e->call = NULL;
	e->all->calls--;
	e->told = now;
	if (kube_answer_good(answer)) {
		e->failures = 0;
		e->there = true;
		adopt(e, answer);
	} else if (answer->status == HTTP_CONFLICT && !e->there) {
		e->there = true;
		e->count = 0;
		e->due = true;
		wait = 0;
	} else if (answer->status == HTTP_MISSING && e->there) {
		e->there = false;
		e->count = e->count ? e->count : 1;
		e->due = e->found;
		wait = 0;
	} else {
		e->failures++;
		e->due = true;
		for (__u32 k = 1; k < e->failures && wait < KUBE_EVENT_RETRY_MOST; k++)
			wait *= 2;
	}
	e->next = now + (wait > answer->retry_after ? wait : answer->retry_after);
}

static void send(struct event *e)
{
	struct json_object *o = e->there ? json_object_new_object() : event_json(e);
	char path[KUBE_RIGHT_PATH], name[KUBE_NAME + 1];

	if (e->there)
		put_times(e, o);
	e->due = false;
	if (kube_right_path(KUBE_RIGHT_EVENTS, name_space_of(e), event_name(e, name), path)) {
		if (!e->there)
			kube_right_path(KUBE_RIGHT_EVENTS, name_space_of(e), NULL, path);
		e->call = kube_http_send(
			e->all->http,
			&(struct kube_request){
				.verb = e->there ? KUBE_MERGE_PATCH : KUBE_POST,
				.path = path,
				.body = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN),
				.done = on_done,
				.ctx = e,
			});
		e->all->calls++;
	}
	json_object_put(o);
}

/* ---- when -------------------------------------------------------------------------------------*/

/* Tokens come with time; a request costs KUBE_EVENT_EVERY_MS of them. */
static void fill(struct kube_events *e, __u64 now)
{
	const __u64 most = KUBE_EVENT_BURST * KUBE_EVENT_EVERY_MS;

	if (e->filled)
		e->tokens += now - e->filled;
	if (e->tokens > most)
		e->tokens = most;
	e->filled = now;
}

__u32 kube_events_tick(struct kube_events *e, __u64 now, bool leads)
{
	__u64 next = UINT64_MAX;

	fill(e, now);
	for (size_t k = 0; leads && k < e->events; k++) {
		struct event *one = e->event[k];
		__u64 at = one->next;

		if (one->call || !one->due)
			continue;
		if (e->tokens < KUBE_EVENT_EVERY_MS && at < now + KUBE_EVENT_EVERY_MS - e->tokens)
			at = now + KUBE_EVENT_EVERY_MS - e->tokens;
		if (at <= now) {
			e->tokens -= KUBE_EVENT_EVERY_MS;
			send(one);
		} else if (at < next) {
			next = at;
		}
	}
	return next - now < UINT32_MAX ? (__u32)(next - now) : UINT32_MAX;
}
