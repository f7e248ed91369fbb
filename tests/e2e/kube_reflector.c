// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A reflector and the test API server: whatever becomes of connection, history and token, the
 * mirror comes to be what the server has, and lists are made only where they must be.
 */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "loader/kube/reflector.h"
#include "maps/clock.h"
#include "tests/support/kube.h"
#include "tests/support/lab.h"
#include "tests/support/mirror.h"

#define TURN_MS 20
#define PAGE	500 /* objects that the reflector asks for at a time */

static struct kube_server server;
static struct kube_access *me;
static struct kube_http *http;
static struct kube_reflector *reflector;
static struct mirror mirror;

static const struct kube_resource services = {.name = "services", .path = "/api/v1/services"};

/* The kubeconfig with another context as its current one. */
static struct kube_access *as(const char *context)
{
	const char *path = kube_server_path(&server, "kubeconfig");
	struct poise_error err = {0};
	char text[65536], other[65536], *at;
	FILE *f = fopen(path, "re");
	size_t n;
	struct kube_access *a;

	cr_assert(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	at = strstr(text, "current-context");
	cr_assert(at);
	at = strstr(at, "admin");
	cr_assert(at);
	snprintf(other, sizeof(other), "%.*s%s%s", (int)(at - text), text, context,
		 at + strlen("admin"));
	a = kube_access_parse(path, other, strlen(other), &err);
	cr_assert(a, "%s (line %d)", err.message, err.line);
	return a;
}

static void follow(const struct kube_resource *what, const struct kube_times *times)
{
	http = kube_http_new(me);
	reflector = kube_reflector_new(http, what, mirror_open(&mirror), times);
}

static void up(void)
{
	kube_server_up(&server, "--listen 127.0.0.1:0");
	me = as("poise");
}

static void down(void)
{
	kube_reflector_free(reflector);
	kube_http_free(http);
	kube_access_free(me);
	mirror_close(&mirror);
	kube_server_down(&server);
}

TestSuite(kube_reflector, .init = up, .fini = down, .timeout = 2 * LAB_SOON);

static void turn(void)
{
	__u32 due = kube_reflector_tick(reflector, clock_monotonic() / NS_PER_MS);

	kube_http_turn(http, due < TURN_MS ? (int)due : TURN_MS);
}

/* Turns until it is so; fails with why it is not. */
#define until(condition)                                                                           \
	do {                                                                                       \
		__u64 late = clock_monotonic() + LAB_SOON * NS_PER_S;                              \
		while (!(condition)) {                                                             \
			cr_assert_lt(clock_monotonic(), late, "not yet: %s; %s", #condition,       \
				     kube_reflector_fault(reflector)->message);                    \
			turn();                                                                    \
		}                                                                                  \
	} while (0)

static bool has(const char *name)
{
	return mirror_has(&mirror, name);
}

static void put(const char *name)
{
	kube_server_do(&server,
		       "apply {\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":"
		       "\"%s\",\"namespace\":\"default\"},\"spec\":{\"ports\":[{\"port\":80}]}}",
		       name);
}

static bool is_true(void)
{
	return mirror_is_true(&mirror, &server);
}

/* One of ours that is cut may be counted by the server until it notices. */
static void watching(void)
{
	until(kube_reflector_synced(reflector) && kube_reflector_connected(reflector) &&
	      atoi(kube_server_do(&server, "watching services")) > 0);
}

/* It still follows: what is made now is told. */
static void follows(const char *name)
{
	char key[64];

	snprintf(key, sizeof(key), "default/%s", name);
	put(name);
	until(has(key));
	cr_assert(is_true());
}

Test(kube_reflector, lists_pages_and_watches)
{
	kube_server_do(&server, "many 1100 1");
	put("a");
	follow(&services, NULL);
	until(kube_reflector_synced(reflector));
	cr_assert_eq(json_object_object_length(mirror.now), 1101);
	cr_assert_eq(mirror.begun, 1);
	cr_assert_eq(mirror.ended, 1);
	watching();
	follows("b");
	kube_server_do(&server, "delete services/default/a");
	until(!has("default/a"));
	cr_assert_eq(mirror.events, 2);
	cr_assert_eq(mirror.begun, 1);
}

Test(kube_reflector, other_nodes_are_not_asked_for)
{
	static const struct kube_resource nodes = {
		.name = "nodes", .path = "/api/v1/nodes", .field = "metadata.name=node-2"};

	for (int k = 1; k <= 3; k++)
		kube_server_do(&server,
			       "apply {\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":"
			       "{\"name\":\"node-%d\"}}",
			       k);
	follow(&nodes, NULL);
	until(kube_reflector_synced(reflector));
	cr_assert_eq(json_object_object_length(mirror.now), 1);
	cr_assert(has("/node-2"));
}

/* Ends that are none: no list after them. */
Test(kube_reflector, goes_on_where_it_was)
{
	put("a");
	follow(&services, NULL);
	watching();
	kube_server_do(&server, "end services");
	put("b");
	until(has("default/b"));
	watching();
	kube_server_do(&server, "down");
	until(!kube_reflector_connected(reflector) &&
	      kube_reflector_fault(reflector)->code != POISE_E_NONE);
	cr_assert(has("default/b"), "what is known stays");
	put("c");
	kube_server_do(&server, "up");
	until(has("default/c"));
	cr_assert(is_true());
	cr_assert_eq(mirror.begun, 1, "%u lists", mirror.begun);
	cr_assert_eq(kube_reflector_fault(reflector)->code, POISE_E_NONE);
}

Test(kube_reflector, lists_again_where_history_is_gone)
{
	put("a");
	put("b");
	follow(&services, NULL);
	watching();
	kube_server_do(&server, "down");
	kube_server_do(&server, "delete services/default/a");
	put("c");
	kube_server_do(&server, "compact");
	kube_server_do(&server, "up");
	until(mirror.ended == 2);
	cr_assert(is_true());
	cr_assert_not(has("default/a"));
	watching();
	kube_server_do(&server, "emit services {\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\","
				"\"reason\":\"Expired\",\"code\":410}}");
	until(mirror.ended == 3);
	watching();
	follows("d");
	cr_assert_eq(mirror.aborted, 0);
}

/* The server forgets what the list was of while we have its first page: it begins anew, in one
 * piece. */
Test(kube_reflector, list_that_expires_between_its_pages)
{
	kube_server_do(&server, "many 1100 1");
	follow(&services, NULL);
	until(mirror.next && json_object_object_length(mirror.next) == PAGE);
	put("late");
	kube_server_do(&server, "compact");
	until(kube_reflector_synced(reflector));
	cr_assert_eq(mirror.begun, 2);
	cr_assert_eq(mirror.aborted, 1);
	cr_assert(is_true());
	watching();
	follows("b");
}

Test(kube_reflector, cut_and_dripped)
{
	kube_server_do(&server, "split 3");
	kube_server_do(&server, "many 20 3");
	follow(&services, NULL);
	watching();
	follows("a");
	kube_server_do(&server, "split 0");
	kube_server_do(&server, "drip 40 0.001");
	follows("b");
	cr_assert_eq(mirror.begun, 1);
}

/* Its second page is refused, and so is what follows for a while. */
Test(kube_reflector, list_that_breaks_off_changes_nothing)
{
	put("a");
	kube_server_do(&server, "many 600 1");
	follow(&services, NULL);
	watching();
	kube_server_do(&server, "down");
	kube_server_do(&server, "compact");
	kube_server_do(&server, "delete services/default/a");
	kube_server_do(&server, "up");
	until(mirror.begun == 2);
	kube_server_do(&server, "answer 500 times=2 verb=list");
	until(mirror.aborted > 0 || mirror.ended == 2);
	cr_assert_eq(json_object_object_length(mirror.now), mirror.ended == 1 ? 601 : 600);
	until(mirror.ended == 2);
	cr_assert(is_true());
}

Test(kube_reflector, refusals_are_told_and_waited_out)
{
	follow(&services, NULL);
	kube_server_do(&server, "answer 403 times=1 verb=list");
	until(kube_reflector_fault(reflector)->code == POISE_E_PERMISSION);
	cr_assert(strstr(kube_reflector_fault(reflector)->object, "GET /api/v1/services"), "%s",
		  kube_reflector_fault(reflector)->object);
	until(kube_reflector_synced(reflector));
	cr_assert_eq(kube_reflector_fault(reflector)->code, POISE_E_NONE);
	watching();
	kube_server_do(&server, "answer 429 times=1 retry-after=1 verb=watch");
	kube_server_do(&server, "end");
	until(kube_reflector_fault(reflector)->code == POISE_E_BUSY);
	follows("a");
	kube_server_do(&server, "answer 503 times=3");
	kube_server_do(&server, "end");
	until(kube_reflector_fault(reflector)->code == POISE_E_BUSY);
	follows("b");
	cr_assert_eq(mirror.ended, 1);
}

Test(kube_reflector, tokens_are_replaced)
{
	follow(&services, NULL);
	watching();
	kube_server_do(&server, "rotate");
	kube_server_do(&server, "end");
	follows("a");
	kube_server_do(&server, "expire");
	kube_server_do(&server, "end");
	until(kube_reflector_fault(reflector)->code == POISE_E_PERMISSION);
	kube_server_do(&server, "rotate");
	follows("b");
	cr_assert_eq(mirror.ended, 1);
}

Test(kube_reflector, garbage_is_no_end)
{
	static const char *const lines[] = {
		"{\"type\":",
		"[]",
		"{\"type\":\"ADDED\"}",
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":7}}}",
		"<html>",
		"{\"type\":\"ERROR\",\"object\":{}}",
	};

	put("a");
	follow(&services, NULL);
	watching();
	for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
		char name[16];

		watching();
		kube_server_do(&server, "emit services %s", lines[k]);
		snprintf(name, sizeof(name), "x%zu", k);
		follows(name);
		cr_assert(has("default/a"));
	}
	cr_assert_geq(mirror.ended, sizeof(lines) / sizeof(lines[0]),
		      "but for the error, by lists");
	cr_assert_eq(mirror.aborted, 0);
}

#define TEN  "[[[[[[[[[["
#define TEN_ "]]]]]]]]]]"
#define DEEP                                                                                       \
	"raw "                                                                                     \
	"{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"deep\",\"x\":" TEN   \
		TEN TEN TEN TEN_ TEN_ TEN_ TEN_ "}}"

/* Anybody may make one: nobody else's Service is missing then. */
Test(kube_reflector, object_that_is_too_deep)
{
	kube_server_do(&server, DEEP);
	put("a");
	follow(&services, NULL);
	watching();
	cr_assert(has("default/a") && !has("default/deep"));
	kube_server_do(&server, DEEP);
	until(mirror.ended == 2);
	put("b");
	until(has("default/b"));
}

/* It is connected, and nothing comes, not even an end. */
Test(kube_reflector, silence_is_not_waited_out)
{
	struct kube_times quick = KUBE_TIMES;

	quick.watch = 300;
	quick.watch_late = 300;
	follow(&services, &quick);
	kube_server_do(&server, "hang times=1 verb=watch");
	until(kube_reflector_synced(reflector));
	put("a");
	until(has("default/a"));
}

/* ---- who we are, and what else is asked -------------------------------------------------------*/

/* Follows as another context of the kubeconfig. */
static void follow_as(const char *context)
{
	kube_access_free(me);
	me = as(context);
	follow(&services, NULL);
}

Test(kube_reflector, client_certificate)
{
	follow_as("admin-certificate");
	cr_assert(me->cert.data || me->cert.file);
	until(kube_reflector_synced(reflector));
}

Test(kube_reflector, server_by_another_name)
{
	me->server_name = strdup("kubernetes");
	follow(&services, NULL);
	until(kube_reflector_synced(reflector));
}

static void expect_mistrust(void)
{
	follow(&services, NULL);
	until(kube_reflector_fault(reflector)->code != POISE_E_NONE);
	cr_assert(strstr(kube_reflector_fault(reflector)->remedy, "certificate authority"), "%s",
		  kube_reflector_fault(reflector)->message);
	cr_assert_eq(mirror.aborted, mirror.begun);
	cr_assert_not(kube_reflector_synced(reflector));
}

Test(kube_reflector, server_that_is_another)
{
	me->server_name = strdup("elsewhere");
	expect_mistrust();
}

Test(kube_reflector, certificate_authority_that_is_another)
{
	free(me->ca.data);
	free(me->ca.file);
	me->ca = (struct kube_pem){.file = strdup(kube_server_path(&server, "admin.crt"))};
	expect_mistrust();
}

/* This host trusts the server's authority, for this test alone. */
static void host_trusts_it(void)
{
	char certs[128];

	snprintf(certs, sizeof(certs), "%s", kube_server_path(&server, "certs"));
	cr_assert_eq(lab_host(NULL, "mkdir %s && cp %s %s && openssl rehash %s", certs,
			      kube_server_path(&server, "ca.crt"), certs, certs),
		     0);
	cr_assert_eq(unshare(CLONE_NEWNS), 0);
	cr_assert_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	cr_assert_eq(mount(certs, "/etc/ssl/certs", NULL, MS_BIND, NULL), 0);
}

/* What was said counts, not what the host trusts besides. */
Test(kube_reflector, certificate_authority_that_the_host_knows)
{
	if (geteuid())
		cr_skip_test("needs root: it mounts");
	free(me->ca.data);
	free(me->ca.file);
	me->ca = (struct kube_pem){.file = strdup(kube_server_path(&server, "admin.crt"))};
	host_trusts_it();
	expect_mistrust();
}

static void expect_answer(enum kube_verb verb, const char *path, const char *body, int status,
			  const char *reason)
{
	struct kube_answer a;

	kube_http_do(http, &(struct kube_request){.verb = verb, .path = path, .body = body}, &a);
	cr_expect_eq(a.status, status, "%d %s %s", a.status, a.reason, a.err.message);
	cr_expect_str_eq(a.reason, reason);
	cr_expect_eq(kube_answer_good(&a), status < 300);
	cr_expect(a.body, "an object, or a Status");
	json_object_put(a.body);
}

Test(kube_reflector, requests_of_all_verbs)
{
	static const char all[] = "/api/v1/namespaces/default/services";
	static const char one[] = "/api/v1/namespaces/default/services/web";
	static const char body[] =
		"{\"metadata\":{\"name\":\"web\"},\"spec\":{\"ports\":[{\"port\":80}]}}";

	follow_as("admin-certificate");
	expect_answer(KUBE_GET, one, NULL, 404, "NotFound");
	expect_answer(KUBE_POST, all, body, 201, "");
	expect_answer(KUBE_POST, all, body, 409, "AlreadyExists");
	expect_answer(KUBE_GET, one, NULL, 200, "");
	expect_answer(KUBE_MERGE_PATCH, one, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 200, "");
	cr_assert(strstr(kube_server_do(&server, "get services/default/web"), "\"b\""));
	expect_answer(KUBE_DELETE, one, NULL, 200, "");
	expect_answer(KUBE_GET, one, NULL, 404, "NotFound");
}
