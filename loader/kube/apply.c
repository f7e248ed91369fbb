// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "apply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../log.h"
#include "maps/clock.h"
#include "maps/events.h"
#include "maps/memory.h"

/* Changes that come sooner after one another are applied together: whoever follows the
 * configuration in force reads all of it after each. */
#define EACH_MS	 100
#define BUSY_MS	 5     /* somebody else has the lock: a commit takes some milliseconds */
#define RETRY_MS 1000  /* after a failure; what changes in the cache is tried as soon */
#define LOOK_MS	 10000 /* between looks whether somebody else changed something */
#define SOME	 64    /* services that are read by themselves; of more, all are */

/* ---- what is told -----------------------------------------------------------------------------*/

static void tell(struct kube_apply *a, const struct config_summary *sum)
{
	bool services = sum->services_added || sum->services_changed || sum->services_removed;
	char text[POISE_EVENT_WORDS];

	snprintf(text, sizeof(text),
		 "applied: services %u added, %u changed, %u removed; backends %u added, %u "
		 "changed, %u removed",
		 sum->services_added, sum->services_changed, sum->services_removed,
		 sum->backends_added, sum->backends_changed, sum->backends_removed);
	/* Pods come and go all day, and are told of as backends. */
	log_line(services ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG, "kubernetes: %s", text);
	if (services)
		events_change(a->instance, POISE_OWNER_KUBERNETES, text);
}

void kube_apply_tell_findings(const struct kube_findings *was, const struct kube_findings *now)
{
	char text[KUBE_MESSAGE + 3 * KUBE_NAME_MAX];
	size_t old = 0;

	for (size_t k = 0; k < now->n; k++) {
		int order = 1;

		while (was && old < was->n &&
		       (order = kube_finding_cmp(&was->finding[old], &now->finding[k])) < 0)
			old++;
		if (!was || old == was->n || order != 0)
			log_line(LOG_LEVEL_WARNING, "kubernetes: %s",
				 kube_finding_text(&now->finding[k], text, sizeof(text)));
	}
}

static bool is_nothing(const struct config_summary *sum)
{
	static const struct config_summary none;

	return !memcmp(sum, &none, sizeof(none));
}

/* ---- some services ----------------------------------------------------------------------------*/

/* What desired says of them, as a configuration that owns nothing. False: of one, nothing. */
static bool pick(const struct kube_desired *d, const char *const *name, int n, struct config *out)
{
	out->service = memory_alloc((size_t)n * sizeof(*out->service));
	for (int k = 0; k < n; k++) {
		struct config_service *svc = config_service_named(d->cfg, name[k]);

		if (!svc)
			return false;
		out->service[out->services++] = svc;
	}
	return true;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool apply_some(struct kube_apply *a, const char **name, int n)
{
	struct config_summary sum = {0};
	struct config some = {0}, *live = NULL;
	bool done = false;

	qsort(name, (size_t)n, sizeof(*name), by_name); /* as services are in a configuration */
	if (pick(a->desired, name, n, &some) &&
	    instance_load_services(a->instance, name, (size_t)n, &live, NULL) == 0 && live->part &&
	    config_apply_as(live, &some, POISE_OWNER_KUBERNETES, CONFIG_APPLY_EMPTY, &sum, NULL) ==
		    0)
		done = is_nothing(&sum) || instance_commit(a->instance, live, NULL, NULL) == 0;
	if (done && !is_nothing(&sum))
		tell(a, &sum);
	free(some.service);
	if (live)
		config_free(live);
	return done;
}

/* Where endpoints alone changed. Listeners do not, so it does not matter here what others did
 * meanwhile. False: all is to be worked out. */
static bool apply_touched(struct kube_apply *a)
{
	bool alone = a->generation == a->instance->meta->committed, done;
	struct kube_findings was = {0};
	const char **name = NULL;
	int n;

	if (!a->desired || a->due)
		return false;
	kube_findings_add(&was, &a->desired->findings);
	n = kube_desired_refresh(a->desired, a->cache, &a->options, &name);
	kube_apply_tell_findings(&was, &a->desired->findings);
	kube_findings_free(&was);
	done = n == 0 || (n > 0 && n <= SOME && apply_some(a, name, n));
	free(name);
	if (done && alone)
		a->generation = a->instance->meta->committed;
	return done;
}

/* ---- all of them ------------------------------------------------------------------------------*/

static int apply_all(struct kube_apply *a, struct poise_error *err)
{
	struct config_summary sum = {0};
	struct kube_desired *wanted;
	struct config *live;
	int rc;

	if (instance_load(a->instance, &live, err) < 0)
		return -1;
	wanted = kube_desired(a->cache, &a->options, live);
	rc = config_apply_as(live, wanted->cfg, POISE_OWNER_KUBERNETES, CONFIG_APPLY_EMPTY, &sum,
			     err);
	if (rc == 0 && !is_nothing(&sum))
		rc = instance_commit(a->instance, live, NULL, err);
	config_free(live);
	if (rc < 0) {
		kube_desired_free(wanted);
		return -1;
	}
	kube_apply_tell_findings(a->desired ? &a->desired->findings : NULL, &wanted->findings);
	kube_desired_free(a->desired);
	a->desired = wanted;
	a->generation = a->instance->meta->committed;
	a->anew++;
	if (!is_nothing(&sum))
		tell(a, &sum);
	return 0;
}

static void fail(struct kube_apply *a, const struct poise_error *err)
{
	/* Told once, until it is another one. */
	if (strcmp(a->fault.message, err->message) != 0)
		log_error(LOG_LEVEL_ERROR, err);
	a->fault = *err;
	a->due = true;
}

/* The lock is held. */
static bool apply(struct kube_apply *a)
{
	struct poise_error err = {0};

	if (!apply_touched(a) && apply_all(a, &err) < 0) {
		fail(a, &err);
		return false;
	}
	a->applied = clock_realtime();
	a->fault = (struct poise_error){0};
	a->due = false;
	a->made++;
	kube_apply_tell_findings(NULL, kube_cache_lost(a->cache));
	kube_cache_settle(a->cache);
	return true;
}

/* ---- when -------------------------------------------------------------------------------------*/

static bool is_due(struct kube_apply *a)
{
	size_t touched;

	kube_cache_touched(a->cache, &touched);
	return a->due || !a->desired || touched || kube_cache_node_touched(a->cache);
}

__u32 kube_apply_tick(struct kube_apply *a, __u64 now)
{
	struct poise_error err = {0};
	int rc;

	if (!kube_cache_whole(a->cache))
		return UINT32_MAX;
	/* A listener may be free now that was somebody else's. */
	if (now >= a->look) {
		a->look = now + LOOK_MS;
		a->due |= a->generation != a->instance->meta->committed;
	}
	if (!is_due(a))
		return (__u32)(a->look - now);
	if (now < a->next)
		return (__u32)(a->next - now);
	rc = instance_try_lock(a->instance, &err);
	if (rc == 0)
		return BUSY_MS;
	if (rc < 0) {
		fail(a, &err);
		a->next = now + RETRY_MS;
	} else {
		a->next = now + (apply(a) ? EACH_MS : RETRY_MS);
		instance_unlock(a->instance);
	}
	return (__u32)(a->next - now);
}

void kube_apply_again(struct kube_apply *a)
{
	a->due = true;
}

void kube_apply_free(struct kube_apply *a)
{
	kube_desired_free(a->desired);
	a->desired = NULL;
}
