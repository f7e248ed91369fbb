// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Addresses out of a pool: what a pool can be, who gets which, what stays over a restart, what was
 * asked for, what is shared, and what is said when there is none.
 */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/kube/pool.h"
#include "maps/hash.h"
#include "maps/text.h"
#include "tests/support/addresses.h"
#include "tests/support/longest.h"

#define CLAIMS 4096
#define GOT    (2 * POISE_ADDR_TEXT + 2)

static struct kube_pool pool;
static struct kube_findings found;
static struct kube_pool_claim claim[CLAIMS];
static size_t claims;

TestSuite(kube_pool, .timeout = TEST_LONGEST);

static void given(const char *text)
{
	struct poise_error err = {0};

	cr_assert_eq(kube_pool_parse(&pool, text, &err), 0, "%s: %s", err.object, err.message);
}

/* A Service of IPv4, younger than those before it. */
static struct kube_pool_claim *service(const char *name)
{
	struct kube_pool_claim *c = &claim[claims++];

	*c = (struct kube_pool_claim){
		.about = {.kind = KUBE_SERVICE, .ns = "shop", .name = name, .uid = name},
		.created = (__s64)claims,
		.need = {KUBE_POOL_NEEDED, KUBE_POOL_UNUSED},
	};
	return c;
}

static void has(struct kube_pool_claim *c, const char *text)
{
	c->have = addresses(text, &c->haves);
}

static void asks(struct kube_pool_claim *c, const char *text)
{
	c->want = addresses(text, &c->wants);
}

static void both(struct kube_pool_claim *c, enum kube_pool_need second)
{
	c->need[0] = KUBE_POOL_NEEDED;
	c->need[1] = second;
}

static void assign(void)
{
	kube_findings_free(&found);
	kube_pool_assign(&pool, claim, claims, NULL, 0, &found);
}

static const char *got(const struct kube_pool_claim *c)
{
	static char buf[GOT];
	char text[POISE_ADDR_TEXT];

	buf[0] = '\0';
	for (size_t k = 0; k < c->gots; k++)
		snprintf(buf + strlen(buf), sizeof(buf) - strlen(buf), "%s%s", k ? " " : "",
			 poise_format_addr(&c->got[k], text, sizeof(text)));
	return buf;
}

/* The n-th thing that is amiss: whose, why, and a piece of what is said. */
static void amiss(size_t n, const char *name, enum kube_reason reason, const char *piece)
{
	const struct kube_finding *f = &found.finding[n];

	cr_assert_lt(n, found.n, "only %zu findings", found.n);
	cr_assert_str_eq(f->name, name);
	cr_assert_str_eq(f->ns, "shop");
	cr_assert_eq(f->reason, reason, "%s", kube_reason_word(f->reason));
	cr_assert(strstr(f->message, piece), "%s", f->message);
}

/* ---- pools ------------------------------------------------------------------------------------*/

Test(kube_pool, ranges_of_both_families)
{
	union poise_addr a;

	given("192.0.2.0/30,198.51.100.7-198.51.100.9,203.0.113.1,2001:db8::/"
	      "126,2001:db8:1::5-2001:db8:1::9");
	cr_assert_eq(pool.ranges, 5);
	for (const char *const *in =
		     (const char *const[]){"192.0.2.0", "192.0.2.3", "198.51.100.7", "198.51.100.9",
					   "203.0.113.1", "2001:db8::", "2001:db8::3",
					   "2001:db8:1::9", NULL};
	     *in; in++) {
		cr_assert_eq(poise_parse_addr(*in, &a, NULL), 0);
		cr_assert(kube_pool_has(&pool, &a), "%s", *in);
	}
	for (const char *const *out =
		     (const char *const[]){"192.0.2.4", "192.0.1.255", "198.51.100.6",
					   "198.51.100.10", "203.0.113.2", "2001:db8::4",
					   "2001:db8:1::4", "2001:db8:1::a", NULL};
	     *out; out++) {
		cr_assert_eq(poise_parse_addr(*out, &a, NULL), 0);
		cr_assert_not(kube_pool_has(&pool, &a), "%s", *out);
	}
}

Test(kube_pool, what_is_no_pool_is_refused)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{"", "not an IPv4"},
		{"192.0.2.0/24,", "not an IPv4"},
		{"192.0.2.1/24", "bits set"},
		{"192.0.2.0/33", "length"},
		{"192.0.2.9-192.0.2.1", "before 192.0.2.9"},
		{"192.0.2.1-2001:db8::1", "family"},
		{"192.0.2.1-", "not an IPv4"},
		{"-192.0.2.1", "not an IPv4"},
		{"192.0.2.1-192.0.2.3-192.0.2.5", "not an IPv4"},
		{"224.0.0.1-224.0.0.9", "multicast"},
		{"web", "not an IPv4"},
		{"192.0.2.0/24,192.0.2.7", "that a range before it has"},
		{"192.0.2.7,192.0.2.0/24", "that a range before it has"},
		{"2001:0db8:0000:0000:0000:0000:0000:0001-2001:0db8:0000:0000:0000:0000:0000:0001-"
		 "2001:0db8:0000:0000:0000:0000:0000:0001",
		 "longer"},
	};

	given("192.0.2.1");
	for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
		struct poise_error err = {0};

		cr_assert_eq(kube_pool_parse(&pool, wrong[k].text, &err), -1, "%s", wrong[k].text);
		cr_assert(strstr(err.message, wrong[k].why), "%s: %s", wrong[k].text, err.message);
		cr_assert_eq(pool.ranges, 1, "it is as it was");
	}
}

Test(kube_pool, so_many_ranges_and_no_more)
{
	struct poise_error err = {0};
	char text[KUBE_POOL_RANGES * 16] = "";

	for (int k = 0; k < KUBE_POOL_RANGES; k++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s192.0.2.%d",
			 k ? "," : "", k);
	given(text);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), ",192.0.3.1");
	cr_assert_eq(kube_pool_parse(&pool, text, &err), -1);
	cr_assert_eq(err.code, POISE_E_FULL);
}

/* ---- who gets which ---------------------------------------------------------------------------*/

Test(kube_pool, each_gets_one_of_its_own_in_the_order_of_age)
{
	struct kube_pool_claim *young = service("a"), *old = service("b");

	young->created = 9;
	given("192.0.2.1-192.0.2.2,198.51.100.1");
	service("c")->created = 9;
	assign();
	cr_assert_str_eq(got(old), "192.0.2.1");
	cr_assert_str_eq(got(young), "192.0.2.2");
	cr_assert_str_eq(got(&claim[2]), "198.51.100.1", "of one age, names decide");
	cr_assert_eq(found.n, 0);
}

Test(kube_pool, what_the_status_says_is_kept)
{
	struct kube_pool_claim *old = service("old"), *young = service("young");

	given("192.0.2.1-192.0.2.9");
	has(young, "192.0.2.1");
	assign();
	cr_assert_str_eq(got(young), "192.0.2.1");
	cr_assert_str_eq(got(old), "192.0.2.2");
}

Test(kube_pool, what_the_status_says_is_not_kept_if_the_pool_has_it_no_more)
{
	given("192.0.2.1-192.0.2.9");
	has(service("web"), "198.51.100.1");
	assign();
	cr_assert_str_eq(got(&claim[0]), "192.0.2.1");
	cr_assert_eq(found.n, 0);
}

Test(kube_pool, of_two_with_one_address_the_older_keeps_it)
{
	struct kube_pool_claim *old = service("z"), *young = service("a");

	given("192.0.2.1-192.0.2.9");
	has(old, "192.0.2.5");
	has(young, "192.0.2.5");
	assign();
	cr_assert_str_eq(got(old), "192.0.2.5");
	cr_assert_str_eq(got(young), "192.0.2.1");
}

Test(kube_pool, a_pool_that_is_empty_is_a_finding_of_each_who_has_none)
{
	service("a");
	service("b");
	service("c");
	given("192.0.2.1-192.0.2.2");
	assign();
	cr_assert_eq(claim[2].gots, 0);
	cr_assert_eq(found.n, 1);
	amiss(0, "c", KUBE_R_POOL_EXHAUSTED, "no IPv4 address");
}

Test(kube_pool, reserved_addresses_are_nobodys)
{
	const union poise_addr *reserved;
	size_t n;

	reserved = addresses("192.0.2.1 192.0.2.2", &n);
	given("192.0.2.1-192.0.2.4");
	service("a");
	has(service("b"), "192.0.2.2");
	asks(service("c"), "192.0.2.1");
	kube_pool_assign(&pool, claim, claims, reserved, n, &found);
	cr_assert_str_eq(got(&claim[0]), "192.0.2.3");
	cr_assert_str_eq(got(&claim[1]), "192.0.2.4");
	cr_assert_str_eq(got(&claim[2]), "");
	cr_assert_eq(found.n, 1);
	amiss(0, "c", KUBE_R_POOL_TAKEN, "that of a node");
}

/* ---- families ---------------------------------------------------------------------------------*/

Test(kube_pool, dual_stack_gets_one_of_each_family)
{
	both(service("web"), KUBE_POOL_NEEDED);
	given("2001:db8::1-2001:db8::9,192.0.2.1-192.0.2.9");
	assign();
	cr_assert_str_eq(got(&claim[0]), "192.0.2.1 2001:db8::1");
	has(&claim[0], "2001:db8::7 192.0.2.3");
	assign();
	cr_assert_str_eq(got(&claim[0]), "192.0.2.3 2001:db8::7", "in one order");
}

Test(kube_pool, of_a_family_that_is_not_needed_there_may_be_none)
{
	both(service("a"), KUBE_POOL_LIKED);
	both(service("b"), KUBE_POOL_NEEDED);
	given("192.0.2.1-192.0.2.9");
	assign();
	cr_assert_str_eq(got(&claim[0]), "192.0.2.1");
	cr_assert_str_eq(got(&claim[1]), "192.0.2.2");
	cr_assert_eq(found.n, 1);
	amiss(0, "b", KUBE_R_POOL_FAMILY, "no IPv6 address");
}

Test(kube_pool, a_service_that_lost_a_family_loses_its_address)
{
	has(service("web"), "192.0.2.3 2001:db8::7");
	given("192.0.2.1-192.0.2.9,2001:db8::/64");
	assign();
	cr_assert_str_eq(got(&claim[0]), "192.0.2.3");
}

/* ---- what was asked for -----------------------------------------------------------------------*/

Test(kube_pool, what_is_asked_for_is_given_before_any_is)
{
	service("a");
	service("b");
	asks(service("c"), "192.0.2.1");
	given("192.0.2.1-192.0.2.9");
	assign();
	cr_assert_str_eq(got(&claim[2]), "192.0.2.1");
	cr_assert_str_eq(got(&claim[0]), "192.0.2.2");
}

Test(kube_pool, who_has_one_and_asks_for_another_moves)
{
	has(service("web"), "192.0.2.1");
	asks(&claim[0], "192.0.2.7");
	given("192.0.2.1-192.0.2.9");
	assign();
	cr_assert_str_eq(got(&claim[0]), "192.0.2.7");
}

Test(kube_pool, who_asks_for_what_cannot_be_had_keeps_what_it_has)
{
	has(service("a"), "192.0.2.5");
	has(service("b"), "192.0.2.6");
	asks(&claim[1], "192.0.2.5");
	asks(service("c"), "198.51.100.1");
	given("192.0.2.1-192.0.2.9");
	assign();
	cr_assert_str_eq(got(&claim[0]), "192.0.2.5");
	cr_assert_str_eq(got(&claim[1]), "192.0.2.6");
	cr_assert_str_eq(got(&claim[2]), "", "nothing else was asked for");
	cr_assert_eq(found.n, 2);
	amiss(0, "b", KUBE_R_POOL_TAKEN, "192.0.2.5 was asked for and is that of Service shop/a");
	amiss(1, "c", KUBE_R_POOL_OUTSIDE, "198.51.100.1 was asked for and is not in");
}

Test(kube_pool, of_a_family_that_was_not_asked_for_any_is_right)
{
	both(service("web"), KUBE_POOL_NEEDED);
	asks(&claim[0], "192.0.2.7");
	given("192.0.2.1-192.0.2.9,2001:db8::1-2001:db8::9");
	assign();
	cr_assert_str_eq(got(&claim[0]), "192.0.2.7 2001:db8::1");
}

Test(kube_pool, an_address_of_another_family_is_a_finding)
{
	asks(service("web"), "2001:db8::1");
	given("192.0.2.1-192.0.2.9,2001:db8::1-2001:db8::9");
	assign();
	cr_assert_str_eq(got(&claim[0]), "192.0.2.1");
	amiss(0, "web", KUBE_R_POOL_FAMILY, "not of IPv6");
}

Test(kube_pool, the_first_of_several_that_can_be_had)
{
	has(service("a"), "192.0.2.5");
	asks(service("b"), "192.0.2.5 192.0.2.6");
	given("192.0.2.1-192.0.2.9");
	assign();
	cr_assert_str_eq(got(&claim[1]), "192.0.2.6");
}

/* ---- shared -----------------------------------------------------------------------------------*/

static const struct kube_pool_port web = {80, IPPROTO_TCP}, dns = {53, IPPROTO_TCP},
				   dns_udp = {53, IPPROTO_UDP};

static struct kube_pool_claim *sharing(const char *name, const char *word,
				       const struct kube_pool_port *port)
{
	struct kube_pool_claim *c = service(name);

	c->share = word;
	c->port = port;
	c->ports = 1;
	return c;
}

Test(kube_pool, those_who_say_the_same_word_share_if_their_ports_do_not_collide)
{
	sharing("a", "x", &web);
	sharing("b", "x", &dns);
	sharing("c", "x", &dns_udp);
	sharing("d", "x", &web);
	sharing("e", "y", &dns);
	service("f");
	given("192.0.2.1-192.0.2.9");
	assign();
	cr_assert_str_eq(got(&claim[0]), "192.0.2.1");
	cr_assert_str_eq(got(&claim[1]), "192.0.2.1");
	cr_assert_str_eq(got(&claim[2]), "192.0.2.1");
	cr_assert_str_eq(got(&claim[3]), "192.0.2.2", "its port is taken there");
	cr_assert_str_eq(got(&claim[4]), "192.0.2.3", "another word");
	cr_assert_str_eq(got(&claim[5]), "192.0.2.4", "none");
	cr_assert_eq(found.n, 0);
}

Test(kube_pool, nobody_shares_who_does_not_say_so)
{
	struct kube_pool_claim *a = service("a"), *b = service("b");

	a->port = b->port = &web;
	a->ports = 1;
	has(a, "192.0.2.1");
	asks(b, "192.0.2.1");
	given("192.0.2.1-192.0.2.9");
	assign();
	cr_assert_str_eq(got(b), "");
	amiss(0, "b", KUBE_R_POOL_TAKEN, "shop/a");
	a->share = "x";
	b->share = "x";
	b->ports = 0;
	assign();
	cr_assert_str_eq(got(b), "192.0.2.1");
	b->share = NULL;
	assign();
	cr_assert_str_eq(got(b), "", "both have to");
}

#define SHARERS 200
#define EACH	300 /* ports */

/* In no longer than it takes to look at each port once. */
Test(kube_pool, many_share_one_address)
{
	static struct kube_pool_port port[SHARERS * EACH];

	for (size_t k = 0; k < SHARERS * EACH; k++)
		port[k] = (struct kube_pool_port){(__u16)(k + 1), IPPROTO_TCP};
	for (size_t n = 0; n < SHARERS; n++)
		sharing("web", "x", &port[n * EACH])->ports = EACH;
	sharing("late", "x", &port[SHARERS * EACH - 1]);
	given("192.0.2.1-192.0.2.9");
	assign();
	for (size_t n = 0; n < SHARERS; n++)
		cr_assert_str_eq(got(&claim[n]), "192.0.2.1");
	cr_assert_str_eq(got(&claim[SHARERS]), "192.0.2.2", "its port is taken there");
}

/* ---- all at once ------------------------------------------------------------------------------*/

Test(kube_pool, a_vast_range_takes_no_longer)
{
	for (size_t k = 0; k < CLAIMS; k++)
		service("web")->need[0] = KUBE_POOL_UNUSED;
	for (size_t k = 0; k < CLAIMS; k++)
		claim[k].need[1] = KUBE_POOL_NEEDED;
	given("2001:db8::/32");
	assign();
	cr_assert_str_eq(got(&claim[CLAIMS - 1]), "2001:db8::fff");
	cr_assert_eq(found.n, 0);
}

static __u32 below(__u32 most)
{
	static __u64 state = 11;

	state += POISE_GOLD;
	return (__u32)(poise_mix(state) >> 32) % most;
}

/* Each address has one Service, it is in the pool, and who had one has it. */
static void check(const union poise_addr *was, const size_t *wass)
{
	for (size_t k = 0; k < claims; k++) {
		cr_assert_leq(claim[k].gots, 1);
		if (wass && wass[k])
			cr_assert(claim[k].gots && !poise_addr_cmp(&claim[k].got[0], &was[k]));
		if (!claim[k].gots)
			continue;
		cr_assert(kube_pool_has(&pool, &claim[k].got[0]));
		for (size_t l = 0; l < k; l++)
			cr_assert(!claim[l].gots ||
				  poise_addr_cmp(&claim[k].got[0], &claim[l].got[0]) != 0);
	}
}

/* Services come and go, the status follows, and it is worked out from that alone, in any order. */
Test(kube_pool, whatever_happens_what_was_given_stays)
{
	static union poise_addr was[100];
	static size_t wass[100];

	given("192.0.2.0/27,198.51.100.8/29,203.0.113.4-203.0.113.20");
	for (claims = 0; claims < 50;)
		service("web");
	for (int turn = 0; turn < 500; turn++) {
		assign();
		check(was, wass);
		for (size_t k = 0; k < claims; k++) {
			was[k] = claim[k].got[0];
			wass[k] = claim[k].gots;
			claim[k].have = &was[k];
			claim[k].haves = wass[k];
		}
		for (int k = 0; k < 3; k++) {
			size_t one = below((__u32)claims);

			wass[one] = 0; /* it went, and another came */
			claim[one].haves = 0;
			claim[one].created = 1000 + turn;
		}
	}
}
