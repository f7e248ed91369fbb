// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "lease.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "json.h"
#include "maps/clock.h"

#define MS_PER_S       1000u
#define NS_PER_US      1000u
#define MICRO_TIME     40 /* 2026-12-01T07:15:00.000000Z and NUL */
#define HTTP_GOOD      200
#define HTTP_ELSEWHERE 300 /* and above: not good */
#define JITTER_PART    5   /* of the time between tries: 1.2 times at most */

int kube_lease_open(struct kube_lease *l, const char *name_space, const char *name,
		    const char *holder, struct poise_error *err)
{
	char path[KUBE_RIGHT_PATH];

	*l = (struct kube_lease){0};
	if (!kube_right_path(KUBE_RIGHT_LEASES, name_space, name, path))
		return poise_fail(err, POISE_E_BAD_VALUE,
				  "\"%s\" in namespace \"%s\" cannot be the name of a Lease", name,
				  name_space);
	snprintf(l->name_space, sizeof(l->name_space), "%s", name_space);
	snprintf(l->name, sizeof(l->name), "%s", name);
	snprintf(l->holder, sizeof(l->holder), "%s", holder);
	return 0;
}

void kube_lease_close(struct kube_lease *l)
{
	json_object_put(l->seen);
	json_object_put(l->written);
	l->seen = l->written = NULL;
}

/* ---- the record -------------------------------------------------------------------------------*/

static struct json_object *spec(const struct kube_lease *l)
{
	return kube_json_field(l->seen, "spec");
}

const char *kube_lease_leader(const struct kube_lease *l)
{
	return kube_json_text(spec(l), "holderIdentity");
}

static bool is_ours(const struct kube_lease *l)
{
	return l->seen && !strcmp(kube_lease_leader(l), l->holder);
}

/* The length that its holder said, in ms. */
static __u64 length(const struct kube_lease *l)
{
	int seconds = json_object_get_int(kube_json_field(spec(l), "leaseDurationSeconds"));

	if (seconds < 1)
		seconds = KUBE_LEASE_SECONDS;
	return (__u64)(seconds < KUBE_LEASE_SECONDS_MOST ? seconds : KUBE_LEASE_SECONDS_MOST) *
	       MS_PER_S;
}

static bool is_free(const struct kube_lease *l, __u64 now)
{
	return !*kube_lease_leader(l) || now >= l->changed + length(l);
}

/* A change of labels is none: only its holder's sign of life counts. */
static bool same_record(struct json_object *a, struct json_object *b)
{
	return json_object_equal(kube_json_field(a, "spec"), kube_json_field(b, "spec"));
}

static void see(struct kube_lease *l, __u64 now, struct json_object *body)
{
	if (!l->seen || !same_record(l->seen, body))
		l->changed = now;
	json_object_get(body);
	json_object_put(l->seen);
	l->seen = body;
	l->missing = false;
}

static struct json_object *micro_time(__u64 realtime)
{
	time_t seconds = (time_t)(realtime / NS_PER_S);
	char whole[MICRO_TIME], buf[MICRO_TIME];
	struct tm utc;

	gmtime_r(&seconds, &utc);
	strftime(whole, sizeof(whole), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(buf, sizeof(buf), "%.20s.%06uZ", whole,
		 (unsigned int)(realtime % NS_PER_S / NS_PER_US));
	return json_object_new_string(buf);
}

/* A Lease that is not there yet. */
static struct json_object *fresh(const struct kube_lease *l)
{
	struct json_object *o = json_object_new_object(), *meta;

	kube_json_put_text(o, "apiVersion", "coordination.k8s.io/v1");
	kube_json_put_text(o, "kind", "Lease");
	meta = kube_json_put(o, "metadata");
	kube_json_put_text(meta, "name", l->name);
	kube_json_put_text(meta, "namespace", l->name_space);
	return o;
}

/* What is to be written: all of what was read, resourceVersion included, with another spec. */
static struct json_object *compose(const struct kube_lease *l, __u64 realtime)
{
	struct json_object *o = NULL, *was = spec(l), *is = json_object_new_object(), *since;
	bool on = is_ours(l);
	int transitions = json_object_get_int(kube_json_field(was, "leaseTransitions"));

	if (!on && l->seen && transitions < INT_MAX)
		transitions++;
	if (!l->seen || json_object_deep_copy(l->seen, &o, NULL))
		o = fresh(l);
	since = on && !l->ending ? kube_json_field(was, "acquireTime") : NULL;
	json_object_object_add(is, "holderIdentity",
			       json_object_new_string(l->ending ? "" : l->holder));
	json_object_object_add(is, "leaseDurationSeconds",
			       json_object_new_int(l->ending ? 1 : KUBE_LEASE_SECONDS));
	json_object_object_add(is, "acquireTime",
			       since ? json_object_get(since) : micro_time(realtime));
	json_object_object_add(is, "renewTime", micro_time(realtime));
	json_object_object_add(is, "leaseTransitions", json_object_new_int(transitions));
	json_object_object_add(o, "spec", is);
	return o;
}

/* ---- the course -------------------------------------------------------------------------------*/

bool kube_lease_leads(const struct kube_lease *l, __u64 now)
{
	return l->leads && now < l->renewed + KUBE_LEASE_RENEW_MS;
}

void kube_lease_end(struct kube_lease *l)
{
	l->ending = true;
	l->next = 0;
}

bool kube_lease_ended(const struct kube_lease *l)
{
	return l->ending && !l->leads && !l->asked;
}

/* Whether to write on what was last seen; else to read it again. */
static bool may_write(const struct kube_lease *l, __u64 now)
{
	if (l->missing)
		return true;
	return l->seen && (is_ours(l) || is_free(l, now));
}

bool kube_lease_next(struct kube_lease *l, __u64 now, __u64 realtime, __u32 chance,
		     struct kube_lease_ask *ask, __u32 *wait)
{
	*wait = KUBE_LEASE_RETRY_MS;
	if (l->asked || kube_lease_ended(l))
		return false;
	if (now < l->next) {
		*wait = (__u32)(l->next - now);
		return false;
	}
	if (!kube_lease_leads(l, now))
		l->leads = false;
	if (l->ending && !l->leads)
		return false;
	l->writes = may_write(l, now);
	kube_right_path(KUBE_RIGHT_LEASES, l->name_space, l->writes && l->missing ? NULL : l->name,
			ask->path);
	ask->verb = !l->writes ? KUBE_GET : l->missing ? KUBE_POST : KUBE_PUT;
	ask->body = NULL;
	if (l->writes) {
		json_object_put(l->written);
		l->written = compose(l, realtime);
		ask->body = json_object_to_json_string_ext(l->written, JSON_C_TO_STRING_PLAIN);
	}
	l->asked = true;
	l->sent = now;
	/* the next try counts from this one's beginning, so that answers that hang leave time */
	l->next = now + KUBE_LEASE_RETRY_MS + chance % (KUBE_LEASE_RETRY_MS / JITTER_PART);
	return true;
}

static void forget(struct kube_lease *l, bool missing)
{
	json_object_put(l->seen);
	l->seen = NULL;
	l->missing = missing;
}

static void wrote(struct kube_lease *l, __u64 now, struct json_object *body)
{
	if (json_object_is_type(kube_json_field(body, "spec"), json_type_object)) {
		see(l, now, body);
	} else {
		forget(l, false); /* which version it is now is not known: it is read first */
	}
	l->leads = !l->ending;
	l->renewed = l->sent;
}

static void read_back(struct kube_lease *l, __u64 now, struct json_object *body)
{
	see(l, now, body);
	if (!is_ours(l))
		l->leads = false;
	if (may_write(l, now))
		l->next = now; /* at once, not after another wait */
}

void kube_lease_answer(struct kube_lease *l, __u64 now, int status, struct json_object *body)
{
	bool good = status >= HTTP_GOOD && status < HTTP_ELSEWHERE;

	l->asked = false;
	if (good && l->writes) {
		wrote(l, now, body);
	} else if (good && json_object_is_type(body, json_type_object)) {
		read_back(l, now, body);
	} else if (status == KUBE_LEASE_MISSING) {
		forget(l, true);
		l->leads = false; /* somebody else may make it now */
		l->next = l->writes ? l->next : now;
	} else if (status == KUBE_LEASE_CONFLICT) {
		forget(l, false); /* somebody was faster: it is read again */
	}
	if (l->ending && !good)
		l->leads = false;
	json_object_put(l->written);
	l->written = NULL;
}
