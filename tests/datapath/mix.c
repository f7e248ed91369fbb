// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Flow words under two CPUs at once: the same flows inserted by both, and millions of operations of
 * all kinds while flows are swept and backends come and go. Afterwards no flow has two words, and
 * every gauge is what a recount of the words gives.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/driver.h"
#include "tests/support/driver.skel.h"
#include "tests/support/rig.h"

#define CPUS 2

static const char setup[] = "services:\n"
			    "  - name: mixed\n"
			    "    listen: [ '10.2.0.1:80', '10.2.0.1:80/udp' ]\n"
			    "    forward: l2\n"
			    "    track: always\n"
			    "    backends:\n"
			    "      - { address: 10.3.0.1 }\n"
			    "      - { address: 10.3.0.2, weight: 3 }\n"
			    "      - { address: 10.3.0.3 }\n"
			    "      - { address: 10.3.0.4 }\n";

static struct rig rig;
static struct driver_mix *mix; /* by CPU */

TestSuite(mix, .fini = place_cleanup, .timeout = 90);

/* ---- running ----------------------------------------------------------------------------------*/

struct runner {
	pthread_t thread;
	unsigned int cpu;
	__u32 repeat; /* packets a run */
	unsigned int runs;
	int failed;
};

static int run_once(const struct runner *r)
{
	static __thread struct frame out;
	struct xdp_md ctx = {.data_end = DRIVER_FRAME, .ingress_ifindex = rig.place.lo};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = mix[r->cpu].frame,
		    .data_size_in = DRIVER_FRAME, .data_out = out.byte,
		    .data_size_out = sizeof(out.byte), .ctx_in = &ctx, .ctx_size_in = sizeof(ctx),
		    .repeat = (int)r->repeat);

	return bpf_prog_test_run_opts(bpf_program__fd(rig.driver->progs.mixed), &run);
}

static void *runner(void *arg)
{
	struct runner *r = arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(r->cpu, &set);
	r->failed = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	for (unsigned int k = 0; k < r->runs; k++) {
		if (!r->failed && run_once(r))
			r->failed = errno;
	}
	return NULL;
}

static void start(struct runner r[CPUS], __u32 repeat, unsigned int runs)
{
	for (unsigned int k = 0; k < CPUS; k++) {
		r[k] = (struct runner){.cpu = k, .repeat = repeat, .runs = runs};
		cr_assert(!pthread_create(&r[k].thread, NULL, runner, &r[k]));
	}
}

static void finish(struct runner r[CPUS])
{
	for (unsigned int k = 0; k < CPUS; k++) {
		pthread_join(r[k].thread, NULL);
		cr_assert(!r[k].failed, "CPU %u: %s", k, strerror(r[k].failed));
	}
}

/* What each CPU sends: of `flows` client ports, packets of these kinds. */
static void prepare(__u32 flows, __u32 kinds, __u32 seed0, __u32 seed1)
{
	static struct frame f;

	mix = mmap(NULL, DRIVER_MIX_CPUS * sizeof(*mix), PROT_READ | PROT_WRITE, MAP_SHARED,
		   bpf_map__fd(rig.driver->maps.mix), 0);
	cr_assert(mix != MAP_FAILED);
	/* The length is UDP's and TCP's alike: 50 bytes of IP packet. */
	frame_build(&f, "ip4 10.1.0.9 > 10.2.0.1 | tcp 1 > 80 | data 10");
	cr_assert(f.length == DRIVER_FRAME);
	for (unsigned int k = 0; k < CPUS; k++) {
		memcpy(mix[k].frame, f.byte, DRIVER_FRAME);
		mix[k].flows = flows - 1;
		mix[k].kinds = kinds;
		mix[k].seed = k ? seed1 : seed0;
	}
}

/* ---- what must be true afterwards -------------------------------------------------------------*/

static unsigned int duplicates(void)
{
	unsigned int n = 0;

	for (__u32 b = 0; b < rig.i->meta->flow_buckets; b++)
		for (int x = 0; x < POISE_BUCKET_WORDS; x++)
			for (int y = 0; y < x; y++) {
				const __u64 *w = rig.i->flows[b].word;

				n += w[x] && w[y] && POISE_WORD_TAG(w[x]) == POISE_WORD_TAG(w[y]);
			}
	return n;
}

static bool is_live(__u64 word)
{
	return POISE_WORD_STATE(word) >= POISE_FLOW_NEW && POISE_WORD_STATE(word) <= POISE_FLOW_EST;
}

/* Each member's gauge, in both of its forms, against the words that name it. */
static void expect_recount(void)
{
	static long long live[RIG_BACKENDS + 1];
	static struct rig_counts c;
	const struct poise_meta *meta = rig.i->meta;

	memset(live, 0, sizeof(live));
	for (__u32 b = 0; b < meta->flow_buckets; b++)
		for (int w = 0; w < POISE_BUCKET_WORDS; w++) {
			__u64 word = rig.i->flows[b].word[w];

			cr_assert(POISE_WORD_MEMBER(word) <= RIG_BACKENDS);
			live[POISE_WORD_MEMBER(word)] += is_live(word);
		}
	rig_count(&rig, &c);
	for (__u32 m = 1; m < meta->members; m++) {
		long long gauge = (long long)(c.member[m].opened - c.member[m].closed), own = 0;

		for (__u32 cpu = 0; cpu < meta->cpus; cpu++)
			own += rig.i->own[cpu * meta->members + m];
		cr_expect(gauge == live[m], "member %u: gauge %lld, recount %lld", m, gauge,
			  live[m]);
		cr_expect(own == live[m], "member %u: own %lld, recount %lld", m, own, live[m]);
	}
}

static __u64 reason(enum poise_reason r)
{
	static struct rig_counts c;

	rig_count(&rig, &c);
	return c.service[rig_service(&rig, "mixed")].count[r];
}

/* ---- tests ------------------------------------------------------------------------------------*/

#define INSERTS 20000 /* a run */
#define RUNS	10
#define MORE                                                                                       \
	100 /* runs, should the CPUs not have met: each may have been busy with something else */

/* Both CPUs insert the same flows in the same order, abreast. */
Test(mix, same_flow_on_two_cpus)
{
	struct runner r[CPUS];

	rig_open(&rig, setup);
	if (rig.i->meta->cpus < CPUS)
		cr_skip_test("one CPU inserts no flow twice at once");
	prepare(65536, DRIVER_SYN | DRIVER_UDP, 7, 7);
	for (__u32 k = 0; k < CPUS; k++) {
		mix[k].abreast = 1;
		mix[k].peer = !k;
	}
	for (int k = 0; k < RUNS || (k < MORE && !reason(POISE_R_DUPLICATE)); k++) {
		start(r, INSERTS, 1);
		finish(r);
	}
	cr_expect(!duplicates(), "%u flows have two words", duplicates());
	expect_recount();
	cr_expect(reason(POISE_R_DUPLICATE) > 0, "the CPUs never met: this has shown nothing");
	rig_close(&rig);
}

#define OPERATIONS 5200000 /* 5 M and some, of both CPUs together */
#define PER_RUN	   20000
#define EMULATED   26 /* times less where the CPU is emulated */

static void change(unsigned int round)
{
	static const __u8 admin[] = {POISE_ENABLED, POISE_DRAINING, POISE_DISABLED};
	static const __u8 health[] = {POISE_HEALTH_UP, POISE_HEALTH_DOWN, POISE_HEALTH_CHECKING};
	struct config_service *s = config_service_named(rig.cfg, "mixed");
	struct config_member *m = &s->member[round % s->members];

	m->conf.admin = admin[round / 2 % 3];
	m->conf.health = health[round % 3];
	m->conf.weight = (__u16)(round % 7);
	rig_commit(&rig);
}

/* Everything at once: both CPUs, all kinds of packets, the sweeper, changes of state and weight. */
Test(mix, five_million_operations)
{
	struct poise_error err = {0};
	__u64 operations = place_emulated() ? OPERATIONS / EMULATED : OPERATIONS;
	struct runner r[CPUS];
	__u64 before;

	rig_open(&rig, setup);
	prepare(2048, DRIVER_SYN | DRIVER_DATA | DRIVER_FIN | DRIVER_RST | DRIVER_UDP, 1, 2);
	before = mix[0].sequence + mix[1].sequence;
	start(r, PER_RUN, (unsigned int)(operations / CPUS / PER_RUN));
	for (unsigned int round = 0;
	     __atomic_load_n(&mix[0].sequence, __ATOMIC_RELAXED) < operations / CPUS && round < 500;
	     round++) {
		change(round);
		cr_expect(!instance_lock(rig.i, &err));
		cr_expect(!instance_sweep(rig.i, &err), "%s", err.message);
		instance_unlock(rig.i);
	}
	finish(r);
	cr_expect(mix[0].sequence + mix[1].sequence - before >= operations, "%llu operations",
		  (unsigned long long)(mix[0].sequence + mix[1].sequence - before));
	cr_expect(!duplicates(), "%u flows have two words", duplicates());
	expect_recount();
	rig_close(&rig);
}
