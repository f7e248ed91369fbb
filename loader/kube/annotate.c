// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Options of poise services from a Service; see annotate.h. */
#include <stdio.h>
#include <string.h>

#include "annotate.h"
#include "maps/option.h"

#define SECONDS 1000u /* ms */

/* ---- the spec ---------------------------------------------------------------------------------*/

/* Ranges of which none was understood let nobody in: ::/0 holds IPv6 alone, as does 0.0.0.0/0 the
 * other. */
static void deny_all(struct config_service *svc)
{
	ranges_add(&svc->deny, "0.0.0.0/0", NULL);
	ranges_add(&svc->deny, "::/0", NULL);
}

void annotate_ranges(const struct kube_service *s, struct config_service *svc)
{
	char text[RANGE_TEXT];

	for (size_t i = 0; i < s->ranges; i++)
		ranges_add(&svc->allow, range_format(&s->range[i], text, sizeof(text)), NULL);
	if (!s->ranges)
		deny_all(svc);
}

void annotate_spec(const struct kube_service *s, struct config_service *svc)
{
	bool most = s->affinity_for > KUBE_AFFINITY_MOST;

	svc->conf.forward = POISE_NAT;
	svc->conf.drain_timeout = KUBE_DRAIN_MS;
	svc->conf.health.type = POISE_CHECK_NONE;
	svc->conf.affinity = s->affinity;
	if (s->affinity)
		svc->conf.affinity_timeout =
			(most ? KUBE_AFFINITY_MOST : s->affinity_for) * SECONDS;
}

/* ---- annotations ------------------------------------------------------------------------------*/

/* Why a key is not for whoever may write a Service. */
static const struct {
	enum option_scope scope;
	const char *key;
	const char *why;
} closed[] = {
	{OPTION_SERVICE, "notify", "it would run a command on every node"},
	{OPTION_SERVICE, "allow", "spec.loadBalancerSourceRanges says who may come"},
	{OPTION_SERVICE, "on-nobody", "externalTrafficPolicy says it"},
	{OPTION_SERVICE, "source", "addresses of nodes are not a Service's business"},
	{OPTION_SERVICE, "source6", "addresses of nodes are not a Service's business"},
	{OPTION_HEALTH, "command", "it would run a command on every node"},
	{OPTION_HEALTH, "ca", "it would read a file of every node"},
	{OPTION_HEALTH, "cert", "it would read a file of every node"},
	{OPTION_HEALTH, "key", "it would read a file of every node"},
};

static int refuse(enum option_scope scope, const char *key, struct poise_error *err)
{
	for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
		if (closed[i].scope == scope && !strcmp(closed[i].key, key))
			return poise_fail(err, POISE_E_PERMISSION, "not by annotation: %s",
					  closed[i].why);
	return 0;
}

static int set(enum option_scope scope, const char *key, void *obj, const char *value,
	       struct poise_error *err)
{
	const struct option *o;

	if (refuse(scope, key, err))
		return -1;
	o = option_need(scope, key, err);
	return o ? option_set(o, obj, value, err) : -1;
}

/* What is within the bounds of the option may be beyond those of a Service. */
static int within(const struct kube_note *note, const struct config_service *svc,
		  struct poise_error *err)
{
	const struct poise_health_conf *h = &svc->conf.health;

	if (svc->conf.table_size > KUBE_TABLE_MOST)
		return poise_fail(
			err, POISE_E_BAD_VALUE,
			"%s %s: at most %u by annotation, for all Services share the room",
			note->key, note->value, KUBE_TABLE_MOST);
	if (h->interval < KUBE_CHECK_LEAST || h->fast_interval < KUBE_CHECK_LEAST)
		return poise_fail(err, POISE_E_BAD_VALUE,
				  "%s %s: at least %u ms by annotation, for all Services share the "
				  "checker",
				  note->key, note->value, KUBE_CHECK_LEAST);
	return 0;
}

static int take(const struct kube_note *note, struct config_service *svc, struct poise_error *err)
{
	static const char health[] = "health", dash[] = "health-";

	if (!strncmp(note->key, dash, strlen(dash)))
		return set(OPTION_HEALTH, note->key + strlen(dash), &svc->conf.health, note->value,
			   err);
	if (strcmp(note->key, health) != 0)
		return set(OPTION_SERVICE, note->key, svc, note->value, err);
	if (!strcmp(note->value, "exec"))
		return refuse(OPTION_HEALTH, "command", err);
	return set(OPTION_HEALTH, "type", &svc->conf.health, note->value, err);
}

int annotate_note(const struct kube_note *note, struct config_service *svc, struct poise_error *err)
{
	__u32 table = svc->conf.table_size, interval = svc->conf.health.interval;
	__u32 fast = svc->conf.health.fast_interval;

	if (!strcmp(note->key, KUBE_WANTED) || !strcmp(note->key, KUBE_SHARE))
		return 0;
	if (take(note, svc, err))
		return -1;
	if (!within(note, svc, err))
		return 0;
	svc->conf.table_size = table;
	svc->conf.health.interval = interval;
	svc->conf.health.fast_interval = fast;
	return -1;
}
