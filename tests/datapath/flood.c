// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A flood of first packets, SYNs and datagrams, each of a client of its own, several times as many
 * as there are flow slots. Established flows of the service that is flooded and of another do not
 * move, and new flows of the other are served right while it lasts. POISE_FLOOD=16 in the
 * environment: 16 M packets of each kind against 4 M slots, instead of an eighth of both.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/driver.h"
#include "tests/support/driver.skel.h"
#include "tests/support/ledger.h"
#include "tests/support/rig.h"

#define FLOODED "10.2.0.1"
#define OTHER	"10.2.0.2"
#define BACKENDS(n)                                                                                \
	"    backends: [ { address: 10.3.0." #n "1 }, { address: 10.3.0." #n "2 },\n"              \
	"      { address: 10.3.0." #n "3 }, { address: 10.3.0." #n "4 } ]\n"

static const char setup[] = "services:\n"
			    "  - name: flooded\n"
			    "    listen: [ '10.2.0.1:80', '10.2.0.1:53/udp' ]\n"
			    "    forward: l2\n"
			    "    track: always\n" BACKENDS(1) "  - name: other\n"
							      "    listen: [ '10.2.0.2:80', "
							      "'10.2.0.2:53/udp' ]\n"
							      "    forward: l2\n"
							      "    track: always\n" BACKENDS(2);

#define MILLION	    (1 << 20)
#define ESTABLISHED 10000 /* of both services together */
#define NEWCOMERS   2000
#define PER_RUN	    16384
#define EMULATED    64 /* times less where the CPU is emulated */

static struct rig rig;
static struct ledger flooded, other, newcomers;

TestSuite(flood, .fini = place_cleanup, .timeout = TEST_LONGEST);

/* ---- flows ------------------------------------------------------------------------------------*/

static void open_ledger(struct ledger *l, size_t flows, const char *service)
{
	ledger_open_to(l, flows, 1, service);
	l->send = rig_send_raw;
	l->ctx = &rig;
	l->idle = l->udp = 1000;
}

/* A datagram in a later second makes a UDP flow an established one. */
static void next_second(void)
{
	__u32 now = instance_stamp_now(rig.i);

	while (instance_stamp_now(rig.i) - now < 2)
		sched_yield();
}

static void establish(void)
{
	open_ledger(&flooded, ESTABLISHED / 2, FLOODED);
	open_ledger(&other, ESTABLISHED / 2, OTHER);
	for (size_t f = 0; f < ESTABLISHED / 2; f++) {
		ledger_begin(&flooded, f, f & 1);
		ledger_begin(&other, f, f & 1);
	}
	next_second();
	ledger_talk_all(&flooded);
	ledger_talk_all(&other);
	/* Newcomers have addresses of their own. */
	open_ledger(&newcomers, NEWCOMERS, OTHER);
	newcomers.clients = MILLION;
}

static void expect_none_moved(const struct ledger *l, const char *whose, const char *when)
{
	cr_expect(!l->moved && !l->lost, "%s, %s: %lu moved, %lu packets lost; first %s", whose,
		  when, l->moved, l->lost, l->first);
}

/* ---- the flood --------------------------------------------------------------------------------*/

struct flood {
	pthread_t thread;
	struct driver_mix *mix;
	unsigned int runs;
	int failed;
	bool done;
};

static void *flood_thread(void *arg)
{
	static struct frame out;
	struct flood *f = arg;
	struct xdp_md ctx = {.data_end = DRIVER_FRAME, .ingress_ifindex = rig.place.lo};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = f->mix->frame, .data_size_in = DRIVER_FRAME,
		    .data_out = out.byte, .data_size_out = sizeof(out.byte), .ctx_in = &ctx,
		    .ctx_size_in = sizeof(ctx), .repeat = PER_RUN);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	f->failed = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	for (unsigned int k = 0; k < f->runs && !f->failed; k++)
		if (bpf_prog_test_run_opts(bpf_program__fd(rig.driver->progs.mixed), &run))
			f->failed = errno;
	__atomic_store_n(&f->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static struct driver_mix *prepare(__u32 kind)
{
	struct driver_mix *mix = mmap(NULL, DRIVER_MIX_CPUS * sizeof(*mix), PROT_READ | PROT_WRITE,
				      MAP_SHARED, bpf_map__fd(rig.driver->maps.mix), 0);
	static struct frame f;

	cr_assert(mix != MAP_FAILED);
	frame_build(&f, kind == DRIVER_UDP ? "ip4 11.0.0.0 > " FLOODED " | udp 1 > 53 | data 22"
					   : "ip4 11.0.0.0 > " FLOODED " | tcp 1 > 80 S | data 10");
	cr_assert_eq(f.length, DRIVER_FRAME);
	memcpy(mix[0].frame, f.byte, DRIVER_FRAME);
	mix[0].flows = 0xffff;
	mix[0].clients = htonl(0x00ffffff);
	mix[0].kinds = kind;
	return mix;
}

/* Floods, and begins new flows of the other service meanwhile, spread over all of it; each says
 * more while others begin. */
static void flood(__u32 kind, unsigned long packets, const char *what)
{
	struct flood f = {.mix = prepare(kind), .runs = (unsigned int)(packets / PER_RUN)};
	__u64 first = f.mix->sequence, sent;
	size_t begun = 0;

	cr_assert(!pthread_create(&f.thread, NULL, flood_thread, &f));
	while (!__atomic_load_n(&f.done, __ATOMIC_ACQUIRE)) {
		sent = __atomic_load_n(&f.mix->sequence, __ATOMIC_RELAXED) - first;
		if (begun < NEWCOMERS && sent * NEWCOMERS / packets > begun)
			ledger_begin(&newcomers, begun++, false);
		else if (begun)
			ledger_talk(&newcomers, ledger_random(&newcomers, (__u32)begun));
		sched_yield();
	}
	pthread_join(f.thread, NULL);
	cr_assert(!f.failed, "%s", strerror(f.failed));
	munmap(f.mix, DRIVER_MIX_CPUS * sizeof(*f.mix));
	ledger_talk_all(&flooded);
	ledger_talk_all(&other);
	expect_none_moved(&flooded, "the flooded service", what);
	expect_none_moved(&other, "the other service", what);
	expect_none_moved(&newcomers, "new flows of the other service", what);
	cr_expect_gt(begun, NEWCOMERS / 2, "%s: %zu new flows meanwhile", what, begun);
	printf("%s: %lu packets, %zu new flows of the other service meanwhile\n", what, packets,
	       begun);
}

/* ---- the test ---------------------------------------------------------------------------------*/

Test(flood, syns_and_datagrams)
{
	const char *full = getenv("POISE_FLOOD");
	unsigned long packets = (full ? strtoul(full, NULL, 10) : 2) * MILLION;
	struct config_limits limits = RIG_LIMITS(0);
	static struct rig_counts c;
	const __u64 *count;

	if (place_emulated())
		packets /= EMULATED;
	limits.flow_slots = (__u32)(packets / 4);
	rig_open_with(&rig, setup, &limits);
	/* Not by the table: a flow whose word is lost shows. */
	config_service_named(rig.cfg, "flooded")->conf.policy = POISE_RANDOM;
	config_service_named(rig.cfg, "other")->conf.policy = POISE_RANDOM;
	rig_commit(&rig);
	establish();
	flood(DRIVER_SYN, packets, "SYNs");
	flood(DRIVER_UDP, packets, "datagrams");
	rig_count(&rig, &c);
	count = c.service[rig_service(&rig, "flooded")].count;
	cr_expect_gt(count[POISE_R_EVICTED], packets, "%llu evicted: there was room",
		     count[POISE_R_EVICTED]);
	count = c.service[rig_service(&rig, "other")].count;
	cr_expect_gt(count[POISE_R_PRESSURE], 0, "nobody was under pressure");
	rig_expect_recount(&rig, "after the floods");
	ledger_close(&flooded);
	ledger_close(&other);
	ledger_close(&newcomers);
	rig_close(&rig);
}
