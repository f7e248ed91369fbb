// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise status: the Kubernetes cluster that poised follows. An outage of its API server is a
 * problem though packets do not mind it: what changes in the cluster meanwhile is not seen.
 */
#include <stdio.h>

#include "../maps/clock.h"
#include "status.h"

static char *since(const struct poise_cluster *k, char *buf, size_t size)
{
	__u64 now = cli_now();

	return poise_format_age(now > k->since ? (now - k->since) / NS_PER_S : 0, buf, size);
}

void status_cluster(const struct cli *c, struct status *s)
{
	struct poise_cluster *k = &s->cluster;
	char age[POISE_WORD_TEXT];

	instance_cluster(c->instance, k);
	if (!s->daemon)
		k->state = POISE_CLUSTER_NONE; /* what it knew is old, and that it is not there is
						  told */
	switch (k->state) {
	case POISE_CLUSTER_LISTING:
		remark(&s->problems, "the Kubernetes cluster is not known yet, since %s%s%s",
		       since(k, age, sizeof(age)), k->error[0] ? ": " : "", k->error);
		break;
	case POISE_CLUSTER_OUTAGE:
		remark(&s->problems,
		       "the Kubernetes API server has not been heard for %s; what was known is "
		       "served: %s",
		       since(k, age, sizeof(age)), k->error);
		break;
	case POISE_CLUSTER_FOLLOWED:
		if (k->error[0])
			remark(&s->problems, "Kubernetes: %s", k->error);
		break;
	default: return;
	}
	if (k->findings)
		remark(&s->notes, "Kubernetes: %s%s", k->finding,
		       k->findings > 1 ? " (and more: kubectl get events, the log)" : "");
}

static const char *const words[] = {
	[POISE_CLUSTER_LISTING] = "listing",
	[POISE_CLUSTER_FOLLOWED] = "followed",
	[POISE_CLUSTER_OUTAGE] = "outage",
};

char *status_cluster_text(const struct status *s, char *buf, size_t size)
{
	const struct poise_cluster *k = &s->cluster;
	char age[POISE_WORD_TEXT];

	snprintf(buf, size, "%s for %s, %u services, %u endpoints in %u slices, node %s, %s%s",
		 words[k->state], since(k, age, sizeof(age)), k->services, k->endpoints, k->slices,
		 k->node, k->server, k->leads ? ", leading" : "");
	return buf;
}

struct json_object *status_cluster_json(const struct status *s)
{
	const struct poise_cluster *k = &s->cluster;
	struct json_object *o = json_object_new_object();

	json_add_known(o, "state", words[k->state]);
	json_add_time(o, "since", k->since);
	json_add_known(o, "server", k->server);
	json_add_known(o, "node", k->node);
	json_add_known(o, "leader", k->leader);
	json_object_object_add(o, "leads", json_object_new_boolean((int)k->leads));
	json_add_u64(o, "services", k->services);
	json_add_u64(o, "slices", k->slices);
	json_add_u64(o, "endpoints", k->endpoints);
	json_add_time(o, "applied_at", k->applied);
	json_add_u64(o, "findings", k->findings);
	json_add_known(o, "finding", k->finding);
	json_add_known(o, "error", k->error);
	return o;
}
