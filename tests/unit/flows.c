// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Finding a client's flows among words that hold no address: what the datapath recorded is found
 * under the ports that it came from and went to, and nothing else is.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "maps/hash.h"
#include "maps/text.h"
#include "tests/support/native.h"

static const char yaml[] =
	"services:\n"
	"  - { name: web, listen: [ '10.2.0.1:80', '10.2.0.1:53/udp', '[fd02::1]:80' ],\n"
	"      forward: l2, track: always, backends: [ 10.3.0.1, 10.3.0.2, 10.3.0.3 ] }\n"
	"  - { name: any, listen: [ '10.2.0.2:*', '10.2.0.2:*/udp', '[fd02::2]:*' ],\n"
	"      forward: l2, track: always, backends: [ 10.3.0.4, 10.3.0.5 ] }\n";

#define SLOTS	65536
#define CLIENT4 "10.1.0.9"
#define CLIENT6 "fd01::9"
#define OTHERS	500 /* flows of other clients beside the one that is looked for */

static struct native n;

static void setup(void)
{
	native_open(&n, yaml, SLOTS);
	run_set_seconds(1000);
}

static void teardown(void)
{
	native_close(&n);
}

TestSuite(flows, .init = setup, .fini = teardown);

static union poise_addr addr(const char *text)
{
	union poise_addr a;

	cr_assert_eq(poise_parse_addr(text, &a, NULL), 0, "%s", text);
	return a;
}

/* A flow of a client by that port, and the member it went to. */
static __u16 begin(const char *client, const char *vip, int from, int to, bool udp)
{
	char words[160];
	__u16 member;

	snprintf(words, sizeof(words), "%s %s > %s | %s %d > %d %s",
		 strchr(client, ':') ? "ip6" : "ip4", client, vip, udp ? "udp" : "tcp", from, to,
		 udp ? "" : "S");
	member = native_to(&n, words);
	cr_assert(member, "%s", words);
	return member;
}

static void begin_others(const char *vip, int to, int flows)
{
	for (int k = 0; k < flows; k++) {
		char client[40];

		snprintf(client, sizeof(client), strchr(vip, ':') ? "fd01::1:%x" : "10.1.1.%d",
			 k % 250 + 1);
		begin(client, vip, 1000 + k, to, false);
	}
}

struct hits {
	struct instance_client_flow flow[64];
	size_t n;
};

static bool take(void *ctx, const struct instance_client_flow *flow)
{
	struct hits *h = ctx;

	cr_assert_lt(h->n, 64);
	h->flow[h->n++] = *flow;
	return true;
}

static struct hits find(const char *client, const char *listener, const char *service)
{
	union poise_addr a = addr(client);
	struct poise_listener_conf l;
	struct poise_error err = {0};
	struct hits h = {0};

	cr_assert_eq(poise_parse_listener(listener, &l, NULL), 0);
	cr_assert_eq(
		instance_client_flows(n.i, &a, &l, native_service(&n, service), take, &h, &err), 0,
		"%s", err.message);
	return h;
}

/* Every hit, in order of ports, is the flow that was begun. */
static void expect(const struct hits *h, size_t k, int from, int to, __u16 member)
{
	cr_assert_lt(k, h->n, "flow %zu of port %d was not found", k, from);
	cr_assert_eq(ntohs(h->flow[k].client_port), from);
	cr_assert_eq(ntohs(h->flow[k].port), to);
	cr_assert_eq(POISE_WORD_MEMBER(h->flow[k].word), member);
}

static const int ports[] = {1, 2, 1023, 40000, 65534, 65535};

#define PORTS (sizeof(ports) / sizeof(ports[0]))

static void finds(const char *client, const char *vip, const char *listener, int to, bool udp)
{
	__u16 member[PORTS];
	struct hits h;

	for (size_t k = 0; k < PORTS; k++)
		member[k] = begin(client, vip, ports[k], to, udp);
	h = find(client, listener, "web");
	cr_assert_eq(h.n, PORTS, "%zu flows", h.n);
	for (size_t k = 0; k < PORTS; k++)
		expect(&h, k, ports[k], to, member[k]);
}

Test(flows, of_a_client_by_every_port_it_can_have)
{
	begin_others("10.2.0.1", 80, OTHERS);
	begin_others("fd02::1", 80, OTHERS);
	finds(CLIENT4, "10.2.0.1", "10.2.0.1:80", 80, false);
	finds(CLIENT4, "10.2.0.1", "10.2.0.1:53/udp", 53, true);
	finds(CLIENT6, "fd02::1", "[fd02::1]:80", 80, false);
	cr_assert_eq(find("10.1.0.10", "10.2.0.1:80", "web").n, 0, "nobody's neighbour");
	cr_assert_eq(find(CLIENT4, "10.2.0.1:80", "any").n, 0, "not of another service");
}

Test(flows, of_a_listener_of_every_port)
{
	static const int to[] = {22, 443, 9000};
	__u16 member[3], far;
	struct hits h;

	begin_others("10.2.0.2", 7, 20);
	for (size_t k = 0; k < 3; k++)
		member[k] = begin(CLIENT4, "10.2.0.2", 1234, to[k], false);
	far = begin(CLIENT4, "10.2.0.2", 65535, 53, true);
	h = find(CLIENT4, "10.2.0.2:*", "any");
	cr_assert_eq(h.n, 3, "%zu flows", h.n);
	for (size_t k = 0; k < 3; k++)
		expect(&h, k, 1234, to[k], member[k]);
	h = find(CLIENT4, "10.2.0.2:*/udp", "any");
	cr_assert_eq(h.n, 1);
	expect(&h, 0, 65535, 53, far);
	far = begin(CLIENT6, "fd02::2", 5, 65535, false);
	h = find(CLIENT6, "[fd02::2]:*", "any");
	cr_assert_eq(h.n, 1);
	expect(&h, 0, 5, 65535, far);
	/* a port that is said is looked for in the quick way */
	h = find(CLIENT4, "10.2.0.2:443", "any");
	cr_assert_eq(h.n, 1);
	expect(&h, 0, 1234, 443, member[1]);
}

/* 8192 buckets leave 2^20 hashes to try for each word. */
Test(flows, too_many_of_every_port_are_refused)
{
	union poise_addr a = addr(CLIENT4);
	struct poise_listener_conf l;
	struct poise_error err = {0};
	struct hits h = {0};

	for (int k = 0; k < 1100; k++)
		begin("10.1.7.7", "10.2.0.2", 1 + k, 80, false);
	poise_parse_listener("10.2.0.2:*", &l, NULL);
	cr_assert_eq(instance_client_flows(n.i, &a, &l, native_service(&n, "any"), take, &h, &err),
		     -1);
	cr_assert_eq(err.code, POISE_E_FULL);
	cr_assert_eq(h.n, 0);
}

static __u64 draw(void)
{
	return (__u64)mrand48() << 32 ^ (__u64)mrand48();
}

Test(flows, the_hash_has_an_inverse)
{
	srand48(7);
	for (int k = 0; k < 100000; k++) {
		union poise_addr src = {.q = {draw(), draw()}}, dst = {.q = {draw(), draw()}};
		__u64 k0 = draw(), k1 = draw(), hash;
		__u32 ports = (__u32)draw(), got = 0;
		__u8 proto = k & 1 ? IPPROTO_TCP : IPPROTO_UDP;

		hash = poise_flow_hash(&src, &dst, ports, proto, k0, k1);
		cr_assert(poise_flow_ports(&src, &dst, hash, proto, k0, k1, &got));
		cr_assert_eq(got, ports);
		cr_assert_not(poise_flow_ports(&src, &dst, hash, proto ^ 0x17, k0, k1, &got));
	}
}

static bool count(void *ctx, __u64 word)
{
	(void)word;
	return ++*(int *)ctx < 3;
}

Test(flows, a_listing_can_be_ended)
{
	int seen = 0;

	for (int k = 0; k < 10; k++)
		begin(CLIENT4, "10.2.0.1", 100 + k, 80, false);
	instance_flows(n.i, count, &seen);
	cr_assert_eq(seen, 3);
}

#define FULL	     (4u << 20) /* slots, as many as there are by default */
#define CLIENT_MS    50		/* of CPU that a listener may cost */
#define SLOW_MACHINE 5		/* times that, since tests share theirs */
#define LOOKS	     5		/* the quickest counts */

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Other flows of the service in every slot. */
static void fill_table(void)
{
	__u16 member = native_member(&n, "10.3.0.1");
	__u64 random = 1;

	for (__u32 b = 0; b < n.i->flow_buckets; b++)
		for (int w = 0; w < POISE_BUCKET_WORDS; w++) {
			random = poise_mix(random + POISE_GOLD);
			n.i->flows[b].word[w] = random >> 32 << 32 |
						(__u64)member << POISE_WORD_MEMBER_SHIFT |
						POISE_FLOW_EST << POISE_WORD_STATE_SHIFT;
		}
}

Test(flows, of_a_client_in_a_full_table_take_little_time)
{
	double least = 1e9;

	native_close(&n);
	native_open(&n, yaml, FULL);
	fill_table();
	for (int look = 0; look < LOOKS; look++) {
		double begin = cpu_ms(), took;

		find(CLIENT4, "10.2.0.1:80", "web");
		took = cpu_ms() - begin;
		least = took < least ? took : least;
	}
	fprintf(stderr, "a listener in a full table of 4 M slots: %.1f ms\n", least);
	cr_expect_lt(least, CLIENT_MS * SLOW_MACHINE);
}
