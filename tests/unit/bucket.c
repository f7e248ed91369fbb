// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Recording in a bucket: where a word goes, whose place it takes when all eight are taken, and what
 * becomes of two words for one flow. Races are played out step by step, so this test has the
 * datapath's source for itself.
 */
#include <criterion/criterion.h>

#include "bpf/native.c"
#include "tests/support/native.h"

#define NOW 1000
#define TAG 0xabcdef00u

static const char yaml[] = "services:\n"
			   "  - name: web\n"
			   "    listen: [ '10.2.0.1:80' ]\n"
			   "    forward: l2\n"
			   "    track: always\n"
			   "    idle: 15m\n"
			   "    backends: [ { address: 10.3.0.1 }, { address: 10.3.0.2 } ]\n"
			   "  - name: other\n"
			   "    listen: [ '10.2.0.2:80' ]\n"
			   "    forward: l2\n"
			   "    idle: 1m\n"
			   "    backends: [ { address: 10.3.0.3 } ]\n";

static struct native n;
static struct poise_bucket *bucket;
static __u16 service, first, second, foreign;

static void setup(void)
{
	native_open(&n, yaml, 1024);
	bucket = &n.i->flows[0];
	service = native_service(&n, "web");
	first = native_member(&n, "10.3.0.1");
	second = native_member(&n, "10.3.0.2");
	foreign = native_member(&n, "10.3.0.3");
}

static void teardown(void)
{
	native_close(&n);
}

TestSuite(bucket, .init = setup, .fini = teardown);

static __u64 word(__u32 tag, __u16 member, __u32 state, __u32 age)
{
	return flow_word(tag, member, state << POISE_WORD_STATE_SHIFT | ((NOW - age) & 0xfff));
}

/* Puts words there as if packets had, gauges included. */
static void put(int slot, __u64 w)
{
	bucket->word[slot] = w;
	if (flow_is_live(w))
		count_opened(POISE_WORD_MEMBER(w), false);
}

static void fill(__u32 state)
{
	for (__u32 k = 0; k < POISE_BUCKET_WORDS; k++)
		put((int)k, word(k * 2, first, state, k));
}

static enum recorded add(void)
{
	return record(bucket, service, word(TAG, second, POISE_FLOW_NEW, 0), NOW, 0);
}

static void check_gauges(void)
{
	for (unsigned int m = 1; m < n.i->meta->members; m++)
		cr_assert_eq(native_gauge(&n, m), native_live(&n, m), "member %u", m);
}

static __u64 told(__u32 which)
{
	return run_drops(service)->count[which];
}

Test(bucket, lowest_free_slot)
{
	fill(POISE_FLOW_EST);
	bucket->word[5] = 0;
	bucket->word[3] = 0;
	cr_assert_eq(add(), RECORDED);
	cr_assert_eq(POISE_WORD_TAG(bucket->word[3]), TAG);
	cr_assert_eq(bucket->word[5], 0);
	cr_assert_eq(told(POISE_R_EVICTED), 0);
}

/* RST, FIN, NEW, AFFINITY, PICKUP, in this order and of a kind the oldest; EST never. */
Test(bucket, victims)
{
	static const __u32 order[] = {POISE_FLOW_RST, POISE_FLOW_FIN, POISE_FLOW_NEW,
				      POISE_FLOW_AFFINITY, POISE_FLOW_PICKUP};

	for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); k++) {
		fill(POISE_FLOW_EST);
		bucket->word[2] = word(4, first, order[k], 1);
		bucket->word[4] = word(8, first, order[k], 9); /* the oldest of its kind */
		bucket->word[6] = word(12, first, order[k], 5);
		/* one that is worth more, and older */
		bucket->word[7] = word(14, first, order[k + 1 < 5 ? k + 1 : k], 9);
		if (k == 4)
			bucket->word[7] = word(14, first, POISE_FLOW_EST, 20);
		cr_assert_eq(add(), RECORDED);
		cr_assert_eq(POISE_WORD_TAG(bucket->word[4]), TAG, "case %zu", k);
		cr_assert_eq(told(POISE_R_EVICTED), k + 1);
	}
}

Test(bucket, a_victims_gauge_ends)
{
	fill(POISE_FLOW_PICKUP);
	cr_assert_eq(add(), RECORDED);
	cr_assert_eq(native_gauge(&n, first), 7);
	cr_assert_eq(native_gauge(&n, second), 1);
	check_gauges();
}

Test(bucket, established_flows_stay)
{
	struct poise_bucket before;

	fill(POISE_FLOW_EST);
	before = *bucket;
	cr_assert_eq(add(), RECORD_FULL);
	cr_assert_arr_eq(bucket->word, before.word, sizeof(before));
	check_gauges();
}

/* But not those that only wait for the sweeper: by the timeout of their own service. */
Test(bucket, established_flows_that_are_over)
{
	fill(POISE_FLOW_EST);
	bucket->word[3] = word(6, first, POISE_FLOW_EST, 899);
	bucket->word[4] = word(8, first, POISE_FLOW_EST, 901);
	bucket->word[5] = word(10, first, POISE_FLOW_EST, 901);
	cr_assert_eq(add(), RECORDED);
	cr_assert_eq(POISE_WORD_TAG(bucket->word[4]), TAG);

	bucket->word[4] = word(8, first, POISE_FLOW_EST, 0);
	bucket->word[5] = word(10, first, POISE_FLOW_EST, 0);
	count_closed(first);
	put(6, word(12, foreign, POISE_FLOW_EST, 62));
	cr_assert_eq(add(), RECORDED);
	cr_assert_eq(POISE_WORD_TAG(bucket->word[6]), TAG);

	/* a member that is gone has no flows at all */
	fill(POISE_FLOW_EST);
	n.i->members[first].service = 0;
	cr_assert_eq(add(), RECORDED);
	cr_assert_eq(POISE_WORD_TAG(bucket->word[0]), TAG);
}

/* ---- one flow, two words: another CPU recorded it between our look-up and our insert
 * ------------*/

Test(bucket, a_twin_above_goes)
{
	put(5, word(TAG, first, POISE_FLOW_NEW, 0));
	cr_assert_eq(add(), RECORDED);
	cr_assert_eq(POISE_WORD_TAG(bucket->word[0]), TAG);
	cr_assert_eq(bucket->word[5], 0);
	cr_assert_eq(told(POISE_R_DUPLICATE), 1);
	cr_assert_eq(native_gauge(&n, first), 0);
	cr_assert_eq(native_gauge(&n, second), 1);
}

Test(bucket, before_a_twin_below_we_give_way)
{
	fill(POISE_FLOW_EST);
	bucket->word[2] = word(TAG, first, POISE_FLOW_NEW, 0);
	bucket->word[5] = 0;
	count_closed(first);
	cr_assert_eq(add(), RECORD_WITHDRAWN);
	cr_assert_eq(bucket->word[2], word(TAG, first, POISE_FLOW_NEW, 0));
	cr_assert_eq(bucket->word[5], 0);
	cr_assert_eq(told(POISE_R_DUPLICATE), 1);
	cr_assert_eq(native_gauge(&n, second), 0);
	check_gauges();
}

Test(bucket, another_services_tag_is_no_twin)
{
	put(5, word(TAG, foreign, POISE_FLOW_EST, 0));
	cr_assert_eq(add(), RECORDED);
	cr_assert_eq(bucket->word[5], word(TAG, foreign, POISE_FLOW_EST, 0));
	cr_assert_eq(told(POISE_R_DUPLICATE), 0);
}

/* ---- a swap counts what it opens and closes, and only if it took place
 * --------------------------*/

Test(bucket, swaps_are_counted_by_who_makes_them)
{
	__u64 one = word(TAG, first, POISE_FLOW_NEW, 0);
	__u64 two = word(TAG, first, POISE_FLOW_EST, 0);
	__u64 gone = word(TAG, first, POISE_FLOW_RST, 0);
	__u64 elsewhere = word(TAG, second, POISE_FLOW_NEW, 0);
	__u64 *w = &bucket->word[0];

	cr_assert(flow_swap(w, 0, one, 1));
	cr_assert_eq(native_counts(&n, first).opened, 1);
	cr_assert_not(flow_swap(w, 0, one, 1), "it holds another word");
	cr_assert_eq(native_counts(&n, first).opened, 1);
	cr_assert(flow_swap(w, one, two, 0));
	cr_assert_eq(native_counts(&n, first).opened, 1, "still the same flow");
	cr_assert(flow_swap(w, two, gone, 0));
	cr_assert_eq(native_counts(&n, first).closed, 1);
	cr_assert(flow_swap(w, gone, two, 0));
	cr_assert_eq(native_counts(&n, first).opened, 2, "live again");
	cr_assert(flow_swap(w, two, elsewhere, 0));
	cr_assert_eq(native_counts(&n, first).closed, 2);
	cr_assert_eq(native_counts(&n, second).opened, 1);
	cr_assert(flow_swap(w, elsewhere, elsewhere, 1));
	cr_assert_eq(native_counts(&n, second).opened, 2, "a new flow in the old one's slot");
	cr_assert_eq(native_counts(&n, second).closed, 1);
	check_gauges();
}

/* ---- pressure ---------------------------------------------------------------------------------*/

Test(bucket, a_young_flow_that_loses_its_word_tells_everybody)
{
	static const struct {
		__u32 state, age;
		bool told;
	} victims[] = {
		{POISE_FLOW_NEW, 0, true},     {POISE_FLOW_NEW, 2, true},
		{POISE_FLOW_NEW, 3, false},    {POISE_FLOW_PICKUP, 2, true},
		{POISE_FLOW_PICKUP, 3, false}, {POISE_FLOW_FIN, 0, false},
		{POISE_FLOW_RST, 0, false},    {POISE_FLOW_AFFINITY, 0, false},
	};

	for (size_t k = 0; k < sizeof(victims) / sizeof(victims[0]); k++) {
		fill(POISE_FLOW_EST);
		bucket->word[3] = word(6, first, victims[k].state, victims[k].age);
		n.i->meta->pressure = 0;
		cr_assert_eq(add(), RECORDED);
		cr_assert_eq(n.i->meta->pressure, victims[k].told ? NOW : 0, "case %zu", k);
	}
}

/* Who loses is counted, not who comes. */
Test(bucket, the_victims_service_counts_it)
{
	fill(POISE_FLOW_EST);
	bucket->word[3] = word(6, foreign, POISE_FLOW_NEW, 5);
	count_opened(foreign, false);
	cr_assert_eq(add(), RECORDED);
	cr_assert_eq(told(POISE_R_EVICTED), 0);
	cr_assert_eq(run_drops(n.i->members[foreign].service)->count[POISE_R_EVICTED], 1);
}

/* A flow met in its middle of which no second packet came. */
Test(bucket, a_doubtful_flow_is_worth_no_more_than_a_new_one)
{
	fill(POISE_FLOW_EST);
	bucket->word[2] = word(4, first, POISE_FLOW_NEW, 29);
	bucket->word[5] = word(10, first, POISE_FLOW_PICKUP, 30);
	cr_assert_eq(add(), RECORDED);
	cr_assert_eq(POISE_WORD_TAG(bucket->word[5]), TAG);
}
