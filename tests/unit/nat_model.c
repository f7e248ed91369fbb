// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Slots of mode nat against a model: packets of clients and backends of every kind in any order,
 * time, sweeps, and fewer ports than clients. The model knows nothing of hashes, words or bitmaps:
 * it says what should become of each packet, and learns which port a new flow got, which must have
 * been free, or, if none was, that of a flow that was over. After every packet the flow's slot must
 * be as the model has it, and every so often all slots, all bits and all gauges.
 *
 * POISE_NAT_FLOWS is how many flows begin; 10,000,000 in make test-full.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/native.h"

#define CLIENTS 1500 /* for NATIVE_PORT_LOW to HIGH, 1,000 ports */
#define PORTS	(NATIVE_PORT_HIGH - NATIVE_PORT_LOW + 1)
#define FLOWS	30000
#define STRIDE	4000 /* packets between two looks at everything */

/* 4 to 4, 4 to 6, 6 to 4, 6 to 6, each by TCP and UDP. */
static const char yaml[] =
	"services:\n"
	"  - { name: a, listen: [ '10.2.0.1:80', '10.2.0.1:53/udp', '[fd02::1]:80',\n"
	"      '[fd02::1]:53/udp' ], forward: nat, idle: 5m, udp: 20s, policy: round-robin,\n"
	"      backends: [ { address: 10.3.0.1, port: 8080 }, { address: 10.3.0.2, port: 8080 } ] "
	"}\n"
	"  - { name: b, listen: [ '10.2.0.2:80', '10.2.0.2:53/udp', '[fd02::2]:80',\n"
	"      '[fd02::2]:53/udp' ], forward: nat, idle: 5m, udp: 20s, policy: least-conn,\n"
	"      backends: [ { address: 'fd03::3', port: 8080 }, { address: 'fd03::4', port: 8080 } "
	"] }\n";

enum kind { SYN, DATA, FIN, RST, UDP, SYN_ACK };
enum state { NONE, NEW, PICKUP, EST, FIN_, RST_, REST = 7 };
#define LONG_CLOSING 120
#define SYN_SECONDS  30

struct flow {
	__u32 port; /* 0: none */
	enum state state;
	bool fin_client, fin_server, answered;
	__u32 stamp;
	__u32 seq; /* of its last SYN or FIN */
	__u16 member;
};

static struct native n;
static struct flow flow[CLIENTS];
static int owner[POISE_PORTS]; /* client + 1 */
/* Ports whose flow was given up, and since when they rest. */
static __u32 resting[POISE_PORTS], rested_seq[POISE_PORTS];
static bool rested_easy[POISE_PORTS]; /* no connection that a backend may remember */
static __u32 seq;		      /* of the packet in hand */
static __u32 now;
static __u64 begun, refused, reused;

static __u32 chance(__u32 below)
{
	static __u64 x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (__u32)(x >> 33) % below;
}

/* ---- packets ----------------------------------------------------------------------------------*/

static bool is_udp(int c)
{
	return c & 1;
}

static bool client_six(int c)
{
	return c & 2;
}

static bool server_six(int c)
{
	return c & 4;
}

static const char *letters(enum kind k)
{
	static const char *const flags[] = {"S", "A", "FA", "R", "", "SA"};

	return flags[k];
}

static int put(struct frame *f, bool six, const char *from, const char *to, int sport, int dport,
	       bool udp, enum kind k)
{
	char words[200];

	snprintf(words, sizeof(words), "%s %s > %s | %s %d > %d ", six ? "ip6" : "ip4", from, to,
		 udp ? "udp" : "tcp", sport, dport);
	if (!udp)
		sprintf(words + strlen(words), "%s seq %u", letters(k), seq);
	return native_send(&n, f, words);
}

static void client_of(int c, char *addr, char *vip, size_t size)
{
	snprintf(addr, size, client_six(c) ? "fd01::%x" : "10.1.0.%d", c % 200 + 1);
	snprintf(vip, size, client_six(c) ? "fd02::%d" : "10.2.0.%d", server_six(c) ? 2 : 1);
}

static int client_sends(int c, enum kind k, struct frame *f)
{
	char addr[40], vip[40];

	client_of(c, addr, vip, sizeof(addr));
	return put(f, client_six(c), addr, vip, 1000 + c, is_udp(c) ? 53 : 80, is_udp(c), k);
}

static int server_sends(int c, __u16 member, __u32 port, enum kind k, struct frame *f)
{
	char from[40];

	snprintf(from, sizeof(from), server_six(c) ? "fd03::%x" : "10.3.0.%d",
		 n.i->members[member].addr.b[15]);
	return put(f, server_six(c), from, server_six(c) ? "fd03::fe" : "10.3.0.254", 8080,
		   (int)port, is_udp(c), k);
}

/* Ports of a frame without tags or options, and the last byte of its addresses. */
static const __u8 *l4_of(const struct frame *f)
{
	return f->byte + 14 + (f->byte[12] == 0x08 ? 20 : 40);
}

static __u32 port_at(const __u8 *at)
{
	return at[0] << 8 | at[1];
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
	rested_easy[flow[c].port] = is_udp(c) || flow[c].state == RST_;
	forget(c);
}

static void move(struct flow *f, enum state s)
{
	f->state = s;
	f->stamp = now;
}

/* True: the flow is over, and the packet begins another. */
static bool client_moves(struct flow *f, enum kind k, bool udp)
{
	__u32 age = now - f->stamp;

	if ((k == SYN || k == UDP) && expired(f, udp))
		return true;
	if (k == SYN && (f->state >= FIN_ || (f->state != NEW && age >= POISE_REUSE_SECONDS)))
		return true;
	if (f->state == RST_ && f->fin_server)
		return false;
	f->fin_client |= k == FIN;
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

/* False: the port is given up, the packet with it. */
static bool server_moves(struct flow *f, enum kind k)
{
	if (f->state == RST_)
		return true;
	if (k == RST || k == FIN) {
		f->fin_server = true;
		move(f, k == RST ? RST_ : FIN_);
		return true;
	}
	if (f->state == NEW && k != UDP) {
		if (k != SYN_ACK && !f->answered)
			return false;
		f->answered = true;
	}
	f->stamp = now;
	return true;
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
	if (old ? is_udp(owner[port] - 1) || old->state == RST_ : rested_easy[port])
		return true;
	return (__s32)(seq - (old ? old->seq : rested_seq[port])) > 0;
}

/* The flow of c has begun by this port. */
static void learn(int c, enum kind k, __u32 port, __u16 member)
{
	cr_assert(port >= NATIVE_PORT_LOW && port <= NATIVE_PORT_HIGH, "port %u", port);
	if (owner[port] || resting[port]) {
		const struct flow *old = owner[port] ? &flow[owner[port] - 1] : NULL;

		reused++;
		cr_assert(!ports_free(), "port %u was not free, others were", port);
		cr_assert(would_take(port, old), "the backend would not take it");
		cr_assert(!old || closed(old) || (old->state == RST_ && now - old->stamp >= 2),
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
	};
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
	cr_assert_eq(head & POISE_WORD_STAMP, f->stamp & POISE_WORD_STAMP, "%s: client %d", when,
		     c);
}

static __u16 member_at(const struct frame *f, int c)
{
	char addr[40];

	snprintf(addr, sizeof(addr), server_six(c) ? "fd03::%x" : "10.3.0.%d",
		 server_six(c) ? f->byte[14 + 39] : f->byte[14 + 19]);
	return native_member(&n, addr);
}

/* Is it an answer to the client? */
static bool refused_by(const struct frame *f)
{
	__u8 gw[6];

	frame_mac("gw", gw);
	return !memcmp(f->byte, gw, sizeof(gw));
}

static void client_packet(int c, enum kind k)
{
	struct flow was = flow[c];
	struct frame f;
	int verdict;
	bool fresh;

	seq = chance(1u << 31);
	verdict = client_sends(c, k, &f);
	fresh = !was.port || client_moves(&flow[c], k, is_udp(c));

	if (fresh && k == RST) {
		cr_assert_eq(verdict, was.port ? XDP_TX : XDP_DROP, "a reset of no flow");
		return;
	}
	if (verdict != XDP_TX || refused_by(&f)) {
		/* The old flow, if there was one, still has its port. */
		cr_assert(fresh && !ports_free(), "client %d, kind %d: verdict %d", c, k, verdict);
		refused++;
		return;
	}
	cr_assert_eq(port_at(l4_of(&f) + 2), 8080u);
	if (fresh) {
		if (was.port)
			give_up(c);
		learn(c, k, port_at(l4_of(&f)), member_at(&f, c));
	}
	if (k == FIN && !fresh)
		flow[c].seq = seq;
	cr_assert_eq(port_at(l4_of(&f)), flow[c].port, "client %d left by another port", c);
	cr_assert_eq(member_at(&f, c), flow[c].member, "client %d went elsewhere", c);
	expect_slot(c, "a client's packet");
}

static void server_packet(int c, enum kind k)
{
	struct frame f;
	int verdict;

	if (!flow[c].port)
		return;
	verdict = server_sends(c, flow[c].member, flow[c].port, k, &f);
	if (!server_moves(&flow[c], k)) {
		cr_assert_eq(verdict, XDP_DROP, "a bare ACK to a SYN went on");
		give_up(c);
		return;
	}
	cr_assert_eq(verdict, XDP_TX, "client %d: an answer of kind %d", c, k);
	cr_assert_eq(port_at(l4_of(&f)), is_udp(c) ? 53u : 80u);
	cr_assert_eq(port_at(l4_of(&f) + 2), 1000u + (__u32)c, "another client's");
	expect_slot(c, "an answer");
}

/* An answer to a port that has no flow, or from somebody whose flow it is not. */
static void stray_packet(void)
{
	__u32 port = NATIVE_PORT_LOW + chance(PORTS);
	int c = owner[port] ? (owner[port] - 1) ^ 4 : (int)chance(CLIENTS);
	struct frame f;

	cr_assert_eq(server_sends(c, native_member(&n, server_six(c) ? "fd03::3" : "10.3.0.1"),
				  port, is_udp(c) ? UDP : DATA, &f),
		     XDP_PASS, "an answer of nobody's at port %u", port);
}

static void sweep(void)
{
	struct poise_sweep io = {.kind = POISE_SWEEP_EXPIRED};

	native_sweep(&n, &io);
	for (int c = 0; c < CLIENTS; c++)
		if (flow[c].port && expired(&flow[c], is_udp(c)))
			forget(c);
	for (__u32 p = NATIVE_PORT_LOW; p <= NATIVE_PORT_HIGH; p++)
		if (resting[p] && now - resting[p] > POISE_REST_SECONDS)
			resting[p] = 0;
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
}

static enum kind any(int c, bool server)
{
	static const enum kind of_client[] = {SYN, SYN, DATA, DATA, DATA, FIN, FIN, RST};
	static const enum kind of_server[] = {SYN_ACK, SYN_ACK, DATA, DATA, DATA, FIN, FIN, RST};

	if (is_udp(c))
		return UDP;
	return server ? of_server[chance(8)] : of_client[chance(8)];
}

static void setup(void)
{
	native_open(&n, yaml, 1024);
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
		else if (chance(2))
			client_packet(c, any(c, false));
		else
			server_packet(c, any(c, true));
		if (!chance(40))
			run_set_seconds(now += chance(4));
		if (!chance(400))
			sweep();
		if (!(++packets % STRIDE))
			expect_all();
	}
	expect_all();
	run_set_seconds(now += 400);
	sweep();
	expect_all();
	cr_assert_eq(ports_free(), PORTS, "ports were lost");
	cr_assert(refused && reused, "%llu refused, %llu ports before their time", refused, reused);
}
