// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who is chosen for a new flow: by the policy's hash, then by alternates, then by a scan down the
 * ladder; through ids in any number of extents.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/text.h"
#include "tests/support/native.h"

#define MEMBERS 40
#define HITS	(POISE_L_HIT_TCP | POISE_L_HIT_UDP)

static struct native n;
static struct poise_service_rec *rec;
static __u16 service;

static void open_with(const char *policy, unsigned int members)
{
	char yaml[8192], *at = yaml;

	at += sprintf(at,
		      "services:\n"
		      "  - { name: other, listen: [ '10.2.0.2:80' ], forward: l2,\n"
		      "      backends: [ { address: 10.3.1.1 } ] }\n"
		      "  - name: web\n"
		      "    listen: [ '10.2.0.1:80', '[fd02::1]:80' ]\n"
		      "    policy: %s\n"
		      "    forward: ipip\n"
		      "    backends:\n",
		      policy);
	for (unsigned int k = 1; k <= members; k++)
		at += sprintf(at, "      - address: 10.3.0.%u\n", k);
	native_open(&n, yaml, 65536);
	service = native_service(&n, "web");
	rec = native_record(&n, service);
}

static void teardown(void)
{
	native_close(&n);
}

TestSuite(choosing, .fini = teardown);

static __u16 id(unsigned int k)
{
	char address[32];

	snprintf(address, sizeof(address), "10.3.0.%u", k);
	return native_member(&n, address);
}

static void all_live(unsigned int members, __u32 value)
{
	for (unsigned int k = 1; k <= members; k++)
		n.i->members[id(k)].live = value;
}

static __u16 syn(unsigned int client, unsigned int port)
{
	char frame[96];

	snprintf(frame, sizeof(frame), "ip4 10.1.%u.%u > 10.2.0.1 | tcp %u > 80 S", client / 256,
		 client % 256, port);
	return native_to(&n, frame);
}

Test(choosing, maglev_spreads_by_ports_too)
{
	unsigned int to[NATIVE_BACKENDS + 1] = {0};

	open_with("maglev", 4);
	for (unsigned int port = 1; port <= 4000; port++)
		to[syn(9, port)]++;
	for (unsigned int k = 1; k <= 4; k++)
		cr_assert(to[id(k)] > 850 && to[id(k)] < 1150, "%u of 4000", to[id(k)]);
}

Test(choosing, source_hash_keeps_a_client_together)
{
	unsigned int to[NATIVE_BACKENDS + 1] = {0};

	open_with("source-hash", 4);
	for (unsigned int client = 1; client <= 2000; client++) {
		__u16 first = syn(client, 1);

		cr_assert_eq(syn(client, 40000 + client), first, "client %u", client);
		to[first]++;
	}
	for (unsigned int k = 1; k <= 4; k++)
		cr_assert(to[id(k)] > 400 && to[id(k)] < 600, "%u of 2000", to[id(k)]);
}

/* Eight ids for the first four members, then what it takes, with another service's between. */
Test(choosing, members_of_every_extent)
{
	unsigned int to[NATIVE_BACKENDS + 1] = {0};

	open_with("maglev", 4);
	for (unsigned int k = 5; k <= MEMBERS; k++) {
		union poise_addr a;
		char address[32];
		struct config_service *svc = config_service_named(n.cfg, "web");

		snprintf(address, sizeof(address), "10.3.0.%u", k);
		cr_assert(!poise_parse_addr(address, &a, NULL));
		cr_assert(config_member_add(svc, &a, 0, NULL));
		if (k % 9 == 0)
			native_commit(&n);
	}
	native_commit(&n);
	rec = native_record(&n, service);
	cr_assert_gt(rec->extents, 1, "the test needs several extents");
	for (unsigned int port = 1; port <= 8000; port++)
		to[syn(9, port)]++;
	for (unsigned int k = 1; k <= MEMBERS; k++)
		cr_assert_gt(to[id(k)], 100, "member %u got %u of 8000", k, to[id(k)]);
	cr_assert_eq(to[native_member(&n, "10.3.1.1")], 0);
}

/* One member of forty left: eight alternates miss it as a rule, the scan does not. */
Test(choosing, the_scan_finds_the_only_one)
{
	for (unsigned int only = 1; only <= MEMBERS; only += 13) {
		open_with("maglev", MEMBERS);
		all_live(MEMBERS, POISE_RANK_NEVER);
		n.i->members[id(only)].live = POISE_RANK_UP | HITS;
		for (unsigned int port = 1; port <= 50; port++)
			cr_assert_eq(syn(9, port), id(only));
		if (only + 13 <= MEMBERS)
			teardown();
	}
}

Test(choosing, down_the_ladder_past_the_rung)
{
	static const __u32 ranks[] = {POISE_RANK_CHECKING, POISE_RANK_DRAINING, POISE_RANK_SORRY,
				      POISE_RANK_FAILED};

	open_with("maglev", MEMBERS);
	cr_assert_eq(rec->rung, POISE_RANK_UP);
	all_live(MEMBERS, POISE_RANK_NEVER);
	/* one of each rank: the best of them takes all, then the next */
	for (unsigned int k = 0; k < 4; k++)
		n.i->members[id(30 - k * 7)].live = ranks[k];
	for (unsigned int k = 0; k < 4; k++) {
		for (unsigned int port = 1; port <= 20; port++)
			cr_assert_eq(syn(9 + k, port), id(30 - k * 7), "rank %u", ranks[k]);
		n.i->members[id(30 - k * 7)].live = POISE_RANK_NEVER;
	}
	cr_assert_eq(syn(99, 1), 0);
	cr_assert_eq(run_drops(service)->count[POISE_R_NO_BACKEND], 1);
}

Test(choosing, no_next_hop_is_as_good_as_none)
{
	open_with("maglev", 4);
	for (unsigned int k = 1; k <= 4; k++)
		n.i->members[id(k)].nexthop = 0;
	cr_assert_eq(syn(9, 1), 0);
	cr_assert_eq(run_drops(service)->count[POISE_R_NO_BACKEND], 1);
}

Test(choosing, an_empty_table)
{
	open_with("maglev", 4);
	rec->table_size = 0;
	rec->flags &= ~POISE_S_TABLE;
	rec->members = 0;
	cr_assert_eq(syn(9, 1), 0);
	cr_assert_eq(run_drops(service)->count[POISE_R_NO_BACKEND], 1);
}

/* A member's id means nothing if it has become another service's. */
Test(choosing, never_another_services_member)
{
	open_with("maglev", 4);
	for (unsigned int k = 1; k <= 4; k++)
		n.i->members[id(k)].service = native_service(&n, "other");
	for (unsigned int port = 1; port <= 50; port++)
		cr_assert_eq(syn(9, port), 0);
}
