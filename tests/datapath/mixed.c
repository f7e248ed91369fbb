// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A service with a container of this host (mode local) and a backend elsewhere (mode nat): both get
 * flows, and each packet of a flow, there and back, becomes what it does in its backend's mode; a
 * flow that moves from one to the other changes its mode with it; so it is whatever comes in
 * whatever order.
 */
#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/setup.h"
#include "tests/support/rig.h"
#include "tests/support/store.h"

#define POD   "10.3.0.1"
#define POD6  "fd03::1"
#define AWAY  "10.3.0.2"
#define AWAY6 "fd03::2"
#define FLOWS 64    /* of each protocol and family */
#define FIRST 1000  /* their clients' ports */
#define LOW   20000 /* ports enough that none is taken before its time */
#define HIGH  59999

static const char setup[] =
	"services:\n"
	"  - { name: four, listen: [ '10.2.0.1:80', '10.2.0.1:53/udp' ], forward: nat,\n"
	"      policy: round-robin, backends: [ { address: " POD ", port: 8080, forward: local },\n"
	"      { address: " AWAY ", port: 8080 } ] }\n"
	"  - { name: six, listen: [ '[fd02::1]:80', '[fd02::1]:53/udp' ], forward: local,\n"
	"      policy: round-robin, backends: [ { address: '" POD6 "', port: 8080 },\n"
	"      { address: '" AWAY6 "', port: 8080, forward: nat } ] }\n";

static const struct end {
	const char *ip, *client, *service, *pod, *away, *lb;
} ends[] = {
	{"ip4", "10.1.0.9", "10.2.0.1", POD, AWAY, "10.3.0.254"},
	{"ip6", "fd01::9", "fd02::1", POD6, AWAY6, "fd03::fe"},
};

/* A flow, and where it went. */
struct flow {
	const struct end *e;
	const char *l4;
	int port, listener;
	int sent; /* port that the backend sees it by */
	bool local;
};

static struct rig rig;
static struct flow flow[4 * FLOWS];

static void start(void)
{
	struct config_limits limits = RIG_LIMITS(4096);

	limits.nat_groups = 1;
	limits.nat_low = LOW;
	limits.nat_high = HIGH;
	rig_open_with(&rig, setup, &limits);
	for (int k = 0; k < 4 * FLOWS; k++)
		flow[k] = (struct flow){
			.e = &ends[k & 1],
			.l4 = k & 2 ? "udp" : "tcp",
			.port = FIRST + k,
			.listener = k & 2 ? 53 : 80,
		};
}

static void finish(void)
{
	rig_close(&rig);
	place_cleanup();
}

TestSuite(mixed, .init = start, .fini = finish, .timeout = TEST_LONGEST);

/* One packet from and to these, with the rest of the words behind; eth NULL: as it comes in. */
static void packet(struct frame *f, const struct flow *is, const char *eth, const char *from,
		   const char *to, const char *ttl, int sport, int dport, const char *rest)
{
	char words[256];

	snprintf(words, sizeof(words), "%s%s %s > %s %s | %s %d > %d %s", eth ? eth : IN0,
		 is->e->ip, from, to, ttl, is->l4, sport, dport, rest);
	frame_build(f, words);
}

static void expect(const struct flow *f, const char *what, const struct frame *expected,
		   const struct frame *out)
{
	if (frame_equal(expected, out))
		return;
	frame_print_difference(expected, out);
	cr_assert_fail("%s of port %d, %s", what, f->port, f->local ? "local" : "nat");
}

/* The port from which a packet without options is sent. */
static int source_port(const struct frame *f)
{
	size_t at = frame_ip_at(f) + (f->byte[frame_ip_at(f)] >> 4 == 4 ? 20 : 40);

	return f->byte[at] << 8 | f->byte[at + 1];
}

/* A client's packet comes; by its verdict it is seen whose the flow is. False: it goes to nobody,
 * but perhaps something back. */
static bool forwarded(struct flow *f, const char *rest)
{
	struct frame in, out, expected;
	int verdict;

	packet(&in, f, NULL, f->e->client, f->e->service, "", f->port, f->listener, rest);
	verdict = rig_run(&rig, &in, &out);
	if (verdict == XDP_DROP || (verdict == XDP_TX && out.byte[4] != FRAME_MAC_BACKEND))
		return false;
	cr_assert(verdict == XDP_PASS || verdict == XDP_TX, "port %d: %d", f->port, verdict);
	f->local = verdict == XDP_PASS;
	f->sent = f->local ? f->port : source_port(&out);
	cr_assert(f->local || (f->sent >= LOW && f->sent <= HIGH), "port %d", f->sent);
	if (f->local)
		packet(&expected, f, NULL, f->e->client, f->e->pod, "ttl 63", f->port, 8080, rest);
	else
		packet(&expected, f, OUT0("b2"), f->e->lb, f->e->away, "ttl 63", f->sent, 8080,
		       rest);
	expect(f, "a packet", &expected, &out);
	return true;
}

static void forth(struct flow *f, const char *rest)
{
	cr_assert(forwarded(f, rest), "port %d: %s goes nowhere", f->port, rest);
}

/* Was what came from a backend's port sent back there: a reset, for nobody has asked for it yet? */
static bool turned_back(const struct frame *f)
{
	size_t at = frame_ip_at(f) + (f->byte[frame_ip_at(f)] >> 4 == 4 ? 20 : 40);

	return (f->byte[at + 2] << 8 | f->byte[at + 3]) == 8080;
}

/* Its answer leaves the host, or comes in. False: it is nobody's, and stays as it is; or it is
 * dropped, or reset. */
static bool answered(const struct flow *f, const char *rest)
{
	struct frame in, out, expected;
	int verdict;

	if (f->local) {
		packet(&in, f, NULL, f->e->pod, f->e->client, "", 8080, f->sent, rest);
		cr_assert_eq(rig_leave(&rig, &in, &out), TC_ACT_UNSPEC);
		if (frame_equal(&in, &out))
			return false;
		packet(&expected, f, NULL, f->e->service, f->e->client, "", f->listener, f->port,
		       rest);
	} else {
		packet(&in, f, NULL, f->e->away, f->e->lb, "", 8080, f->sent, rest);
		verdict = rig_run(&rig, &in, &out);
		if (verdict == XDP_DROP || (verdict == XDP_PASS && frame_equal(&in, &out)))
			return false;
		cr_assert_eq(verdict, XDP_TX, "port %d", f->port);
		if (turned_back(&out))
			return false;
		packet(&expected, f, "eth lb > gw | ", f->e->service, f->e->client, "ttl 63",
		       f->listener, f->port, rest);
	}
	expect(f, "an answer", &expected, &out);
	return true;
}

static void back(const struct flow *f, const char *rest)
{
	cr_assert(answered(f, rest), "port %d: nobody hears the answer %s", f->port, rest);
}

/* Whoever answers a flow that is not, or no longer, its own is not taken for who has it. */
static void expect_stranger(const struct flow *f)
{
	struct frame in, out;

	if (f->local) {
		packet(&in, f, NULL, f->e->away, f->e->lb, "", 8080, f->sent, "| data 9");
		cr_assert_eq(rig_run(&rig, &in, &out), XDP_PASS, "port %d", f->port);
	} else {
		packet(&in, f, NULL, f->e->pod, f->e->client, "", 8080, f->port, "| data 9");
		cr_assert_eq(rig_leave(&rig, &in, &out), TC_ACT_UNSPEC);
	}
	expect(f, "a stranger's", &in, &out);
}

static bool udp(const struct flow *f)
{
	return f->listener == 53;
}

static void talk(struct flow *f)
{
	bool local = f->local;
	int sent = f->sent;

	forth(f, udp(f) ? "| data 700" : "A | data 700");
	cr_assert(f->local == local && f->sent == sent, "port %d moved", f->port);
	back(f, udp(f) ? "| data 1400" : "PA | data 1400");
	expect_stranger(f);
}

static void begin_all(void)
{
	for (int k = 0; k < 4 * FLOWS; k++) {
		forth(&flow[k], udp(&flow[k]) ? "| data 3" : "S seq 77");
		back(&flow[k], udp(&flow[k]) ? "| data 3" : "SA seq 5 ack 78");
	}
}

static __u64 opened(const struct rig_counts *c, const char *address)
{
	return c->member[rig_member(&rig, address)].opened;
}

static void expect_clean(const char *when)
{
	rig_expect_recount(&rig, when);
	store_check(rig.i, when);
}

/* Every flow of either goes, words and slots; nothing is left that map check would find. */
static void sweep_all(void)
{
	struct poise_sweep all = {.kind = POISE_SWEEP_FORCE, .count = UINT32_MAX};
	struct poise_error err = {0};

	place_must(instance_sweep_range(rig.i, &all, &err), "sweep", &err);
	expect_clean("swept");
	for (__u32 b = 0; b < rig.i->flow_buckets; b++)
		for (int w = 0; w < POISE_BUCKET_WORDS; w++)
			cr_assert_eq(instance_bucket(rig.i, b)->word[w], 0, "a word is left");
	all = (struct poise_sweep){.kind = POISE_SWEEP_EXPIRED, .count = UINT32_MAX};
	place_must(instance_sweep_range(rig.i, &all, &err), "sweep", &err);
	cr_assert_eq(all.live, 0, "%u live", all.live);
	expect_clean("swept again");
}

Test(mixed, both_are_served)
{
	static struct rig_counts c;
	__u64 local[2] = {0}, n = (__u64)2 * FLOWS;

	begin_all();
	for (int k = 0; k < 4 * FLOWS; k++) {
		talk(&flow[k]);
		local[k & 1] += flow[k].local;
	}
	expect_clean("all talk");
	rig_count(&rig, &c);
	for (int six = 0; six < 2; six++) {
		/* Turn by turn on each CPU. */
		cr_assert(local[six] > n / 4 && local[six] < n - n / 4, "%llu of %llu", local[six],
			  n);
		cr_assert_eq(opened(&c, ends[six].pod), local[six]);
		cr_assert_eq(opened(&c, ends[six].away), n - local[six]);
	}
	for (int k = 0; k < 4 * FLOWS; k++)
		if (!udp(&flow[k])) {
			forth(&flow[k], "FA seq 99");
			back(&flow[k], "FA seq 101");
		}
	expect_clean("closed");
	sweep_all();
}

/* Datagrams of who cannot be reached go to the other, whatever its mode. */
static void disable(const char *service, const char *address, bool disabled)
{
	struct poise_error err = {0};
	struct config_member *m =
		config_member_find(config_service_named(rig.cfg, service), address, &err);

	cr_assert(m, "%s", err.message);
	m->conf.admin = disabled ? POISE_DISABLED : POISE_ENABLED;
}

static void only(bool local)
{
	disable("four", POD, !local);
	disable("six", POD6, !local);
	disable("four", AWAY, local);
	disable("six", AWAY6, local);
	rig_commit(&rig);
}

Test(mixed, datagrams_move_from_one_mode_to_the_other)
{
	begin_all();
	for (int round = 0; round < 3; round++) {
		bool local = round & 1;

		only(local);
		for (int k = 0; k < 4 * FLOWS; k++) {
			if (!udp(&flow[k]))
				continue;
			forth(&flow[k], "| data 5");
			cr_assert_eq(flow[k].local, local, "port %d", flow[k].port);
			talk(&flow[k]);
		}
		expect_clean(local ? "all local" : "none local");
	}
	sweep_all();
}

/* ---- any order --------------------------------------------------------------------------------*/

#define PACKETS	 20000
#define EMULATED 20  /* times fewer where the CPU is emulated */
#define CHANGE	 500 /* packets between two changes of who serves ... */
#define DROP	 7   /* of which each so many-th drops all flows of a service */

static unsigned int chance(unsigned int below)
{
	static __u64 x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (unsigned int)(x >> 33) % below;
}

/* Only a reset may be nobody's: there are ports for all. */
static void any_packet(struct flow *f, size_t heard[2])
{
	static const char *const client[] = {"S seq 7", "A | data 9", "PA | data 99", "FA", "R"};
	static const char *const server[] = {"SA seq 9 ack 8", "A | data 9", "PA | data 99", "FA",
					     "RA"};
	unsigned int kind = chance(sizeof(client) / sizeof(client[0]));

	if (chance(2))
		cr_assert(forwarded(f, udp(f) ? "| data 8" : client[kind]) ||
				  client[kind][0] == 'R',
			  "port %d: %s goes nowhere", f->port, client[kind]);
	else if (f->sent)
		heard[f->local] += answered(f, udp(f) ? "| data 8" : server[kind]);
}

static void any_change(void)
{
	struct poise_sweep drop = {.kind = POISE_SWEEP_FORCE, .count = UINT32_MAX};
	unsigned int which = chance(DROP);
	struct poise_error err = {0};

	if (!which) {
		drop.service = rig_service(&rig, chance(2) ? "four" : "six");
		place_must(instance_sweep_range(rig.i, &drop, &err), "drop", &err);
	} else if (which < 3) {
		only(which == 1);
	} else {
		disable("four", POD, false);
		disable("four", AWAY, false);
		disable("six", POD6, false);
		disable("six", AWAY6, false);
		rig_commit(&rig);
	}
	expect_clean("after a change");
}

Test(mixed, any_packets_in_any_order)
{
	int packets = PACKETS / (place_emulated() ? EMULATED : 1);
	size_t heard[2] = {0};

	for (int k = 1; k <= packets; k++) {
		any_packet(&flow[chance(4 * FLOWS)], heard);
		if (!(k % CHANGE))
			any_change();
	}
	cr_assert(heard[0] && heard[1], "%zu answers by nat, %zu by local", heard[0], heard[1]);
	sweep_all();
}
