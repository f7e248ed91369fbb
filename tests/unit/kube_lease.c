// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who writes for all: several candidates and one Lease on a server in memory that knows versions,
 * loses answers and goes away; and what each says and does, step by step.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "loader/kube/json.h"
#include "loader/kube/lease.h"
#include "maps/hash.h"
#include "tests/support/longest.h"

#define START	   1000000ull		  /* ms */
#define REALTIME   1796109305123456789ull /* ns */
#define CANDIDATES 3

/* The one object that the server has. */
static struct json_object *stored;
static int version;

static struct kube_lease node[CANDIDATES];

static void up(void)
{
	char holder[24];

	for (int k = 0; k < CANDIDATES; k++) {
		snprintf(holder, sizeof(holder), "node-%d", k);
		cr_assert_eq(kube_lease_open(&node[k], "poise", "poise", holder, NULL), 0);
	}
}

static void down(void)
{
	for (int k = 0; k < CANDIDATES; k++)
		kube_lease_close(&node[k]);
	json_object_put(stored);
	stored = NULL;
}

TestSuite(kube_lease, .init = up, .fini = down, .timeout = TEST_LONGEST);

static struct json_object *copy(struct json_object *o)
{
	struct json_object *to = NULL;

	cr_assert_eq(json_object_deep_copy(o, &to, NULL), 0);
	return to;
}

static const char *stored_text(const char *key)
{
	return kube_json_text(kube_json_field(stored, "spec"), key);
}

static int stored_number(const char *key)
{
	return json_object_get_int(kube_json_field(kube_json_field(stored, "spec"), key));
}

static const char *version_of(struct json_object *o)
{
	return kube_json_text(kube_json_field(o, "metadata"), "resourceVersion");
}

static void store(struct json_object *o)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", ++version);
	kube_json_put_text(kube_json_field(o, "metadata"), "resourceVersion", text);
	json_object_put(stored);
	stored = o;
}

/* What a server does; the object that it answers with in *answer, to be put. */
static int serve(const struct kube_lease_ask *ask, struct json_object **answer)
{
	struct json_object *body = ask->body ? json_tokener_parse(ask->body) : NULL;
	const char *all = "/apis/coordination.k8s.io/v1/namespaces/poise/leases";
	int status = 200;

	*answer = NULL;
	cr_assert_eq(strncmp(ask->path, all, strlen(all)), 0, "%s", ask->path);
	cr_assert_str_eq(ask->path + strlen(all), ask->verb == KUBE_POST ? "" : "/poise");
	if (ask->verb == KUBE_POST && stored) {
		status = 409;
	} else if (ask->verb == KUBE_POST) {
		status = 201;
		store(copy(body));
	} else if (!stored) {
		status = 404;
	} else if (ask->verb == KUBE_PUT && strcmp(version_of(body), version_of(stored)) != 0) {
		status = 409;
	} else if (ask->verb == KUBE_PUT) {
		store(copy(body));
	}
	if (status < 300)
		*answer = copy(stored);
	json_object_put(body);
	return status;
}

/* The server's answer to a request that a node has sent; its status. */
static int answered(struct kube_lease *l, __u64 now, const struct kube_lease_ask *ask)
{
	struct json_object *answer;
	int status = serve(ask, &answer);

	kube_lease_answer(l, now, status, answer);
	json_object_put(answer);
	return status;
}

/* One request of a node, if it has one to send; its status, or 0. */
static int turn(struct kube_lease *l, __u64 now)
{
	struct kube_lease_ask ask;
	__u32 wait;

	if (!kube_lease_next(l, now, REALTIME + now * 1000000, 0, &ask, &wait))
		return 0;
	return answered(l, now, &ask);
}

/* All that it has to send now. */
static void turns(struct kube_lease *l, __u64 now)
{
	for (int k = 0; turn(l, now); k++)
		cr_assert_lt(k, 4, "it asks again and again");
}

/* The server does not answer. */
static bool lost(struct kube_lease *l, __u64 now)
{
	struct kube_lease_ask ask;
	__u32 wait;

	if (!kube_lease_next(l, now, REALTIME, 0, &ask, &wait))
		return false;
	kube_lease_answer(l, now + KUBE_LEASE_ANSWER_MS, 0, NULL);
	return true;
}

static int leaders(__u64 now)
{
	int n = 0;

	for (int k = 0; k < CANDIDATES; k++)
		n += kube_lease_leads(&node[k], now);
	return n;
}

Test(kube_lease, makes_the_one_that_is_not_there)
{
	cr_assert_eq(turn(&node[0], START), 404);
	cr_assert_not(kube_lease_leads(&node[0], START));
	cr_assert_eq(turn(&node[0], START), 201, "at once");
	cr_assert(kube_lease_leads(&node[0], START));
	cr_assert_str_eq(stored_text("holderIdentity"), "node-0");
	cr_assert_eq(stored_number("leaseDurationSeconds"), 15);
	cr_assert_eq(stored_number("leaseTransitions"), 0);
	cr_assert_str_eq(stored_text("acquireTime"), stored_text("renewTime"));
	cr_assert_str_eq(kube_json_text(stored, "apiVersion"), "coordination.k8s.io/v1");
	cr_assert_str_eq(kube_json_text(stored, "kind"), "Lease");
}

Test(kube_lease, times_are_micro_times)
{
	struct kube_lease_ask ask;
	__u32 wait;

	cr_assert_eq(turn(&node[0], START), 404);
	cr_assert(kube_lease_next(&node[0], START, REALTIME, 0, &ask, &wait));
	answered(&node[0], START, &ask);
	cr_assert_str_eq(stored_text("renewTime"), "2026-12-01T07:15:05.123456Z");
}

Test(kube_lease, others_watch_while_it_is_renewed)
{
	__u64 now = START;

	for (; now < START + 120000; now += 100) {
		for (int k = 0; k < CANDIDATES; k++)
			turns(&node[k], now);
		cr_assert(kube_lease_leads(&node[0], now));
		cr_assert_eq(leaders(now), 1);
	}
	cr_assert_eq(stored_number("leaseTransitions"), 0);
	cr_assert_str_eq(kube_lease_leader(&node[1]), "node-0");
	cr_assert_str_neq(stored_text("acquireTime"), stored_text("renewTime"));
}

Test(kube_lease, is_taken_over_when_it_has_not_changed_for_its_length)
{
	__u64 now;

	turns(&node[0], START);
	turns(&node[1], START + 1000);
	for (now = START + 1000; now < START + 16000; now += 100) {
		turns(&node[1], now);
		cr_assert_not(kube_lease_leads(&node[1], now), "after %llu ms", now - START);
	}
	/* whoever had it counts itself the leader no more by then */
	cr_assert_not(kube_lease_leads(&node[0], START + KUBE_LEASE_RENEW_MS));
	for (; now < START + 19000; now += 100)
		turns(&node[1], now);
	cr_assert(kube_lease_leads(&node[1], now));
	cr_assert_eq(stored_number("leaseTransitions"), 1);
	cr_assert_str_eq(stored_text("holderIdentity"), "node-1");
	turns(&node[0], now);
	cr_assert_not(kube_lease_leads(&node[0], now));
	cr_assert_eq(stored_number("leaseTransitions"), 1);
}

Test(kube_lease, clocks_of_others_say_nothing)
{
	struct json_object *spec;
	__u64 now;

	/* renewed ten years ago, or in ten years: what counts is that it does not change */
	turns(&node[0], START);
	spec = kube_json_field(stored, "spec");
	kube_json_put_text(spec, "renewTime", "2036-12-01T07:15:05.000000Z");
	turns(&node[1], START + 20000);
	for (now = START + 20000; now < START + 34900; now += 100)
		turns(&node[1], now);
	cr_assert_not(kube_lease_leads(&node[1], now));
	for (; now < START + 38000; now += 100)
		turns(&node[1], now);
	cr_assert(kube_lease_leads(&node[1], now));
}

Test(kube_lease, a_change_of_labels_is_no_sign_of_life)
{
	__u64 now;

	turns(&node[0], START);
	for (now = START; now < START + 19000; now += 100) {
		struct json_object *o = copy(stored);

		kube_json_put_text(kube_json_put(kube_json_field(o, "metadata"), "labels"), "at",
				   version_of(stored));
		if (now < START + 14000)
			store(o);
		else
			json_object_put(o);
		turns(&node[1], now);
	}
	cr_assert(kube_lease_leads(&node[1], now));
	cr_assert(kube_json_field(kube_json_field(stored, "metadata"), "labels"),
		  "what others wrote is kept");
}

Test(kube_lease, of_two_who_try_one_gets_it)
{
	struct kube_lease_ask one, other;
	__u32 wait;

	cr_assert_eq(turn(&node[0], START), 404);
	cr_assert_eq(turn(&node[1], START), 404);
	cr_assert(kube_lease_next(&node[0], START, REALTIME, 0, &one, &wait));
	cr_assert(kube_lease_next(&node[1], START, REALTIME, 0, &other, &wait));
	answered(&node[1], START, &other);
	answered(&node[0], START, &one);
	cr_assert(kube_lease_leads(&node[1], START));
	cr_assert_not(kube_lease_leads(&node[0], START));
	turns(&node[0], START + 3000);
	cr_assert_not(kube_lease_leads(&node[0], START + 3000));
	cr_assert_str_eq(stored_text("holderIdentity"), "node-1");
}

Test(kube_lease, nobody_leads_while_the_server_is_away)
{
	__u64 now, renewed;

	turns(&node[0], START);
	renewed = START;
	for (now = START + 2500; now < START + 60000; now += 100) {
		lost(&node[0], now);
		cr_assert_eq(kube_lease_leads(&node[0], now), now < renewed + KUBE_LEASE_RENEW_MS,
			     "after %llu ms", now - START);
	}
	/* it is back, and nobody took it meanwhile */
	turns(&node[0], now + 10000);
	cr_assert(kube_lease_leads(&node[0], now + 10000));
	cr_assert_eq(stored_number("leaseTransitions"), 0);
}

Test(kube_lease, time_counts_from_when_a_renewal_was_sent)
{
	struct kube_lease_ask ask;
	__u32 wait;

	turns(&node[0], START);
	cr_assert(kube_lease_next(&node[0], START + 2500, REALTIME, 0, &ask, &wait));
	answered(&node[0], START + 7500, &ask);
	cr_assert(kube_lease_leads(&node[0], START + 12499));
	cr_assert_not(kube_lease_leads(&node[0], START + 12500));
}

Test(kube_lease, a_renewal_whose_answer_was_lost_is_read_back)
{
	struct json_object *answer;
	struct kube_lease_ask ask;
	__u32 wait;

	turns(&node[0], START);
	cr_assert(kube_lease_next(&node[0], START + 2500, REALTIME, 0, &ask, &wait));
	serve(&ask, &answer); /* it went through */
	json_object_put(answer);
	kube_lease_answer(&node[0], START + 4500, 0, NULL);
	cr_assert_eq(turn(&node[0], START + 4900), 409);
	turns(&node[0], START + 8000);
	cr_assert(kube_lease_leads(&node[0], START + 12600));
	cr_assert_eq(stored_number("leaseTransitions"), 0);
}

Test(kube_lease, a_restart_leads_on)
{
	turns(&node[0], START);
	kube_lease_close(&node[0]);
	cr_assert_eq(kube_lease_open(&node[0], "poise", "poise", "node-0", NULL), 0);
	turns(&node[0], START + 1000);
	cr_assert(kube_lease_leads(&node[0], START + 1000));
	cr_assert_eq(stored_number("leaseTransitions"), 0);
}

Test(kube_lease, who_ends_gives_it_up_and_another_takes_it_at_once)
{
	turns(&node[0], START);
	turns(&node[1], START);
	kube_lease_end(&node[0]);
	cr_assert_not(kube_lease_ended(&node[0]));
	turns(&node[0], START + 500);
	cr_assert(kube_lease_ended(&node[0]));
	cr_assert_not(kube_lease_leads(&node[0], START + 500));
	cr_assert_str_eq(stored_text("holderIdentity"), "");
	cr_assert_eq(stored_number("leaseDurationSeconds"), 1);
	turns(&node[1], START + 2500);
	cr_assert(kube_lease_leads(&node[1], START + 2500));
	cr_assert_eq(stored_number("leaseTransitions"), 1);
}

Test(kube_lease, who_does_not_lead_has_nothing_to_give_up)
{
	turns(&node[0], START);
	turns(&node[1], START);
	kube_lease_end(&node[1]);
	cr_assert(kube_lease_ended(&node[1]));
	cr_assert_eq(turn(&node[1], START + 5000), 0);
	cr_assert_str_eq(stored_text("holderIdentity"), "node-0");
}

Test(kube_lease, one_that_was_deleted_is_made_again)
{
	turns(&node[0], START);
	json_object_put(stored);
	stored = NULL;
	cr_assert_eq(turn(&node[0], START + 2500), 404);
	cr_assert_not(kube_lease_leads(&node[0], START + 2500), "another may have made it");
	turns(&node[0], START + 5000);
	cr_assert(kube_lease_leads(&node[0], START + 5000));
}

Test(kube_lease, nonsense_is_survived)
{
	const char *bodies[] = {
		"{}",
		"[]",
		"1",
		"{\"spec\":[]}",
		"{\"spec\":{\"holderIdentity\":7}}",
		"{\"spec\":{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":-1}}",
		"{\"spec\":{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":2147483647}}",
	};
	struct kube_lease_ask ask;
	__u64 now = START;
	__u32 wait;

	for (size_t k = 0; k < sizeof(bodies) / sizeof(bodies[0]); k++) {
		struct json_object *body = json_tokener_parse(bodies[k]);

		for (int asks = 0; kube_lease_next(&node[0], now, REALTIME, 0, &ask, &wait);
		     asks++) {
			cr_assert_lt(asks, 4);
			kube_lease_answer(&node[0], now, ask.verb == KUBE_GET ? 200 : 500, body);
		}
		json_object_put(body);
		now += 5000;
	}
	/* who claims it for 68 years is believed for five minutes */
	for (; now < START + 400000; now += 1000)
		if (kube_lease_next(&node[0], now, REALTIME, 0, &ask, &wait)) {
			struct json_object *body = json_tokener_parse(bodies[6]);

			if (ask.verb == KUBE_PUT)
				json_object_put(body);
			if (ask.verb == KUBE_PUT)
				return;
			kube_lease_answer(&node[0], now, 200, body);
			json_object_put(body);
		}
	cr_assert_fail("it was never tried");
}

Test(kube_lease, transitions_end_somewhere)
{
	turns(&node[0], START);
	json_object_object_add(kube_json_field(stored, "spec"), "leaseTransitions",
			       json_object_new_int(INT32_MAX));
	kube_json_put_text(kube_json_field(stored, "spec"), "holderIdentity", "");
	turns(&node[1], START);
	cr_assert(kube_lease_leads(&node[1], START));
	cr_assert_eq(stored_number("leaseTransitions"), INT32_MAX);
}

Test(kube_lease, names_that_lead_elsewhere_are_refused)
{
	struct poise_error err;

	cr_assert_eq(kube_lease_open(&node[0], "poise", "../secrets", "node-0", &err), -1);
	cr_assert_eq(err.code, POISE_E_BAD_VALUE);
	cr_assert_eq(kube_lease_open(&node[0], "a/b", "poise", "node-0", &err), -1);
	up();
}

static __u32 below(__u32 most)
{
	static __u64 state = 7; /* the same on every run */

	state += POISE_GOLD;
	return (__u32)(poise_mix(state) >> 32) % most;
}

/* Requests and answers in any order, late and lost, nodes that stop and go on: never two who lead.
 */
Test(kube_lease, never_two)
{
	struct kube_lease_ask ask[CANDIDATES];
	bool asked[CANDIDATES] = {false};
	__u64 until[CANDIDATES] = {0}, stopped[CANDIDATES] = {0}, now;
	int led = 0;
	__u32 wait;

	for (now = START; now < START + 4000000; now += 50 + below(200)) {
		for (int k = 0; k < CANDIDATES; k++) {
			struct json_object *answer = NULL;
			int status = 0;

			if (now < stopped[k])
				continue;
			if (!asked[k]) {
				asked[k] = kube_lease_next(&node[k], now, REALTIME + now * 1000000,
							   below(1000), &ask[k], &wait);
				until[k] = now + below(8) * below(600);
			} else if (now >= until[k]) {
				if (below(8))
					status = serve(&ask[k], &answer);
				if (!below(8)) { /* the answer is lost on its way */
					json_object_put(answer);
					answer = NULL;
					status = 0;
				}
				kube_lease_answer(&node[k], now, status, answer);
				json_object_put(answer);
				asked[k] = false;
			}
			if (!below(500))
				stopped[k] = now + below(40000);
		}
		cr_assert_leq(leaders(now), 1, "at %llu", now - START);
		led += leaders(now);
	}
	cr_assert_gt(led, 1000, "somebody led most of the time");
	cr_assert_gt(stored_number("leaseTransitions"), 3);
}
