// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Fade-in that is over is as if it had never been configured: whatever packets read is the same,
 * byte for byte, so the program does the same; and it does: a million flows choose the same
 * backends, under every policy, by the same instructions upon the same memory. And what a fade
 * under way leaves to whom.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/hash.h"
#include "tests/support/native.h"
#include "tests/support/steps.h"
#include "tests/support/longest.h"

#define BACKENDS 200
#define FLOWS	 1000000
#define SLOTS	 (1 << 21)
#define KEPT	 (1 << 17) /* flows recorded at a time: no bucket gets full */
#define SECOND	 1000000000ull
#define HOUR_MS	 3600000

static struct native n;
static struct frame frame;

TestSuite(faded, .timeout = TEST_LONGEST);

static struct config_service *service(void)
{
	return n.cfg->service[0];
}

/* Half of the backends are there first, the other half come while poised runs. */
static void open_halves(enum poise_policy policy, __u32 fade_in)
{
	static char yaml[64 * BACKENDS];
	int used = sprintf(yaml, "services:\n  - { name: web, listen: '10.2.0.1:80', forward: l2,\n"
				 "      track: always, backends: [ ");

	for (int k = 1; k <= BACKENDS; k++)
		used += sprintf(yaml + used, "%s{ address: 10.3.0.%d%s }", k > 1 ? ", " : "", k,
				k & 1 ? "" : ", admin: disabled");
	sprintf(yaml + used, " ] }\n");
	native_open(&n, yaml, SLOTS);
	service()->conf.policy = (__u8)policy;
	service()->conf.fade_in = fade_in;
	native_commit(&n);
	run_set_seconds(instance_stamp_now(n.i));
	native_beat(&n, true);
	for (size_t m = 0; m < BACKENDS; m++)
		service()->member[m].conf.admin = POISE_ENABLED;
	native_commit(&n);
	frame_build(&frame, "ip4 10.0.0.0 > 10.2.0.1 | tcp 1024 > 80 S");
}

/* poised's tick so many seconds after the others came. */
static bool at(__u64 seconds)
{
	__u64 since = 0;

	for (size_t m = 0; m < BACKENDS; m++)
		if (service()->member[m].conf.since > since)
			since = service()->member[m].conf.since;
	return instance_fade(n.i, n.cfg, since + seconds * SECOND, instance_stamp_now(n.i));
}

static void forget(void)
{
	memset(n.i->flows, 0, (size_t)n.i->meta->flow_buckets * sizeof(*n.i->flows));
}

static __u64 mix(__u64 sum, const void *bytes, size_t size)
{
	const __u8 *b = bytes;

	while (size--)
		sum = (sum ^ *b++) * POISE_GOLD;
	return sum;
}

/* All that a choice reads, but what packets themselves write. */
static __u64 read_by_packets(void)
{
	const struct poise_meta *m = n.i->meta;
	__u64 sum = mix(0, n.i->members, m->members * sizeof(*n.i->members));

	sum = mix(sum, &n.i->services[service()->id].rec, sizeof(n.i->services->rec));
	return mix(sum, n.i->table, m->table_slots * sizeof(*n.i->table));
}

static __u64 chosen(void)
{
	__u64 sum = 0;

	for (__u32 k = 0; k < FLOWS; k++) {
		__u8 to = native_flow(&frame, k, NATIVE_SYN);

		sum = mix(sum, &to, 1);
		if (k % KEPT == KEPT - 1)
			forget();
	}
	return sum;
}

static void like_never(enum poise_policy policy)
{
	__u64 read, chose;

	open_halves(policy, 0);
	read = read_by_packets();
	chose = chosen();
	native_close(&n);

	open_halves(policy, HOUR_MS);
	cr_assert(at(3600 - 1), "somebody fades");
	cr_assert_neq(read_by_packets(), read);
	cr_assert_not(at(2 * 3600));
	cr_assert_eq(read_by_packets(), read, "packets read something else");
	cr_assert_eq(chosen(), chose, "flows choose other backends");
	native_close(&n);
}

#define LIKE_NEVER(name, policy)                                                                   \
	Test(faded, name)                                                                          \
	{                                                                                          \
		like_never(policy);                                                                \
	}

LIKE_NEVER(maglev, POISE_MAGLEV)
LIKE_NEVER(source_hash, POISE_SOURCE_HASH)
LIKE_NEVER(round_robin, POISE_ROUND_ROBIN)
LIKE_NEVER(random, POISE_RANDOM)
LIKE_NEVER(least_conn, POISE_LEAST_CONN)
LIKE_NEVER(p2c, POISE_P2C)
LIKE_NEVER(latency_aware, POISE_LATENCY_AWARE)

/* ---- what a choice does -----------------------------------------------------------------------*/

#define TRACED 8 /* flows: some meet who fades */

/* Nobody has any flows. */
static void begin_anew(void)
{
	const struct poise_meta *m = n.i->meta;

	forget();
	memset(n.i->counters, 0, (size_t)m->cpus * m->members * sizeof(*n.i->counters));
	memset(n.i->loads, 0, (size_t)m->cpus * poise_loads_row(m->members) * sizeof(*n.i->loads));
}

static bool by_latency(void)
{
	return service()->conf.policy == POISE_P2C || service()->conf.policy == POISE_LATENCY_AWARE;
}

/* Or none: which connections are watched goes by time (bpf/watch.h). */
static void watch_some(bool some)
{
	for (size_t m = 0; m < BACKENDS; m++) {
		__u8 *flags = &n.i->members[service()->member[m].id].flags;

		*flags =
			some && by_latency() ? *flags | POISE_F_WATCHED : *flags & ~POISE_F_WATCHED;
	}
}

/* Each of a few flows' first packet, step by step, and the XOR of all that is summed. */
static __attribute__((noinline)) struct steps trace(void)
{
	struct steps all = {0};

	watch_some(false);
	for (__u32 k = 0; k < TRACED; k++) {
		char words[80];
		struct frame f;
		struct steps s;

		sprintf(words, "ip4 10.0.1.%u > 10.2.0.1 | tcp 1024 > 80 S", k);
		frame_build(&f, words);
		s = steps_of(&f);
		all.count += s.count;
		all.path ^= s.path;
		all.places ^= s.places;
	}
	watch_some(true);
	begin_anew();
	return all;
}

/* The same service while half of it fades, when that is over, and without fade-in; then one that
 * never knew any. */
static void does_like_never(enum poise_policy policy)
{
	struct steps fading, over, without, never;

	open_halves(policy, HOUR_MS);
	cr_assert(at(1800));
	fading = trace();
	if (!fading.count)
		cr_skip_test("nothing may be traced here");
	cr_assert_not(at(2 * 3600));
	over = trace();
	service()->conf.fade_in = 0;
	native_commit(&n);
	without = trace();
	native_close(&n);

	open_halves(policy, 0);
	never = trace();
	native_close(&n);

	cr_expect_gt(fading.count, over.count, "fading costs nothing either: %ld", fading.count);
	cr_expect_eq(over.count, never.count, "%ld instructions, without %ld", over.count,
		     never.count);
	cr_expect_eq(over.path, never.path, "others than without");
	cr_expect_eq(over.count, without.count);
	cr_expect_eq(over.places, without.places, "in other places of memory than without");
}

#define DOES_LIKE_NEVER(name, policy)                                                              \
	Test(faded, name##_by_the_same_instructions)                                               \
	{                                                                                          \
		does_like_never(policy);                                                           \
	}

DOES_LIKE_NEVER(maglev, POISE_MAGLEV)
DOES_LIKE_NEVER(source_hash, POISE_SOURCE_HASH)
DOES_LIKE_NEVER(round_robin, POISE_ROUND_ROBIN)
DOES_LIKE_NEVER(random, POISE_RANDOM)
DOES_LIKE_NEVER(least_conn, POISE_LEAST_CONN)
DOES_LIKE_NEVER(p2c, POISE_P2C)
DOES_LIKE_NEVER(latency_aware, POISE_LATENCY_AWARE)

/* Half of the places or turns are of those who are half faded in. A table gives what they refuse to
 * the others: half of a half. Whoever loses a turn gives it to who comes next, which may be one of
 * them: in between, up to having half as many turns as the others, a third. */
Test(faded, tables_give_those_who_fade_their_part)
{
	static const enum poise_policy policies[] = {POISE_MAGLEV, POISE_SOURCE_HASH,
						     POISE_ROUND_ROBIN, POISE_RANDOM,
						     POISE_LATENCY_AWARE};

	for (size_t p = 0; p < sizeof(policies) / sizeof(policies[0]); p++) {
		__u32 theirs = 0;

		open_halves(policies[p], HOUR_MS);
		cr_assert(at(1800));
		for (__u32 k = 0; k < KEPT; k++)
			theirs += !(native_flow(&frame, k, NATIVE_SYN) & 1);
		cr_expect_geq(theirs, KEPT * 0.24, "policy %d: %u", policies[p], theirs);
		cr_expect_leq(theirs, KEPT * (policies[p] == POISE_ROUND_ROBIN ? 0.34 : 0.26),
			      "policy %d: %u", policies[p], theirs);
		native_close(&n);
	}
}
