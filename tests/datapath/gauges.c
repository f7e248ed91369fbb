// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Gauges, and signals of what became of flows, against the generator's own ledger: millions of
 * flows that end by FIN, reset, silence or the re-use of their ports, on two CPUs at once, swept
 * all the while. What a packet is follows from its number, so the test works out afterwards how
 * many flows began and ended. Some 2 M flows; with POISE_MIX=N in the environment N times as many.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/mixer.h"

#define SOURCE_AT 26 /* of IPv4 without options */
#define BOTH	  0x3
#define PER_RUN	  20000 /* packets */
#define EMULATED  32	/* times less where the CPU is emulated */

static struct rig rig;
static struct mixer mixer;

TestSuite(gauges, .fini = place_cleanup, .timeout = TEST_LONGEST);

#define LEDGER_FLOWS  4096 /* client ports of each CPU, TCP and UDP: port re-use all the time */
#define LEDGER_ROUNDS 6	   /* pauses */
#define LEDGER_RUNS   64   /* of PER_RUN packets, a CPU and round; POISE_MIX times as many */
#define LEDGER_SLOTS  (1 << 18)
#define FLOOD	      (1 << 20)
#define KILLS	      3
#define KILL_AFTER_US 50000

static const char patient[] = "services:\n"
			      "  - name: mixed\n"
			      "    listen: [ '10.2.0.1:80', '10.2.0.1:80/udp' ]\n"
			      "    forward: l2\n"
			      "    track: always\n"
			      "    idle: 1h\n"
			      "    syn: 1h\n"
			      "    closing: 1h\n"
			      "    udp: 1h\n"
			      "    backends: [ { address: 10.3.0.1 }, { address: 10.3.0.2 },\n"
			      "      { address: 10.3.0.3, weight: 3 }, { address: 10.3.0.4 } ]\n";

/* What a flow is, as far as gauges and signals go; BEGUN is live, too. */
enum known { NONE, BEGUN, LIVE, CLOSED, RESET };

struct account {
	__u8 flow[2][LEDGER_FLOWS]; /* enum known: TCP, UDP */
	__u64 number;		    /* of the next packet */
	__u64 opened, closed;
	__u64 signal[POISE_SIGNALS];
};

static struct account account[MIXER_CPUS];

static bool is_live(__u8 flow)
{
	return flow == BEGUN || flow == LIVE;
}

static void begin_flow(struct account *a, __u8 *flow)
{
	if (is_live(*flow))
		return;
	a->opened++;
	a->signal[POISE_BEGUN]++;
	*flow = BEGUN;
}

static void open_flow(struct account *a, __u8 *flow)
{
	a->opened += !is_live(*flow);
	a->signal[POISE_ANSWERED] += *flow == BEGUN;
	*flow = LIVE;
}

static void end_flow(struct account *a, __u8 *flow, enum known to)
{
	a->closed += is_live(*flow);
	a->signal[POISE_ANSWERED] += *flow == BEGUN;
	a->signal[POISE_FINISHED] += is_live(*flow);
	*flow = (__u8)to;
}

/* A packet, as the table of transitions has it. */
static void account_packet(struct account *a, __u32 kind, __u8 *flow)
{
	switch (kind) {
	case DRIVER_SYN: begin_flow(a, flow); break;
	case DRIVER_UDP: open_flow(a, flow); break;
	case DRIVER_DATA:
		if (*flow != CLOSED)
			open_flow(a, flow);
		break;
	case DRIVER_FIN: end_flow(a, flow, CLOSED); break;
	case DRIVER_RST:
		if (is_live(*flow))
			end_flow(a, flow, RESET);
		break;
	}
}

static void account_for(unsigned int cpu)
{
	struct account *a = &account[cpu];

	for (; a->number < mixer.cpu[cpu].sequence; a->number++) {
		__u64 r = driver_random(&mixer.cpu[cpu], a->number);
		__u32 kind = driver_kind(&mixer.cpu[cpu], r);

		account_packet(a, kind,
			       &a->flow[kind == DRIVER_UDP][driver_flow(&mixer.cpu[cpu], r)]);
	}
}

static void expect_accounts(const char *when)
{
	static struct rig_counts c;
	__u64 opened = 0, closed = 0, of_ledger[2] = {0};
	__u32 signal[POISE_SIGNALS] = {0};

	for (unsigned int k = 0; k < MIXER_CPUS; k++) {
		account_for(k);
		of_ledger[0] += account[k].opened;
		of_ledger[1] += account[k].closed;
		for (int s = 0; s < POISE_SIGNALS; s++)
			signal[s] -= (__u32)account[k].signal[s];
	}
	rig_count(&rig, &c);
	for (__u32 m = 1; m < rig.i->meta->members; m++) {
		cr_expect(c.member[m].opened >= c.member[m].closed, "%s: member %u below 0", when,
			  m);
		opened += c.member[m].opened;
		closed += c.member[m].closed;
		for (int s = 0; s < POISE_SIGNALS; s++)
			signal[s] += c.member[m].signal[s];
	}
	cr_expect(opened == of_ledger[0] && closed == of_ledger[1],
		  "%s: %llu opened and %llu closed, but %llu and %llu by the ledger", when, opened,
		  closed, of_ledger[0], of_ledger[1]);
	for (int s = 0; s < POISE_SIGNALS; s++)
		cr_expect(!signal[s], "%s: signal %d is %d off", when, s, (int)signal[s]);
	rig_expect_recount(&rig, when);
}

/* What poised does to flows: sweeps, again and again, until it is killed. */
static pid_t sweeper(void)
{
	struct poise_error err = {0};
	struct instance *i;
	pid_t pid = fork();

	cr_assert(pid >= 0);
	if (pid)
		return pid;
	if (instance_open(&i, &rig.place.where, &err))
		_exit(1);
	for (;;) {
		if (instance_lock(i, &err) || instance_sweep(i, &err))
			_exit(1);
		instance_unlock(i);
	}
}

static void kill_sweeper(pid_t pid)
{
	int status;

	cr_assert(!kill(pid, SIGKILL));
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSIGNALED(status), "it had ended by itself: status 0x%x", status);
}

/* Once its timeouts are short, silence ends every flow. */
static void fall_silent(void)
{
	struct config_service *s = config_service_named(rig.cfg, "mixed");
	struct poise_error err = {0};

	s->conf.idle = s->conf.syn = s->conf.closing = s->conf.udp = 1000;
	rig_commit(&rig);
	cr_expect(!instance_lock(rig.i, &err));
	for (int k = 0; k < 10000 && (!k || rig.i->meta->flows_used); k++) {
		cr_expect(!instance_sweep(rig.i, &err), "%s", err.message);
		usleep(1000);
	}
	instance_unlock(rig.i);
	cr_expect_eq(rig.i->meta->flows_used, 0);
}

static void expect_all_zero(void)
{
	struct instance_stats stats;

	for (__u32 m = 1; m < rig.i->meta->members; m++) {
		instance_member_stats(rig.i, (__u16)m, &stats);
		cr_expect(!stats.flows, "member %u: %lld", m, stats.flows);
	}
}

/* FINs, resets, re-used ports and silence, swept all the while by processes that are killed; then a
 * flood, which evicts; at each pause gauges are what a recount gives and, as long as nothing is
 * evicted, what the generator knows. */
Test(gauges, are_what_the_generator_knows)
{
	static const struct config_limits limits = RIG_LIMITS(LEDGER_SLOTS);
	const char *times = getenv("POISE_MIX");
	unsigned int runs = LEDGER_RUNS * (times ? (unsigned int)atoi(times) : 1);
	static struct rig_counts c;
	__u64 flows = 0;

	if (place_emulated())
		runs = LEDGER_RUNS / EMULATED;
	rig_open_with(&rig, patient, &limits);
	mixer_open(&mixer, &rig, LEDGER_FLOWS,
		   DRIVER_SYN | DRIVER_DATA | DRIVER_FIN | DRIVER_RST | DRIVER_UDP);
	mixer.cpu[1].frame[SOURCE_AT + 3] ^= 1; /* each CPU's clients are its own */
	for (int round = 0; round < LEDGER_ROUNDS; round++) {
		pid_t poised = round < KILLS ? sweeper() : 0;

		mixer_start(&mixer, BOTH, PER_RUN, runs);
		usleep(KILL_AFTER_US); /* packets run for longer */
		if (poised)
			kill_sweeper(poised);
		mixer_finish(&mixer);
		expect_accounts(poised ? "after a kill" : "at a pause");
	}
	for (unsigned int k = 0; k < MIXER_CPUS; k++) {
		flows += account[k].opened;
		mixer.cpu[k].clients = 0xffffff00;
		mixer.cpu[k].flows = 0xffff;
	}
	printf("%llu flows, by the ledger too\n", flows);
	mixer_start(&mixer, BOTH, PER_RUN, FLOOD / PER_RUN);
	mixer_finish(&mixer);
	rig_count(&rig, &c);
	cr_expect_gt(c.service[rig_service(&rig, "mixed")].count[POISE_R_EVICTED], 0,
		     "there was room for a flood");
	rig_expect_recount(&rig, "after a flood");
	fall_silent();
	rig_expect_recount(&rig, "after silence");
	expect_all_zero();
	mixer_close(&mixer);
	rig_close(&rig);
}
