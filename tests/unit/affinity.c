// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Affinity: a client's new flows follow its last one, under every policy, until the timeout or
 * until that backend may not be chosen.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/hash.h"
#include "maps/option.h"
#include "tests/support/native.h"

#define TIMEOUT	 100
#define BACKENDS 8
#define FLOWS	 64

static const char yaml[] =
	"services:\n"
	"  - name: web\n"
	"    listen: [ '10.2.0.1:80', '10.2.0.1:53/udp', '[fd02::1]:80', '10.2.0.3:0' ]\n"
	"    forward: ipip\n"
	"    affinity: yes\n"
	"    affinity-timeout: 100s\n"
	"    affinity-prefix4: 24\n"
	"    affinity-prefix6: 64\n"
	"    backends: [ { address: 10.3.0.1 }, { address: 10.3.0.2 }, { address: 10.3.0.3 },\n"
	"                { address: 10.3.0.4 }, { address: 10.3.0.5 }, { address: 10.3.0.6 },\n"
	"                { address: 10.3.0.7 }, { address: 10.3.0.8 } ]\n"
	"  - name: other\n"
	"    listen: [ '10.2.0.2:80' ]\n"
	"    forward: ipip\n"
	"    affinity: yes\n"
	"    backends: [ { address: 10.3.0.9 }, { address: 10.3.0.10 } ]\n";

static struct native n;
static __u16 service;

static void setup(void)
{
	service = native_open_web(&n, yaml, 65536);
}

static void teardown(void)
{
	native_close(&n);
}

TestSuite(affinity, .init = setup, .fini = teardown);

static struct config_service *web(void)
{
	return native_web(&n);
}

static struct config_member *conf_of(__u16 id)
{
	for (size_t m = 0; m < web()->members; m++)
		if (web()->member[m].id == id)
			return &web()->member[m];
	cr_assert_fail("there is no backend %u", id);
	return NULL;
}

/* Where a packet of client 10.1.NET.HOST goes. */
static __u16 to_of(int net, int host, int port, const char *flags)
{
	char words[96];

	snprintf(words, sizeof(words), "ip4 10.1.%d.%d > 10.2.0.1 | tcp %d > 80 %s", net, host,
		 port, flags);
	return native_to(&n, words);
}

/* The one word of affinity; NULL if there is none. */
static __u64 *client_word(void)
{
	__u64 *found = NULL;

	for (__u32 b = 0; b < n.i->meta->flow_buckets; b++)
		for (int k = 0; k < POISE_BUCKET_WORDS; k++) {
			__u64 *w = &n.i->flows[b].word[k];

			if (POISE_WORD_STATE(*w) != POISE_FLOW_AFFINITY)
				continue;
			cr_assert(!found, "more than one word of a client");
			found = w;
		}
	return found;
}

static struct poise_bucket *bucket_of(__u64 *word)
{
	cr_assert(word, "there is no word of a client");
	return (struct poise_bucket *)((unsigned long)word & ~(sizeof(struct poise_bucket) - 1));
}

static void forget(void)
{
	memset(n.i->flows, 0, n.i->meta->flow_buckets * sizeof(*n.i->flows));
}

/* Under which a client's next flow would hardly go where its last one went by itself. */
static void use_random(void)
{
	web()->conf.policy = POISE_RANDOM;
	native_commit(&n);
}

/* ---- under every policy -----------------------------------------------------------------------*/

static unsigned int bits(__u32 mask)
{
	return (unsigned int)__builtin_popcount(mask);
}

static void every_flow_follows(const char *policy)
{
	__u32 used = 0;

	forget();
	for (int net = 0; net < FLOWS; net++) {
		__u16 to = to_of(net, 1, 1000, "S");

		cr_assert(to, "%s: net %d got no backend", policy, net);
		used |= 1u << to;
		for (int port = 1; port < 20; port++)
			cr_assert_eq(to_of(net, port, 1000 + port, "S"), to, "%s: net %d port %d",
				     policy, net, port);
	}
	cr_assert_geq(bits(used), BACKENDS - 2, "%s: 64 clients on %u backends", policy,
		      bits(used));
}

Test(affinity, every_policy)
{
	const struct option *o = option_find(OPTION_SERVICE, "policy");

	for (int policy = 0; policy < POISE_POLICIES; policy++) {
		web()->conf.policy = (__u8)policy;
		native_commit(&n);
		every_flow_follows(option_word(o, policy));
	}
}

Test(affinity, clients_spread_as_the_policy_does)
{
	unsigned int got[NATIVE_BACKENDS + 1] = {0};

	use_random();
	for (int net = 0; net < 4000; net++) {
		char words[96];

		snprintf(words, sizeof(words), "ip4 10.%d.%d.1 > 10.2.0.1 | tcp 1 > 80 S",
			 16 + net / 256, net % 256);
		got[native_to(&n, words)]++;
	}
	/* 500 each; 5 standard deviations are 105 */
	for (size_t m = 0; m < BACKENDS; m++) {
		__u16 id = web()->member[m].id;

		cr_expect(got[id] > 395 && got[id] < 605, "backend %u got %u", id, got[id]);
	}
}

/* ---- who is a client --------------------------------------------------------------------------*/

Test(affinity, one_client_is_one_on_all_listeners)
{
	__u16 to;

	use_random();
	to = native_to(&n, "ip4 10.1.0.9 > 10.2.0.1 | tcp 1 > 80 S");
	for (int port = 100; port < 120; port++) {
		char words[96];

		snprintf(words, sizeof(words), "ip4 10.1.0.77 > 10.2.0.1 | udp %d > 53", port);
		cr_assert_eq(native_to(&n, words), to, "UDP from %d", port);
		snprintf(words, sizeof(words), "ip4 10.1.0.77 > 10.2.0.3 | tcp 7 > %d S", port);
		cr_assert_eq(native_to(&n, words), to, "any port: %d", port);
	}
	cr_assert(client_word());
}

Test(affinity, a_network_of_ipv6_is_a_client)
{
	__u16 to;
	__u32 others = 0;

	use_random();
	to = native_to(&n, "ip6 fd01:0:0:7::1 > fd02::1 | tcp 1 > 80 S");
	for (int host = 2; host < 30; host++) {
		char words[96];

		snprintf(words, sizeof(words), "ip6 fd01:0:0:7:%x::9 > fd02::1 | tcp 1 > 80 S",
			 host);
		cr_assert_eq(native_to(&n, words), to, "host %d", host);
		snprintf(words, sizeof(words), "ip6 fd01:0:0:%x::1 > fd02::1 | tcp 1 > 80 S",
			 host + 7);
		others |= 1u << native_to(&n, words);
	}
	cr_assert_gt(bits(others), 2, "other networks share it");
}

Test(affinity, whole_addresses_are_clients_by_default)
{
	union poise_addr a = {.b = {[10] = 0xff, 0xff, 10, 1, 0, 1}}, b = a;
	__u64 of_a = poise_affinity_hash(&a, 128, 1, 1, 2);

	for (int bit = 0; bit < 32; bit++) {
		b = a;
		b.b[15 - bit / 8] ^= (__u8)(1u << bit % 8);
		cr_assert_neq(poise_affinity_hash(&b, 128, 1, 1, 2), of_a, "bit %d", bit);
		for (int length = 96; length <= 128; length++)
			cr_assert_eq(poise_affinity_hash(&b, length, 1, 1, 2) ==
					     poise_affinity_hash(&a, length, 1, 1, 2),
				     length <= 127 - bit, "bit %d of %d", bit, length);
	}
	cr_assert_neq(poise_affinity_hash(&a, 128, 2, 1, 2), of_a, "the service is in it");
	cr_assert_neq(poise_affinity_hash(&a, 128, 1, 3, 2), of_a, "the key is in it");
}

Test(affinity, services_have_their_own)
{
	__u16 to = native_to(&n, "ip4 10.1.0.9 > 10.2.0.1 | tcp 1 > 80 S");
	__u16 elsewhere = native_to(&n, "ip4 10.1.0.9 > 10.2.0.2 | tcp 1 > 80 S");

	cr_assert_neq(to, elsewhere);
	cr_assert_eq(n.i->members[elsewhere].service, native_service(&n, "other"));
	cr_assert_eq(native_to(&n, "ip4 10.1.0.9 > 10.2.0.1 | tcp 2 > 80 S"), to);
}

/* ---- how long ---------------------------------------------------------------------------------*/

Test(affinity, lasts_from_the_last_new_flow_on)
{
	__u16 to;
	int moved = 0;

	use_random();
	to = to_of(0, 1, 1, "S");
	for (int k = 1; k <= 5; k++) {
		run_set_seconds(NATIVE_T0 + (__u32)k * (TIMEOUT - 1));
		cr_assert_eq(to_of(0, 1, 1 + k, "S"), to, "flow %d", k);
	}
	/* what goes on does not prolong it */
	run_set_seconds(NATIVE_T0 + 5 * (TIMEOUT - 1) + TIMEOUT / 2);
	cr_assert_eq(to_of(0, 1, 6, "A"), to);
	for (int k = 0; k < 20; k++) {
		run_set_seconds(NATIVE_T0 + 10000 + (__u32)k * (TIMEOUT + 1));
		moved += to_of(0, 1, 100 + k, "S") != to;
	}
	cr_assert_gt(moved, 10, "of 20 flows after the timeout %d went elsewhere", moved);
}

Test(affinity, is_swept_when_it_is_over)
{
	struct poise_sweep io = {.kind = POISE_SWEEP_EXPIRED};
	__u16 to = to_of(0, 1, 1, "S");

	cr_assert_eq(POISE_WORD_MEMBER(*client_word()), to);
	cr_assert_eq(native_gauge(&n, to), 1, "only the flow is counted");
	run_set_seconds(NATIVE_T0 + TIMEOUT);
	native_sweep(&n, &io);
	cr_assert(client_word());
	run_set_seconds(NATIVE_T0 + TIMEOUT + 1);
	native_sweep(&n, &io);
	cr_assert_null(client_word());
	cr_assert_eq(native_gauge(&n, to), 0);
}

Test(affinity, is_forgotten_when_it_is_switched_off)
{
	struct poise_sweep io = {.kind = POISE_SWEEP_EXPIRED};

	to_of(0, 1, 1, "S");
	web()->conf.affinity = 0;
	native_commit(&n);
	run_set_seconds(NATIVE_T0 + 2);
	native_sweep(&n, &io);
	cr_assert_null(client_word());
}

Test(affinity, of_many_hours)
{
	__u16 to;

	use_random();
	web()->conf.affinity_timeout = 16 * 3600 * 1000;
	native_commit(&n);
	to = to_of(0, 1, 1, "S");
	for (int k = 0; k < 20; k++) {
		run_set_seconds(NATIVE_T0 + (__u32)k * 16 * 3600);
		cr_assert_eq(to_of(0, 1, 100 + k, "S"), to, "%d hours", k * 16);
	}
}

/* ---- what ends it -----------------------------------------------------------------------------*/

static void ends(const char *why, void (*change)(__u16 id), void (*undo)(__u16 id))
{
	__u16 to, then;

	use_random();
	forget();
	to = to_of(0, 1, 1, "S");
	change(to);
	then = to_of(0, 1, 2, "S");
	cr_assert(then && then != to, "%s: the client's next flow went to %u, its last to %u", why,
		  then, to);
	for (int port = 3; port < 10; port++)
		cr_assert_eq(to_of(0, 1, port, "S"), then, "%s: port %d", why, port);
	undo(to);
	for (int port = 10; port < 20; port++)
		cr_assert_eq(to_of(0, 1, port, "S"), then, "%s: it went back", why);
}

static void drain(__u16 id)
{
	conf_of(id)->conf.admin = POISE_DRAINING;
	native_commit(&n);
}

static void enable(__u16 id)
{
	conf_of(id)->conf.admin = POISE_ENABLED;
	conf_of(id)->conf.health = POISE_HEALTH_NONE;
	conf_of(id)->conf.weight = 1;
	native_commit(&n);
}

static void down(__u16 id)
{
	conf_of(id)->conf.health = POISE_HEALTH_DOWN;
	native_commit(&n);
}

static void disable(__u16 id)
{
	conf_of(id)->conf.admin = POISE_DISABLED;
	native_commit(&n);
}

static void no_weight(__u16 id)
{
	conf_of(id)->conf.weight = 0;
	native_commit(&n);
}

static void no_hop(__u16 id)
{
	n.i->members[id].nexthop = 0;
}

Test(affinity, ends_with_its_backend)
{
	ends("draining", drain, enable);
	ends("down", down, enable);
	ends("disabled", disable, enable);
	ends("weight 0", no_weight, enable);
	ends("no next hop", no_hop, enable);
}

/* The flows of UDP that a backend lets go of stay together. */
Test(affinity, flows_of_a_down_backend_move_together)
{
	__u16 to, then = 0;

	use_random();
	to = native_to(&n, "ip4 10.1.0.1 > 10.2.0.1 | udp 1 > 53");
	cr_assert_eq(native_to(&n, "ip4 10.1.0.1 > 10.2.0.1 | udp 2 > 53"), to);
	down(to);
	then = native_to(&n, "ip4 10.1.0.1 > 10.2.0.1 | udp 2 > 53");
	cr_assert(then && then != to);
	cr_assert_eq(native_to(&n, "ip4 10.1.0.1 > 10.2.0.1 | udp 1 > 53"), then);
}

/* A removed backend's id is not given away while words name it; they count for nothing. */
Test(affinity, ends_with_a_removed_backend)
{
	__u16 to, then;

	use_random();
	to = to_of(0, 1, 1, "S");
	config_member_del(web(), conf_of(to));
	native_commit(&n);
	then = to_of(0, 1, 2, "S");
	cr_assert(then && then != to);
	cr_assert_eq(POISE_WORD_MEMBER(*client_word()), then);
}

/* ---- among the flows --------------------------------------------------------------------------*/

/* What goes on without a record goes by the table, as it began when there was no room. */
Test(affinity, a_flow_in_the_middle_goes_by_the_table)
{
	__u16 to, base;

	base = to_of(0, 1, 7, "A");
	forget();
	for (int port = 100;; port++) {
		to = to_of(0, 1, port, "S");
		if (to != base)
			break;
		forget();
	}
	cr_assert_eq(to_of(0, 1, 7, "A"), base);
	cr_assert_eq(to_of(0, 1, 8, "S"), to);
}

/* Words with the tag of a flow and the tag of a client, in one bucket, are not mixed up. */
Test(affinity, is_no_flow_by_another_name)
{
	__u64 *client, *slot, other;
	struct poise_bucket *b;
	__u16 to, elsewhere;

	use_random();
	to = to_of(0, 1, 1, "S");
	elsewhere = to == web()->member[0].id ? web()->member[1].id : web()->member[0].id;
	client = client_word();
	b = bucket_of(client);
	/* an established flow of this very tag, in front of the client's word */
	other = *client;
	*client = 0;
	slot = &b->word[0];
	*slot = (other >> POISE_WORD_TAG_SHIFT << POISE_WORD_TAG_SHIFT) |
		(__u64)elsewhere << POISE_WORD_MEMBER_SHIFT |
		POISE_FLOW_EST << POISE_WORD_STATE_SHIFT | (NATIVE_T0 & POISE_WORD_STAMP);
	b->word[3] = other;
	run_set_seconds(NATIVE_T0 + 1);
	cr_assert_eq(to_of(0, 1, 2, "S"), to, "taken for the client's");
	cr_assert_eq(POISE_WORD_STATE(*slot), POISE_FLOW_EST);
	cr_assert_eq(POISE_WORD_STATE(b->word[3]), POISE_FLOW_AFFINITY);
}

Test(affinity, a_client_that_has_no_room_is_the_policys)
{
	struct poise_bucket *b;
	__u32 used = 0;

	use_random();
	to_of(0, 1, 1, "S");
	b = bucket_of(client_word());
	for (__u64 k = 0; k < POISE_BUCKET_WORDS; k++)
		b->word[k] = (k + 1) << 33 | (__u64)web()->member[0].id << POISE_WORD_MEMBER_SHIFT |
			     POISE_FLOW_EST << POISE_WORD_STATE_SHIFT |
			     (NATIVE_T0 & POISE_WORD_STAMP);
	for (int port = 100; port < 130; port++)
		used |= 1u << to_of(0, 1, port, "S");
	cr_assert_gt(bits(used), 2);
	cr_assert_geq(run_drops(service)->count[POISE_R_UNRECORDED], 30);
	cr_assert_null(client_word());
}

/* ---- configuration ----------------------------------------------------------------------------*/

Test(affinity, every_flow_is_recorded)
{
	cr_assert_eq(native_record(&n, service)->track, POISE_TRACK_ALWAYS);
	web()->conf.affinity = 0;
	native_commit(&n);
	cr_assert_eq(native_record(&n, service)->track, POISE_TRACK_AUTO);
	cr_assert_eq(native_record(&n, service)->affinity, 0);
}

Test(affinity, needs_records)
{
	struct poise_error err = {0};

	web()->conf.track = POISE_TRACK_OFF;
	cr_assert(config_validate(n.cfg, &err));
	cr_assert(strstr(err.message, "affinity"), "%s", err.message);
}
