// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * map check knows mode nat: after real packets nothing differs, and what is then changed by hand in
 * slots, links and bits of ports is told, by name. And each bit of them that means something.
 */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "maps/hash.h"
#include "maps/ports.h"
#include "maps/text.h"
#include "tests/support/native.h"

static const char yaml[] =
	"services:\n"
	"  - { name: a, listen: [ '10.2.0.1:80', '10.2.0.1:53/udp' ], forward: nat,\n"
	"      backends: [ 10.3.0.1, 'fd03::2' ] }\n"
	"  - { name: b, listen: [ '[fd02::2]:80' ], forward: nat, backends: [ 10.3.0.3 ] }\n";

#define FLOWS	  24
#define FREE_PORT 20500 /* long after those of the flows */

static struct native n;
static char said[2048]; /* sentences, a line each */

static void begin(__u32 groups)
{
	static const char *const kinds[] = {"ip4 10.1.0.9 > 10.2.0.1 | udp %d > 53",
					    "ip4 10.1.0.9 > 10.2.0.1 | tcp %d > 80 S",
					    "ip6 fd01::9 > fd02::2 | tcp %d > 80 S"};
	char words[100];

	native_open_groups(&n, yaml, 1024, groups);
	for (int k = 0; k < FLOWS; k++) {
		snprintf(words, sizeof(words), kinds[k % 3], 1000 + k);
		cr_assert_eq(native_send(&n, NULL, words), XDP_TX, "%s", words);
	}
}

static void setup(void)
{
	begin(1);
}

static void teardown(void)
{
	native_close(&n);
}

TestSuite(check_slots, .init = setup, .fini = teardown);

static void collect(void *ctx, const char *map, const char *sentence)
{
	size_t used = strlen(said);

	(void)ctx;
	snprintf(said + used, sizeof(said) - used, "%s: %s\n", map, sentence);
}

static int check(void)
{
	said[0] = '\0';
	return instance_check(n.i, collect, NULL, NULL);
}

/* The first of the flows' slots, or the k-th. */
static __u32 used(int k)
{
	for (__u32 at = NATIVE_PORT_LOW; at <= NATIVE_PORT_HIGH; at++)
		if (POISE_WORD_STATE(n.i->slots[at].head) && !k--)
			return at;
	cr_assert_fail("there are not so many flows");
	return 0;
}

/* The link that leads there. */
static __u64 *link_of(__u32 at)
{
	for (__u32 b = 0; b < POISE_LINK_BUCKETS(1); b++)
		for (int k = 0; k < POISE_BUCKET_WORDS; k++) {
			__u64 *word = &n.i->links[b].word[k];

			if (*word && POISE_LINK_SLOT(*word) == at)
				return word;
		}
	cr_assert_fail("no link leads to port %u", at);
	return NULL;
}

/* A free word of the bucket that this one is in. */
static __u64 *beside(__u64 *word)
{
	struct poise_bucket *b = &n.i->links[(struct poise_bucket *)word - n.i->links];

	for (int k = POISE_BUCKET_WORDS - 1; k >= 0; k--)
		if (!b->word[k])
			return &b->word[k];
	cr_assert_fail("the bucket is full");
	return NULL;
}

static void flip(__u32 map, __u32 port)
{
	*instance_ports_word(n.i, map, port / 64) ^= 1ull << (port % 64);
}

/* ---- by hand ----------------------------------------------------------------------------------*/

static void bit_lost(void)
{
	flip(0, used(3));
}

static void port_lost(void)
{
	flip(0, FREE_PORT);
}

static void barred_port_free(void)
{
	flip(0, 80);
}

static void summary_lost(void)
{
	*instance_ports_word(n.i, 0, POISE_PORT_WORDS + FREE_PORT / 64 / 64) = 0;
}

static void left_filling(void)
{
	struct poise_slot *s = &n.i->slots[FREE_PORT];

	flip(0, FREE_PORT);
	s->head = (__u64)POISE_SLOT_FILLING << POISE_WORD_STATE_SHIFT;
}

static void slot_lost(void)
{
	n.i->slots[used(2)].head = 0;
}

static void link_lost(void)
{
	*link_of(used(1)) = 0;
}

static void link_to_nowhere(void)
{
	n.i->links[7].word[7] = POISE_LINK(0x123456789ull << 24, POISE_PORTS + 5);
}

static void link_to_a_free_port(void)
{
	n.i->links[7].word[7] = POISE_LINK(0x123456789ull << 24, FREE_PORT);
}

static void link_to_another(void)
{
	__u64 *word = link_of(used(1));

	*beside(word) = (*word ^ 1ull << 40);
}

static void link_twice(void)
{
	__u64 *word = link_of(used(1));

	*beside(word) = *word;
}

/* The same client's flow by another port, as two CPUs that begin it at once might leave it. */
static void flow_twice(void)
{
	__u32 at = used(1);
	__u64 *word = link_of(at);

	n.i->slots[FREE_PORT] = n.i->slots[at];
	n.i->ways[FREE_PORT] = n.i->ways[at];
	flip(0, FREE_PORT);
	*beside(word) = (*word & ~(__u64)((1u << POISE_LINK_SLOT_BITS) - 1)) | FREE_PORT;
}

static void of_another_service(void)
{
	n.i->slots[used(1)].service ^= 3;
}

Test(check_slots, what_is_broken_by_hand_is_named)
{
	static const struct {
		void (*breaks)(void);
		const char *says;
	} cases[] = {
		{bit_lost, "slots: port 20003 of group 0 has a flow, but counts as free\n"},
		{port_lost, "slots: port 20500 of group 0 counts as taken, but has no flow\n"},
		{barred_port_free, "slots: port 80 of group 0 is barred, but counts as free\n"},
		{summary_lost, "ports: ports 20480 to 20543 of group 0 are not all taken, but the "
			       "summary says so\n"},
		{left_filling, "port 20500 of group 0 was taken for a flow that has not begun\n"},
		{slot_lost, "slots: port 20002 of group 0 counts as taken, but has no flow\n"},
		{slot_lost, "for port 20002 of group 0, leads to a port that has no flow\n"},
		{link_lost, "slots: port 20001 of group 0 has a flow that no link leads to\n"},
		{link_to_nowhere,
		 "links: word 7 of bucket 7, for port 5 of group 1, leads to no slot\n"},
		{link_to_a_free_port, "links: word 7 of bucket 7, for port 20500 of group 0, leads "
				      "to a port that has no flow\n"},
		{link_to_another, "for port 20001 of group 0, leads to the port of another flow\n"},
		{link_twice, "for port 20001 of group 0, leads where another link leads\n"},
		{flow_twice, "for port 20500 of group 0, leads to a flow that has another slot\n"},
		{of_another_service, "slots: port 20001 of group 0 has a flow of another service "
				     "than its backend's\n"},
	};

	cr_assert_eq(check(), 0, "%s", said);
	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		cases[k].breaks();
		cr_assert_gt(check(), 0, "missed: %s", cases[k].says);
		cr_assert(strstr(said, cases[k].says), "%s\nis not\n%s", said, cases[k].says);
		teardown();
		setup();
	}
}

/* Its group is that of the backend and the address that it is sent from. */
Test(check_slots, answers_that_would_be_looked_for_elsewhere)
{
	int told = 0;

	teardown();
	begin(4);
	cr_assert_eq(check(), 0, "%s", said);
	for (__u32 at = 0; at < 4 * POISE_PORTS; at++) {
		if (!POISE_WORD_STATE(n.i->slots[at].head))
			continue;
		n.i->ways[at].source.b[15] ^= 1;
		told += check() == 1 &&
			strstr(said, "has a flow whose answers are looked for in another group\n");
		n.i->ways[at].source.b[15] ^= 1;
	}
	cr_assert_eq(told, FLOWS, "addresses that follow one another have other groups");
}

/* ---- mode local: a link for either direction
 * ---------------------------------------------------*/

static const char local[] = "services:\n"
			    "  - { name: a, listen: '10.2.0.1:80', forward: local, backends: "
			    "[ 10.3.0.1 ] }\n";

static __u32 bucket(const char *from, const char *to, __u32 ports)
{
	const __u64 *key = n.i->meta->hash_key;
	union poise_addr src, dst;

	cr_assert_eq(poise_parse_addr(from, &src, NULL) | poise_parse_addr(to, &dst, NULL), 0);
	return poise_flow_hash(&src, &dst, ports, IPPROTO_TCP, key[0], key[1]) &
	       (POISE_LINK_BUCKETS(1) - 1);
}

/* A client's flow whose two links are in one bucket begins. One port in 16,384 has such a one. */
static void begin_in_one_bucket(void)
{
	char client[32], words[100];

	for (int k = 1; k < 255; k++) {
		snprintf(client, sizeof(client), "10.1.0.%d", k);
		for (__u32 port = 1024; port < 65536; port++) {
			__u32 ports = __builtin_bswap16(port) | __builtin_bswap16(80) << 16;

			if (bucket(client, "10.2.0.1", ports) != bucket(client, "10.3.0.1", ports))
				continue;
			snprintf(words, sizeof(words), "ip4 %s > 10.2.0.1 | tcp %u > 80 S", client,
				 port);
			cr_assert_eq(native_send(&n, NULL, words), XDP_PASS, "%s", words);
			return;
		}
	}
	cr_assert_fail("no flow has both links in one bucket");
}

Test(check_slots, both_links_of_a_flow_in_one_bucket)
{
	__u64 *word, *free;

	teardown();
	native_open_groups(&n, local, 1024, 1);
	begin_in_one_bucket();
	word = link_of(used(0));
	cr_assert_neq(word[1], 0, "the other link is beside it");
	cr_assert_eq(check(), 0, "%s", said);
	free = beside(word);
	for (int k = 0; k < 2; k++) {
		*free = word[k];
		cr_assert_eq(check(), 1, "%s", said);
		cr_assert(strstr(said, "leads where another link leads\n"), "%s", said);
	}
}

/* ---- bit by bit -------------------------------------------------------------------------------*/

static void must_find(__u64 *word, __u64 bits, const char *what)
{
	for (int bit = 0; bit < 64; bit++) {
		if (!(bits >> bit & 1))
			continue;
		*word ^= 1ull << bit;
		cr_assert_gt(check(), 0, "bit %d of %s", bit, what);
		*word ^= 1ull << bit;
	}
}

Test(check_slots, every_bit_that_means_something)
{
	__u32 at = used(4);
	struct poise_slot *s = &n.i->slots[at];
	__u64 *whole = (__u64 *)s;

	must_find(link_of(at), ~0ull, "a link");
	must_find(&n.i->links[9].word[0], ~0ull, "a free link");
	must_find(instance_ports_word(n.i, 0, 1), ~0ull, "barred ports");
	must_find(instance_ports_word(n.i, 0, NATIVE_PORT_LOW / 64), ~0ull, "ports in use");
	must_find(instance_ports_word(n.i, 0, FREE_PORT / 64), ~0ull, "free ports");
	/* client, address, and, of the rest, ports and service */
	for (int k = 1; k < 5; k++)
		must_find(&whole[k], ~0ull, "a slot's addresses");
	must_find(&whole[5], 0xffffffffffffull, "a slot's ports and service");
	/* Of the head the protocol and the backend; state and stamp are the packets' to say. */
	must_find(&s->head, 0x1ffff0000ull, "a slot's head");
	cr_assert_eq(check(), 0, "%s", said);
}
