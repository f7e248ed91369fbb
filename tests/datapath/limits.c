// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Limits on the loaded program, with all traffic on one CPU, spread over two, and moving between
 * them: max-conns is never exceeded, and full to the last place; rate is right.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "maps/clock.h"
#include "tests/support/mixer.h"

static const char setup[] = "services:\n"
			    "  - name: mixed\n"
			    "    listen: [ '10.2.0.1:80', '10.2.0.1:80/udp' ]\n"
			    "    forward: l2\n"
			    "    policy: least-conn\n"
			    "    backends:\n"
			    "      - { address: 10.3.0.1 }\n"
			    "      - { address: 10.3.0.2 }\n"
			    "      - { address: 10.3.0.3 }\n";

#define FLOWS 65536 /* client ports */
#define RUN   2000  /* packets a system call */

static struct rig rig;
static struct mixer mixer;

TestSuite(limits, .fini = place_cleanup, .timeout = TEST_LONGEST);

static const struct {
	const char *name;
	unsigned int cpus[2]; /* a bit each, in turn */
} ways[] = {
	{"one CPU", {0x1, 0x1}},
	{"two CPUs", {0x3, 0x3}},
	{"moving", {0x1, 0x2}},
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

static struct config_service *mixed(void)
{
	return config_service_named(rig.cfg, "mixed");
}

static void forget(void)
{
	struct poise_error err = {0};
	struct poise_sweep all = {.kind = POISE_SWEEP_FORCE, .count = rig.i->meta->flow_buckets};

	place_must(instance_sweep_range(rig.i, &all, &err), "sweep", &err);
}

static void open_mixed(__u32 kinds)
{
	rig_open(&rig, setup);
	mixer_open(&mixer, &rig, FLOWS, kinds);
}

static void close_mixed(void)
{
	mixer_close(&mixer);
	rig_close(&rig);
}

static void drive(size_t way, unsigned int turn, unsigned int runs)
{
	mixer_start(&mixer, ways[way].cpus[turn & 1], RUN, runs);
	mixer_finish(&mixer);
}

/* ---- max-conns --------------------------------------------------------------------------------*/

#define MOST 500

static __s64 gauge(__u16 member)
{
	struct instance_stats s;

	instance_member_stats(rig.i, member, &s);
	return s.flows;
}

/* Does this machine have the CPUs? */
static bool can(size_t way)
{
	return sysconf(_SC_NPROCESSORS_ONLN) >= MIXER_CPUS ||
	       !((ways[way].cpus[0] | ways[way].cpus[1]) & ~1u);
}

/* Looks at the counts while packets run: whoever tries in vain is there for a moment, too. */
static void watch(size_t way, const __u16 id[2])
{
	for (int look = 0; look < 20000; look++)
		for (int k = 0; k < 2; k++) {
			poise_load held = __atomic_load_n(&rig.i->held[id[k]], __ATOMIC_RELAXED);

			cr_expect(held >= 0 && held <= MOST + MIXER_CPUS, "%s: %d flows",
				  ways[way].name, held);
		}
}

/* New flows alone: as many as fit, and not one more. */
static void fills(size_t way)
{
	__u16 id[2] = {rig_member(&rig, "10.3.0.1"), rig_member(&rig, "10.3.0.2")};

	for (unsigned int turn = 0; turn < 4; turn++) {
		mixer_start(&mixer, ways[way].cpus[turn & 1], RUN, 5);
		watch(way, id);
		mixer_finish(&mixer);
		for (int k = 0; k < 2; k++)
			cr_expect(gauge(id[k]) == MOST && rig.i->held[id[k]] == MOST,
				  "%s: a gauge of %lld, %d held, of %d", ways[way].name,
				  gauge(id[k]), rig.i->held[id[k]], MOST);
	}
	forget();
	for (int k = 0; k < 2; k++)
		cr_expect(!gauge(id[k]) && !rig.i->held[id[k]]);
}

/* Flows that come and go at the limit, without those that are picked up. */
static void turns_over(size_t way)
{
	__u16 id[2] = {rig_member(&rig, "10.3.0.1"), rig_member(&rig, "10.3.0.2")};

	for (unsigned int k = 0; k < MIXER_CPUS; k++)
		mixer.cpu[k].kinds = DRIVER_SYN | DRIVER_FIN;
	for (unsigned int turn = 0; turn < 6; turn++) {
		mixer_start(&mixer, ways[way].cpus[turn & 1], RUN, 5);
		watch(way, id);
		mixer_finish(&mixer);
		for (int k = 0; k < 2; k++)
			cr_expect(gauge(id[k]) <= MOST && rig.i->held[id[k]] == gauge(id[k]),
				  "%s: a gauge of %lld, %d held", ways[way].name, gauge(id[k]),
				  rig.i->held[id[k]]);
	}
	for (unsigned int k = 0; k < MIXER_CPUS; k++)
		mixer.cpu[k].kinds = DRIVER_SYN | DRIVER_UDP;
	forget();
}

/* The limit comes while flows live on both CPUs and more are on their way. */
static void comes_live(void)
{
	__u16 id = rig_member(&rig, "10.3.0.1");

	mixed()->conf.max_conns = 0;
	rig_commit(&rig);
	for (int round = 0; round < 10; round++) {
		mixer_start(&mixer, 0x3, RUN, 10);
		mixed()->conf.max_conns = round & 1 ? 0 : FLOWS;
		rig_commit(&rig);
		mixer_finish(&mixer);
		cr_expect(rig.i->held[id] == (round & 1 ? 0 : gauge(id)), "%d held of %lld",
			  rig.i->held[id], gauge(id));
	}
	cr_expect(gauge(id) > 1000, "%lld flows are too few to show anything", gauge(id));
}

Test(limits, max_conns)
{
	open_mixed(DRIVER_SYN | DRIVER_UDP);
	mixed()->conf.max_conns = MOST;
	rig_commit(&rig);
	for (size_t way = 0; way < WAYS && can(way); way++) {
		fills(way);
		turns_over(way);
	}
	if (can(WAYS - 1))
		comes_live();
	close_mixed();
}

/* ---- rate -------------------------------------------------------------------------------------*/

#define RATE	3000
#define BURST	6000 /* we may be kept from running for two seconds */
#define SECONDS 2.0

static __u64 taken(void)
{
	static struct rig_counts c;
	__u64 opened = 0;

	rig_count(&rig, &c);
	for (size_t m = 0; m < mixed()->members; m++)
		opened += c.member[mixed()->member[m].id].opened;
	return opened;
}

/* Takes all that is to be had; *from and *to: when that was. */
static __u64 drain(size_t way, unsigned int turn, double *from, double *to)
{
	*from = clock_seconds(CLOCK_MONOTONIC);
	drive(way, turn, 1);
	*to = clock_seconds(CLOCK_MONOTONIC);
	return taken();
}

/* What was taken between two moments at which nothing more was to be had. When exactly these were
 * within a drain nobody knows, but it is short. */
static void paces(size_t way)
{
	double from, begun, end, to;
	unsigned int turn = 0;
	__u64 before, got;

	for (; turn < 20; turn++)
		drive(way, turn, 1);
	before = drain(way, turn, &from, &begun);
	do
		got = drain(way, ++turn, &end, &to) - before;
	while (to - begun < SECONDS);
	cr_expect((double)got > 0.98 * RATE * (end - begun) &&
			  (double)got < 1.02 * RATE * (to - from),
		  "%s: %llu new flows in %.3f to %.3f s", ways[way].name, got, end - begun,
		  to - from);
	cr_log_info("%s: %llu new flows in %.3f to %.3f s: %.4f to %.4f of the rate",
		    ways[way].name, got, end - begun, to - from, (double)got / RATE / (to - from),
		    (double)got / RATE / (end - begun));
	forget();
}

Test(limits, rate)
{
	open_mixed(DRIVER_SYN);
	mixed()->conf.rate = RATE;
	mixed()->conf.rate_burst = BURST;
	rig_commit(&rig);
	for (size_t way = 0; way < WAYS && can(way); way++)
		paces(way);
	close_mixed();
}
