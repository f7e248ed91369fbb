// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Objects of the API server: names, what all have in common, and which file decodes the rest.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "decode.h"
#include "maps/error.h"
#include "maps/memory.h"

#define LABEL_MAX 63 /* a DNS label: names of Services, namespaces and ports */

/* ---- names ------------------------------------------------------------------------------------*/

/* As the API server has it: a DNS label, with dots several. A text of other characters could be
 * taken for two others once put together. */
static bool name_right(const char *text, bool dots)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	size_t length = strlen(text);

	if (!length || length > (dots ? KUBE_NAME_MAX : LABEL_MAX))
		return false;
	for (const char *c = text; *c; c++)
		if (!strchr(plain, *c) && !(dots && *c == '.'))
			return false;
	return text[0] != '-' && text[0] != '.';
}

static const char *text_of(struct json_object *in, const char *key)
{
	struct json_object *found;

	if (!json_object_is_type(in, json_type_object) ||
	    !json_object_object_get_ex(in, key, &found) ||
	    !json_object_is_type(found, json_type_string) ||
	    strlen(json_object_get_string(found)) != (size_t)json_object_get_string_len(found))
		return NULL;
	return json_object_get_string(found);
}

bool kube_object_name(enum kube_kind kind, struct json_object *json, const char **ns,
		      const char **name)
{
	struct json_object *meta = NULL;

	if (json_object_is_type(json, json_type_object))
		json_object_object_get_ex(json, "metadata", &meta);
	*name = text_of(meta, "name");
	*ns = kind == KUBE_NODE ? "" : text_of(meta, "namespace");
	return *name && *ns && name_right(*name, kind != KUBE_SERVICE) &&
	       (kind == KUBE_NODE || name_right(*ns, false));
}

/* ---- what the kinds share ---------------------------------------------------------------------*/

char *decode_label(struct decoder *d, const char *key)
{
	const char *text;

	return spot_text(&d->r, &d->labels, key, &text) ? arena_text(d->memory, text) : NULL;
}

void *decode_array(struct decoder *d, size_t n, size_t size)
{
	return arena_alloc(d->memory, (n ? n : 1) * size);
}

__u8 decode_proto(struct decoder *d, const struct spot *port)
{
	const char *text = "TCP";
	struct spot at = {.up = port, .key = "protocol"};

	if (!spot_text(&d->r, port, "protocol", &text) &&
	    json_object_object_get_ex(port->json, "protocol", &at.json) && at.json)
		return 0; /* no text: said already */
	if (!strcmp(text, "TCP"))
		return IPPROTO_TCP;
	if (!strcmp(text, "UDP"))
		return IPPROTO_UDP;
	if (strcmp(text, "SCTP") != 0)
		spot_wrong(&d->r, &at, text, "not TCP, UDP or SCTP");
	else if (d->r.about.kind == KUBE_SERVICE) /* once is enough */
		spot_fault(&d->r, &at, KUBE_R_UNSUPPORTED,
			   "SCTP is not served: TCP and UDP are, and so are such ports of the "
			   "Service");
	return 0;
}

bool decode_port_name(struct decoder *d, const struct spot *port, const char *name)
{
	const struct spot at = {.up = port, .key = "name"};

	if (!*name || name_right(name, false))
		return true;
	spot_wrong(&d->r, &at, name, "no port is named so");
	return false;
}

/* Seconds since 1970 of 2026-12-01T07:14:09Z; the API server writes no other form. */
static __s64 created(struct decoder *d)
{
	const struct spot at = {.up = &d->meta, .key = "creationTimestamp"};
	struct tm tm = {0};
	const char *text, *end;

	if (!spot_text(&d->r, &d->meta, "creationTimestamp", &text))
		return INT64_MAX;
	end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (end && !*end)
		return timegm(&tm);
	spot_wrong(&d->r, &at, text, "not a time as of RFC 3339 in UTC");
	return INT64_MAX;
}

static char *meta_text(struct decoder *d, const char *key)
{
	const char *text = "";

	spot_text(&d->r, &d->meta, key, &text);
	return arena_text(d->memory, text);
}

/* ---- decoding ---------------------------------------------------------------------------------*/

static size_t size_of(enum kube_kind kind)
{
	static const size_t size[KUBE_KINDS] = {
		[KUBE_SERVICE] = sizeof(struct kube_service),
		[KUBE_SLICE] = sizeof(struct kube_slice),
		[KUBE_NODE] = sizeof(struct kube_node),
	};

	return size[kind];
}

static void decode(struct decoder *d, struct kube_object *o)
{
	spot_object(&d->r, &d->root, "metadata", &d->meta);
	spot_object(&d->r, &d->meta, "labels", &d->labels);
	o->uid = meta_text(d, "uid");
	d->r.about.uid = o->uid;
	o->version = meta_text(d, "resourceVersion");
	o->created = created(d);
	switch (o->kind) {
	case KUBE_SERVICE: kube_service_decode(d, (struct kube_service *)o); break;
	case KUBE_SLICE: kube_slice_decode(d, (struct kube_slice *)o); break;
	default: kube_node_decode(d, (struct kube_node *)o); break;
	}
}

struct kube_object *kube_object_decode(enum kube_kind kind, struct json_object *json,
				       const char *node, struct kube_findings *lost)
{
	struct kube_findings faults = {0};
	struct arena memory = {0};
	struct kube_object *o;
	const char *ns, *name;

	if (!kube_object_name(kind, json, &ns, &name)) {
		const struct kube_about about = {kind, ns, name, ""};

		kube_find(lost, &about, KUBE_R_INVALID, "metadata",
			  "has no namespace and name that the API knows: it is left out");
		return NULL;
	}
	o = arena_alloc(&memory, size_of(kind));
	o->memory = memory;
	o->kind = kind;
	o->ns = arena_text(&o->memory, ns);
	o->name = arena_text(&o->memory, name);
	decode(&(struct decoder){.r = {{kind, o->ns, o->name, ""}, &faults},
				 .root = {.json = json},
				 .memory = &o->memory,
				 .node = node},
	       o);
	if (faults.n) {
		o->faults = memory_alloc(sizeof(*o->faults));
		*o->faults = faults;
	}
	return o;
}

void kube_object_free(struct kube_object *o)
{
	struct arena memory;

	if (!o)
		return;
	if (o->faults)
		kube_findings_free(o->faults);
	free(o->faults);
	memory = o->memory;
	arena_free(&memory);
}

/* ---- asking -----------------------------------------------------------------------------------*/

const char *kube_service_note(const struct kube_service *s, const char *key)
{
	for (size_t i = 0; i < s->notes; i++)
		if (!strcmp(s->note[i].key, key))
			return s->note[i].value;
	return NULL;
}

bool kube_slice_hints(const struct kube_slice *s, const struct kube_endpoint *e, const char *zone)
{
	char line[KUBE_NAME_MAX + sizeof("\n\n")];

	if (!e->zones || !*zone || strlen(zone) > KUBE_NAME_MAX)
		return false;
	snprintf(line, sizeof(line), "\n%s\n", zone);
	return strstr(s->zones[e->zones], line);
}
