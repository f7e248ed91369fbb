// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Objects out of lists and watches that come in pieces, however they are cut, and what is no list.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/kube/stream.h"
#include "tests/support/longest.h"

TestSuite(kube_stream, .timeout = TEST_LONGEST);

static char told[256]; /* what was handed on, with commas between */

static bool on_value(void *ctx, struct json_object *value)
{
	size_t used = strlen(told);

	(void)ctx;
	snprintf(told + used, sizeof(told) - used, "%s%s", used ? "," : "",
		 json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
	return true;
}

/* In pieces of so many bytes. */
static bool take(struct kube_stream *s, const char *text, size_t piece)
{
	size_t length = strlen(text);

	for (size_t at = 0; at < length; at += piece)
		if (!kube_stream_take(s, text + at, length - at < piece ? length - at : piece))
			return false;
	return true;
}

static const char *const lists[][3] = {
	/* text, items, resourceVersion */
	{"{\"kind\":\"ServiceList\",\"metadata\":{\"resourceVersion\":\"7\"},"
	 "\"items\":[{\"a\":\"[{\\\"\"},{\"b\":[1,2]}]}\n",
	 "{\"a\":\"[{\\\"\"},{\"b\":[1,2]}", "7"},
	{" { \"items\" : [ { \"a\" : 1 } , { } ] , \"metadata\" : { \"resourceVersion\" : \"8\" } "
	 "} ",
	 "{\"a\":1},{}", "8"},
	{"{\"items\":[],\"metadata\":{\"resourceVersion\":\"9\"}}", "", "9"},
	{"{\"items\":null,\"metadata\":{\"resourceVersion\":\"9\"},\"code\":410}", "", "9"},
	{"{\"apiVersion\":\"v1\",\"items\":[null,1,\"x\"]}", "null,1,\"x\"", NULL},
};

static void check_list(const char *const *c, size_t piece)
{
	struct kube_stream *s = kube_stream_new(KUBE_LIST, on_value, NULL);
	struct json_object *version = NULL;

	told[0] = '\0';
	cr_assert(take(s, c[0], piece), "%s by %zu", c[0], piece);
	cr_assert(kube_stream_is_whole(s), "%s by %zu", c[0], piece);
	cr_assert_str_eq(told, c[1], "%s by %zu", c[0], piece);
	json_object_object_get_ex(kube_stream_metadata(s), "resourceVersion", &version);
	if (c[2])
		cr_assert_str_eq(json_object_get_string(version), c[2]);
	else
		cr_assert_null(version);
	kube_stream_free(s);
}

Test(kube_stream, lists_in_pieces)
{
	for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++)
		for (size_t piece = 1; piece <= strlen(lists[k][0]); piece++)
			check_list(lists[k], piece);
}

/* Each begins as a list does and is none, or not to its end. */
static const char *const none[] = {
	"",
	"[]",
	"{}",
	"{\"items\":{}}",
	"{\"items\":7}",
	"{\"kind\":\"Status\",\"code\":500}",
	"{\"items\":[{}],}",
	"{\"items\":[{},]}",
	"{\"items\":[{} {}]}",
	"{\"items\":[{}]",
	"{\"items\":[{}",
	"{\"items\":[],\"items\":[]}",
	"{\"items\":[]}}",
	"{\"items\":[],\"a\" 1}",
	"{items:[]}",
	"{\"items\":[]\"a\":1}",
	"{\"items\":[{\"a\":]}",
	"{,\"items\":[]}",
	"<html>502 Bad Gateway</html>",
};

Test(kube_stream, what_is_no_list)
{
	for (size_t k = 0; k < sizeof(none) / sizeof(none[0]); k++) {
		struct kube_stream *s = kube_stream_new(KUBE_LIST, on_value, NULL);

		cr_expect_not(take(s, none[k], 1) && kube_stream_is_whole(s), "%s", none[k]);
		kube_stream_free(s);
	}
}

Test(kube_stream, events_in_pieces)
{
	static const char text[] =
		"{\"type\":\"ADDED\",\"object\":{}}\n\n{\"type\":\"}{\"}{}\r\n{\"a\":1}\n";

	for (size_t piece = 1; piece <= sizeof(text); piece++) {
		struct kube_stream *s = kube_stream_new(KUBE_EVENTS, on_value, NULL);

		told[0] = '\0';
		cr_assert(take(s, text, piece));
		cr_assert(kube_stream_is_whole(s));
		cr_assert_str_eq(
			told, "{\"type\":\"ADDED\",\"object\":{}},{\"type\":\"}{\"},{},{\"a\":1}");
		kube_stream_free(s);
	}
}

Test(kube_stream, events_cut_and_broken)
{
	struct kube_stream *s = kube_stream_new(KUBE_EVENTS, on_value, NULL);

	cr_assert(kube_stream_is_whole(s), "none yet");
	cr_assert(take(s, "{\"type\":\"ADD", 3));
	cr_assert_not(kube_stream_is_whole(s));
	cr_assert_not(take(s, "\"]", 3));
	cr_assert_not(take(s, "{}", 3), "after that nothing is taken");
	kube_stream_free(s);
}

/* Wherever they are cut: json-c alone sees one number here, or two. */
Test(kube_stream, events_are_objects)
{
	static const char *const none[] = {"1-1\t\t\n", "null\n", "[{}]\n", "\"{}\"\n", "true\n"};

	for (size_t k = 0; k < sizeof(none) / sizeof(none[0]); k++)
		for (size_t piece = 1; piece <= 4; piece++) {
			struct kube_stream *s = kube_stream_new(KUBE_EVENTS, on_value, NULL);

			cr_expect_not(take(s, none[k], piece), "%s", none[k]);
			kube_stream_free(s);
		}
}

/* What the server did not finish is not finished by what comes next. */
Test(kube_stream, one_event_a_line)
{
	struct kube_stream *s = kube_stream_new(KUBE_EVENTS, on_value, NULL);

	told[0] = '\0';
	cr_assert_not(take(s, "{}\n{\"type\":\n{\"type\":\"ADDED\"}\n", 64));
	cr_assert_str_eq(told, "{}");
	kube_stream_free(s);
	s = kube_stream_new(KUBE_EVENTS, on_value, NULL);
	cr_assert_not(kube_stream_take(s, "{}\n\0{}\n", 7));
	kube_stream_free(s);
}

static bool refuse(void *ctx, struct json_object *value)
{
	(void)value;
	return ++*(int *)ctx < 2;
}

Test(kube_stream, enough)
{
	int calls = 0;
	struct kube_stream *s = kube_stream_new(KUBE_EVENTS, refuse, &calls);

	cr_assert_not(kube_stream_take(s, "{}{}{}{}", 8));
	cr_assert_eq(calls, 2);
	kube_stream_free(s);
}

/* Deeper than any object is, but no deeper than a stack. */
Test(kube_stream, depth)
{
	struct kube_stream *s = kube_stream_new(KUBE_EVENTS, on_value, NULL);
	bool taken = true;

	for (int k = 0; taken && k < 1000000; k++)
		taken = kube_stream_take(s, "[", 1);
	cr_assert_not(taken);
	kube_stream_free(s);
}

#define DEEP	  40 /* json-c's own bound is 32 */
#define BEFORE	  "{\"items\":[{\"a\":1},"
#define AFTER	  ",{\"b\":2}],\"metadata\":{\"resourceVersion\":\"7\"}}"
#define LEFT	  "{\"a\":1},{\"b\":2}"
#define CONFUSING "\"]}\\\\\\\"[[\",{\"]\":\"\\\\\"}" /* brackets and quotes in texts */

/* An item with so many arrays in one another, in the midst of others. */
static const char *deep_list(char *text, size_t size)
{
	char opened[DEEP + 1], closed[DEEP + 1];

	memset(opened, '[', DEEP);
	memset(closed, ']', DEEP);
	opened[DEEP] = closed[DEEP] = '\0';
	snprintf(text, size, "%s{\"x\":[%s,%s%s],\"y\":{}}%s", BEFORE, CONFUSING, opened, closed,
		 AFTER);
	return text;
}

/* Anybody may make one such object: the others must not be lost for it. */
Test(kube_stream, item_that_is_too_deep_is_passed_over)
{
	char text[512];
	size_t length = strlen(deep_list(text, sizeof(text)));

	for (size_t piece = 1; piece <= length; piece++) {
		struct kube_stream *s = kube_stream_new(KUBE_LIST, on_value, NULL);

		told[0] = '\0';
		cr_assert(take(s, text, piece), "by %zu", piece);
		cr_assert(kube_stream_is_whole(s), "by %zu", piece);
		cr_assert_str_eq(told, LEFT, "by %zu: %s", piece, told);
		cr_assert_eq(kube_stream_passed(s), 1);
		cr_assert_not_null(kube_stream_metadata(s));
		kube_stream_free(s);
	}
}

static char block[65536];

/* Texts without end in what has begun so. Returns how many bytes are taken. */
static size_t endless(struct kube_stream *s, const char *begin)
{
	size_t taken = 0;

	memset(block, 'x', sizeof(block));
	cr_assert(take(s, begin, 64));
	while (taken <= 2 * KUBE_OBJECT_MOST && kube_stream_take(s, block, sizeof(block)))
		taken += sizeof(block);
	return taken;
}

Test(kube_stream, item_that_is_too_large_is_passed_over)
{
	struct kube_stream *s = kube_stream_new(KUBE_LIST, on_value, NULL);

	told[0] = '\0';
	cr_assert_gt(endless(s, BEFORE "{\"x\":\""), 2 * KUBE_OBJECT_MOST);
	cr_assert(take(s, "\"}" AFTER, 5));
	cr_assert(kube_stream_is_whole(s));
	cr_assert_str_eq(told, LEFT);
	cr_assert_eq(kube_stream_passed(s), 1);
	kube_stream_free(s);
}

/* What has no end of its own, or is of no item, ends it. */
Test(kube_stream, all_else_is_bounded)
{
	static const char *const begin[] = {"{\"items\":[\"", "{\"metadata\":{\"a\":\"",
					    "{\"a\":[\""};

	for (size_t k = 0; k < sizeof(begin) / sizeof(begin[0]); k++) {
		struct kube_stream *s = kube_stream_new(KUBE_LIST, on_value, NULL);
		size_t taken = endless(s, begin[k]);

		cr_expect_leq(taken, KUBE_OBJECT_MOST, "%s", begin[k]);
		cr_expect_gt(taken, KUBE_OBJECT_MOST / 2, "%s", begin[k]);
		kube_stream_free(s);
	}
}

Test(kube_stream, one_event_is_bounded)
{
	struct kube_stream *s = kube_stream_new(KUBE_EVENTS, on_value, NULL);
	size_t taken = endless(s, "{\"a\":\"");

	cr_assert_leq(taken, KUBE_OBJECT_MOST);
	cr_assert_gt(taken, KUBE_OBJECT_MOST / 2);
	kube_stream_free(s);
}

/* ... but not a list. */
Test(kube_stream, many_objects)
{
	struct kube_stream *s = kube_stream_new(KUBE_LIST, refuse, &(int){-1000000});
	static char item[1024];

	snprintf(item, sizeof(item), "{\"a\":\"%0*d\"},", (int)sizeof(item) - 16, 1);
	cr_assert(take(s, "{\"items\":[", 64));
	for (size_t bytes = 0; bytes < 2 * KUBE_OBJECT_MOST; bytes += strlen(item))
		cr_assert(kube_stream_take(s, item, strlen(item)));
	cr_assert(take(s, "{}]}", 64));
	cr_assert(kube_stream_is_whole(s));
	kube_stream_free(s);
}
