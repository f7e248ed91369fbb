// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Fragments: whatever the order in which they come, and on whatever CPU, all of a datagram go to
 * one backend, untouched; the first goes with its flow.
 *
 * A datagram is four fragments of 40 bytes. A backend is known by the last byte of its MAC address.
 */
#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/rig.h"
#include "tests/support/setup.h"

#define PIECES 4
#define ORDERS 24
#define HOST   (-1) /* passed on */
#define LOST   0    /* dropped */

#define SERVICE(n, forward, listen, b)                                                             \
	"  - { name: s" #n ", listen: [ " listen " ], forward: " forward ", backends: [ " b " ] "  \
	"}\n"
#define GUE_CHECKED "gue, gue-checksum: yes"
#define THREE(net, a, b, c)                                                                        \
	"{ address: '" net #a "' }, { address: '" net #b "' }, { address: '" net #c "' }"

static const char setup[] = "services:\n" SERVICE(
	1, "l2", "'10.2.0.1:53/udp', '[fd02::1]:53/udp', '10.2.0.1:80', '[fd02::1]:80'",
	THREE("10.3.0.", 1, 2, 3)) SERVICE(2, "ipip", "'10.2.0.2:53/udp', '[fd02::2]:53/udp'",
					   THREE("10.3.0.", 4, 5, 6))
	SERVICE(3, "ipip", "'10.2.0.3:53/udp', '[fd02::3]:53/udp'", THREE("fd03:0::", 7, 8, 9))
		SERVICE(4, "l2", "'10.2.0.4:53/udp'", THREE("10.3.0.", 11, 12, 13))
			SERVICE(5, "l2", "'10.2.0.4:54/udp'", THREE("10.3.0.", 14, 15, 16))
				SERVICE(6, GUE_CHECKED,
					"'10.2.0.6:53/udp', '[fd02::6]:53/udp', '10.2.0.6:80'",
					THREE("10.3.0.", 17, 18, 19));

static struct rig rig;

TestSuite(fragment, .fini = place_cleanup, .timeout = TEST_LONGEST);

struct datagram {
	bool v6;
	int service;  /* the last number of its address */
	int client;   /* likewise */
	int from, to; /* ports */
	int id;
	int proto;
};

static void build(const struct datagram *d, int piece, struct frame *f)
{
	char l3[128], l4[96], words[256], off[32] = "";
	const char *more = piece < PIECES - 1 ? "mf" : "";

	if (piece)
		snprintf(off, sizeof(off), "off %d proto %d", 5 * piece, d->proto);
	if (d->v6)
		snprintf(l3, sizeof(l3), "ip6 fd01::%x > fd02::%d | frag6 id %d %s %s", d->client,
			 d->service, d->id, more, off);
	else
		snprintf(l3, sizeof(l3), "ip4 10.1.0.%d > 10.2.0.%d id %d %s %s", d->client,
			 d->service, d->id, more, off);
	if (piece)
		snprintf(l4, sizeof(l4), "data 40");
	else if (d->proto == 17)
		snprintf(l4, sizeof(l4), "udp %d > %d len 160 csum 0 | data 32", d->from, d->to);
	else
		snprintf(l4, sizeof(l4), "tcp %d > %d A | data 20", d->from, d->to);
	snprintf(words, sizeof(words), IN0 "%s | %s", l3, l4);
	frame_build(f, words);
}

static bool is_fragment(const struct frame *f)
{
	if (f->byte[14] >> 4 == 6)
		return f->byte[14 + 6] == 44;
	return (f->byte[14 + 6] & 0x3f) | f->byte[14 + 7];
}

/* The inner packet is as it came, but for l2's hop. */
static void untouched(const struct frame *in, const struct frame *out)
{
	size_t inner = in->length - 14, at = out->length - inner;
	struct frame copy = *in;

	if (out->length == in->length && in->byte[14] >> 4 == 6)
		copy.byte[14 + 7]--;
	if (out->length == in->length && in->byte[14] >> 4 == 4) {
		copy.byte[14 + 8]--;
		memcpy(copy.byte + 14 + 10, out->byte + 14 + 10, 2); /* header.c checks it */
	}
	cr_expect(!memcmp(copy.byte + 14, out->byte + at, inner), "the fragment was changed");
	/* gue: what the inner checksum covers is not all here, so ours cannot be made of it */
	if (out->length == in->length + 28 && is_fragment(in))
		cr_expect(!out->byte[14 + 26] && !out->byte[14 + 27], "a checksum");
}

/* Where a frame goes: a backend's number, HOST or LOST. */
static int goes_to(const struct frame *in)
{
	struct frame out;
	int verdict = rig_run(&rig, in, &out);

	if (verdict == XDP_PASS)
		cr_expect(frame_equal(in, &out), "passed, but changed");
	if (verdict == XDP_TX)
		untouched(in, &out);
	return verdict == XDP_PASS ? HOST : verdict == XDP_TX ? out.byte[5] : LOST;
}

static int piece_to(const struct datagram *d, int piece)
{
	struct frame in;

	build(d, piece, &in);
	return goes_to(&in);
}

/* Where whole packets of the same flow go. */
static int flow_to(const struct datagram *d)
{
	struct frame in;
	char words[160];

	snprintf(words, sizeof(words),
		 d->v6 ? IN0 "ip6 fd01::%x > fd02::%d | %s %d > %d %s"
		       : IN0 "ip4 10.1.0.%d > 10.2.0.%d | %s %d > %d %s",
		 d->client, d->service, d->proto == 17 ? "udp" : "tcp", d->from, d->to,
		 d->proto == 17 ? "" : "A");
	frame_build(&in, words);
	return goes_to(&in);
}

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set); /* refused on one CPU, where it makes no odds */
}

static void order_of(int number, int order[PIECES])
{
	int left[PIECES] = {0, 1, 2, 3};

	for (int k = PIECES; k > 0; k--) {
		int take = number % k;

		number /= k;
		order[PIECES - k] = left[take];
		memmove(left + take, left + take + 1, sizeof(int) * (size_t)(k - take - 1));
	}
}

static __u64 events(const char *service, enum poise_reason reason)
{
	static struct rig_counts c;

	rig_count(&rig, &c);
	return c.service[service ? rig_service(&rig, service) : 0].count[reason];
}

/* ---- orders -----------------------------------------------------------------------------------*/

static void every_order(bool v6, int service)
{
	char name[8];
	__u64 was;

	snprintf(name, sizeof(name), "s%d", service);
	was = events(name, POISE_R_FRAGMENTS);
	for (int number = 0; number < ORDERS; number++) {
		struct datagram d = {v6, service, 1 + number, 1000 + number, 53, 7, 17};
		int order[PIECES], to[PIECES], flow;

		rig_forget(&rig);
		flow = flow_to(&d);
		order_of(number, order);
		for (int k = 0; k < PIECES; k++) {
			on_cpu(k & 1);
			to[k] = piece_to(&d, order[k]);
			cr_expect(to[k] > 0 && to[k] == to[0],
				  "order %d, fragment %d: to %d, not %d", number, order[k], to[k],
				  to[0]);
		}
		cr_expect(order[0] != 0 || to[0] == flow, "to %d, its flow to %d", to[0], flow);
	}
	cr_expect_eq(events(name, POISE_R_FRAGMENTS) - was, ORDERS * PIECES);
}

Test(fragment, every_order)
{
	struct datagram tcp = {false, 6, 3, 7000, 80, 9, 6};

	rig_open(&rig, setup);
	for (int service = 1; service <= 3; service++) {
		every_order(false, service);
		every_order(true, service);
	}
	every_order(false, 6);
	every_order(true, 6);
	for (int piece = 0; piece < PIECES; piece++)
		cr_expect_eq(piece_to(&tcp, piece), flow_to(&tcp));
	rig_close(&rig);
}

/* The first datagram of a client comes in order: those after it go with the flow in any order. */
Test(fragment, later_datagrams_go_with_the_flow)
{
	rig_open(&rig, setup);
	for (int number = 0; number < ORDERS; number++) {
		struct datagram d = {number & 1, 1, 1 + number, 3000 + number, 53, 1, 17};
		int order[PIECES], flow = flow_to(&d);

		cr_expect_eq(piece_to(&d, 0), flow);
		d.id = 2;
		order_of(number, order);
		for (int k = 0; k < PIECES; k++)
			cr_expect_eq(piece_to(&d, order[k]), flow);
	}
	rig_close(&rig);
}

Test(fragment, datagrams_interleave)
{
	struct datagram d[8];

	rig_open(&rig, setup);
	for (int k = 0; k < 8; k++)
		d[k] = (struct datagram){k & 1, 1 + k % 3, 5, 4000 + k, 53, 90 + k, 17};
	for (int piece = 0; piece < PIECES; piece++)
		for (int k = 0; k < 8; k++)
			cr_expect_eq(piece_to(&d[k], piece), flow_to(&d[k]), "datagram %d", k);
	rig_close(&rig);
}

/* ---- two CPUs at once -------------------------------------------------------------------------*/

#define RACES 400

struct racer {
	pthread_t thread;
	pthread_barrier_t *start;
	int cpu;
	int to[RACES];
};

static void *race(void *arg)
{
	struct racer *r = arg;
	struct frame in;

	on_cpu(r->cpu);
	for (int k = 0; k < RACES; k++) {
		struct datagram d = {false, 1, 1 + k % 250, 5000 + k, 53, 100 + k, 17};

		build(&d, r->cpu ? 0 : 2, &in);
		pthread_barrier_wait(r->start);
		r->to[k] = goes_to(&in);
	}
	return NULL;
}

Test(fragment, two_cpus_agree)
{
	static struct racer racer[2];
	pthread_barrier_t start;
	int apart = 0;

	rig_open(&rig, setup);
	pthread_barrier_init(&start, NULL, 2);
	for (int k = 0; k < 2; k++) {
		racer[k].start = &start;
		racer[k].cpu = k;
		cr_assert(!pthread_create(&racer[k].thread, NULL, race, &racer[k]));
	}
	for (int k = 0; k < 2; k++)
		pthread_join(racer[k].thread, NULL);
	for (int k = 0; k < RACES; k++)
		apart += racer[0].to[k] != racer[1].to[k] || racer[0].to[k] <= 0;
	cr_expect_eq(apart, 0, "%d of %d datagrams were torn", apart, RACES);
	rig_close(&rig);
}

/* ---- numbers used again, time -----------------------------------------------------------------*/

/* As if every word had been written so many seconds earlier. */
static void age(__u32 seconds)
{
	for (__u32 b = 0; b < POISE_FRAGMENT_BUCKETS; b++)
		for (int k = 0; k < POISE_BUCKET_WORDS; k++) {
			__u64 *w = &rig.i->fragments[b].word[k];

			if (*w)
				*w = (*w & ~(__u64)POISE_WORD_STAMP) |
				     ((*w - seconds) & POISE_WORD_STAMP);
		}
}

/* Of TCP, whose later fragments do not guess: what a word says is plain to see. */
Test(fragment, a_number_is_used_again)
{
	struct datagram d = {false, 1, 9, 6000, 80, 5, 6};
	int flow;

	rig_open(&rig, setup);
	for (int k = 0; k < 16; k++, d.from++) {
		flow = flow_to(&d);
		cr_expect_eq(piece_to(&d, 0), flow, "another flow's datagram had this number");
		cr_expect_eq(piece_to(&d, 1), flow);
	}
	age(POISE_FRAGMENT_SECONDS - 2);
	cr_expect_eq(piece_to(&d, 2), flow);
	age(4);
	cr_expect_eq(piece_to(&d, 3), LOST, "its time is over");
	d.from = 6000;
	cr_expect_eq(piece_to(&d, 0), flow_to(&d));
	cr_expect_eq(piece_to(&d, 3), flow_to(&d));
	rig_close(&rig);
}

Test(fragment, tcp_is_never_led_astray)
{
	struct datagram d = {true, 1, 9, 6000, 80, 5, 6};
	__u64 was;
	int flow;

	rig_open(&rig, setup);
	flow = flow_to(&d);
	was = events("s1", POISE_R_FRAGMENT);
	cr_expect_eq(piece_to(&d, 1), LOST, "guessed");
	cr_expect_eq(events("s1", POISE_R_FRAGMENT) - was, 1);
	cr_expect_eq(piece_to(&d, 0), flow);
	cr_expect_eq(piece_to(&d, 1), flow);
	/* The client's other connection: its first fragment does not follow the guess. */
	for (int k = 0; k < 16; k++) {
		d.from++;
		d.id++;
		flow = flow_to(&d);
		cr_expect_neq(piece_to(&d, 1), LOST, "there is a latest one to go by");
		cr_expect_eq(piece_to(&d, 0), flow);
		cr_expect_eq(piece_to(&d, 2), flow);
	}
	rig_close(&rig);
}

/* ---- not for a service, or for one of several -------------------------------------------------*/

Test(fragment, the_hosts_own_pass)
{
	struct datagram d = {false, 1, 9, 6000, 5353, 5, 17}; /* a port nobody balances */
	struct datagram ours = {false, 1, 9, 6000, 53, 6, 17};

	rig_open(&rig, setup);
	for (int k = 0; k < PIECES; k++)
		cr_expect_eq(piece_to(&d, k), HOST, "fragment %d", k);
	cr_expect_gt(piece_to(&ours, 0), 0);
	cr_expect_gt(piece_to(&ours, 3), 0);
	for (int k = 1; k < PIECES; k++)
		cr_expect_eq(piece_to(&d, k), HOST, "fragment %d", k);
	d.service = ours.service = 99;
	for (int k = PIECES; k--;) {
		cr_expect_eq(piece_to(&d, k), HOST, "fragment %d", k);
		cr_expect_eq(piece_to(&ours, k), HOST, "fragment %d", k);
	}
	rig_close(&rig);
}

Test(fragment, an_address_of_two_services)
{
	struct datagram d = {false, 4, 9, 6000, 54, 5, 17};
	__u64 was;
	int to;

	rig_open(&rig, setup);
	was = events(NULL, POISE_R_FRAGMENT);
	cr_expect_eq(piece_to(&d, 1), LOST, "whose would it be?");
	cr_expect_eq(events(NULL, POISE_R_FRAGMENT) - was, 1);
	to = piece_to(&d, 0);
	cr_expect(to >= 14 && to <= 16, "to %d", to);
	cr_expect_eq(piece_to(&d, 1), to);
	/* One of the two goes: the address is the other's alone, and so are guesses. */
	config_service_del(rig.cfg, config_service_named(rig.cfg, "s5"));
	rig_commit(&rig);
	rig_forget(&rig);
	to = piece_to(&d, 1);
	cr_expect(to >= 11 && to <= 13, "to %d", to);
	rig_close(&rig);
}

/* ---- mode gue with checksums ------------------------------------------------------------------*/

/* The outer UDP checksum of what such a packet becomes. */
static int outer_checksum(const char *words)
{
	const size_t at = 14 + 20 + 6;
	static struct frame out;

	cr_assert_eq(rig_send(&rig, words, &out), XDP_TX, "%s", words);
	return out.byte[at] << 8 | out.byte[at + 1];
}

/* What a fragment's own checksum covers is in several packets: it tells nothing of the sum of this
 * one, also where its length is as if it did. */
Test(fragment, has_no_checksum_outside)
{
	rig_open(&rig, setup);
	rig_forget(&rig);
	cr_expect_neq(outer_checksum("ip4 10.1.0.9 > 10.2.0.6 | tcp 1234 > 80 A | data 20"), 0);
	cr_expect_eq(outer_checksum("ip4 10.1.0.9 > 10.2.0.6 id 1 mf | tcp 1234 > 80 A | data 20"),
		     0);
	cr_expect_eq(outer_checksum("ip4 10.1.0.9 > 10.2.0.6 id 1 off 5 proto 6 | data 40"), 0);
	cr_expect_neq(outer_checksum("ip4 10.1.0.9 > 10.2.0.6 | udp 1234 > 53 | data 20"), 0);
	cr_expect_eq(
		outer_checksum("ip4 10.1.0.9 > 10.2.0.6 id 2 mf | udp 1234 > 53 csum 7 | data 24"),
		0);
	cr_expect_eq(outer_checksum("ip4 10.1.0.9 > 10.2.0.6 id 2 off 4 proto 17 | hex "
				    "04d200350010abcd0000000000000000"),
		     0);
	rig_close(&rig);
}
