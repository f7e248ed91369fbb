// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How things stand between the API server and us, for poise status and the log. A watch that ends
 * and begins again is no outage: that is told when it has lasted for a while.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../log.h"
#include "kube_priv.h"
#include "maps/clock.h"

#define EACH_MS	 1000 /* between looks */
#define GRACE_MS 2000 /* without a connection that are no outage yet */

static const struct poise_error *reflector_fault(const struct kube *k)
{
	for (int n = 0; n < KUBE_KINDS; n++) {
		const struct poise_error *err = kube_reflector_fault(k->follower[n].reflector);

		if (err->code != POISE_E_NONE)
			return err;
	}
	return NULL;
}

static bool is_connected(const struct kube *k)
{
	for (int n = 0; n < KUBE_KINDS; n++)
		if (!kube_reflector_connected(k->follower[n].reflector))
			return false;
	return true;
}

static __u32 judge(struct kube *k, __u64 now)
{
	struct kube_state *s = &k->state;

	if (is_connected(k))
		s->lost = 0;
	else if (!s->lost)
		s->lost = now;
	if (!kube_cache_whole(k->cache))
		return POISE_CLUSTER_LISTING;
	return s->lost && now - s->lost >= GRACE_MS ? POISE_CLUSTER_OUTAGE : POISE_CLUSTER_FOLLOWED;
}

static void tell_change(const struct kube *k, __u32 state, const struct poise_error *fault)
{
	char text[sizeof(*fault)] = "";

	if (fault)
		poise_error_text(fault, text, sizeof(text));
	if (state == POISE_CLUSTER_FOLLOWED)
		log_line(LOG_LEVEL_NOTICE, "kubernetes: the cluster is followed, by %s",
			 k->access->server);
	else if (state == POISE_CLUSTER_OUTAGE)
		log_line(LOG_LEVEL_WARNING,
			 "kubernetes: the API server is not heard; what is known is served on: %s",
			 text);
}

/* All is known, and our Node is not in it. With a wrong name nothing fails: no NodePort is served,
 * and under policy Local nobody. */
static bool is_nodeless(const struct kube *k)
{
	return kube_cache_whole(k->cache) && !kube_cache_node(k->cache);
}

static const char *nodeless_text(const struct kube *k, char *buf, size_t size)
{
	snprintf(buf, size,
		 "the cluster has no Node %s: neither addresses nor labels of this node are "
		 "known, nor which pods it has; is --node-name right?",
		 k->node);
	return buf;
}

static void count(const struct kube *k, struct poise_cluster *c)
{
	size_t n;
	const struct kube_entry **entry = kube_cache_services(k->cache, &n);

	c->services = (__u32)n;
	c->slices = c->endpoints = 0;
	for (size_t e = 0; e < n; e++) {
		c->slices += (__u32)entry[e]->slices;
		for (size_t s = 0; s < entry[e]->slices; s++)
			c->endpoints += (__u32)entry[e]->slice[s]->endpoints;
	}
	free(entry);
}

static void say_faults(const struct kube *k, struct poise_cluster *c)
{
	const struct kube_desired *d = k->apply.desired;
	const struct poise_error *err = &k->apply.fault;

	if (err->code == POISE_E_NONE)
		err = reflector_fault(k);
	c->error[0] = c->finding[0] = '\0';
	if (err)
		poise_error_text(err, c->error, sizeof(c->error));
	else if (k->state.nodeless)
		nodeless_text(k, c->error, sizeof(c->error));
	c->findings = d ? (__u32)d->findings.n : 0;
	if (c->findings)
		kube_finding_text(&d->findings.finding[0], c->finding, sizeof(c->finding));
}

__u32 kube_state_tick(struct kube *k, __u64 now)
{
	struct kube_state *s = &k->state;
	bool nodeless = is_nodeless(k);
	__u32 state = judge(k, now);
	char text[POISE_CLUSTER_TEXT];

	if (nodeless && !s->nodeless)
		log_line(LOG_LEVEL_WARNING, "kubernetes: %s", nodeless_text(k, text, sizeof(text)));
	s->nodeless = nodeless;
	if (state == s->now.state && now < s->next)
		return (__u32)(s->next - now);
	if (state != s->now.state) {
		tell_change(k, state, reflector_fault(k));
		s->now.state = state;
		s->now.since = clock_realtime();
	}
	s->next = now + EACH_MS;
	s->now.applied = k->apply.applied;
	snprintf(s->now.server, sizeof(s->now.server), "%s", k->access->server);
	snprintf(s->now.node, sizeof(s->now.node), "%s", k->node);
	s->now.leads = kube_lead_leads(k->lead);
	snprintf(s->now.leader, sizeof(s->now.leader), "%s", kube_lead_leader(k->lead));
	count(k, &s->now);
	say_faults(k, &s->now);
	instance_set_cluster(k->instance, &s->now);
	return EACH_MS;
}

void kube_state_clear(struct instance *i)
{
	static const struct poise_cluster none;

	if (i->cluster->state)
		instance_set_cluster(i, &none);
}
