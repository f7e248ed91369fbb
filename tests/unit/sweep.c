// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The sweeper: which words it frees, and that it counts what it frees and what it leaves.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "maps/hash.h"
#include "tests/support/native.h"

#define NOW 20000

static const char yaml[] =
	"services:\n"
	"  - { name: short, listen: [ '10.2.0.1:80' ], forward: l2, idle: 15m, syn: 30s,\n"
	"      closing: 2m, udp: 1m, backends: [ { address: 10.3.0.1 }, { address: 10.3.0.2 } ] }\n"
	"  - { name: long, listen: [ '10.2.0.2:80' ], forward: l2, idle: 16h,\n"
	"      backends: [ { address: 10.3.0.3 } ] }\n";

static struct native n;

static void setup(void)
{
	native_open(&n, yaml, 65536);
	run_set_seconds(NOW);
}

static void teardown(void)
{
	native_close(&n);
}

TestSuite(sweep, .init = setup, .fini = teardown);

/* A word as packets would have left it, anywhere; its gauge is counted by hand. */
static void put(__u32 bucket, const char *member, bool udp, __u32 state, __u32 age)
{
	__u16 id = native_member(&n, member);
	bool far = state == POISE_FLOW_EST && !udp && strcmp(member, "10.3.0.3") == 0;
	__u32 stamp = far ? ((NOW - age) / 16 & POISE_WORD_STAMP) | POISE_WORD_UNIT
			  : (NOW - age) & POISE_WORD_STAMP;

	n.i->flows[bucket].word[bucket % 8] = (__u64)(bucket << 1 | udp) << POISE_WORD_TAG_SHIFT |
					      (__u64)id << POISE_WORD_MEMBER_SHIFT |
					      state << POISE_WORD_STATE_SHIFT | stamp;
	if (state >= POISE_FLOW_NEW && state <= POISE_FLOW_EST) {
		n.i->counters[id].opened++;
		instance_loads(n.i, 0, id)->own++;
	}
}

static struct poise_sweep sweep(__u32 kind, __u16 service, __u16 member)
{
	struct poise_sweep io = {.kind = kind, .service = service, .member = member};

	native_sweep(&n, &io);
	for (unsigned int m = 1; m < n.i->meta->members; m++)
		cr_assert_eq(native_gauge(&n, m), native_live(&n, m), "gauge of member %u", m);
	return io;
}

struct timeout_case {
	const char *member;
	bool udp;
	__u8 state;
	__u32 last; /* seconds of silence that a word survives; one unit more and it is gone */
	__u32 unit;
};

static const struct timeout_case timeouts[] = {
	{"10.3.0.1", false, POISE_FLOW_NEW, 30, 1},
	{"10.3.0.1", false, POISE_FLOW_PICKUP, 900, 1},
	{"10.3.0.1", false, POISE_FLOW_EST, 900, 1},
	{"10.3.0.1", false, POISE_FLOW_FIN, 120, 1},
	{"10.3.0.1", false, POISE_FLOW_RST, 10, 1},
	{"10.3.0.1", true, POISE_FLOW_NEW, 60, 1},
	{"10.3.0.1", true, POISE_FLOW_EST, 60, 1},
	{"10.3.0.3", false, POISE_FLOW_EST, 16 * 3600, 16},
	{"10.3.0.3", false, POISE_FLOW_NEW, 30, 1},
};

Test(sweep, each_timeout_to_the_second)
{
	for (size_t k = 0; k < sizeof(timeouts) / sizeof(timeouts[0]); k++) {
		const struct timeout_case *c = &timeouts[k];
		struct poise_sweep io;

		run_set_seconds(NOW);
		put(77, c->member, c->udp, c->state, 0);
		run_set_seconds(NOW + c->last);
		io = sweep(POISE_SWEEP_EXPIRED, 0, 0);
		cr_assert_eq(io.used, 1, "case %zu went too early", k);
		cr_assert_eq(io.freed, 0);
		run_set_seconds(NOW + c->last + c->unit);
		io = sweep(POISE_SWEEP_EXPIRED, 0, 0);
		cr_assert_eq(io.freed, 1, "case %zu did not go", k);
		cr_assert_eq(io.used, 0);
	}
}

Test(sweep, words_of_members_that_are_gone)
{
	put(1, "10.3.0.1", false, POISE_FLOW_EST, 0);
	put(2, "10.3.0.2", false, POISE_FLOW_EST, 0);
	put(3, "10.3.0.3", false, POISE_FLOW_EST, 0);
	n.i->members[native_member(&n, "10.3.0.1")].service = 0;
	n.i->services[native_service(&n, "long")].active |= POISE_SERVICE_GONE;
	cr_assert_eq(sweep(POISE_SWEEP_EXPIRED, 0, 0).freed, 2);
	cr_assert_eq(native_gauge(&n, native_member(&n, "10.3.0.2")), 1);
}

Test(sweep, counts_what_is_left)
{
	struct poise_sweep io;

	put(1, "10.3.0.1", false, POISE_FLOW_EST, 0);
	put(2, "10.3.0.1", true, POISE_FLOW_NEW, 0);
	put(3, "10.3.0.2", false, POISE_FLOW_PICKUP, 0);
	put(4, "10.3.0.2", false, POISE_FLOW_FIN, 0);
	put(5, "10.3.0.2", false, POISE_FLOW_RST, 0);
	put(6, "10.3.0.2", false, POISE_FLOW_RST, 100);
	io = sweep(POISE_SWEEP_EXPIRED, 0, 0);
	cr_assert_eq(io.live, 3);
	cr_assert_eq(io.used, 5);
	cr_assert_eq(io.freed, 1);
}

Test(sweep, by_force)
{
	__u16 first = native_member(&n, "10.3.0.1"), third = native_member(&n, "10.3.0.3");

	for (__u32 k = 0; k < 8; k++) {
		put(k * 3, "10.3.0.1", false, POISE_FLOW_EST, 0);
		put(k * 3 + 1, "10.3.0.2", false, POISE_FLOW_FIN, 0);
		put(k * 3 + 2, "10.3.0.3", true, POISE_FLOW_EST, 0);
	}
	cr_assert_eq(sweep(POISE_SWEEP_FORCE, native_service(&n, "short"), first).freed, 8);
	cr_assert_eq(sweep(POISE_SWEEP_FORCE, native_service(&n, "long"), first).freed, 0);
	cr_assert_eq(native_gauge(&n, third), 8);
	cr_assert_eq(sweep(POISE_SWEEP_FORCE, native_service(&n, "short"), 0).freed, 8);
	cr_assert_eq(sweep(POISE_SWEEP_FORCE, 0, third).freed, 8);
	put(1, "10.3.0.2", false, POISE_FLOW_EST, 0);
	put(2, "10.3.0.3", false, POISE_FLOW_EST, 0);
	cr_assert_eq(sweep(POISE_SWEEP_FORCE, 0, 0).freed, 2);
}

/* By force and by what a word says: the state exactly, silence from so many seconds on. */
Test(sweep, by_state_and_silence)
{
	static const struct {
		__u8 state;
		__u16 idle;
		__u32 freed;
	} filters[] = {
		{POISE_FLOW_RST, 0, 1},
		{POISE_FLOW_RST, 9, 0},
		{POISE_FLOW_FIN, 100, 1},
		{POISE_FLOW_FIN, 0, 1},
		{0, 601, 0},
		{0, 600, 1},
		{POISE_FLOW_NEW, 0, 1},
		{POISE_FLOW_EST, 1, 0},
		{0, 65535, 0},
		{0, 16 * 3600 - 1000, 1},
		{POISE_FLOW_EST, 0, 1},
	};
	__u16 service = native_service(&n, "short");

	put(1, "10.3.0.1", false, POISE_FLOW_EST, 600);
	put(2, "10.3.0.1", false, POISE_FLOW_EST, 0);
	put(3, "10.3.0.2", false, POISE_FLOW_FIN, 100);
	put(4, "10.3.0.2", true, POISE_FLOW_FIN, 99);
	put(5, "10.3.0.1", false, POISE_FLOW_RST, 5);
	put(6, "10.3.0.1", false, POISE_FLOW_NEW, 0);
	put(7, "10.3.0.3", false, POISE_FLOW_EST, 16 * 3600);
	for (size_t k = 0; k < sizeof(filters) / sizeof(filters[0]); k++) {
		struct poise_sweep io = {
			.kind = POISE_SWEEP_FORCE,
			.service = filters[k].idle > 4000 ? 0 : service,
			.state = filters[k].state,
			.idle = filters[k].idle,
		};

		native_sweep(&n, &io);
		cr_assert_eq(io.freed, filters[k].freed, "filter %zu freed %u", k, io.freed);
		for (unsigned int m = 1; m < n.i->meta->members; m++)
			cr_assert_eq(native_gauge(&n, m), native_live(&n, m), "member %u", m);
	}
}

Test(sweep, no_more_buckets_than_asked_for)
{
	struct poise_sweep io = {.first = 10, .count = 5, .kind = POISE_SWEEP_FORCE};

	for (__u32 k = 8; k < 20; k++)
		put(k, "10.3.0.1", false, POISE_FLOW_EST, 0);
	run_sweep(&io);
	cr_assert_eq(io.freed, 5);
	io = (struct poise_sweep){.first = n.i->meta->flow_buckets - 1, .count = ~0u};
	run_sweep(&io);
	cr_assert_eq(io.used, 0, "beyond the last bucket is nothing");
}
