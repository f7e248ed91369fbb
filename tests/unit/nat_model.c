// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Slots of mode nat against a model: packets of clients and backends of every kind in any order,
 * what was sent before again, ICMP errors about both, time, sweeps, flows dropped by force, and
 * fewer ports than clients, which two source addresses share. The model knows nothing of hashes,
 * words or bitmaps: it says what should become of each packet, and learns which port a new flow
 * got, which must have been free, or, if none was, that of a flow that was over for both ends.
 * After every packet the flow's slot must be as the model has it, and every so often all slots, all
 * bits and all gauges.
 *
 * POISE_NAT_FLOWS is how many flows begin; 10,000,000 in make test-full.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/natted.h"

#define CLIENTS 3000 /* for NATIVE_PORT_LOW to HIGH, 1,000 ports */
#define PORTS	(NATIVE_PORT_HIGH - NATIVE_PORT_LOW + 1)
#define FLOWS	30000
#define STRIDE	4000 /* packets between two looks at everything ... */
#define CHECKS	8    /* of which every so many-th by map check, too */

enum state { NONE, NEW, PICKUP, EST, FIN_, RST_, REST = 7 };
#define LONG_CLOSING 120
#define SYN_SECONDS  30

struct flow {
	__u32 port; /* 0: none */
	enum state state;
	bool fin_client, fin_server, answered, ended, met;
	__u32 stamp;
	__u32 seq; /* of its last SYN or FIN */
	__u16 member;
	__u32 from; /* NATTED_SECOND, or 0 */
};

static struct native n;
static struct flow flow[CLIENTS];
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

static bool live(const struct flow *f)
{
	return f->state == NEW || f->state == PICKUP || f->state == EST;
}

static bool closed(const struct flow *f)
{
	return f->state == REST || (f->state == FIN_ && f->fin_client && f->fin_server);
}

/* No end holds it half open. */
static bool over(const struct flow *f, bool udp)
{
	return udp || f->ended || (f->state == RST_ && now - f->stamp >= 2);
}

/* Once both FINs were there. */
static void ending(struct flow *f, bool fin)
{
	if (f->fin_client && f->fin_server)
		f->ended = !fin;
}

static __u32 timeout(const struct flow *f, bool udp)
{
	if (closed(f))
		return POISE_REST_SECONDS;
	if (f->state == FIN_)
		return LONG_CLOSING;
	if (f->state == RST_)
		return POISE_RST_SECONDS;
	if (udp)
		return 20;
	return f->state == EST ? 300 : SYN_SECONDS;
}

static bool expired(const struct flow *f, bool udp)
{
	return now - f->stamp > timeout(f, udp);
}

static void forget(int c)
{
	owner[flow[c].port] = 0;
	flow[c] = (struct flow){0};
}

/* Its port rests without it. */
static void give_up(int c)
{
	resting[flow[c].port] = now;
	rested_seq[flow[c].port] = flow[c].seq;
	rested_easy[flow[c].port] = natted_udp(c) || flow[c].state == RST_;
	rested_over[flow[c].port] = over(&flow[c], natted_udp(c));
	forget(c);
}

static void move(struct flow *f, enum state s)
{
	f->state = s;
	f->stamp = now;
}

/* True: the flow is over, and the packet begins another. */
static bool client_moves(struct flow *f, enum natted_kind k, bool udp)
{
	__u32 age = now - f->stamp;

	if ((k == SYN || k == UDP) && expired(f, udp))
		return true;
	if (k == SYN && (f->state >= FIN_ || (f->state != NEW && age >= POISE_REUSE_SECONDS)))
		return true;
	if (f->state == RST_ && f->fin_server)
		return false;
	f->fin_client |= k == FIN;
	ending(f, k == FIN);
	if (k == FIN || (k == RST && f->state < FIN_))
		move(f, k == FIN ? FIN_ : RST_);
	else if (k == DATA)
		if (f->state == PICKUP && !age)
			return false;
		else
			move(f, f->state == FIN_ ? FIN_ : EST);
	else if (k == SYN && f->state == NEW)
		f->stamp = now;
	else if (k == UDP && (f->state == EST || age))
		move(f, EST);
	return false;
}

/* Of an older connection by this port, which is reset. */
static bool is_older(const struct flow *f, enum natted_kind k)
{
	return f->state == NEW && !f->answered && (k == DATA || k == FIN);
}

static void server_moves(struct flow *f, enum natted_kind k)
{
	if (f->state == RST_)
		return;
	f->fin_server |= k == RST || k == FIN;
	f->answered |= f->state == NEW && k == SYN_ACK;
	ending(f, k == FIN);
	move(f, k == RST ? RST_ : k == FIN ? FIN_ : f->state);
}

static __u32 ports_free(void)
{
	__u32 used = 0;

	for (__u32 p = NATIVE_PORT_LOW; p <= NATIVE_PORT_HIGH; p++)
		used += owner[p] || resting[p];
	return PORTS - used;
}

/* Does the backend take this SYN while it remembers the last connection from this port? */
static bool would_take(__u32 port, const struct flow *old)
{
	if (old ? natted_udp(owner[port] - 1) || old->state == RST_ : rested_easy[port])
		return true;
	return (__s32)(seq - (old ? old->seq : rested_seq[port])) > 0;
}

/* The flow of c has begun by this port. */
static void learn(int c, enum natted_kind k, __u32 port, __u32 from, __u16 member)
{
	cr_assert(port >= NATIVE_PORT_LOW && port <= NATIVE_PORT_HIGH, "port %u", port);
	if (owner[port] || resting[port]) {
		const struct flow *old = owner[port] ? &flow[owner[port] - 1] : NULL;

		reused++;
		cr_assert(k == SYN || k == UDP, "what goes on has one of a flow that is over");
		cr_assert(!ports_free(), "port %u was not free, others were", port);
		cr_assert(old ? over(old, natted_udp(owner[port] - 1)) : rested_over[port],
			  "port %u: an end may hold its flow half open", port);
		cr_assert(would_take(port, old), "the backend would not take it");
		cr_assert(!old || closed(old) || old->state == RST_,
			  "port %u is of a flow in state %d", port, old ? old->state : 0);
		if (old)
			forget(owner[port] - 1);
		resting[port] = 0;
	}
	owner[port] = c + 1;
	flow[c] = (struct flow){
		.port = port,
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
	const struct flow *f = &flow[c];
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

static void client_packet(int c, enum natted_kind k)
{
	struct flow was = flow[c];
	struct frame f;
	int verdict;
	bool fresh;

	verdict = natted_client_sends(&n, c, k, seq, &f);
	fresh = !was.port || client_moves(&flow[c], k, natted_udp(c));

	if (fresh && k == RST) {
		cr_assert_eq(verdict, was.port ? XDP_TX : XDP_DROP, "a reset of no flow");
		return;
	}
	if (verdict != XDP_TX || natted_refused(&f)) {
		/* The old flow, if there was one, still has its port. */
		cr_assert(fresh && !ports_free(), "client %d, kind %d: verdict %d", c, k, verdict);
		refused++;
		return;
	}
	cr_assert_eq(natted_destination(&f), (__u32)NATTED_SERVER);
	if (fresh) {
		if (was.port)
			give_up(c);
		learn(c, k, natted_source(&f), natted_from(&f), natted_member(&n, c, &f));
	}
	if (k == FIN && !fresh)
		flow[c].seq = seq;
	cr_assert_eq(natted_source(&f), flow[c].port, "client %d left by another port", c);
	cr_assert_eq(natted_from(&f), flow[c].from, "client %d left from another address", c);
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

static void server_packet(int c, enum natted_kind k)
{
	struct frame f;
	int verdict;

	if (!flow[c].port)
		return;
	verdict = natted_server_sends(&n, c, flow[c].member, flow[c].port | flow[c].from, k, &f);
	if (is_older(&flow[c], k)) {
		cr_assert(verdict == XDP_DROP || natted_destination(&f) == NATTED_SERVER,
			  "a bare ACK to a SYN went on");
		if (flow[c].met)
			give_up(c);
		else
			flow[c].met = true;
		return;
	}
	server_moves(&flow[c], k);
	cr_assert_eq(verdict, XDP_TX, "client %d: an answer of kind %d", c, k);
	cr_assert_eq(natted_source(&f), (__u32)NATTED_LISTEN(c));
	cr_assert_eq(natted_destination(&f), (__u32)NATTED_PORT(c), "another client's");
	expect_slot(c, "an answer");
}

/* Errors find the flow by what they quote, and change nothing. */
static void client_error(int c)
{
	struct frame f;
	int verdict = natted_client_error(&n, c, &f);

	cr_assert_eq(verdict, flow[c].port ? XDP_TX : XDP_DROP, "client %d: verdict %d", c,
		     verdict);
	if (flow[c].port)
		cr_assert_eq(natted_quoted(&f), (__u32)NATTED_SERVER << 16 | flow[c].port,
			     "client %d's error is about another", c);
	expect_slot(c, "a client's error");
}

static void server_error(int c)
{
	__u32 port = flow[c].port ?: NATIVE_PORT_LOW + chance(PORTS);
	__u16 member = flow[c].port
			       ? flow[c].member
			       : native_member(&n, natted_server_six(c) ? "fd03::3" : "10.3.0.1");
	struct frame f;
	int verdict;

	if (!flow[c].port && owner[port])
		return; /* whose it may be, stray_packet asks */
	verdict = natted_server_error(&n, c, member, port | flow[c].from, &f);
	cr_assert_eq(verdict, flow[c].port ? XDP_TX : XDP_PASS, "client %d: verdict %d", c,
		     verdict);
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
	int c = owner[port] ? (owner[port] - 1) ^ 4 : (int)chance(CLIENTS);
	struct frame f;

	cr_assert_eq(natted_server_sends(
			     &n, c,
			     native_member(&n, natted_server_six(c) ? "fd03::3" : "10.3.0.1"), port,
			     natted_udp(c) ? UDP : DATA, &f),
		     XDP_PASS, "an answer of nobody's at port %u", port);
}

static void sweep(void)
{
	struct poise_sweep io = {.kind = POISE_SWEEP_EXPIRED};

	native_sweep(&n, &io);
	for (int c = 0; c < CLIENTS; c++)
		if (flow[c].port && expired(&flow[c], natted_udp(c)))
			forget(c);
	for (__u32 p = NATIVE_PORT_LOW; p <= NATIVE_PORT_HIGH; p++)
		if (resting[p] && now - resting[p] > POISE_REST_SECONDS)
			resting[p] = 0;
}

/* As `poise flows drop` does with a service's. */
static void drop_flows(bool six)
{
	struct poise_sweep io = {.kind = POISE_SWEEP_FORCE,
				 .service = native_service(&n, six ? "b" : "a")};

	native_sweep(&n, &io);
	for (int c = 0; c < CLIENTS; c++)
		if (flow[c].port && natted_server_six(c) == six)
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

	for (int c = 0; c < CLIENTS; c++) {
		expect_slot(c, "all");
		gauge[flow[c].member] += live(&flow[c]);
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
	native_open(&n, NATTED_YAML_BY(NATTED_TWO), 1024);
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
		int crowd = packets / (16 * STRIDE) % 2 ? CLIENTS : CLIENTS / 8;
		int c = (int)chance(crowd);

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
			drop_flows(chance(2));
		if (!(++packets % STRIDE))
			expect_all();
	}
	expect_all();
	run_set_seconds(now += 400);
	sweep();
	expect_all();
	cr_assert_eq(ports_free(), PORTS, "ports were lost");
	cr_assert(second > begun / 4 && second < begun / 4 * 3, "%llu of %llu by the second source",
		  second, begun);
	cr_assert(refused && reused, "%llu refused, %llu ports before their time", refused, reused);
}
