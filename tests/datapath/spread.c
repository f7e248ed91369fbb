// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where a million new flows go under every policy, by the loaded program: 1, 3, 8, 100 and 1,000
 * backends, of equal weight, then, changed while it runs, of weights 1:2:7. Hash policies must do
 * exactly what their table says, round-robin exactly what its turns are; for the others the counts
 * must be as chance would have them with the right shares. Clients are IPv4's, and for every policy
 * IPv6's once.
 *
 * Flows are ended as soon as they have begun, so that all loads are 0; `held` leaves them open.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "maps/cycle.h"
#include "maps/hash.h"
#include "maps/table.h"
#include "tests/support/chance.h"
#include "tests/support/driver.h"
#include "tests/support/driver.skel.h"
#include "tests/support/rig.h"

#define BACKENDS_MAX 1000
#define FLOWS	     1000000
#define EMULATED     50		/* times fewer where the CPU is emulated */
#define P_LEAST	     1e-6	/* how unlikely counts may be */
#define PER_RUN	     65536	/* packets a system call */
#define ADDRESSES    0x00ffffff /* of 11.0.0.0/8: a flow each */

static const struct config_limits limits = {.services = 3,
					    .backends = 2 * BACKENDS_MAX,
					    .listeners = 16,
					    .flow_slots = 1 << 21,
					    .table_slots = 1 << 20,
					    .paths = 8,
					    .ranges = 16};

static struct rig rig;
static bool by_v6;	       /* clients, and the address that they come to */
static struct driver_mix *mix; /* of our CPU */
static struct config_service *web;
static struct poise_service_rec *rec;
static __u64 count[BACKENDS_MAX];
static double share[BACKENDS_MAX];

TestSuite(spread, .fini = place_cleanup, .timeout = TEST_LONGEST);

/* ---- a service and its flows ------------------------------------------------------------------*/

static void stay_on_one_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	cr_assert(!sched_setaffinity(0, sizeof(set), &set));
}

static void commit(void)
{
	__u16 id;

	rig_commit(&rig);
	web = config_service_named(rig.cfg, "web");
	id = web->id;
	rec = &rig.i->services[id].rec[rig.i->services[id].active & 1];
}

static void open_with(enum poise_policy policy, unsigned int backends)
{
	static struct frame f, f6;
	static char yaml[BACKENDS_MAX * 40];
	char *at = yaml;

	at += sprintf(at, "services:\n  - name: web\n    listen: [ 10.2.0.1:80, '[fd02::1]:80' ]\n"
			  "    forward: l2\n    backends:\n");
	for (unsigned int k = 1; k <= backends; k++)
		at += sprintf(at, "      - address: 'fd03::%x'\n", k);
	rig_open_with(&rig, yaml, &limits);
	mix = mmap(NULL, DRIVER_MIX_CPUS * sizeof(*mix), PROT_READ | PROT_WRITE, MAP_SHARED,
		   bpf_map__fd(rig.driver->maps.mix), 0);
	cr_assert(mix != MAP_FAILED);
	frame_build(&f, "ip4 11.0.0.0 > 10.2.0.1 | tcp 1 > 80 | data 10");
	cr_assert(f.length == DRIVER_FRAME);
	*mix = (struct driver_mix){.flows = htonl(ADDRESSES)};
	memcpy(mix->frame, f.byte, DRIVER_FRAME);
	frame_build(&f6, "ip6 fd01:: > fd02::1 | tcp 1 > 80 | data 6");
	cr_assert(f6.length == DRIVER_FRAME6);
	memcpy(mix->frame6, f6.byte, DRIVER_FRAME6);
	config_service_named(rig.cfg, "web")->conf.policy = policy;
	commit();
	cr_assert_eq(web->members, backends);
}

static __u64 packets_to(__u16 member)
{
	return rig.i->counters[member].packets;
}

static void drive(__u64 packets)
{
	const struct bpf_program *program =
		by_v6 ? rig.driver->progs.fresh6 : rig.driver->progs.fresh;
	__u32 length = by_v6 ? DRIVER_FRAME6 : DRIVER_FRAME;
	struct xdp_md ctx = {.data_end = length, .ingress_ifindex = rig.place.lo};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = by_v6 ? mix->frame6 : mix->frame,
		    .data_size_in = length, .ctx_in = &ctx, .ctx_size_in = sizeof(ctx));

	while (packets) {
		run.repeat = packets < PER_RUN ? (int)packets : PER_RUN;
		cr_assert(!bpf_prog_test_run_opts(bpf_program__fd(program), &run));
		cr_assert_eq(run.retval, XDP_TX);
		packets -= (__u64)run.repeat;
	}
}

static void forget(void)
{
	struct poise_error err = {0};
	struct poise_sweep sweep = {.count = rig.i->meta->flow_buckets, .kind = POISE_SWEEP_FORCE};

	place_must(instance_sweep_range(rig.i, &sweep, &err), "sweep", &err);
}

/* New flows, and how many of them each backend got. */
static void spread(__u64 flows, bool held)
{
	unsigned int each = held ? 1 : 2; /* packets of a flow */
	__u64 sum = 0;

	mix->kinds = DRIVER_SYN | (held ? 0 : DRIVER_RST);
	mix->sequence = 0;
	for (size_t m = 0; m < web->members; m++)
		count[m] = packets_to(web->member[m].id);
	drive(flows * each);
	for (size_t m = 0; m < web->members; m++) {
		count[m] = packets_to(web->member[m].id) - count[m];
		cr_assert_eq(count[m] % each, 0, "a flow was torn");
		count[m] /= each;
		sum += count[m];
	}
	cr_assert_eq(sum, flows);
}

static __u64 weight_of(size_t m)
{
	return web->member[m].conf.weight;
}

static double weight_sum(void)
{
	double sum = 0;

	for (size_t m = 0; m < web->members; m++)
		sum += (double)weight_of(m);
	return sum;
}

/* ---- what should come out ---------------------------------------------------------------------*/

/* Where flow number n stands in the table: its addresses are those that the driver gives it. */
static __u64 place_of(__u32 n)
{
	union poise_addr src = {.h = {[5] = 0xffff}}, dst = src;
	__u32 ports = htons(1) | (__u32)htons(80) << 16;

	src.w[3] = htonl(0x0b000000) ^ (n & htonl(ADDRESSES));
	dst.w[3] = htonl(0x0a020001);
	if (by_v6) {
		src = (union poise_addr){.b = {0xfd, 0x01}};
		src.w[3] = n & htonl(ADDRESSES);
		dst = (union poise_addr){.b = {0xfd, 0x02, [15] = 1}};
	}
	if (rec->policy == POISE_SOURCE_HASH)
		return poise_client_hash(&src, rig.i->meta->hash_key[0], rig.i->meta->hash_key[1]);
	return poise_flow_hash(&src, &dst, ports, IPPROTO_TCP, rig.i->meta->hash_key[0],
			       rig.i->meta->hash_key[1]);
}

static __u32 ordinal_at(__u32 slot)
{
	return POISE_ENTRY_CURRENT(rig.i->table[rec->table_at + slot]);
}

/* The table as weights ask for, within 1 % or the two slots that a share may be rounded by. */
static void expect_table(void)
{
	__u64 *slots = calloc(rec->members, sizeof(*slots));

	for (__u32 s = 0; s < rec->table_size; s++)
		slots[ordinal_at(s)]++;
	for (size_t m = 0; m < web->members; m++) {
		double want = rec->table_size * (double)weight_of(m) / weight_sum();
		double off = fabs((double)slots[web->member[m].conf.ordinal] - want);

		cr_expect(off <= 2 || off <= want / 100, "backend %zu: %.1f of %.1f slots off", m,
			  off, want);
	}
	free(slots);
}

static void expect_as_table(__u32 flows)
{
	__u64 *want = calloc(rec->members, sizeof(*want));

	for (__u32 n = 0; n < flows; n++)
		want[ordinal_at(poise_table_slot(place_of(n), rec->table_size))]++;
	for (size_t m = 0; m < web->members; m++)
		cr_expect_eq(count[m], want[web->member[m].conf.ordinal],
			     "backend %zu: %llu, by the table %llu", m, count[m],
			     want[web->member[m].conf.ordinal]);
	free(want);
	expect_table();
}

/* Whole rounds give each as many flows as it has turns, wherever they begin. */
static void expect_rounds(__u32 flows)
{
	double each = weight_sum();

	spread(flows, false);
	for (size_t m = 0; m < web->members; m++) {
		double rounds = floor(flows / each), turns = (double)weight_of(m);

		cr_expect(count[m] >= rounds * turns && count[m] <= (rounds + 1) * turns,
			  "backend %zu of weight %.0f: %llu in %.1f rounds", m, turns, count[m],
			  flows / each);
	}
	spread((__u64)each, false);
	for (size_t m = 0; m < web->members; m++)
		cr_expect_eq(count[m], weight_of(m), "backend %zu of weight %llu: %llu in a round",
			     m, weight_of(m), count[m]);
}

static void expect_chance(const char *what)
{
	double p = chance_of(count, share, web->members);

	cr_expect(p > P_LEAST, "%s, %zu backends: p = %g", what, web->members, p);
}

static void shares_by_weight(void)
{
	for (size_t m = 0; m < web->members; m++)
		share[m] = (double)weight_of(m) / weight_sum();
}

/* Without load the heaviest of all takes the flow, those of one weight alike. */
static void shares_of_the_heaviest(void)
{
	unsigned int of = 0;
	__u64 most = 0;

	for (size_t m = 0; m < web->members; m++)
		most = weight_of(m) > most ? weight_of(m) : most;
	for (size_t m = 0; m < web->members; m++)
		of += weight_of(m) == most;
	for (size_t m = 0; m < web->members; m++)
		share[m] = weight_of(m) == most ? 1.0 / of : 0;
}

#define ARCS 4

/* An arc of the roster: members from .. until, counted from wherever it begins. */
struct arc {
	size_t from, until;
	double lighter, alike; /* of those in it, than whoever is asked about */
};

/* The chance that nobody of the other arcs is heavier, and that the member then is the one of those
 * alike who is taken. */
static double chance_of_taking(const struct arc *arc, unsigned int arcs, unsigned int its)
{
	double alike[ARCS + 1] = {1}, chance = 0;

	for (unsigned int a = 0; a < arcs; a++) {
		if (a == its)
			continue;
		for (unsigned int k = arcs; k > 0; k--)
			alike[k] = alike[k] * arc[a].lighter + alike[k - 1] * arc[a].alike;
		alike[0] *= arc[a].lighter;
	}
	for (unsigned int k = 0; k < arcs; k++)
		chance += alike[k] / (k + 1);
	return chance;
}

/* As the roster has them: in the order of its places. */
static size_t at_place(size_t place)
{
	__u32 id = *instance_table(rig.i, rec->cycle_at + 2 * (place % web->members), 1);
	size_t m = 0;

	while (web->member[m].id != id)
		m++;
	return m;
}

static void weigh(struct arc *arc, size_t start, __u64 weight, const __u64 *weights)
{
	double each = 1.0 / (double)(arc->until - arc->from);

	arc->lighter = arc->alike = 0;
	for (size_t p = arc->from; p < arc->until; p++) {
		__u64 its = weights[(start + p) % web->members];

		arc->lighter += its < weight ? each : 0;
		arc->alike += its == weight ? each : 0;
	}
}

/* The first is drawn of all, and one of each arc of the rest; the heaviest takes the flow, and of
 * several alike each as often. */
static void shares_of_arcs(void)
{
	static const __u64 all[] = {1, 2, 7};
	static size_t member[BACKENDS_MAX];
	static __u64 weights[BACKENDS_MAX];
	unsigned int arcs = web->members < ARCS ? (unsigned int)web->members : ARCS;
	double n = (double)web->members;
	struct arc arc[ARCS];

	for (size_t p = 0; p < web->members; p++) {
		member[p] = at_place(p);
		weights[p] = weight_of(member[p]);
		share[member[p]] = 0;
	}
	for (unsigned int a = 0; a < arcs; a++) {
		arc[a].from = a ? 1 + (a - 1) * (web->members - 1) / (arcs - 1) : 0;
		arc[a].until = a ? 1 + a * (web->members - 1) / (arcs - 1) : 1;
	}
	for (size_t start = 0; start < web->members; start++)
		for (size_t w = 0; w < sizeof(all) / sizeof(all[0]); w++) {
			for (unsigned int a = 0; a < arcs; a++)
				weigh(&arc[a], start, all[w], weights);
			for (unsigned int a = 0; a < arcs; a++) {
				double chance = chance_of_taking(arc, arcs, a) / n /
						(double)(arc[a].until - arc[a].from);

				for (size_t p = arc[a].from; p < arc[a].until; p++) {
					size_t place = (start + p) % web->members;

					if (weights[place] == all[w])
						share[member[place]] += chance;
				}
			}
		}
}

/* ---- the policies -----------------------------------------------------------------------------*/

static void expect_policy(__u32 flows)
{
	forget();
	switch ((enum poise_policy)web->conf.policy) {
	case POISE_ROUND_ROBIN: expect_rounds(flows); return;
	case POISE_MAGLEV:
	case POISE_SOURCE_HASH:
		spread(flows, true);
		expect_as_table(flows);
		return;
	case POISE_LEAST_CONN: shares_of_the_heaviest(); break;
	case POISE_P2C: shares_of_arcs(); break;
	default: shares_by_weight();
	}
	spread(flows, false);
	expect_chance(web->conf.policy == POISE_P2C ? "p2c" : "by chance");
}

static void expect_everywhere(enum poise_policy policy)
{
	static const unsigned int backends[] = {1, 3, 8, 100, BACKENDS_MAX};
	static const __u16 weights[] = {1, 2, 7};
	__u32 flows = place_emulated() ? FLOWS / EMULATED : FLOWS;

	stay_on_one_cpu();
	for (size_t b = 0; b < sizeof(backends) / sizeof(backends[0]); b++) {
		open_with(policy, backends[b]);
		expect_policy(backends[b] == 1 ? flows / 10 : flows);
		for (size_t m = 0; m < web->members; m++)
			web->member[m].conf.weight = weights[m % 3];
		commit();
		if (web->members > 1)
			expect_policy(flows);
	}
	rig_close(&rig);
}

Test(spread, maglev)
{
	expect_everywhere(POISE_MAGLEV);
}

Test(spread, source_hash)
{
	expect_everywhere(POISE_SOURCE_HASH);
}

Test(spread, round_robin)
{
	expect_everywhere(POISE_ROUND_ROBIN);
}

Test(spread, random)
{
	expect_everywhere(POISE_RANDOM);
}

Test(spread, least_conn)
{
	expect_everywhere(POISE_LEAST_CONN);
}

Test(spread, p2c)
{
	expect_everywhere(POISE_P2C);
}

Test(spread, latency_aware)
{
	expect_everywhere(POISE_LATENCY_AWARE);
}

Test(spread, clients_of_ipv6)
{
	static const __u16 weights[] = {1, 2, 7};
	__u32 flows = (place_emulated() ? FLOWS / EMULATED : FLOWS) / 5;

	stay_on_one_cpu();
	by_v6 = true;
	for (int policy = 0; policy < POISE_POLICIES; policy++) {
		open_with((enum poise_policy)policy, 8);
		expect_policy(flows);
		for (size_t m = 0; m < web->members; m++)
			web->member[m].conf.weight = weights[m % 3];
		commit();
		expect_policy(flows);
	}
	rig_close(&rig);
}
