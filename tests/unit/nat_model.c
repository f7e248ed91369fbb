// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Slots of modes nat and local against a model: packets of clients and backends of every kind in
 * any order, what was sent before again, ICMP errors about both, time, sweeps, flows dropped by
 * force, and fewer ports than clients, which two source addresses share. The model knows nothing of
 * hashes, words or bitmaps: it says what should become of each packet, and learns which port a new
 * flow got, which must have been free, or, if none was, that of a flow that was over for both ends.
 * After every packet the flow's slot must be as the model has it, and every so often all slots, all
 * bits and all gauges.
 *
 * POISE_NAT_FLOWS is how many flows begin; 10,000,000 in make test-full.
 */
#include <criterion/criterion.h>
#include <linux/pkt_cls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/slotted.h"

#define NATS	       3000 /* clients of mode nat, and of mode local; for 1,000 ports */
#define LOCALS	       768
#define CLIENTS	       (NATTED_FIRST_LOCAL + LOCALS) /* by their numbers; none is between */
#define EACH_CLIENT(c) for (int c = 0; c < CLIENTS; c = c + 1 == NATS ? NATTED_FIRST_LOCAL : c + 1)
#define PORTS	       (NATIVE_PORT_HIGH - NATIVE_PORT_LOW + 1)
#define FLOWS	       30000
#define STRIDE	       4000 /* packets between two looks at everything ... */
#define CHECKS	       8    /* of which every so many-th by map check, too */

static struct native n;
static struct slotted flow[CLIENTS];
static int owner[POISE_PORTS]; /* client + 1 */
/* Ports whose flow was given up, and since when they rest. */
static __u32 resting[POISE_PORTS], rested_seq[POISE_PORTS];
static bool rested_easy[POISE_PORTS]; /* no connection that a backend may remember */
static bool rested_over[POISE_PORTS]; /* none that an end may hold half open */
static __u32 seq;		      /* of the packet in hand */
static __u32 now;
static __u64 begun, refused, reused, second;

static __u32 chance(__u32 below)
{
	static __u64 x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (__u32)(x >> 33) % below;
}

/* ---- the model --------------------------------------------------------------------------------*/

static void forget(int c)
{
	owner[flow[c].port] = 0;
	flow[c] = (struct slotted){0};
}

/* Its port rests without it. */
static void give_up(int c)
{
	resting[flow[c].port] = now;
	rested_seq[flow[c].port] = flow[c].seq;
	rested_easy[flow[c].port] = natted_udp(c) || flow[c].state == RST_;
	rested_over[flow[c].port] = slotted_over(&flow[c], natted_udp(c), now);
	forget(c);
}

static __u32 ports_free(void)
{
	__u32 used = 0;

	for (__u32 p = NATIVE_PORT_LOW; p <= NATIVE_PORT_HIGH; p++)
		used += owner[p] || resting[p];
	return PORTS - used;
}

/* Does the backend take this SYN while it remembers the last connection from this port? */
static bool would_take(__u32 port, const struct slotted *old)
{
	if (old ? natted_udp(owner[port] - 1) || old->state == RST_ : rested_easy[port])
		return true;
	return (__s32)(seq - (old ? old->seq : rested_seq[port])) > 0;
}

/* Does the client already talk to this backend from its port, by the service's other address? */
static bool twin_has(int c, __u16 member)
{
	const struct slotted *twin = &flow[natted_twin(c)];

	return twin->port && twin->member == member && twin->sent == (__u32)NATTED_PORT(c);
}

/* The flow of c has begun, and its packet left like this. */
static void learn(int c, enum natted_kind k, const struct frame *f)
{
	bool local = natted_local(c);
	__u32 port = local ? natted_slot(&n, c) : natted_source(f);
	__u32 from = local ? 0 : natted_from(f);
	__u16 member = natted_member(&n, c, f);
	__u32 sent = local && !twin_has(c, member) ? (__u32)NATTED_PORT(c) : port;

	cr_assert(port >= NATIVE_PORT_LOW && port <= NATIVE_PORT_HIGH, "port %u", port);
	if (owner[port] || resting[port]) {
		const struct slotted *old = owner[port] ? &flow[owner[port] - 1] : NULL;

		reused++;
		cr_assert(local || k == SYN || k == UDP,
			  "what goes on has one of a flow that is over");
		cr_assert(!ports_free(), "port %u was not free, others were", port);
		cr_assert(old ? slotted_over(old, natted_udp(owner[port] - 1), now)
			      : rested_over[port],
			  "port %u: an end may hold its flow half open", port);
		cr_assert(would_take(port, old), "the backend would not take it");
		cr_assert(!old || slotted_closed(old) || old->state == RST_,
			  "port %u is of a flow in state %d", port, old ? old->state : 0);
		if (old)
			forget(owner[port] - 1);
		resting[port] = 0;
	}
	owner[port] = c + 1;
	flow[c] = (struct slotted){
		.port = port,
		.sent = sent,
		.state = k == DATA  ? PICKUP
			 : k == FIN ? FIN_
				    : NEW,
		.fin_client = k == FIN,
		.stamp = now,
		.seq = seq,
		.member = member,
		.from = from,
	};
	second += !!from;
	begun++;
}

/* ---- both -------------------------------------------------------------------------------------*/

static void expect_slot(int c, const char *when)
{
	const struct slotted *f = &flow[c];
	__u64 head = n.i->slots[f->port].head;

	if (!f->port)
		return;
	cr_assert_eq(POISE_WORD_STATE(head), (__u32)f->state, "%s: client %d: state %u, not %d",
		     when, c, POISE_WORD_STATE(head), f->state);
	cr_assert_eq(POISE_WORD_MEMBER(head), f->member, "%s: client %d", when, c);
	cr_assert_eq(!!(head & POISE_SLOT_FIN_CLIENT), f->fin_client, "%s: client %d", when, c);
	cr_assert_eq(!!(head & POISE_SLOT_FIN_SERVER), f->fin_server, "%s: client %d", when, c);
	cr_assert_eq(!!(head & POISE_SLOT_ENDED), f->ended, "%s: client %d", when, c);
	cr_assert_eq(head & POISE_WORD_STAMP, f->stamp & POISE_WORD_STAMP, "%s: client %d", when,
		     c);
}

/* To its backend, not answered or dropped. */
static int forwarded(int c)
{
	return natted_local(c) ? XDP_PASS : XDP_TX;
}

static void client_packet(int c, enum natted_kind k)
{
	struct slotted was = flow[c];
	struct frame f;
	int verdict;
	bool fresh;

	verdict = natted_client_sends(&n, c, k, seq, &f);
	fresh = !was.port || slotted_client_moves(&flow[c], k, natted_udp(c), now);

	if (fresh && k == RST) {
		cr_assert_eq(verdict, was.port ? XDP_TX : XDP_DROP, "a reset of no flow");
		return;
	}
	if (verdict != forwarded(c) || natted_refused(&f)) {
		/* The old flow, if there was one, still has its port. */
		cr_assert(fresh && !ports_free(), "client %d, kind %d: verdict %d", c, k, verdict);
		refused++;
		return;
	}
	cr_assert_eq(natted_destination(&f), (__u32)NATTED_SERVER);
	if (fresh) {
		if (was.port)
			give_up(c);
		learn(c, k, &f);
	}
	if (k == FIN && !fresh)
		flow[c].seq = seq;
	cr_assert_eq(natted_source(&f), flow[c].sent, "client %d left by another port", c);
	cr_assert(natted_local(c) || natted_from(&f) == flow[c].from,
		  "client %d left from another address", c);
	cr_assert_eq(natted_member(&n, c, &f), flow[c].member, "client %d went elsewhere", c);
	expect_slot(c, "a client's packet");
}

/* One of its packets, or what it sent last again, whatever became of that. */
static void client_acts(int c, enum natted_kind k)
{
	static enum natted_kind last[CLIENTS];
	static __u32 last_seq[CLIENTS];
	bool again = !natted_udp(c) && !chance(4);

	k = again ? last[c] : k;
	seq = again ? last_seq[c] : chance(1u << 31);
	last[c] = k;
	last_seq[c] = seq;
	client_packet(c, k);
}

/* One of its backends. */
static __u16 backend(int c)
{
	if (natted_local(c))
		return native_member(&n, natted_server_six(c) ? "fd03::5" : "10.3.0.5");
	return native_member(&n, natted_server_six(c) ? "fd03::3" : "10.3.0.1");
}

/* What a backend sends that no flow of the client's asked for leaves as it is. */
static void unasked_packet(int c, enum natted_kind k)
{
	struct frame f;

	natted_server_sends(&n, c, backend(c), (__u32)NATTED_PORT(c), k, &f);
	cr_assert_eq(natted_source(&f), (__u32)NATTED_SERVER, "client %d has no flow", c);
}

static void server_packet(int c, enum natted_kind k)
{
	struct frame f;
	int verdict;

	if (!flow[c].port) {
		if (natted_local(c) && !flow[natted_twin(c)].port)
			unasked_packet(c, k);
		return;
	}
	verdict = natted_server_sends(&n, c, flow[c].member, flow[c].sent | flow[c].from, k, &f);
	if (!natted_local(c) && slotted_is_older(&flow[c], k)) {
		cr_assert(verdict == XDP_DROP || natted_destination(&f) == NATTED_SERVER,
			  "a bare ACK to a SYN went on");
		if (flow[c].met)
			give_up(c);
		else
			flow[c].met = true;
		return;
	}
	slotted_server_moves(&flow[c], k, now);
	cr_assert_eq(verdict, natted_local(c) ? TC_ACT_UNSPEC : XDP_TX,
		     "client %d: an answer of kind %d", c, k);
	cr_assert(natted_by_service(c, &f) && natted_source(&f) == (__u32)NATTED_LISTEN(c));
	cr_assert_eq(natted_destination(&f), (__u32)NATTED_PORT(c), "another client's");
	expect_slot(c, "an answer");
}

/* Errors find the flow by what they quote, and change nothing. */
static void client_error(int c)
{
	struct frame f;
	int verdict = natted_client_error(&n, c, &f);

	cr_assert_eq(verdict, flow[c].port ? forwarded(c) : XDP_DROP, "client %d: verdict %d", c,
		     verdict);
	if (flow[c].port)
		cr_assert_eq(natted_quoted(&f), (__u32)NATTED_SERVER << 16 | flow[c].sent,
			     "client %d's error is about another", c);
	expect_slot(c, "a client's error");
}

static void server_error(int c)
{
	bool local = natted_local(c);
	__u32 any = local ? (__u32)NATTED_PORT(c) : NATIVE_PORT_LOW + chance(PORTS);
	__u32 port = flow[c].port ? flow[c].sent : any;
	__u16 member = flow[c].port ? flow[c].member : backend(c);
	int verdict, passed = flow[c].port ? XDP_TX : XDP_PASS;
	struct frame f;

	if (!flow[c].port && (local ? flow[natted_twin(c)].port : (__u32)owner[port]))
		return; /* whose it may be, stray_packet asks */
	verdict = natted_server_error(&n, c, member, port | flow[c].from, &f);
	cr_assert_eq(verdict, local ? TC_ACT_UNSPEC : passed, "client %d: verdict %d", c, verdict);
	if (flow[c].port)
		cr_assert_eq(natted_quoted(&f),
			     (__u32)NATTED_PORT(c) << 16 | (__u32)NATTED_LISTEN(c),
			     "an error about client %d reached another", c);
	expect_slot(c, "an error");
}

/* An answer to a port that has no flow, or from somebody whose flow it is not. */
static void stray_packet(void)
{
	__u32 port = NATIVE_PORT_LOW + chance(PORTS);
	int its = owner[port] - 1, c = its >= 0 && !natted_local(its) ? its ^ 4 : (int)chance(NATS);
	struct frame f;

	cr_assert_eq(natted_server_sends(&n, c, backend(c), port, natted_udp(c) ? UDP : DATA, &f),
		     XDP_PASS, "an answer of nobody's at port %u", port);
}

static void sweep(void)
{
	struct poise_sweep io = {.kind = POISE_SWEEP_EXPIRED};

	native_sweep(&n, &io);
	EACH_CLIENT (c)
		if (flow[c].port && slotted_expired(&flow[c], natted_udp(c), now))
			forget(c);
	for (__u32 p = NATIVE_PORT_LOW; p <= NATIVE_PORT_HIGH; p++)
		if (resting[p] && now - resting[p] > POISE_REST_SECONDS)
			resting[p] = 0;
}

/* As `poise flows drop` does with a service's. */
static void drop_flows(bool six, bool local)
{
	static const char *const names[] = {"a", "b", "c", "d"};
	struct poise_sweep io = {.kind = POISE_SWEEP_FORCE,
				 .service = native_service(&n, names[2 * local + six])};

	native_sweep(&n, &io);
	EACH_CLIENT (c)
		if (flow[c].port && natted_server_six(c) == six && natted_local(c) == local)
			give_up(c);
}

static void report(void *ctx, const char *map, const char *sentence)
{
	(void)ctx;
	cr_log_error("%s: %s", map, sentence);
}

static void expect_all(void)
{
	__s64 gauge[NATIVE_BACKENDS + 1] = {0};

	EACH_CLIENT (c) {
		expect_slot(c, "all");
		gauge[flow[c].member] += slotted_live(&flow[c]);
	}
	for (__u32 p = 0; p < POISE_PORTS; p++) {
		bool bit = n.i->ports[p / 512].word[p / 64 % 8] >> (p % 64) & 1;
		bool barred = p < NATIVE_PORT_LOW || p > NATIVE_PORT_HIGH;

		cr_assert_eq(
			bit, barred || owner[p] || resting[p],
			"bit of port %u: %d, owner %d resting %u, slot state %u age %u, now %u", p,
			bit, owner[p], resting[p], POISE_WORD_STATE(n.i->slots[p].head),
			(unsigned)(now - n.i->slots[p].head) & 4095, now);
		cr_assert_eq(POISE_WORD_STATE(n.i->slots[p].head) != 0, owner[p] || resting[p],
			     "slot of port %u has state %u", p,
			     POISE_WORD_STATE(n.i->slots[p].head));
	}
	for (__u32 m = 1; m < n.i->meta->members; m++)
		cr_assert_eq(native_gauge(&n, (__u16)m), gauge[m], "member %u", m);
	if (!chance(CHECKS))
		cr_assert_eq(instance_check(n.i, report, NULL, NULL), 0, "map check differs");
}

static void expect_no_links(void)
{
	for (__u32 b = 0; b < POISE_LINK_BUCKETS(1); b++)
		for (int w = 0; w < POISE_BUCKET_WORDS; w++)
			cr_assert_eq(n.i->links[b].word[w], 0, "a link is left");
}

/* One of all clients, or of an eighth of them. */
static int anybody(bool crowded)
{
	int part = crowded ? 1 : 8;

	return chance(4) ? (int)chance(NATS / part)
			 : NATTED_FIRST_LOCAL + (int)chance(LOCALS / part);
}

static enum natted_kind any(int c, bool server)
{
	static const enum natted_kind of_client[] = {SYN, SYN, DATA, DATA, DATA, FIN, FIN, RST};
	static const enum natted_kind of_server[] = {SYN_ACK, SYN_ACK, DATA, DATA,
						     DATA,    FIN,     FIN,  RST};

	if (natted_udp(c))
		return UDP;
	return server ? of_server[chance(8)] : of_client[chance(8)];
}

static void setup(void)
{
	native_open(&n, NATTED_YAML_BY(NATTED_TWO) NATTED_LOCAL, 1024);
	now = 1000;
	run_set_seconds(now);
}

static void teardown(void)
{
	native_close(&n);
}

TestSuite(nat_model, .init = setup, .fini = teardown, .timeout = 3000);

static __u64 flows_wanted(void)
{
	const char *text = getenv("POISE_NAT_FLOWS");

	return text ? strtoull(text, NULL, 10) : FLOWS;
}

/* Busy times, when ports run out, and quiet ones, when they rest and come back. */
Test(nat_model, any_packets_in_any_order)
{
	__u64 packets = 0;

	while (begun < flows_wanted()) {
		int c = anybody(packets / (16 * STRIDE) % 2);

		run_set_cpu(chance(2));
		if (!chance(16))
			stray_packet();
		else if (!chance(16))
			chance(2) ? client_error(c) : server_error(c);
		else if (chance(2))
			client_acts(c, any(c, false));
		else
			server_packet(c, any(c, true));
		if (!chance(40))
			run_set_seconds(now += chance(4));
		if (!chance(400))
			sweep();
		if (!chance(60000))
			drop_flows(chance(2), chance(2));
		if (!(++packets % STRIDE))
			expect_all();
	}
	expect_all();
	run_set_seconds(now += 400);
	sweep();
	expect_all();
	cr_assert_eq(ports_free(), PORTS, "ports were lost");
	expect_no_links();
	cr_assert(second > begun / 4 && second < begun / 4 * 3, "%llu of %llu by the second source",
		  second, begun);
	cr_assert(refused && reused, "%llu refused, %llu ports before their time", refused, reused);
}
