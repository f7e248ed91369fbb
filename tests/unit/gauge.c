// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Gauges are exact: after millions of packets of every kind, in any order, on two CPUs at once,
 * with evictions, sweeps, members whose state changes and limits that come and go, what was opened
 * less what was closed is what a recount of the flow table finds. And one flow has one word, also
 * if two CPUs record it at once.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "maps/derive.h"
#include "tests/support/native.h"
#include "tests/support/longest.h"

#define OPERATIONS 5000000
#define CLIENTS	   4096 /* more flows than words: buckets fill up */
#define WORDS	   2048

static const char yaml[] = "services:\n"
			   "  - name: always\n"
			   "    listen: [ '10.2.0.1:80', '10.2.0.1:53/udp' ]\n"
			   "    forward: l2\n"
			   "    track: always\n"
			   "    backends: [ { address: 10.3.0.1 }, { address: 10.3.0.2 },\n"
			   "                { address: 10.3.0.3 } ]\n"
			   "  - name: auto\n"
			   "    listen: [ '10.2.0.2:80', '10.2.0.2:53/udp' ]\n"
			   "    forward: ipip\n"
			   "    backends: [ { address: 10.3.0.4 }, { address: 10.3.0.5 } ]\n"
			   "  - name: limited\n"
			   "    listen: [ '10.2.0.3:80', '10.2.0.3:53/udp' ]\n"
			   "    forward: l2\n"
			   "    affinity: yes\n"
			   "    affinity-prefix4: 28\n"
			   "    affinity-timeout: 3s\n"
			   "    rate: 1000000\n"
			   "    max-conns: 50\n"
			   "    backends: [ { address: 10.3.0.6 }, { address: 10.3.0.7 },\n"
			   "                { address: 10.3.0.8, max-conns: none } ]\n";

static const char *const frames[] = {
	"ip4 10.1.0.0 > 10.2.0.1 | tcp 1234 > 80 S",  "ip4 10.1.0.0 > 10.2.0.1 | tcp 1234 > 80 A",
	"ip4 10.1.0.0 > 10.2.0.1 | tcp 1234 > 80 FA", "ip4 10.1.0.0 > 10.2.0.1 | tcp 1234 > 80 R",
	"ip4 10.1.0.0 > 10.2.0.1 | udp 1234 > 53",    "ip4 10.1.0.0 > 10.2.0.2 | tcp 1234 > 80 S",
	"ip4 10.1.0.0 > 10.2.0.2 | tcp 1234 > 80 A",  "ip4 10.1.0.0 > 10.2.0.2 | tcp 1234 > 80 FA",
	"ip4 10.1.0.0 > 10.2.0.2 | tcp 1234 > 80 R",  "ip4 10.1.0.0 > 10.2.0.2 | udp 1234 > 53",
	"ip4 10.1.0.0 > 10.2.0.3 | tcp 1234 > 80 S",  "ip4 10.1.0.0 > 10.2.0.3 | tcp 1234 > 80 A",
	"ip4 10.1.0.0 > 10.2.0.3 | tcp 1234 > 80 FA", "ip4 10.1.0.0 > 10.2.0.3 | tcp 1234 > 80 R",
	"ip4 10.1.0.0 > 10.2.0.3 | udp 1234 > 53",
};

#define FRAMES	   (sizeof(frames) / sizeof(frames[0]))
#define SRC_OFFSET 28 /* the last two bytes of the source address */
#define HEADROOM   64
#define SYN_ALWAYS 0

static __u32 draw(__u64 *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (__u32)(*state >> 33);
}

/* A CPU: its packets, one after the other, from templates. */
struct cpu {
	struct native *n;
	struct frame frame[FRAMES];
	__u32 number;
	__u64 random;
	unsigned long operations;
	atomic_uint *arrived;
};

static void cpu_init(struct cpu *c, struct native *n, __u32 number, unsigned long operations)
{
	*c = (struct cpu){.n = n, .number = number, .random = number + 1, .operations = operations};
	for (size_t k = 0; k < FRAMES; k++)
		frame_build(&c->frame[k], frames[k]);
}

static void cpu_packet(struct cpu *c, size_t kind, __u16 client)
{
	__u8 buffer[256] __attribute__((aligned(4)));
	struct frame *f = &c->frame[kind];
	struct run_frame r = {
		.start = buffer + 2,
		.data = buffer + 2 + HEADROOM,
		.end = buffer + 2 + HEADROOM + f->length,
		.limit = buffer + sizeof(buffer),
	};

	memcpy(r.data, f->byte, f->length);
	r.data[SRC_OFFSET] = (__u8)(client >> 8);
	r.data[SRC_OFFSET + 1] = (__u8)client;
	run_xdp(&r, NATIVE_DEVICE);
}

/* As commit does: a limit that comes, changes and goes while packets count. */
static void limit(struct native *n, __u16 member, __u32 most)
{
	if (most)
		held_set(n->i, member, true);
	__atomic_store_n(&n->i->members[member].max_conns, most, __ATOMIC_RELEASE);
	if (!most)
		held_set(n->i, member, false);
}

/* Now and then something changes behind the packets' backs. */
static void cpu_event(struct cpu *c, unsigned long at)
{
	static const __u32 lives[] = {
		POISE_RANK_UP | POISE_L_HIT_TCP | POISE_L_HIT_UDP,
		POISE_RANK_DRAINING | POISE_L_HIT_TCP | POISE_L_HIT_UDP,
		POISE_RANK_FAILED,
	};
	struct poise_sweep io = {.kind = POISE_SWEEP_EXPIRED};
	const char *addresses[] = {"10.3.0.1", "10.3.0.4", "10.3.0.6"};
	__u16 member = native_member(c->n, addresses[draw(&c->random) % 3]);

	c->n->i->members[member].live = lives[draw(&c->random) % 3];
	if (c->number == 0)
		run_set_seconds(1000 + (__u32)(at / 2000));
	native_sweep(c->n, &io);
	if (c->number == 0)
		limit(c->n, native_member(c->n, "10.3.0.7"), draw(&c->random) % 3 * 30);
}

static void *cpu_run(void *arg)
{
	struct cpu *c = arg;

	run_set_cpu(c->number);
	for (unsigned long k = 0; k < c->operations; k++) {
		cpu_packet(c, draw(&c->random) % FRAMES, draw(&c->random) % CLIENTS);
		if (k % 4096 == 0)
			cpu_event(c, k);
	}
	return NULL;
}

static void check_gauges(const struct native *n)
{
	for (unsigned int m = 1; m < n->i->meta->members; m++)
		cr_assert_eq(native_gauge(n, m), native_live(n, m),
			     "member %u: gauge %lld, live %lld", m, native_gauge(n, m),
			     native_live(n, m));
}

/* Words of one tag in a bucket. */
static unsigned int twins(const struct native *n)
{
	unsigned int found = 0;

	for (__u32 b = 0; b < n->i->meta->flow_buckets; b++)
		for (int k = 0; k < POISE_BUCKET_WORDS; k++)
			for (int j = 0; j < k; j++) {
				__u64 w = n->i->flows[b].word[k];

				found += w && POISE_WORD_TAG(w) ==
						      POISE_WORD_TAG(n->i->flows[b].word[j]);
			}
	return found;
}

/* Both services' slots differ from their base, so that `auto` records and frees too. */
static void mix_tables(const struct native *n)
{
	const struct poise_service_rec *rec = native_record(n, native_service(n, "auto"));

	for (__u32 k = 0; k < rec->table_size; k++)
		n->i->table[rec->table_at + k] =
			POISE_ENTRY(k & 1, k >> 1 & 1) | (k & 4 ? POISE_ENTRY_MIXED : 0);
}

Test(gauge, equals_a_recount_on_one_cpu, .timeout = TEST_LONGEST)
{
	struct native n;
	struct cpu c;
	__u64 opened = 0;

	native_open(&n, yaml, WORDS);
	mix_tables(&n);
	cpu_init(&c, &n, 0, OPERATIONS);
	cpu_run(&c);
	check_gauges(&n);
	cr_assert_eq(twins(&n), 0);
	for (unsigned int m = 1; m < n.i->meta->members; m++)
		opened += native_counts(&n, m).opened;
	cr_assert_gt(opened, OPERATIONS / 20, "the storm opened %llu flows only", opened);
	cr_assert_gt(run_drops(native_service(&n, "always"))->count[POISE_R_EVICTED], 0);
	native_close(&n);
}

Test(gauge, equals_a_recount_on_two_cpus, .timeout = TEST_LONGEST)
{
	pthread_t thread[2];
	struct cpu c[2];
	struct native n;

	native_open(&n, yaml, WORDS);
	mix_tables(&n);
	for (__u32 k = 0; k < 2; k++) {
		cpu_init(&c[k], &n, k, OPERATIONS / 2);
		cr_assert(!pthread_create(&thread[k], NULL, cpu_run, &c[k]));
	}
	for (int k = 0; k < 2; k++)
		pthread_join(thread[k], NULL);
	check_gauges(&n);
	cr_assert_eq(twins(&n), 0);
	native_close(&n);
}

/* ---- one flow, two CPUs -----------------------------------------------------------------------*/

#define FLOWS 20000
#define SPINS 2000 /* before the other thread gets this CPU, if it has none of its own */

/* Both go on within some ten nanoseconds of one another. */
static void meet(atomic_uint *arrived, unsigned int times)
{
	unsigned int spins = 0;

	atomic_fetch_add(arrived, 1);
	while (atomic_load(arrived) < 2 * times)
		if (++spins % SPINS == 0)
			sched_yield();
}

static void *same_flows(void *arg)
{
	struct cpu *c = arg;

	run_set_cpu(c->number);
	for (unsigned int k = 0; k < FLOWS; k++) {
		meet(c->arrived, k + 1);
		cpu_packet(c, SYN_ALWAYS, (__u16)k);
	}
	return NULL;
}

Test(gauge, one_flow_recorded_by_two_cpus_at_once_has_one_word, .timeout = TEST_LONGEST)
{
	atomic_uint arrived = 0;
	pthread_t thread[2];
	struct cpu c[2];
	struct native n;
	struct poise_sweep io = {.kind = POISE_SWEEP_EXPIRED};

	native_open(&n, yaml, 1 << 20);
	for (__u32 k = 0; k < 2; k++) {
		cpu_init(&c[k], &n, k, 0);
		c[k].arrived = &arrived;
		cr_assert(!pthread_create(&thread[k], NULL, same_flows, &c[k]));
	}
	for (int k = 0; k < 2; k++)
		pthread_join(thread[k], NULL);
	check_gauges(&n);
	cr_assert_eq(twins(&n), 0);
	native_sweep(&n, &io);
	cr_assert_eq(io.live, FLOWS, "%u flows live", io.live);
	cr_log_info("%llu recorded by both at once",
		    run_drops(native_service(&n, "always"))->count[POISE_R_DUPLICATE]);
	native_close(&n);
}
