// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Flow words under two CPUs at once: the same flows inserted by both, and millions of operations of
 * all kinds while flows are swept, and backends and limits come and go. Afterwards no flow has two
 * words, and every gauge is what a recount of the words gives.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/mixer.h"

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
static struct mixer mixer;

TestSuite(mix, .fini = place_cleanup, .timeout = TEST_LONGEST);

/* ---- what must be true afterwards -------------------------------------------------------------*/

static unsigned int duplicates(void)
{
	unsigned int n = 0;

	for (__u32 b = 0; b < rig.i->meta->flow_buckets; b++)
		for (int x = 0; x < POISE_BUCKET_WORDS; x++)
			for (int y = 0; y < x; y++) {
				const __u64 *w = instance_bucket(rig.i, b)->word;

				n += w[x] && w[y] && POISE_WORD_TAG(w[x]) == POISE_WORD_TAG(w[y]);
			}
	return n;
}

static __u64 reason(enum poise_reason r)
{
	static struct rig_counts c;

	rig_count(&rig, &c);
	return c.service[rig_service(&rig, "mixed")].count[r];
}

static __u64 sent(void)
{
	return mixer.cpu[0].sequence + mixer.cpu[1].sequence;
}

/* ---- tests ------------------------------------------------------------------------------------*/

#define BOTH	0x3
#define INSERTS 20000 /* a run */
#define RUNS	10
#define MORE                                                                                       \
	100 /* runs, should the CPUs not have met: each may have been busy with something else */

/* Both CPUs insert the same flows in the same order, abreast. */
Test(mix, same_flow_on_two_cpus)
{
	rig_open(&rig, setup);
	/* never reached: what is withdrawn must give its place back */
	config_service_named(rig.cfg, "mixed")->conf.max_conns = 1 << 20;
	rig_commit(&rig);
	if (rig.i->meta->cpus < MIXER_CPUS)
		cr_skip_test("one CPU inserts no flow twice at once");
	mixer_open(&mixer, &rig, 65536, DRIVER_SYN | DRIVER_UDP);
	for (__u32 k = 0; k < MIXER_CPUS; k++) {
		mixer.cpu[k].seed = 7;
		mixer.cpu[k].abreast = 1;
		mixer.cpu[k].peer = !k;
	}
	for (int k = 0; k < RUNS || (k < MORE && !reason(POISE_R_DUPLICATE)); k++) {
		mixer_start(&mixer, BOTH, INSERTS, 1);
		mixer_finish(&mixer);
	}
	cr_expect(!duplicates(), "%u flows have two words", duplicates());
	rig_expect_recount(&rig, "mixed");
	cr_expect(reason(POISE_R_DUPLICATE) > 0, "the CPUs never met: this has shown nothing");
	mixer_close(&mixer);
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
	s->conf.max_conns = round / 3 % 3 * 100;
	s->member[2].conf.max_conns_set = round / 5 % 2;
	rig_commit(&rig);
}

/* Everything at once: both CPUs, all kinds of packets, the sweeper, changes of state and weight. */
Test(mix, five_million_operations)
{
	struct poise_error err = {0};
	__u64 operations = place_emulated() ? OPERATIONS / EMULATED : OPERATIONS;
	__u64 before;

	rig_open(&rig, setup);
	mixer_open(&mixer, &rig, 2048,
		   DRIVER_SYN | DRIVER_DATA | DRIVER_FIN | DRIVER_RST | DRIVER_UDP);
	before = sent();
	mixer_start(&mixer, BOTH, PER_RUN, (unsigned int)(operations / MIXER_CPUS / PER_RUN));
	for (unsigned int round = 0;
	     __atomic_load_n(&mixer.cpu[0].sequence, __ATOMIC_RELAXED) < operations / MIXER_CPUS &&
	     round < 500;
	     round++) {
		change(round);
		cr_expect(!instance_lock(rig.i, &err));
		cr_expect(!instance_sweep(rig.i, &err), "%s", err.message);
		instance_unlock(rig.i);
	}
	mixer_finish(&mixer);
	cr_expect(sent() - before >= operations, "%llu operations", sent() - before);
	cr_expect(!duplicates(), "%u flows have two words", duplicates());
	rig_expect_recount(&rig, "mixed");
	mixer_close(&mixer);
	rig_close(&rig);
}
