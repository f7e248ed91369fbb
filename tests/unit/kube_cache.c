// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What is known of the cluster: what lists and events make of it, which Services they touch, and
 * what a hundred thousand endpoints take.
 */
#include <criterion/criterion.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "loader/kube/cache.h"

static struct kube_cache *cache;

static void setup(void)
{
	cache = kube_cache_new("node-a");
}

static void teardown(void)
{
	kube_cache_free(cache);
}

TestSuite(kube_cache, .init = setup, .fini = teardown);

static struct json_object *service(const char *name, int version)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"namespace\":\"a\",\"name\":\"%s\",\"uid\":\"u\","
		 "\"resourceVersion\":\"%d\"},\"spec\":{\"ports\":[{\"port\":%d}]}}",
		 name, version, version);
	return json_tokener_parse(text);
}

static struct json_object *slice(const char *name, const char *of, int version)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"namespace\":\"a\",\"name\":\"%s\",\"uid\":\"u\","
		 "\"resourceVersion\":\"%d\",\"labels\":{\"kubernetes.io/service-name\":\"%s\"}},"
		 "\"addressType\":\"IPv4\",\"endpoints\":[{\"addresses\":[\"10.0.0.%d\"]}]}",
		 name, version, of, version);
	return json_tokener_parse(text);
}

static void tell(enum kube_kind kind, struct json_object *obj)
{
	kube_cache_object(cache, kind, obj);
	json_object_put(obj);
}

static void gone(enum kube_kind kind, struct json_object *obj)
{
	kube_cache_deleted(cache, kind, obj);
	json_object_put(obj);
}

static bool known(const char *name)
{
	const struct kube_entry *e = kube_cache_find(cache, "a", name);

	return e && e->service;
}

static size_t slices(const char *name)
{
	const struct kube_entry *e = kube_cache_find(cache, "a", name);

	return e ? e->slices : 0;
}

/* Names of those that are touched, in order; then settles. */
static const char *touched(void)
{
	static char text[256];
	const struct kube_entry *const *e;
	size_t n, used = 0;

	e = kube_cache_touched(cache, &n);
	text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
					 e[i]->at.name);
	kube_cache_settle(cache);
	return text;
}

/* ---- events -----------------------------------------------------------------------------------*/

Test(kube_cache, events)
{
	tell(KUBE_SERVICE, service("web", 1));
	tell(KUBE_SLICE, slice("web-1", "web", 1));
	tell(KUBE_SLICE, slice("web-2", "web", 1));
	cr_expect(known("web"));
	cr_expect_eq(slices("web"), 2);
	cr_expect_str_eq(touched(), "web");
	tell(KUBE_SLICE, slice("web-1", "web", 2));
	cr_expect_eq(slices("web"), 2);
	cr_expect_str_eq(touched(), "web");
	tell(KUBE_SLICE, slice("web-1", "web", 2));
	tell(KUBE_SERVICE, service("web", 1));
	cr_expect_str_eq(touched(), "", "nothing is another version");
	gone(KUBE_SLICE, slice("web-2", "web", 1));
	cr_expect_eq(slices("web"), 1);
	cr_expect_str_eq(touched(), "web");
	gone(KUBE_SLICE, slice("web-2", "web", 1));
	cr_expect_str_eq(touched(), "");
	gone(KUBE_SERVICE, service("web", 1));
	cr_expect_not(known("web"));
	cr_expect_eq(slices("web"), 1, "slices may come first and go last");
	cr_expect_str_eq(touched(), "web");
	gone(KUBE_SLICE, slice("web-1", "web", 2));
	cr_expect_str_eq(touched(), "web");
	cr_expect_null(kube_cache_find(cache, "a", "web"), "nobody is left behind");
}

Test(kube_cache, slice_changes_hands)
{
	tell(KUBE_SLICE, slice("s", "one", 1));
	touched();
	tell(KUBE_SLICE, slice("s", "two", 2));
	cr_expect_eq(slices("one"), 0);
	cr_expect_eq(slices("two"), 1);
	cr_expect_str_eq(touched(), "one two");
	tell(KUBE_SLICE, slice("s", "", 3));
	cr_expect_eq(slices("two"), 0);
	cr_expect_str_eq(touched(), "two");
}

Test(kube_cache, node)
{
	cr_expect_null(kube_cache_node(cache));
	tell(KUBE_NODE, json_tokener_parse("{\"metadata\":{\"name\":\"node-b\"}}"));
	cr_expect_null(kube_cache_node(cache));
	cr_expect_not(kube_cache_node_touched(cache));
	tell(KUBE_NODE, json_tokener_parse("{\"metadata\":{\"name\":\"node-a\"}}"));
	cr_expect_not_null(kube_cache_node(cache));
	cr_expect(kube_cache_node_touched(cache));
	kube_cache_settle(cache);
	cr_expect_not(kube_cache_node_touched(cache));
	gone(KUBE_NODE, json_tokener_parse("{\"metadata\":{\"name\":\"node-a\"}}"));
	cr_expect_null(kube_cache_node(cache));
	cr_expect(kube_cache_node_touched(cache));
}

static struct json_object *our_node(int version, const char *zone, const char *address)
{
	char text[512];

	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"node-a\",\"uid\":\"u\",\"resourceVersion\":\"%d\","
		"\"labels\":{\"topology.kubernetes.io/zone\":\"%s\"}},\"status\":{\"addresses\":["
		"{\"type\":\"InternalIP\",\"address\":\"%s\"}],\"conditions\":[{\"type\":\"Ready\","
		"\"lastHeartbeatTime\":\"2026-12-01T07:14:%02dZ\"}]}}",
		version, zone, address, version);
	return json_tokener_parse(text);
}

/* The kubelet says every few minutes that it is alive: nothing changes by that. */
Test(kube_cache, heartbeats_of_the_node)
{
	__u64 changes;

	tell(KUBE_NODE, our_node(1, "z1", "10.0.0.1"));
	kube_cache_settle(cache);
	changes = kube_cache_changes(cache);
	tell(KUBE_NODE, our_node(2, "z1", "10.0.0.1"));
	cr_expect_not(kube_cache_node_touched(cache));
	cr_expect_eq(kube_cache_changes(cache), changes);
	cr_expect_str_eq(kube_cache_node(cache)->o.version, "2", "the newest is kept");
	tell(KUBE_NODE, our_node(3, "z2", "10.0.0.1"));
	cr_expect(kube_cache_node_touched(cache));
	kube_cache_settle(cache);
	tell(KUBE_NODE, our_node(4, "z2", "10.0.0.2"));
	cr_expect(kube_cache_node_touched(cache));
	cr_expect_eq(kube_cache_changes(cache), changes + 4);
}

Test(kube_cache, no_name)
{
	tell(KUBE_SERVICE, json_tokener_parse("{\"metadata\":{\"name\":\"b\"}}"));
	cr_expect_eq(kube_cache_lost(cache)->n, 1);
	gone(KUBE_SERVICE, json_tokener_parse("[]"));
	kube_cache_settle(cache);
	cr_expect_eq(kube_cache_lost(cache)->n, 0);
}

/* ---- lists ------------------------------------------------------------------------------------*/

Test(kube_cache, list)
{
	tell(KUBE_SERVICE, service("stays", 1));
	tell(KUBE_SERVICE, service("changes", 1));
	tell(KUBE_SERVICE, service("goes", 1));
	touched();
	kube_cache_relist_begin(cache, KUBE_SERVICE);
	tell(KUBE_SERVICE, service("stays", 1));
	tell(KUBE_SERVICE, service("changes", 2));
	tell(KUBE_SERVICE, service("comes", 1));
	cr_expect(known("goes"), "until the list ends all is as it was");
	cr_expect_not(known("comes"));
	cr_expect_str_eq(touched(), "");
	kube_cache_relist_end(cache, KUBE_SERVICE);
	cr_expect(known("stays") && known("changes") && known("comes"));
	cr_expect_not(known("goes"));
	cr_expect_eq(kube_cache_find(cache, "a", "changes")->service->port[0].port, 2);
	cr_expect_not(strstr(touched(), "stays"));
}

Test(kube_cache, list_breaks_off)
{
	tell(KUBE_SERVICE, service("one", 1));
	touched();
	kube_cache_relist_begin(cache, KUBE_SERVICE);
	tell(KUBE_SERVICE, service("two", 1));
	tell(KUBE_SERVICE, service("one", 2));
	kube_cache_relist_abort(cache, KUBE_SERVICE);
	cr_expect(known("one"));
	cr_expect_not(known("two"));
	cr_expect_eq(kube_cache_find(cache, "a", "one")->service->port[0].port, 1);
	cr_expect_str_eq(touched(), "");
	kube_cache_relist_begin(cache, KUBE_SERVICE);
	tell(KUBE_SERVICE, service("two", 1));
	kube_cache_relist_begin(cache, KUBE_SERVICE);
	kube_cache_relist_end(cache, KUBE_SERVICE);
	cr_expect_not(known("one") || known("two"), "of the second list, which had nobody");
}

Test(kube_cache, whole)
{
	for (int k = 0; k < KUBE_KINDS; k++) {
		cr_expect_not(kube_cache_whole(cache));
		kube_cache_relist_begin(cache, (enum kube_kind)k);
		kube_cache_relist_abort(cache, (enum kube_kind)k);
		cr_expect_not(kube_cache_whole(cache));
		kube_cache_relist_begin(cache, (enum kube_kind)k);
		kube_cache_relist_end(cache, (enum kube_kind)k);
	}
	cr_expect(kube_cache_whole(cache));
}

Test(kube_cache, services_in_order)
{
	static const char *const names[] = {"c", "a", "b"};
	const struct kube_entry **e;
	size_t n;

	for (size_t i = 0; i < 3; i++)
		tell(KUBE_SERVICE, service(names[i], 1));
	tell(KUBE_SLICE, slice("s", "nobody", 1));
	e = kube_cache_services(cache, &n);
	cr_assert_eq(n, 3);
	for (size_t i = 0; i < 3; i++)
		cr_expect_eq(e[i]->at.name[0], (char)('a' + (int)i));
	free(e);
}

/* ---- size -------------------------------------------------------------------------------------*/

/* A slice of a hundred, as the API server splits them. */
static struct json_object *hundred(int n)
{
	struct json_object *s = slice("x", "big", 1), *list = json_object_new_array();
	char text[512];

	snprintf(text, sizeof(text), "big-%d", n);
	json_object_object_add(json_object_object_get(s, "metadata"), "name",
			       json_object_new_string(text));
	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text),
			 "{\"addresses\":[\"10.%d.%d.%d\"],\"nodeName\":\"node-%d\","
			 "\"conditions\":{\"ready\":true},\"targetRef\":{\"kind\":\"Pod\","
			 "\"name\":\"big-5c9f7d-%d\",\"uid\":\"%032d\"},"
			 "\"hints\":{\"forZones\":[{\"name\":\"z%d\"}]}}",
			 n / 256, n % 256, i + 1, i, i, n * 100 + i, i % 3);
		json_object_array_add(list, json_tokener_parse(text));
	}
	json_object_object_add(s, "endpoints", list);
	return s;
}

Test(kube_cache, hundred_thousand_endpoints)
{
	size_t before = mallinfo2().uordblks, more;

	kube_cache_relist_begin(cache, KUBE_SLICE);
	for (int i = 0; i < 1000; i++)
		tell(KUBE_SLICE, hundred(i));
	kube_cache_relist_end(cache, KUBE_SLICE);
	cr_assert_eq(slices("big"), 1000);
	more = mallinfo2().uordblks - before;
	cr_expect_lt(more, 10 << 20, "%zu bytes", more);
}
