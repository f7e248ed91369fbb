// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * EndpointSlices: some of a Service's endpoints, all of one family, and the ports that each of them
 * has. An endpoint that is not understood in full is left out: traffic to it might be lost.
 */
#include <stdio.h>
#include <string.h>

#include "decode.h"
#include "fnv.h"

#define PORTS_MAX 1000 /* of a slice: as many as a Service has */

/* ---- ports ------------------------------------------------------------------------------------*/

static bool decode_port(struct decoder *d, const struct spot *at, struct kube_slice_port *p)
{
	const char *name = "";
	__s64 number = 0;

	spot_text(&d->r, at, "name", &name);
	p->proto = decode_proto(d, at);
	/* None means every port, which no Service can ask for. */
	if (!p->proto || !decode_port_name(d, at, name) ||
	    !spot_number(&d->r, at, "port", 1, 65535, &number))
		return false;
	p->name = arena_text(d->memory, name);
	p->port = (__u16)number;
	return true;
}

static void decode_ports(struct decoder *d, struct kube_slice *s)
{
	struct spot list, at;
	size_t n;

	if (!spot_array(&d->r, &d->root, "ports", PORTS_MAX, &list, &n))
		return;
	s->port = decode_array(d, n, sizeof(*s->port));
	for (size_t i = 0; i < n; i++)
		if (spot_entry(&d->r, &list, i, &at) && decode_port(d, &at, &s->port[s->ports]))
			s->ports++;
}

/* ---- hints ------------------------------------------------------------------------------------*/

/* The index of a set of zones, each between newlines; slices have few different ones. */
static __u16 zone_set(struct decoder *d, struct kube_slice *s, const char *text)
{
	for (size_t i = 1; i < s->zone_sets; i++)
		if (!strcmp(s->zones[i], text))
			return (__u16)i;
	s->zones[s->zone_sets] = arena_text(d->memory, text);
	return (__u16)s->zone_sets++;
}

static __u16 decode_zones(struct decoder *d, struct kube_slice *s, const struct spot *hints)
{
	char text[KUBE_HINTS_MAX * (KUBE_NAME_MAX + 1) + sizeof("\n")] = "\n";
	struct spot list, at;
	size_t n, used = 1;

	if (!spot_array(&d->r, hints, "forZones", KUBE_HINTS_MAX, &list, &n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		const char *zone = "";

		if (!spot_entry(&d->r, &list, i, &at) || !spot_text(&d->r, &at, "name", &zone) ||
		    !*zone)
			continue;
		if (strlen(zone) > KUBE_NAME_MAX || strchr(zone, '\n'))
			spot_wrong(&d->r, &at, zone, "no zone is named so");
		else
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\n", zone);
	}
	return used > 1 ? zone_set(d, s, text) : 0;
}

/* Every node has endpoints of its own, so sets would be many; but one of them alone is ours. */
static __u8 decode_nodes(struct decoder *d, const struct spot *hints)
{
	struct spot list, at;
	__u8 is = 0;
	size_t n;

	if (!spot_array(&d->r, hints, "forNodes", KUBE_HINTS_MAX, &list, &n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		const char *name = "";

		if (!spot_entry(&d->r, &list, i, &at) || !spot_text(&d->r, &at, "name", &name) ||
		    !*name)
			continue;
		is |= KUBE_FOR_NODES;
		if (d->node && !strcmp(name, d->node))
			is |= KUBE_FOR_OURS;
	}
	return is;
}

static void decode_hints(struct decoder *d, struct kube_slice *s, const struct spot *endpoint,
			 struct kube_endpoint *e)
{
	struct spot hints;

	if (!spot_object(&d->r, endpoint, "hints", &hints))
		return;
	e->zones = decode_zones(d, s, &hints);
	e->is |= decode_nodes(d, &hints);
}

/* ---- endpoints --------------------------------------------------------------------------------*/

/* Who it is, so that it is known again in another slice. Whoever makes two pods alike chooses
 * between his own. */
static __u64 decode_pod(struct decoder *d, const struct spot *endpoint)
{
	static const char *const keys[] = {"kind", "namespace", "name", "uid"};
	__u64 hash = FNV_BEGIN;
	struct spot ref;

	if (!spot_object(&d->r, endpoint, "targetRef", &ref))
		return 0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *text = "";

		spot_text(&d->r, &ref, keys[i], &text);
		hash = fnv(hash, text, strlen(text) + 1);
	}
	return hash | 1;
}

/* False: one of them is no truth. */
static bool decode_conditions(struct decoder *d, const struct spot *endpoint, __u8 *is)
{
	enum spot_truth ready, serving, terminating;
	struct spot at = {0};

	spot_object(&d->r, endpoint, "conditions", &at);
	ready = spot_truth(&d->r, &at, "ready");
	serving = spot_truth(&d->r, &at, "serving");
	terminating = spot_truth(&d->r, &at, "terminating");
	if (ready == SPOT_WRONG || serving == SPOT_WRONG || terminating == SPOT_WRONG)
		return false;
	if (ready == SPOT_ABSENT)
		ready = SPOT_TRUE;
	if (serving == SPOT_ABSENT)
		serving = ready;
	*is = (ready == SPOT_TRUE ? KUBE_READY : 0) | (serving == SPOT_TRUE ? KUBE_SERVING : 0) |
	      (terminating == SPOT_TRUE ? KUBE_TERMINATING : 0);
	return true;
}

/* Of several addresses the first counts, as for kube-proxy. */
static bool decode_endpoint(struct decoder *d, struct kube_slice *s, const struct spot *at,
			    __u8 family, struct kube_endpoint *e)
{
	struct spot list, first;
	const char *node = NULL;
	size_t n;

	if (!spot_array(&d->r, at, "addresses", KUBE_SLICE_MAX, &list, &n) || !n)
		return false;
	first = (struct spot){.up = &list, .json = json_object_array_get_idx(list.json, 0)};
	if (!first.json || !spot_addr(&d->r, &first, family, &e->addr) ||
	    !decode_conditions(d, at, &e->is))
		return false;
	spot_text(&d->r, at, "nodeName", &node);
	if (node && d->node && !strcmp(node, d->node))
		e->is |= KUBE_LOCAL;
	e->pod = decode_pod(d, at);
	decode_hints(d, s, at, e);
	return true;
}

/* 0: names (FQDN), which nobody looks up, or not said. */
static __u8 decode_family(struct decoder *d)
{
	const struct spot at = {.up = &d->root, .key = "addressType"};
	const char *type = "";

	spot_text(&d->r, &d->root, "addressType", &type);
	if (!strcmp(type, "IPv4"))
		return KUBE_IPV4;
	if (!strcmp(type, "IPv6"))
		return KUBE_IPV6;
	if (strcmp(type, "FQDN") != 0)
		spot_wrong(&d->r, &at, type, "not IPv4, IPv6 or FQDN");
	return 0;
}

void kube_slice_decode(struct decoder *d, struct kube_slice *s)
{
	__u8 family = decode_family(d);
	struct spot list, at;
	size_t n = 0;

	s->service = decode_label(d, "kubernetes.io/service-name");
	if (!s->service)
		s->service = "";
	decode_ports(d, s);
	if (!family || !spot_array(&d->r, &d->root, "endpoints", KUBE_SLICE_MAX, &list, &n))
		return;
	s->endpoint = decode_array(d, n, sizeof(*s->endpoint));
	s->zones = decode_array(d, n + 1, sizeof(*s->zones));
	s->zone_sets = 1;
	for (size_t i = 0; i < n; i++) {
		struct kube_endpoint *e = &s->endpoint[s->endpoints];

		memset(e, 0, sizeof(*e));
		if (spot_entry(&d->r, &list, i, &at) && decode_endpoint(d, s, &at, family, e))
			s->endpoints++;
	}
}
