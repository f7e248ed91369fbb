// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Events: one for a finding however often it is found, counted when it comes back, said again when
 * it lasts, taken up from an earlier life, and never too many.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/kube/event.h"
#include "loader/kube/json.h"
#include "maps/clock.h"
#include "tests/support/unsent.h"
#include "tests/support/longest.h"

static struct kube_events *e;
static struct kube_findings found;

static void up(void)
{
	unsent_begin();
	e = kube_events_new(NULL, "node-1");
}

static void down(void)
{
	kube_events_free(e);
	kube_findings_free(&found);
}

TestSuite(kube_event, .init = up, .fini = down, .timeout = TEST_LONGEST);

static __u64 now(void)
{
	return clock_monotonic() / NS_PER_MS;
}

static void find(const char *name)
{
	struct kube_about about = {KUBE_SERVICE, "shop", name, "8d3f"};

	kube_find(&found, &about, KUBE_R_ANNOTATION, "poise.dev/policy", "fastest: not a policy");
}

/* What is amiss at a time is these; and all that is due then is sent. */
static void at(__u64 ms, const char *names)
{
	char copy[256], *rest, *word;

	snprintf(copy, sizeof(copy), "%s", names);
	kube_findings_free(&found);
	for (word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		find(word);
	kube_findings_sort(&found);
	kube_events_tell(e, &found, ms);
	kube_events_tick(e, ms, true);
}

/* A field of what was sent, objects by points: involvedObject.kind. */
static const char *said(const struct kube_call *call, const char *key)
{
	struct json_object *o = json_tokener_parse(call->body), *at = o;
	static char text[1024];
	char copy[64], *rest, *word;

	cr_assert(o, "%s", call->body);
	snprintf(copy, sizeof(copy), "%s", key);
	for (word = strtok_r(copy, ".", &rest); word; word = strtok_r(NULL, ".", &rest))
		at = kube_json_field(at, word);
	snprintf(text, sizeof(text), "%s", at ? json_object_get_string(at) : "");
	json_object_put(o);
	return text;
}

Test(kube_event, the_first_time)
{
	__u64 t = now();

	at(t, "web");
	cr_assert_eq(unsents, 1);
	cr_assert_eq(unsent[0].verb, KUBE_POST);
	cr_assert_str_eq(unsent[0].path, "/api/v1/namespaces/shop/events");
	cr_assert_str_eq(said(&unsent[0], "apiVersion"), "v1");
	cr_assert_str_eq(said(&unsent[0], "kind"), "Event");
	cr_assert_eq(strncmp(said(&unsent[0], "metadata.name"), "web.", 4), 0);
	cr_assert_str_eq(said(&unsent[0], "metadata.namespace"), "shop");
	cr_assert_str_eq(said(&unsent[0], "involvedObject.apiVersion"), "v1");
	cr_assert_str_eq(said(&unsent[0], "involvedObject.kind"), "Service");
	cr_assert_str_eq(said(&unsent[0], "involvedObject.namespace"), "shop");
	cr_assert_str_eq(said(&unsent[0], "involvedObject.name"), "web");
	cr_assert_str_eq(said(&unsent[0], "involvedObject.uid"), "8d3f");
	cr_assert_str_eq(said(&unsent[0], "type"), "Warning");
	cr_assert_str_eq(said(&unsent[0], "reason"), "InvalidAnnotation");
	cr_assert_str_eq(said(&unsent[0], "message"), "poise.dev/policy: fastest: not a policy");
	cr_assert_str_eq(said(&unsent[0], "count"), "1");
	cr_assert_str_eq(said(&unsent[0], "source.component"), "poised");
	cr_assert_str_eq(said(&unsent[0], "source.host"), "node-1");
	cr_assert_eq(strlen(said(&unsent[0], "firstTimestamp")), strlen("2026-12-01T07:15:00Z"));
	unsent_answer(&unsent[0], 201, unsent[0].body);
	for (int k = 1; k < 100; k++)
		at(t + (__u64)k * 1000, "web");
	cr_assert_eq(unsents, 1, "it is found again and again");
}

Test(kube_event, what_comes_back_is_counted)
{
	__u64 t = now();

	at(t, "web");
	unsent_answer(&unsent[0], 201, unsent[0].body);
	for (__u64 k = 1; k <= 10; k++)
		at(t + k * 100, k % 2 ? "" : "web");
	cr_assert_eq(unsents, 1, "not at once");
	kube_events_tick(e, now() + KUBE_EVENT_GAP_MS, true);
	cr_assert_eq(unsents, 2);
	cr_assert_eq(unsent[1].verb, KUBE_MERGE_PATCH);
	cr_assert_eq(strncmp(unsent[1].path, "/api/v1/namespaces/shop/events/web.", 35), 0);
	cr_assert_str_eq(said(&unsent[1], "count"), "6");
	cr_assert_neq(strlen(said(&unsent[1], "lastTimestamp")), 0);
	cr_assert_str_eq(said(&unsent[1], "reason"), "");
}

Test(kube_event, what_lasts_is_said_again_before_it_is_forgotten)
{
	__u64 t = now();

	at(t, "web");
	unsent_answer(&unsent[0], 201, unsent[0].body);
	at(t + KUBE_EVENT_AGAIN_MS / 2, "web");
	cr_assert_eq(unsents, 1);
	at(now() + KUBE_EVENT_AGAIN_MS, "web");
	cr_assert_eq(unsents, 2);
	cr_assert_str_eq(said(&unsent[1], "count"), "2");
	/* it was forgotten meanwhile: it is made again */
	unsent_answer(&unsent[1], 404, NULL);
	kube_events_tick(e, now() + KUBE_EVENT_AGAIN_MS, true);
	cr_assert_eq(unsents, 3);
	cr_assert_eq(unsent[2].verb, KUBE_POST);
}

Test(kube_event, an_earlier_life_s_goes_on)
{
	__u64 t = now();

	at(t, "web");
	unsent_answer(&unsent[0], 409, NULL);
	kube_events_tick(e, now(), true);
	cr_assert_eq(unsents, 2);
	cr_assert_eq(unsent[1].verb, KUBE_MERGE_PATCH);
	cr_assert_str_eq(said(&unsent[1], "count"), "", "it is not known");
	unsent_answer(&unsent[1], 200, "{\"count\":7}");
	kube_events_tick(e, now() + KUBE_EVENT_GAP_MS, true);
	cr_assert_eq(unsents, 3);
	cr_assert_str_eq(said(&unsent[2], "count"), "8");
	unsent_answer(&unsent[2], 200, "{\"count\":8}");
	kube_events_tick(e, now() + 2 * KUBE_EVENT_GAP_MS, true);
	cr_assert_eq(unsents, 3);
}

Test(kube_event, its_name_follows_from_what_it_says)
{
	char name[128];

	at(now(), "web");
	snprintf(name, sizeof(name), "%s", said(&unsent[0], "metadata.name"));
	kube_events_free(e);
	e = kube_events_new(NULL, "node-2");
	at(now(), "web");
	cr_assert_str_eq(said(&unsent[1], "metadata.name"), name);
}

Test(kube_event, only_the_leader_tells)
{
	find("web");
	kube_events_tell(e, &found, now());
	cr_assert_eq(kube_events_tick(e, now(), false), UINT32_MAX);
	cr_assert_eq(unsents, 0);
	kube_events_tick(e, now(), true);
	cr_assert_eq(unsents, 1);
}

Test(kube_event, tries_that_fail_grow_rare)
{
	__u64 t = now(), wait = 0;

	at(t, "web");
	for (int k = 0; k < 8; k++) {
		unsent_answer(unsent_newest(), k % 2 ? 403 : 0, NULL);
		wait = kube_events_tick(e, now(), true);
		cr_assert_eq(unsent_open(), 0);
		cr_assert_leq(wait, KUBE_EVENT_RETRY_MOST * 2);
		kube_events_tick(e, now() + wait + 1, true);
	}
	cr_assert_gt(wait, KUBE_EVENT_RETRY_MOST / 2);
}

Test(kube_event, a_flood_comes_at_a_rate)
{
	__u64 t = now();
	char name[16];

	for (int k = 0; k < 300; k++) {
		snprintf(name, sizeof(name), "web-%03d", k);
		find(name);
	}
	kube_findings_sort(&found);
	kube_events_tell(e, &found, t);
	kube_events_tick(e, t, true);
	cr_assert_eq(unsents, KUBE_EVENT_BURST);
	for (__u64 k = 1; k <= 10; k++) {
		cr_assert_leq(kube_events_tick(e, t + k * KUBE_EVENT_EVERY_MS, true),
			      KUBE_EVENT_EVERY_MS);
		cr_assert_eq(unsents, KUBE_EVENT_BURST + k);
	}
}

Test(kube_event, so_many_and_no_more)
{
	char name[16];

	for (int k = 0; k < KUBE_EVENTS_MOST + 100; k++) {
		snprintf(name, sizeof(name), "web-%04d", k);
		find(name);
	}
	kube_findings_sort(&found);
	kube_events_tell(e, &found, now());
	cr_assert_eq(kube_events_untold(e), 100);
	kube_events_tell(e, &found, now());
	cr_assert_eq(kube_events_untold(e), 100);
	/* those that went make room */
	at(now(), "web-0000");
	cr_assert_eq(kube_events_untold(e), 0);
}

Test(kube_event, what_went_before_it_was_told_is_not)
{
	find("web");
	kube_events_tell(e, &found, now());
	kube_findings_free(&found);
	kube_events_tell(e, &found, now());
	kube_events_tick(e, now(), true);
	cr_assert_eq(unsents, 0);
}

Test(kube_event, names_that_no_server_has_are_not_told_of)
{
	at(now(), "../secrets");
	cr_assert_eq(unsents, 0);
}

Test(kube_event, of_a_node_and_of_a_slice)
{
	struct kube_about node = {KUBE_NODE, "", "node-1", "11"},
			  slice = {KUBE_SLICE, "shop", "web-x7f", "12"};

	kube_find(&found, &node, KUBE_R_INVALID, "status.addresses", "none");
	kube_find(&found, &slice, KUBE_R_INVALID, "endpoints", "none");
	kube_findings_sort(&found);
	kube_events_tell(e, &found, now());
	kube_events_tick(e, now(), true);
	cr_assert_eq(unsents, 2);
	cr_assert_str_eq(said(&unsent[0], "involvedObject.apiVersion"), "discovery.k8s.io/v1");
	cr_assert_str_eq(said(&unsent[0], "involvedObject.kind"), "EndpointSlice");
	cr_assert_str_eq(unsent[1].path, "/api/v1/namespaces/default/events");
	cr_assert_str_eq(said(&unsent[1], "involvedObject.kind"), "Node");
	cr_assert_str_eq(said(&unsent[1], "involvedObject.namespace"), "");
}
