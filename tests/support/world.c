// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A cluster in which anything may happen; see world.h. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "golden.h"
#include "world.h"

#define THINGS 40 /* objects that may be there */

/* What the API server has: texts, NULL where there is none. The first is our Node. */
static struct {
	struct json_object *obj[THINGS];
	unsigned int version;
	unsigned long seed;
	bool heard; /* the watches are up */
} world;

static unsigned int chance(unsigned int n)
{
	world.seed = world.seed * 6364136223846793005ul + 1442695040888963407ul;
	return (unsigned int)(world.seed >> 33) % n;
}

static enum kube_kind kind_of(unsigned int thing)
{
	return !thing ? KUBE_NODE : thing < 12 ? KUBE_SERVICE : KUBE_SLICE;
}

static struct json_object *random_node(void)
{
	char text[512];

	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"" GOLDEN_NODE "\",\"uid\":\"n\","
		"\"resourceVersion\":\"%u\",\"labels\":{\"topology.kubernetes.io/"
		"zone\":\"z%u\"%s}},"
		"\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.0.0.%u\"}]}}",
		++world.version, chance(2),
		chance(4) ? ""
			  : ",\"node.kubernetes.io/exclude-from-external-load-balancers\":\"\"",
		1 + chance(2));
	return json_tokener_parse(text);
}

static struct json_object *random_service(unsigned int thing)
{
	static const char *const types[] = {"LoadBalancer", "LoadBalancer", "NodePort", "ClusterIP",
					    "ExternalName"};
	static const char *const notes[] = {"policy\":\"p2c", "policy\":\"wrong",
					    "forward\":\"ipip", "fade-in\":\"5s", "health\":\"tcp"};
	char text[2048];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"namespace\":\"n%u\",\"name\":\"s%u\",\"uid\":\"u%u\","
		 "\"resourceVersion\":\"%u\",\"creationTimestamp\":\"2026-01-01T00:00:%02uZ\","
		 "\"annotations\":{\"poise.dev/%s\"}},"
		 "\"spec\":{\"type\":\"%s\",%s\"externalTrafficPolicy\":\"%s\","
		 "\"sessionAffinity\":\"%s\",\"externalIPs\":[\"198.51.100.%u\"],"
		 "\"ports\":[{\"name\":\"a\",\"port\":80,\"targetPort\":%u,\"nodePort\":%u},"
		 "{\"name\":\"b\",\"port\":%u,\"targetPort\":8080,\"protocol\":\"%s\"}]%s},"
		 "\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"192.0.2.%u\"}]}}}",
		 thing % 2, thing, thing, ++world.version, chance(4), notes[chance(5)],
		 types[chance(5)], chance(5) ? "\"loadBalancerClass\":\"poise.dev/xdp\"," : "",
		 chance(2) ? "Local" : "Cluster", chance(2) ? "ClientIP" : "None", chance(5),
		 chance(2) ? 8080 : 8081, 30000 + thing, 80 + chance(2), chance(2) ? "TCP" : "UDP",
		 chance(4) ? "" : ",\"loadBalancerSourceRanges\":[\"203.0.113.0/24\"]", chance(20));
	return json_tokener_parse(text);
}

#define FOR_ZONE ",\"hints\":{\"forZones\":[{\"name\":\"z1\"}]}"
#define FOR_NODE ",\"hints\":{\"forNodes\":[{\"name\":\"node-a\"}]}"

static struct json_object *random_endpoint(void)
{
	static const char *const states[] = {
		"{\"ready\":true}",
		"{\"ready\":true}",
		"{}",
		"{\"ready\":false,\"serving\":true,\"terminating\":true}",
		"{\"ready\":false,\"serving\":false,\"terminating\":true}",
		"{\"ready\":false}"};
	static const char *const hints[] = {"", "", FOR_ZONE, FOR_ZONE, FOR_NODE};
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"addresses\":[\"10.1.0.%u\"],\"nodeName\":\"node-%c\",\"conditions\":%s,"
		 "\"targetRef\":{\"kind\":\"Pod\",\"name\":\"p%u\"}%s}",
		 chance(8), "ab"[chance(2)], states[chance(6)], chance(4), hints[chance(5)]);
	return json_tokener_parse(text);
}

static struct json_object *random_slice(unsigned int thing)
{
	struct json_object *slice, *list = json_object_new_array();
	unsigned int of = 1 + chance(11);
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"namespace\":\"n%u\",\"name\":\"e%u\",\"uid\":\"u%u\","
		 "\"resourceVersion\":\"%u\",\"creationTimestamp\":\"2026-01-01T00:00:%02uZ\","
		 "\"labels\":{\"kubernetes.io/service-name\":\"s%u\"}},\"addressType\":\"IPv4\","
		 "\"ports\":[{\"name\":\"a\",\"port\":8080},"
		 "{\"name\":\"b\",\"port\":8080,\"protocol\":\"%s\"}]}",
		 of % 2, thing, thing, ++world.version, chance(3), of, chance(2) ? "TCP" : "UDP");
	slice = json_tokener_parse(text);
	for (unsigned int n = chance(5); n; n--)
		json_object_array_add(list, random_endpoint());
	json_object_object_add(slice, "endpoints", list);
	return slice;
}

static struct json_object *random_object(unsigned int thing)
{
	switch (kind_of(thing)) {
	case KUBE_NODE: return random_node();
	case KUBE_SERVICE: return random_service(thing);
	default: return random_slice(thing);
	}
}

/* The list of a kind; broken off after some of it, or whole. */
static void list(struct kube_cache *c, enum kube_kind kind, bool whole)
{
	kube_cache_relist_begin(c, kind);
	for (unsigned int t = 0; t < THINGS; t++)
		if (world.obj[t] && kind_of(t) == kind && (whole || chance(2)))
			kube_cache_object(c, kind, world.obj[t]);
	if (whole)
		kube_cache_relist_end(c, kind);
	else
		kube_cache_relist_abort(c, kind);
}

/* heard: the watch tells of it. A slice of another namespace is another object. */
static void happen(struct kube_cache *c, bool heard)
{
	unsigned int t = chance(4) ? 12 + chance(THINGS - 12) : chance(12);
	struct json_object *was = world.obj[t];

	world.obj[t] = NULL;
	if (was && heard)
		kube_cache_deleted(c, kind_of(t), was);
	json_object_put(was);
	if (chance(4))
		world.obj[t] = random_object(t);
	if (world.obj[t] && heard)
		kube_cache_object(c, kind_of(t), world.obj[t]);
}

void world_begin(unsigned long seed)
{
	world_end();
	world.seed = seed;
}

void world_end(void)
{
	for (unsigned int t = 0; t < THINGS; t++) {
		json_object_put(world.obj[t]);
		world.obj[t] = NULL;
	}
}

void world_step(struct kube_cache *c, unsigned int event)
{
	bool sure = event % WORLD_ROUND == WORLD_ROUND - 1;

	happen(c, world.heard);
	if (!chance(20)) /* an outage begins, or ends */
		world.heard = !world.heard;
	world.heard |= sure;
	for (int k = 0; k < KUBE_KINDS && world.heard; k++) {
		if (!chance(10))
			list(c, (enum kube_kind)k, false);
		if (sure || !chance(50))
			list(c, (enum kube_kind)k, true);
	}
}

void world_tell(struct kube_cache *c)
{
	for (int k = 0; k < KUBE_KINDS; k++)
		list(c, (enum kube_kind)k, true);
}

struct kube_cache *world_fresh(void)
{
	struct kube_cache *c = kube_cache_new(GOLDEN_NODE);

	world_tell(c);
	return c;
}
