// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "reflector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../../maps/clock.h"
#include "../../maps/memory.h"
#include "../log.h"
#include "json.h"
#include "stream.h"

#define PAGE	 500 /* objects of a page: what kubectl asks for; a server may give more or fewer */
#define ERRORS	 400 /* codes from here on */
#define BROKEN	 500 /* of an error without one */
#define GONE	 410
#define MS_PER_S 1000

struct kube_reflector {
	struct kube_http *http;
	const struct kube_resource *what;
	const struct kube_handler *handler;
	struct kube_times times;
	struct kube_course course;
	char *version; /* to watch from */
	char *next;    /* `continue` of the next page */

	struct kube_call *call; /* under way */
	__u64 began;		/* ms; it was sent */
	__u64 due;		/* ms; it is to be sent */
	struct kube_stream *stream;
	__u32 told;    /* by this watch */
	int error;     /* code of the event ERROR that ended it; 0: none did */
	char why[256]; /* its message */
	bool listing;  /* between relist_begin and relist_end */
	bool connected;
	bool waits; /* for the server to be there, not for its leave */
	struct poise_error fault;
};

static __u64 now_ms(void)
{
	return clock_monotonic() / NS_PER_MS;
}

static __u32 chance(void)
{
	__u32 any = 0;

	/* Without any, retries are in step: no reason to stop. */
	if (getrandom(&any, sizeof(any), GRND_NONBLOCK) < 0)
		any = (__u32)clock_monotonic();
	return any;
}

/* ---- what objects say of themselves -----------------------------------------------------------*/

/* Takes a text of at most `most` bytes; an empty one is none. */
static bool keep(char **out, const char *value, size_t most)
{
	if (strlen(value) > most)
		return false;
	free(*out);
	*out = value[0] ? memory_text(value) : NULL;
	return true;
}

static bool keep_version(struct kube_reflector *r, struct json_object *metadata)
{
	const char *version = kube_json_text(metadata, "resourceVersion");

	return version[0] && keep(&r->version, version, KUBE_VERSION);
}

/* ---- a list -----------------------------------------------------------------------------------*/

static bool on_item(void *ctx, struct json_object *item)
{
	struct kube_reflector *r = ctx;

	if (json_object_is_type(item, json_type_object))
		r->handler->object(r->handler->ctx, item);
	return true;
}

/* What the last page says of the list: false if that is not what a list says. */
static bool take_page(struct kube_reflector *r)
{
	struct json_object *about = kube_stream_metadata(r->stream);

	if (kube_stream_passed(r->stream))
		log_line(LOG_LEVEL_WARNING,
			 "kubernetes: %zu of the %s listed are left out: larger than %u MiB, or "
			 "deeper than objects are",
			 kube_stream_passed(r->stream), r->what->name, KUBE_OBJECT_MOST >> 20);
	return kube_stream_is_whole(r->stream) && keep_version(r, about) &&
	       keep(&r->next, kube_json_text(about, "continue"), KUBE_CONTINUE);
}

static char *list_path(const struct kube_reflector *r, const char *field)
{
	bool page = r->course.step == KUBE_STEP_PAGE;
	char *next = page ? kube_http_escape(r->next) : NULL, *path;

	if (asprintf(&path, "%s?limit=%d%s%s%s", r->what->path, r->course.whole ? 0 : PAGE, field,
		     page ? "&continue=" : "", page ? next : "") < 0)
		abort();
	free(next);
	return path;
}

/* ---- a watch ----------------------------------------------------------------------------------*/

/* The object of an event ERROR is a Status. */
static void take_error(struct kube_reflector *r, struct json_object *status)
{
	struct json_object *code = kube_json_field(status, "code");
	const char *reason = kube_json_text(status, "reason");
	const char *message = kube_json_text(status, "message");

	r->error = json_object_is_type(code, json_type_int) ? json_object_get_int(code) : BROKEN;
	if (r->error < ERRORS)
		r->error = BROKEN;
	if (!strcmp(reason, "Expired") || !strcmp(reason, "Gone"))
		r->error = GONE;
	snprintf(r->why, sizeof(r->why), "%s", message[0] ? message : reason);
}

static bool on_event(void *ctx, struct json_object *event)
{
	struct kube_reflector *r = ctx;
	struct json_object *object = kube_json_field(event, "object");
	const char *type = kube_json_text(event, "type");

	if (!json_object_is_type(object, json_type_object))
		return false;
	if (!strcmp(type, "ERROR")) {
		take_error(r, object);
		return false;
	}
	if (!keep_version(r, kube_json_field(object, "metadata")))
		return false;
	r->told++;
	if (!strcmp(type, "ADDED") || !strcmp(type, "MODIFIED"))
		r->handler->object(r->handler->ctx, object);
	else if (!strcmp(type, "DELETED"))
		r->handler->deleted(r->handler->ctx, object);
	return true; /* BOOKMARK, and whatever is yet to be thought of, moves the version alone */
}

static char *watch_path(struct kube_reflector *r, const char *field, __u32 *ms)
{
	char *version = kube_http_escape(r->version), *path;

	*ms = kube_course_watch(&r->times, chance());
	if (asprintf(&path,
		     "%s?watch=true&allowWatchBookmarks=true&resourceVersion=%s"
		     "&timeoutSeconds=%u%s",
		     r->what->path, version, (*ms + MS_PER_S - 1) / MS_PER_S, field) < 0)
		abort();
	free(version);
	return path;
}

/* ---- requests ---------------------------------------------------------------------------------*/

static void on_begun(void *ctx)
{
	struct kube_reflector *r = ctx;

	r->connected = true;
	r->fault.code = POISE_E_NONE;
}

static bool on_piece(void *ctx, const char *data, size_t length)
{
	struct kube_reflector *r = ctx;

	return kube_stream_take(r->stream, data, length);
}

/* For people: answer's words, or our own for what HTTP has no word for. */
static void note_fault(struct kube_reflector *r, const struct kube_outcome *o,
		       const struct kube_answer *answer)
{
	if (o->end == KUBE_END_WHOLE && kube_answer_good(answer) && !o->error_event)
		return;
	/* How watches end. */
	if (r->course.step == KUBE_STEP_WATCH && (o->end == KUBE_END_CUT || o->status == GONE))
		return;
	r->fault = answer->err;
	if (o->error_event)
		poise_fail(&r->fault, POISE_E_SYSTEM, "watching %s: error %d: %s", r->what->name,
			   o->status, poise_printable(r->why));
	else if (kube_answer_good(answer))
		poise_fail(&r->fault, POISE_E_CORRUPT, "the list of %s is not the JSON wanted",
			   r->what->name);
}

static struct kube_outcome outcome(struct kube_reflector *r, const struct kube_answer *answer)
{
	struct kube_outcome o = {
		.end = answer->end,
		.status = answer->status,
		.retry_after = answer->retry_after,
		.lasted = (__u32)(now_ms() - r->began),
		.told = r->told,
	};

	if (r->error) {
		o.end = KUBE_END_WHOLE;
		o.status = r->error;
		o.error_event = true;
	} else if (r->listing && kube_answer_good(answer)) {
		if (take_page(r))
			o.more = r->next;
		else
			o.end = KUBE_END_AWRY;
	}
	return o;
}

static void on_done(void *ctx, const struct kube_answer *answer)
{
	struct kube_reflector *r = ctx;
	struct kube_outcome o = outcome(r, answer);

	r->call = NULL;
	r->connected = o.end == KUBE_END_WHOLE && kube_answer_good(answer) && !r->error;
	r->waits = o.end == KUBE_END_NONE || o.status >= BROKEN;
	note_fault(r, &o, answer);
	r->due = now_ms() + kube_course_next(&r->course, &r->times, &o, chance());
	if (r->course.doubt_token)
		kube_access_doubt(kube_http_access(r->http));
	if (r->course.abort)
		r->handler->relist_abort(r->handler->ctx);
	else if (r->listing && !o.more)
		r->handler->relist_end(r->handler->ctx);
	r->listing = r->listing && o.more && !r->course.abort;
	if (r->connected)
		r->fault.code = POISE_E_NONE;
}

static void send(struct kube_reflector *r)
{
	bool watch = r->course.step == KUBE_STEP_WATCH;
	struct kube_request request = {
		.verb = KUBE_GET,
		.begun = on_begun,
		.piece = on_piece,
		.done = on_done,
		.ctx = r,
		.timeout = r->times.list,
	};
	char *value = r->what->field ? kube_http_escape(r->what->field) : NULL, *field, *path;

	if (asprintf(&field, "%s%s", value ? "&fieldSelector=" : "", value ? value : "") < 0)
		abort();
	if (watch) {
		path = watch_path(r, field, &request.timeout);
		request.timeout += r->times.watch_late;
	} else {
		path = list_path(r, field);
	}
	if (r->course.step == KUBE_STEP_LIST) {
		r->listing = true;
		r->handler->relist_begin(r->handler->ctx);
	}
	kube_stream_free(r->stream);
	r->stream = kube_stream_new(watch ? KUBE_EVENTS : KUBE_LIST, watch ? on_event : on_item, r);
	r->told = 0;
	r->error = 0;
	r->began = now_ms();
	request.path = path;
	r->call = kube_http_send(r->http, &request);
	free(path);
	free(field);
	free(value);
}

/* ---- the reflector ----------------------------------------------------------------------------*/

struct kube_reflector *kube_reflector_new(struct kube_http *http, const struct kube_resource *what,
					  const struct kube_handler *handler,
					  const struct kube_times *times)
{
	struct kube_reflector *r = memory_alloc(sizeof(*r));

	r->http = http;
	r->what = what;
	r->handler = handler;
	r->times = times ? *times : KUBE_TIMES;
	kube_course_begin(&r->course);
	return r;
}

void kube_reflector_free(struct kube_reflector *r)
{
	if (!r)
		return;
	if (r->call)
		kube_http_drop(r->call);
	kube_stream_free(r->stream);
	free(r->version);
	free(r->next);
	free(r);
}

__u32 kube_reflector_tick(struct kube_reflector *r, __u64 now)
{
	if (r->call)
		return UINT32_MAX;
	if (now < r->due)
		return (__u32)(r->due - now);
	send(r);
	return UINT32_MAX;
}

bool kube_reflector_synced(const struct kube_reflector *r)
{
	return r->course.synced;
}

bool kube_reflector_connected(const struct kube_reflector *r)
{
	return r->connected;
}

const struct poise_error *kube_reflector_fault(const struct kube_reflector *r)
{
	return &r->fault;
}

void kube_reflector_hurry(struct kube_reflector *r)
{
	if (!r->call && r->waits)
		r->due = 0;
}
