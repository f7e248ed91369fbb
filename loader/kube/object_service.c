// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Services. Source ranges that are not understood deny: a Service that asked for them is never open
 * to all because of a slip.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "maps/ranges.h"
#include "publish.h"

#define AFFINITY_DEFAULT 10800 /* seconds: kube-apiserver's */
#define AFFINITY_MOST	 86400 /* and what it allows */
#define NOTE_MOST	 4096  /* bytes of an annotation: a list of ranges has room */
#define CLASS_MOST	 256   /* bytes of a class or a proxy's name that is looked at */
#define ANY_FAMILY	 (KUBE_IPV4 | KUBE_IPV6)

/* ---- ports ------------------------------------------------------------------------------------*/

/* A number or the name of a container's port; as text, since only whether two are alike counts. */
static char *decode_target(struct decoder *d, const struct spot *port)
{
	struct spot at = {.up = port, .key = "targetPort"};
	const char *text = "";
	char number[24];

	if (!json_object_object_get_ex(port->json, "targetPort", &at.json) || !at.json)
		return "";
	if (json_object_is_type(at.json, json_type_int)) {
		snprintf(number, sizeof(number), "%lld", (long long)json_object_get_int64(at.json));
		return arena_text(d->memory, number);
	}
	spot_is_text(&d->r, &at, &text);
	return arena_text(d->memory, text);
}

static bool decode_port(struct decoder *d, const struct spot *at, struct kube_port *p)
{
	__s64 port = 0, node_port = 0;
	const char *name = "";

	spot_text(&d->r, at, "name", &name);
	if (!decode_port_name(d, at, name) || !spot_number(&d->r, at, "port", 1, 65535, &port))
		return false;
	spot_number(&d->r, at, "nodePort", 0, 65535, &node_port);
	*p = (struct kube_port){
		.name = arena_text(d->memory, name),
		.target = decode_target(d, at),
		.port = (__u16)port,
		.node_port = (__u16)node_port,
		.proto = decode_proto(d, at),
		.at = (__u16)at->index,
	};
	return true;
}

/* The API server allows neither a name nor a port and protocol twice. */
static bool port_twice(struct decoder *d, const struct spot *at, const struct kube_service *s,
		       const struct kube_port *p)
{
	for (size_t i = 0; i < s->ports; i++) {
		const struct kube_port *o = &s->port[i];
		bool named = !strcmp(o->name, p->name);

		if (!named && (o->port != p->port || o->proto != p->proto || !p->proto))
			continue;
		spot_fault(&d->r, at, KUBE_R_INVALID, "has the %s of spec.ports[%u]: left out",
			   named ? "name" : "port", o->at);
		return true;
	}
	return false;
}

static void decode_ports(struct decoder *d, const struct spot *spec, struct kube_service *s)
{
	struct spot list, at;
	size_t n;

	if (!spot_array(&d->r, spec, "ports", KUBE_PORTS_MAX, &list, &n))
		return;
	s->port = decode_array(d, n, sizeof(*s->port));
	for (size_t i = 0; i < n; i++)
		if (spot_entry(&d->r, &list, i, &at) && decode_port(d, &at, &s->port[s->ports]) &&
		    !port_twice(d, &at, s, &s->port[s->ports]))
			s->ports++;
}

/* ---- addresses --------------------------------------------------------------------------------*/

static bool has_addr(const union poise_addr *list, size_t n, const union poise_addr *addr)
{
	for (size_t i = 0; i < n; i++)
		if (!memcmp(&list[i], addr, sizeof(*addr)))
			return true;
	return false;
}

static void decode_external(struct decoder *d, const struct spot *spec, struct kube_service *s)
{
	struct spot list, at;
	const char *text;
	size_t n;

	if (!spot_array(&d->r, spec, "externalIPs", KUBE_ADDRS_MAX, &list, &n))
		return;
	s->external = decode_array(d, n, sizeof(*s->external));
	for (size_t i = 0; i < n; i++)
		if (spot_entry_text(&d->r, &list, i, &at, &text) &&
		    spot_addr(&d->r, &at, ANY_FAMILY, &s->external[s->externals]) &&
		    !has_addr(s->external, s->externals, &s->external[s->externals]))
			s->externals++;
}

/* One of ipMode Proxy is a proxy's in front of us, which comes to a NodePort. */
static void decode_ingress(struct decoder *d, struct kube_service *s)
{
	struct spot status, balancer, list, entry;
	size_t n;

	s->ingress_ours = kube_publish_wrote(d->root.json);

	spot_object(&d->r, &d->root, "status", &status);
	spot_object(&d->r, &status, "loadBalancer", &balancer);
	if (!spot_array(&d->r, &balancer, "ingress", KUBE_ADDRS_MAX, &list, &n))
		return;
	s->ingress = decode_array(d, n, sizeof(*s->ingress));
	for (size_t i = 0; i < n; i++) {
		struct spot at = {.up = &entry, .key = "ip"};
		const char *mode = "VIP";

		if (!spot_entry(&d->r, &list, i, &entry))
			continue;
		spot_text(&d->r, &entry, "ipMode", &mode);
		json_object_object_get_ex(entry.json, "ip", &at.json);
		if (!at.json || !strcmp(mode, "Proxy"))
			s->ingress_other = true;
		else if (spot_addr(&d->r, &at, ANY_FAMILY, &s->ingress[s->ingresses]) &&
			 !has_addr(s->ingress, s->ingresses, &s->ingress[s->ingresses]))
			s->ingresses++;
	}
}

static void want(struct decoder *d, const struct spot *at, struct kube_service *s)
{
	if (s->wants < KUBE_ADDRS_MAX && spot_addr(&d->r, at, ANY_FAMILY, &s->want[s->wants]) &&
	    !has_addr(s->want, s->wants, &s->want[s->wants]))
		s->wants++;
}

/* The one of spec.loadBalancerIP, then those of the annotation. */
static void decode_want(struct decoder *d, const struct spot *spec, const struct spot *notes,
			struct kube_service *s)
{
	struct spot at = {.up = spec, .key = "loadBalancerIP"};
	const char *list, *text = "";
	char *word, *rest;

	s->want = decode_array(d, KUBE_ADDRS_MAX, sizeof(*s->want));
	if (spot_text(&d->r, spec, "loadBalancerIP", &text) && *text) {
		at.json = json_object_object_get(spec->json, "loadBalancerIP");
		want(d, &at, s);
	}
	list = kube_service_note(s, KUBE_WANTED);
	if (!list)
		return;
	at = (struct spot){.up = notes, .key = KUBE_ANNOTATION KUBE_WANTED};
	rest = arena_text(d->memory, list);
	while ((word = strsep(&rest, ","))) {
		word += strspn(word, " \t");
		word[strcspn(word, " \t")] = '\0';
		at.json = json_object_new_string(word);
		want(d, &at, s);
		json_object_put(at.json);
	}
}

/* ---- who may come -----------------------------------------------------------------------------*/

static int range_order(const void *a, const void *b)
{
	return range_cmp(a, b);
}

static bool decode_range(struct decoder *d, const struct spot *list, size_t i,
			 struct poise_range *range)
{
	struct poise_error err = {0};
	char copy[RANGE_TEXT];
	const char *text;
	struct spot at;
	size_t length;

	if (!spot_entry_text(&d->r, list, i, &at, &text))
		return false;
	text += strspn(text, " \t\n\r"); /* as kube-proxy */
	length = strcspn(text, " \t\n\r");
	snprintf(copy, sizeof(copy), "%.*s", (int)(length < RANGE_TEXT ? length : RANGE_TEXT),
		 text);
	if (strchr(copy, '/') && !range_parse_within(copy, range, &err))
		return true;
	spot_wrong(&d->r, &at, text, err.code ? err.message : "not a prefix: it has no length");
	return false;
}

static void decode_ranges(struct decoder *d, const struct spot *spec, struct kube_service *s)
{
	struct json_object *said = NULL;
	size_t n = 0, kept = 0;
	struct spot list;

	if (!spec->json ||
	    !json_object_object_get_ex(spec->json, "loadBalancerSourceRanges", &said) || !said)
		return;
	if (spot_array(&d->r, spec, "loadBalancerSourceRanges", POISE_RANGES_MAX, &list, &n) && !n)
		return;
	s->ranged = true;
	s->range = decode_array(d, n, sizeof(*s->range));
	for (size_t i = 0; i < n; i++)
		if (decode_range(d, &list, i, &s->range[s->ranges]))
			s->ranges++;
	if (!s->ranges)
		return;
	qsort(s->range, s->ranges, sizeof(*s->range), range_order);
	for (size_t i = 1; i < s->ranges; i++)
		if (range_cmp(&s->range[kept], &s->range[i]) != 0)
			s->range[++kept] = s->range[i];
	s->ranges = kept + 1;
}

/* ---- annotations ------------------------------------------------------------------------------*/

static int note_order(const void *a, const void *b)
{
	const struct kube_note *x = a, *y = b;

	return strcmp(x->key, y->key);
}

static void decode_notes(struct decoder *d, struct spot *notes, struct kube_service *s)
{
	const size_t prefix = strlen(KUBE_ANNOTATION);
	const char *value;

	if (!spot_object(&d->r, &d->meta, "annotations", notes))
		return;
	s->note = decode_array(d, KUBE_NOTES_MAX, sizeof(*s->note));
	json_object_object_foreach(notes->json, key, json)
	{
		struct spot at = {.up = notes, .key = key, .json = json};

		if (strncmp(key, KUBE_ANNOTATION, prefix) != 0 || !spot_is_text(&d->r, &at, &value))
			continue;
		if (s->notes == KUBE_NOTES_MAX || strlen(value) > NOTE_MOST) {
			spot_fault(&d->r, &at, KUBE_R_ANNOTATION, "left out: %s",
				   s->notes == KUBE_NOTES_MAX ? "there are too many" : "too long");
			continue;
		}
		s->note[s->notes].key = arena_text(d->memory, key + prefix);
		s->note[s->notes++].value = arena_text(d->memory, value);
	}
	qsort(s->note, s->notes, sizeof(*s->note), note_order);
}

/* ---- the rest ---------------------------------------------------------------------------------*/

static enum kube_type decode_type(struct decoder *d, const struct spot *spec)
{
	static const char *const words[] = {"ClusterIP", "NodePort", "LoadBalancer",
					    "ExternalName"};
	const struct spot at = {.up = spec, .key = "type"};
	const char *text = words[KUBE_CLUSTER_IP];

	if (!spot_text(&d->r, spec, "type", &text) && json_object_object_get(spec->json, "type"))
		return KUBE_TYPE_UNKNOWN;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(text, words[i]))
			return (enum kube_type)i;
	spot_wrong(&d->r, &at, text, "no type of Service that is known");
	return KUBE_TYPE_UNKNOWN;
}

static bool is_headless(struct decoder *d, const struct spot *spec)
{
	const char *address = "";

	spot_text(&d->r, spec, "clusterIP", &address);
	return !strcmp(address, "None") ||
	       json_object_object_get_ex(d->labels.json, "service.kubernetes.io/headless", NULL);
}

/* Not said, as before Kubernetes 1.20: either. */
static void decode_families(struct decoder *d, const struct spot *spec, struct kube_service *s)
{
	const char *text, *policy = "";
	struct spot list, at;
	size_t n;

	spot_text(&d->r, spec, "ipFamilyPolicy", &policy);
	s->likes_both = !strcmp(policy, "PreferDualStack");
	spot_array(&d->r, spec, "ipFamilies", 2, &list, &n);
	for (size_t i = 0; i < n; i++) {
		if (!spot_entry_text(&d->r, &list, i, &at, &text))
			continue;
		if (!strcmp(text, "IPv4"))
			s->families |= KUBE_IPV4;
		else if (!strcmp(text, "IPv6"))
			s->families |= KUBE_IPV6;
		else
			spot_wrong(&d->r, &at, text, "not IPv4 or IPv6");
		s->prefers6 |= s->families == KUBE_IPV6;
	}
	if (!s->families)
		s->families = ANY_FAMILY;
}

static void decode_affinity(struct decoder *d, const struct spot *spec, struct kube_service *s)
{
	const struct spot at = {.up = spec, .key = "sessionAffinity"};
	__s64 seconds = AFFINITY_DEFAULT;
	struct spot config, client;
	const char *text = "None";

	spot_text(&d->r, spec, "sessionAffinity", &text);
	s->affinity = !strcmp(text, "ClientIP");
	if (!s->affinity && strcmp(text, "None") != 0)
		spot_wrong(&d->r, &at, text, "not None or ClientIP");
	spot_object(&d->r, spec, "sessionAffinityConfig", &config);
	spot_object(&d->r, &config, "clientIP", &client);
	spot_number(&d->r, &client, "timeoutSeconds", 1, AFFINITY_MOST, &seconds);
	s->affinity_for = (__u32)seconds;
}

static void decode_policy(struct decoder *d, const struct spot *spec, struct kube_service *s)
{
	const struct spot at = {.up = spec, .key = "externalTrafficPolicy"};
	const char *text = "Cluster";
	__s64 port = 0;

	spot_text(&d->r, spec, "externalTrafficPolicy", &text);
	s->local = !strcmp(text, "Local");
	if (!s->local && strcmp(text, "Cluster") != 0)
		spot_wrong(&d->r, &at, text, "not Cluster or Local");
	spot_number(&d->r, spec, "healthCheckNodePort", 0, 65535, &port);
	s->health_port = (__u16)port;
}

/* NULL: not said. A text of a wrong type is some class, but not ours. */
static char *decode_class(struct decoder *d, const struct spot *spec)
{
	const char *text = "";

	if (!spot_text(&d->r, spec, "loadBalancerClass", &text) &&
	    !json_object_object_get(spec->json, "loadBalancerClass"))
		return NULL;
	return arena_text(d->memory, strlen(text) > CLASS_MOST ? "" : text);
}

void kube_service_decode(struct decoder *d, struct kube_service *s)
{
	struct spot spec, notes;

	if (!spot_object(&d->r, &d->root, "spec", &spec)) {
		if (!json_object_object_get(d->root.json, "spec"))
			spot_fault(&d->r, &spec, KUBE_R_INVALID, "is not there");
		s->type = KUBE_TYPE_UNKNOWN;
		return;
	}
	s->type = decode_type(d, &spec);
	s->headless = is_headless(d, &spec);
	s->proxy = decode_label(d, "service.kubernetes.io/service-proxy-name");
	s->lb_class = decode_class(d, &spec);
	decode_policy(d, &spec, s);
	decode_affinity(d, &spec, s);
	decode_families(d, &spec, s);
	decode_notes(d, &notes, s);
	decode_ports(d, &spec, s);
	decode_external(d, &spec, s);
	decode_ingress(d, s);
	decode_want(d, &spec, &notes, s);
	decode_ranges(d, &spec, s);
}
