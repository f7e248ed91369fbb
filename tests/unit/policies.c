// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What holds for every policy: who may not be chosen is not, the ladder is gone down when nobody
 * else is left, and CPUs that begin with the same knowledge do not all begin with the same backend.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/native.h"

#define MEMBERS 40
#define HITS	(POISE_L_HIT_TCP | POISE_L_HIT_UDP)

static const char *const policies[] = {"maglev", "source-hash", "round-robin",	"random",
				       "p2c",	 "least-conn",	"latency-aware"};

#define POLICIES (sizeof(policies) / sizeof(policies[0]))
#define BY_HASH	 2 /* the first of them */

static struct native n;
static unsigned int client;

static void open_with(const char *policy)
{
	char yaml[4096], *at = yaml;

	at += sprintf(at,
		      "services:\n  - name: web\n    listen: '10.2.0.1:80'\n    policy: %s\n"
		      "    forward: ipip\n    fade-in: 0\n    backends:\n",
		      policy);
	for (unsigned int k = 1; k <= MEMBERS; k++)
		at += sprintf(at, "      - address: 10.3.0.%u\n", k);
	native_open(&n, yaml, 65536);
}

static void teardown(void)
{
	native_close(&n);
}

TestSuite(policies);

static struct poise_member *member(unsigned int k)
{
	char address[32];

	snprintf(address, sizeof(address), "10.3.0.%u", k);
	return &n.i->members[native_member(&n, address)];
}

/* A new flow of a new client. */
static __u16 syn(void)
{
	char frame[96];

	client++;
	snprintf(frame, sizeof(frame), "ip4 10.1.%u.%u > 10.2.0.1 | tcp %u > 80 S",
		 client / 250 % 250, client % 250 + 1, 1000 + client / 62500);
	return native_to(&n, frame);
}

/* Every third may be chosen; those without a next hop have rank and load to be preferred. */
Test(policies, choose_nobody_who_may_not_be)
{
	for (size_t p = 0; p < POLICIES; p++) {
		open_with(policies[p]);
		for (unsigned int k = 1; k <= MEMBERS; k++) {
			if (k % 3 == 1)
				member(k)->nexthop = 0;
			if (k % 3 == 2)
				member(k)->live = POISE_RANK_FAILED | HITS;
		}
		for (int k = 0; k < 2000; k++) {
			__u16 to = syn();

			cr_assert(to, "%s: dropped", policies[p]);
			cr_assert(n.i->members[to].nexthop &&
					  n.i->members[to].live == (POISE_RANK_UP | HITS),
				  "%s chose one who may not be", policies[p]);
		}
		teardown();
	}
}

Test(policies, go_down_the_ladder)
{
	for (size_t p = 0; p < POLICIES; p++) {
		open_with(policies[p]);
		for (unsigned int k = 1; k <= MEMBERS; k++)
			member(k)->live = POISE_RANK_FAILED | HITS;
		member(17)->live = POISE_RANK_DRAINING | HITS;
		for (int k = 0; k < 50; k++)
			cr_assert_eq(&n.i->members[syn()], member(17), "%s", policies[p]);
		teardown();
	}
}

/* As many fresh starts as there could be CPUs: no backend begins with more than its due. */
Test(policies, do_not_begin_with_the_same)
{
	for (size_t p = BY_HASH; p < POLICIES; p++) {
		unsigned int first[NATIVE_BACKENDS + 1] = {0}, most = 0, some = 0;

		open_with(policies[p]);
		for (int k = 0; k < 400; k++) {
			memset(n.i->loads, 0,
			       n.i->meta->cpus * poise_loads_row(n.i->meta->members) *
				       sizeof(*n.i->loads));
			run_use(n.i);
			first[syn()]++;
		}
		for (unsigned int id = 1; id <= NATIVE_BACKENDS; id++) {
			some += first[id] > 0;
			if (first[id] > most)
				most = first[id];
		}
		cr_expect(most <= 30 && some >= 35, "%s: %u begin with one, %u of %u with any",
			  policies[p], most, some, MEMBERS);
		teardown();
	}
}

/* Gone from the rung, whoever they are, at the next flow; back in the cycle after the change. */
Test(policies, follow_a_change_at_once)
{
	for (size_t p = 0; p < POLICIES; p++) {
		open_with(policies[p]);
		for (unsigned int k = 0; k < MEMBERS; k++)
			n.cfg->service[0]->member[k].conf.weight = k < 3 ? 1 : 0;
		native_commit(&n);
		for (int k = 0; k < 300; k++) {
			__u16 to = syn();

			cr_assert(n.i->members[to].weight, "%s: weight 0 was chosen", policies[p]);
		}
		teardown();
	}
}

static struct poise_loads *loads_of(unsigned int k)
{
	return instance_loads(n.i, 0, (__u32)(member(k) - n.i->members));
}

/* What others have counts as much as one's own, and less than nothing counts as nothing. */
Test(policies, loads_are_the_sum_of_both_parts)
{
	open_with("least-conn");
	for (unsigned int k = 1; k <= MEMBERS; k++) {
		*loads_of(k) = (struct poise_loads){.own = -5,
						    .others = k == 9   ? 25
							      : k == 8 ? 2
								       : 30};
	}
	cr_expect_eq(&n.i->members[syn()], member(8), "-3 is nothing, and the least");
	for (unsigned int k = 0; k < 22; k++)
		syn();
	cr_expect_gt(loads_of(8)->own, 10, "until it has as many as the next");
	teardown();
}

/* Weights 1, 2 and 7, 5,000 flows that stay: gauges as the weights, to a few flows. (p2c of three
 * members looks at all of them.) */
Test(policies, weights_count_under_load)
{
	static const unsigned int weights[] = {1, 2, 7};
	static const struct {
		const char *policy;
		unsigned int off; /* flows of 5,000 */
	} cases[] = {{"least-conn", 3}, {"p2c", 3}};

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		char yaml[1024], *at = yaml;

		at += sprintf(
			at,
			"services:\n  - name: web\n    listen: '10.2.0.1:80'\n    policy: %s\n"
			"    forward: ipip\n    fade-in: 0\n    backends:\n",
			cases[c].policy);
		for (unsigned int k = 1; k <= 3; k++)
			at += sprintf(at, "      - { address: 10.3.0.%u, weight: %u }\n", k,
				      weights[k - 1]);
		native_open(&n, yaml, 65536);
		for (int k = 0; k < 5000; k++)
			syn();
		for (unsigned int k = 1; k <= 3; k++) {
			__s64 flows = native_gauge(&n, (__u16)(member(k) - n.i->members));
			__s64 due = 500 * weights[k - 1];

			cr_assert_leq(llabs(flows - due), cases[c].off, "%s: %lld of weight %u",
				      cases[c].policy, flows, weights[k - 1]);
		}
		teardown();
	}
}
