// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What is next. Three kinds of trouble, with three manners:
 *   no answer, or one of 500 and more: the server is down or not yet up. What we know stays, and it
 *     is asked again soon, for whatever changed meanwhile waits for that;
 *   no: 401, 403, 404, 429. It is up, and asking often will not change its mind;
 *   a version that it does not have any more (410): a list, at once, but not over and over.
 * All delays are spread by half, so that a cluster's nodes do not come back in step.
 */
#include "course.h"

#include <string.h>

#define GOOD	     200
#define OTHER	     300
#define UNAUTHORIZED 401
#define GONE	     410
#define BROKEN	     500

void kube_course_begin(struct kube_course *c)
{
	memset(c, 0, sizeof(*c));
	c->step = KUBE_STEP_LIST;
}

static bool is_good(const struct kube_outcome *o)
{
	return o->end == KUBE_END_WHOLE && o->status >= GOOD && o->status < OTHER;
}

/* The server has had its say, and it is no. */
static bool is_no(const struct kube_outcome *o)
{
	return o->end == KUBE_END_WHOLE && o->status >= OTHER && o->status < BROKEN;
}

/* After the n-th failure in a row, n > 0. */
static __u32 delay(const struct kube_times *t, const struct kube_outcome *o, __u32 n, __u32 chance)
{
	__u32 most = is_no(o) ? t->deny_most : t->retry_most, ms = t->retry;

	while (--n && ms < most)
		ms *= 2;
	if (ms > most)
		ms = most;
	if (o->retry_after) {
		ms = o->retry_after < KUBE_RETRY_AFTER ? o->retry_after : KUBE_RETRY_AFTER;
		return ms + chance % (ms / 2 + 1); /* not before that */
	}
	return ms - chance % (ms / 2 + 1);
}

/* How many failures in a row this makes, n so far. A server that comes back after an outage begins
 * anew with what it refuses. */
static __u32 one_more(struct kube_course *c, const struct kube_outcome *o, __u32 n)
{
	n = is_no(o) == c->was_no ? n + 1 : 1;
	c->was_no = is_no(o);
	return n;
}

/* ---- a list -----------------------------------------------------------------------------------*/

static __u32 after_page(struct kube_course *c, const struct kube_times *t,
			const struct kube_outcome *o, __u32 chance)
{
	bool was_page = c->step == KUBE_STEP_PAGE;

	if (is_good(o)) {
		c->failures = 0;
		c->step = o->more ? KUBE_STEP_PAGE : KUBE_STEP_WATCH;
		if (o->more)
			return 0;
		c->whole = false;
		c->synced = true;
		c->silent = c->answered = 0;
		return 0;
	}
	c->abort = true;
	c->step = KUBE_STEP_LIST;
	c->failures = one_more(c, o, c->failures);
	/* The list took longer than the server keeps what it was of: in one piece it is of one
	 * moment. */
	if (was_page && o->status == GONE) {
		c->whole = true;
		return 0;
	}
	if (o->status == UNAUTHORIZED && c->failures == 1)
		return 0; /* the token may have been replaced */
	return delay(t, o, c->failures, chance);
}

/* ---- a watch ----------------------------------------------------------------------------------*/

/* It stood, and ended as they all do in the end. */
static __u32 after_watch(struct kube_course *c, const struct kube_times *t,
			 const struct kube_outcome *o, __u32 chance)
{
	c->refused = c->answered = 0;
	if (o->end != KUBE_END_CUT)
		c->silent = o->told ? 0 : c->silent + 1;
	/* Nothing can be a version that the server has yet to reach: such a watch waits for ever,
	 * and no error tells. */
	if (o->end == KUBE_END_LATE || c->silent >= KUBE_SILENT) {
		c->step = KUBE_STEP_LIST;
		c->silent = 0;
	}
	return o->end == KUBE_END_CUT ? chance % (t->retry + 1) : 0;
}

/* Whether what failed says something about the version we would watch from. */
static bool wants_list(const struct kube_course *c, const struct kube_outcome *o)
{
	if (o->status == GONE || o->end == KUBE_END_AWRY)
		return true;
	if (o->error_event && o->status < BROKEN)
		return true;
	return c->answered >= KUBE_REFUSALS;
}

static __u32 after_refusal(struct kube_course *c, const struct kube_times *t,
			   const struct kube_outcome *o, __u32 chance)
{
	/* One that stood for a while is the first. */
	c->refused = one_more(c, o, o->told || o->lasted >= t->brief ? 0 : c->refused);
	c->answered += o->end != KUBE_END_NONE;
	if (wants_list(c, o))
		c->step = KUBE_STEP_LIST;
	if (c->refused == 1 && (o->status == GONE || o->status == UNAUTHORIZED))
		return 0;
	return delay(t, o, c->refused, chance);
}

__u32 kube_course_next(struct kube_course *c, const struct kube_times *t,
		       const struct kube_outcome *o, __u32 chance)
{
	bool stood = o->end == KUBE_END_CUT || o->end == KUBE_END_LATE || is_good(o);

	c->abort = false;
	c->doubt_token = o->status == UNAUTHORIZED;
	if (c->step != KUBE_STEP_WATCH)
		return after_page(c, t, o, chance);
	if (stood && (o->told || o->lasted >= t->brief))
		return after_watch(c, t, o, chance);
	return after_refusal(c, t, o, chance);
}

__u32 kube_course_watch(const struct kube_times *t, __u32 chance)
{
	return t->watch + chance % (t->watch / 2 + 1);
}
