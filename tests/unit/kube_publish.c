// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Statuses of Services: when one is written, when cleared, when left alone; whose words they are;
 * and what becomes of patches that fail, or whose Service goes.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/kube/publish.h"
#include "maps/clock.h"
#include "tests/support/addresses.h"
#include "tests/support/unsent.h"
#include "tests/support/longest.h"

static struct kube_publish *p;

static void up(void)
{
	unsent_begin();
	p = kube_publish_new(NULL);
}

static void down(void)
{
	kube_publish_free(p);
}

TestSuite(kube_publish, .init = up, .fini = down, .timeout = TEST_LONGEST);

/* A Service whose status says `is`, by us or by somebody else, and should say `want`. */
static struct kube_publish_item item(const char *name, const char *is, bool ours, const char *want)
{
	struct kube_publish_item i = {
		.name_space = "shop", .name = name, .version = "17", .is_ours = ours};

	i.is = addresses(is, &i.iss);
	i.want = addresses(want, &i.wants);
	return i;
}

static void look(const struct kube_publish_item *items, size_t n)
{
	kube_publish_begin(p);
	for (size_t k = 0; k < n; k++)
		kube_publish_put(p, &items[k]);
	kube_publish_end(p);
}

static __u64 now(void)
{
	return clock_monotonic() / NS_PER_MS;
}

/* ---- when -------------------------------------------------------------------------------------*/

Test(kube_publish, what_is_done_to_which_status)
{
	static const struct {
		const char *is, *want;
		bool ours, other;
		enum kube_publish_act act;
	} cases[] = {
		{"", "", false, false, KUBE_PUBLISH_LEAVE},
		{"", "192.0.2.1", false, false, KUBE_PUBLISH_SET},
		{"192.0.2.1", "192.0.2.1", true, false, KUBE_PUBLISH_LEAVE},
		{"192.0.2.1", "192.0.2.1", false, false, KUBE_PUBLISH_LEAVE},
		{"192.0.2.2", "192.0.2.1", true, false, KUBE_PUBLISH_SET},
		{"192.0.2.1 2001:db8::1", "2001:db8::1 192.0.2.1", true, false, KUBE_PUBLISH_LEAVE},
		{"192.0.2.1", "192.0.2.1 2001:db8::1", true, false, KUBE_PUBLISH_SET},
		{"192.0.2.1 2001:db8::1", "192.0.2.1", true, false, KUBE_PUBLISH_SET},
		{"192.0.2.1", "192.0.2.1", true, true, KUBE_PUBLISH_SET},
		/* nothing of ours is due any more */
		{"192.0.2.1", "", true, false, KUBE_PUBLISH_CLEAR},
		{"192.0.2.1", "", false, false, KUBE_PUBLISH_LEAVE},
		{"", "", true, false, KUBE_PUBLISH_LEAVE},
		{"", "", false, true, KUBE_PUBLISH_LEAVE},
	};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct kube_publish_item i = item("web", cases[k].is, cases[k].ours, cases[k].want);

		i.is_other = cases[k].other;
		cr_assert_eq(kube_publish_judge(&i), cases[k].act, "case %zu", k);
	}
}

Test(kube_publish, the_patch)
{
	struct kube_publish_item i = item("web", "", false, "192.0.2.1 2001:db8::1");
	char *set = kube_publish_body(&i, KUBE_PUBLISH_SET),
	     *clear = kube_publish_body(&i, KUBE_PUBLISH_CLEAR);

	cr_assert_str_eq(set, "{\"metadata\":{\"resourceVersion\":\"17\"},\"status\":"
			      "{\"loadBalancer\":{\"ingress\":[{\"ip\":\"192.0.2.1\"},"
			      "{\"ip\":\"2001:db8::1\"}]}}}");
	cr_assert_str_eq(clear, "{\"metadata\":{\"resourceVersion\":\"17\"},\"status\":"
				"{\"loadBalancer\":{\"ingress\":null}}}");
	free(set);
	free(clear);
}

Test(kube_publish, whose_words)
{
#define MANAGED(manager, fields)                                                                   \
	"{\"metadata\":{\"managedFields\":[{\"manager\":\"kubectl\",\"fieldsV1\":{\"f:spec\":{}}}" \
	","                                                                                        \
	"{\"manager\":\"" manager "\",\"operation\":\"Update\",\"apiVersion\":\"v1\","             \
	"\"fieldsType\":\"FieldsV1\",\"subresource\":\"status\",\"fieldsV1\":" fields "}]}}"
#define INGRESS "{\"f:status\":{\"f:loadBalancer\":{\"f:ingress\":{}}}}"
	static const struct {
		const char *object;
		bool ours;
	} cases[] = {
		{MANAGED("poised", INGRESS), true},
		{MANAGED("cloud-controller-manager", INGRESS), false},
		{MANAGED("poised", "{\"f:status\":{\"f:conditions\":{}}}"), false},
		{MANAGED("poised", "{}"), false},
		{MANAGED("poised", "[]"), false},
		{"{\"metadata\":{\"managedFields\":{}}}", false},
		{"{\"metadata\":{\"managedFields\":[null,7,[],{}]}}", false},
		{"{\"metadata\":{}}", false},
		{"{}", false},
		{"[]", false},
	};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct json_object *o = json_tokener_parse(cases[k].object);

		cr_assert(o, "%s", cases[k].object);
		cr_assert_eq(kube_publish_wrote(o), cases[k].ours, "%s", cases[k].object);
		json_object_put(o);
	}
}

/* ---- sent -------------------------------------------------------------------------------------*/

Test(kube_publish, only_the_leader_writes)
{
	struct kube_publish_item i = item("web", "", false, "192.0.2.1");

	look(&i, 1);
	cr_assert_eq(kube_publish_tick(p, now(), false), UINT32_MAX);
	cr_assert_eq(unsents, 0);
	kube_publish_tick(p, now(), true);
	cr_assert_eq(unsents, 1);
	cr_assert_eq(unsent[0].verb, KUBE_MERGE_PATCH);
	cr_assert_str_eq(unsent[0].path,
			 "/api/v1/namespaces/shop/services/web/status?fieldManager=poised");
	kube_publish_tick(p, now(), true);
	cr_assert_eq(unsents, 1, "it is under way");
}

Test(kube_publish, what_went_through_is_not_sent_again_before_it_shows)
{
	struct kube_publish_item i = item("web", "", false, "192.0.2.1");

	look(&i, 1);
	kube_publish_tick(p, now(), true);
	unsent_answer(&unsent[0], 200, "{}");
	look(&i, 1);
	kube_publish_tick(p, now() + 100, true);
	cr_assert_eq(unsents, 1);
	cr_assert_eq(kube_publish_pending(p), 1);
	kube_publish_tick(p, now() + 2 * KUBE_PUBLISH_SHOWS_MS, true);
	cr_assert_eq(unsents, 2, "it never showed");
	unsent_answer(&unsent[1], 200, "{}");
	i = item("web", "192.0.2.1", true, "192.0.2.1");
	look(&i, 1);
	cr_assert_eq(kube_publish_pending(p), 0);
	kube_publish_tick(p, now() + 4 * KUBE_PUBLISH_SHOWS_MS, true);
	cr_assert_eq(unsents, 2);
}

Test(kube_publish, a_conflict_is_tried_on_the_newer_version)
{
	struct kube_publish_item i = item("web", "", false, "192.0.2.1");

	look(&i, 1);
	kube_publish_tick(p, now(), true);
	unsent_answer(&unsent[0], 409, NULL);
	cr_assert_eq(kube_publish_fault(p)->code, POISE_E_NONE, "that happens");
	i.version = "18";
	look(&i, 1);
	kube_publish_tick(p, now() + 2 * KUBE_PUBLISH_RETRY_MS, true);
	cr_assert_eq(unsents, 2);
	cr_assert(strstr(unsent[1].body, "\"18\""), "%s", unsent[1].body);
}

Test(kube_publish, delays_grow_up_to_a_limit_and_each_has_its_own)
{
	struct kube_publish_item i[] = {item("api", "", false, "192.0.2.1"),
					item("web", "", false, "192.0.2.2")};
	__u64 at = now();
	__u32 last = 0;

	look(i, 2);
	kube_publish_tick(p, at, true);
	cr_assert_eq(unsents, 2);
	unsent_answer(&unsent[0], 200, "{}");
	for (int tries = 0; tries < 12; tries++) {
		__u32 wait;

		unsent_answer(unsent_newest(), tries % 2 ? 500 : 0, NULL);
		cr_assert_eq(kube_publish_fault(p)->code, POISE_E_SYSTEM);
		cr_assert(strstr(kube_publish_fault(p)->object, "Service shop/web"), "%s",
			  kube_publish_fault(p)->object);
		look(&i[1], 1);
		wait = kube_publish_tick(p, now(), true);
		cr_assert_eq(unsent_open(), 0);
		cr_assert_leq(wait, KUBE_PUBLISH_RETRY_MOST);
		cr_assert_gt(wait, last / 2, "it grows: %u after %u", wait, last);
		last = wait;
		kube_publish_tick(p, now() + wait + 1, true);
	}
	cr_assert_gt(last, KUBE_PUBLISH_RETRY_MOST / 2);
	unsent_answer(unsent_newest(), 200, "{}");
	cr_assert_eq(kube_publish_fault(p)->code, POISE_E_NONE);
}

Test(kube_publish, who_goes_takes_the_patch_along)
{
	struct kube_publish_item i[] = {item("api", "", false, "192.0.2.1"),
					item("dns", "", false, "192.0.2.2"),
					item("web", "", false, "192.0.2.3")};

	look(i, 3);
	kube_publish_tick(p, now(), true);
	cr_assert_eq(unsent_open(), 3);
	look(&i[1], 1);
	cr_assert(unsent[0].dropped);
	cr_assert_not(unsent[1].dropped);
	cr_assert(unsent[2].dropped);
	unsent_answer(&unsent[1], 200, "{}");
	look(NULL, 0);
	cr_assert_eq(kube_publish_pending(p), 0);
}

Test(kube_publish, so_many_at_once_and_then_the_next)
{
	static char name[100][16];
	struct kube_publish_item i[100];

	for (int k = 0; k < 100; k++) {
		snprintf(name[k], sizeof(name[k]), "web-%03d", k);
		i[k] = item(name[k], "", false, "192.0.2.1");
	}
	look(i, 100);
	cr_assert_eq(kube_publish_tick(p, now(), true), UINT32_MAX, "an answer is waited for");
	cr_assert_eq(unsents, KUBE_PUBLISH_AT_ONCE);
	for (int k = 0; k < 100; k++) {
		unsent_answer(&unsent[k], 200, "{}");
		kube_publish_tick(p, now(), true);
	}
	cr_assert_eq(unsents, 100);
}

Test(kube_publish, a_name_that_no_server_has_is_not_asked_about)
{
	struct kube_publish_item i = item("../../secrets", "", false, "192.0.2.1");

	look(&i, 1);
	cr_assert_eq(kube_publish_tick(p, now(), true), UINT32_MAX);
	cr_assert_eq(unsents, 0);
}
