// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Source ranges: prefixes as texts and lists, and the bounds made of them against a model that asks
 * every prefix whether it holds an address.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/ranges.h"
#include "maps/text.h"
#include "tests/support/ranges.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- texts ------------------------------------------------------------------------------------*/

Test(ranges, prefixes)
{
	static const struct {
		const char *in, *out;
	} good[] = {
		{"0.0.0.0/0", "0.0.0.0/0"},
		{"192.0.2.0/24", "192.0.2.0/24"},
		{"192.0.2.7", "192.0.2.7/32"},
		{"128.0.0.0/1", "128.0.0.0/1"},
		{"255.255.255.255/32", "255.255.255.255/32"},
		{"::/0", "::/0"},
		{"2001:DB8:0::/33", "2001:db8::/33"},
		{"2001:db8::1", "2001:db8::1/128"},
		{"::ffe0:0:0/91", "::ffe0:0:0/91"}, /* holds IPv4's place, and is not of IPv4 */
	};
	struct poise_range range, again;
	struct poise_error err = {0};
	char text[RANGE_TEXT];

	for (size_t n = 0; n < COUNT(good); n++) {
		cr_assert_eq(range_parse(good[n].in, &range, &err), 0, "%s: %s", good[n].in,
			     err.message);
		cr_expect_str_eq(range_format(&range, text, sizeof(text)), good[n].out);
		cr_assert_eq(range_parse(text, &again, &err), 0);
		cr_expect_eq(range_cmp(&range, &again), 0, "%s", text);
	}
}

#define NO_PREFIX "not an IPv4 or IPv6 prefix (192.0.2.0/24, 2001:db8::/32)"

Test(ranges, what_is_no_prefix)
{
	static const struct {
		const char *in, *why, *remedy;
	} bad[] = {
		{"", "\"\": " NO_PREFIX, ""},
		{"/8", "/8: " NO_PREFIX, ""},
		{"10.0.0/8", "10.0.0/8: " NO_PREFIX, ""},
		{"10.0.0.0/8/8", "10.0.0.0/8/8: the length of a prefix is 0 to 32", ""},
		{"10.0.0.0/", "10.0.0.0/: the length of a prefix is 0 to 32", ""},
		{"10.0.0.0/33", "10.0.0.0/33: the length of a prefix is 0 to 32", ""},
		{"10.0.0.0/08", "10.0.0.0/08: the length of a prefix is 0 to 32", ""},
		{"10.0.0.0/+8", "10.0.0.0/+8: the length of a prefix is 0 to 32", ""},
		{"10.0.0.0/4294967304", "10.0.0.0/4294967304: the length of a prefix is 0 to 32",
		 ""},
		{"2001:db8::/129", "2001:db8::/129: the length of a prefix is 0 to 128", ""},
		{"::ffff:10.0.0.0/104", "::ffff:10.0.0.0/104: " NO_PREFIX, ""},
		{"fe80::1%eth0/64", "fe80::1%eth0/64: " NO_PREFIX, ""},
		{"10.1.2.3/8", "10.1.2.3/8: has bits set behind its first 8: not a prefix",
		 "10.0.0.0/8 is the prefix it lies in"},
		{"10.1.2.3/0", "10.1.2.3/0: has bits set behind its first 0: not a prefix",
		 "0.0.0.0/0 is the prefix it lies in"},
		{"192.0.2.1/31", "192.0.2.1/31: has bits set behind its first 31: not a prefix",
		 "192.0.2.0/31 is the prefix it lies in"},
		{"2001:db8:1::/32",
		 "2001:db8:1::/32: has bits set behind its first 32: not a prefix",
		 "2001:db8::/32 is the prefix it lies in"},
	};
	char text[1024];

	for (size_t n = 0; n < COUNT(bad); n++) {
		struct poise_range range = {.length = 77};
		struct poise_error err = {0};

		cr_expect_eq(range_parse(bad[n].in, &range, &err), -1, "%s", bad[n].in);
		cr_expect_str_eq(poise_error_text(&err, text, sizeof(text)), bad[n].why);
		cr_expect_str_eq(err.remedy, bad[n].remedy);
		cr_expect_eq(range.length, 77, "%s changed something", bad[n].in);
	}
}

Test(ranges, a_list_is_kept_in_order_and_has_none_twice)
{
	struct poise_error err = {0};
	struct ranges list = {0}, copy = {0};
	char text[256];

	cr_assert_eq(ranges_set(&list, "2001:db8::/32,10.0.0.0/9,10.0.0.0/8,::/0", &err), 0);
	cr_expect_str_eq(ranges_format(&list, text, sizeof(text)),
			 "::/0,10.0.0.0/8,10.0.0.0/9,2001:db8::/32");
	ranges_copy(&copy, &list);
	cr_expect_eq(ranges_add(&copy, "10.0.0.0/8", &err), -1);
	cr_expect_eq(err.code, POISE_E_EXISTS);
	cr_expect(ranges_equal(&copy, &list));
	/* an error anywhere changes nothing */
	cr_expect_eq(ranges_set(&copy, "192.0.2.0/24,192.0.2.1/24", &err), -1);
	cr_expect_eq(ranges_set(&copy, "192.0.2.0/24,", &err), -1);
	cr_expect(ranges_equal(&copy, &list));
	cr_assert_eq(ranges_add(&copy, "11.0.0.0/7", &err), -1);
	cr_assert_eq(ranges_add(&copy, "10.0.0.0/7", &err), 0);
	cr_expect_not(ranges_equal(&copy, &list));
	cr_expect_eq(ranges_common(&copy, &list), &copy.range[0]);
	cr_assert_eq(ranges_set(&copy, "11.0.0.0/8", &err), 0);
	cr_expect_null(ranges_common(&copy, &list));
	ranges_free(&list);
	ranges_free(&copy);
}

Test(ranges, a_list_ends_at_its_limit_and_a_long_one_is_cut)
{
	struct poise_error err = {0};
	struct ranges list = {0};
	char text[64];

	for (int n = 0; n < POISE_RANGES_MAX; n++) {
		snprintf(text, sizeof(text), "10.0.%d.0/24", n);
		cr_assert_eq(ranges_add(&list, text, &err), 0);
	}
	cr_expect_eq(ranges_add(&list, "192.0.2.0/24", &err), -1);
	cr_expect_eq(err.code, POISE_E_FULL);
	cr_expect_str_eq(ranges_format(&list, text, sizeof(text)),
			 "10.0.0.0/24,10.0.1.0/24,10.0.2.0/24 and 253 more");
	ranges_free(&list);
}

/* ---- what packets do, one bound after the other -----------------------------------------------*/

static struct poise_bound bound[RANGES_BOUNDS(POISE_RANGES_MAX)];
static size_t bounds;
static bool first;

static int bound_cmp(const struct poise_bound *a, const struct poise_bound *b)
{
	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	return a->low < b->low ? -1 : a->low > b->low;
}

static struct poise_bound number(const union poise_addr *a)
{
	return (struct poise_bound){__builtin_bswap64(a->q[0]), __builtin_bswap64(a->q[1])};
}

static bool bounds_deny(const union poise_addr *a)
{
	struct poise_bound at = number(a);
	bool deny = first;

	for (size_t b = 0; b < bounds; b++)
		if (bound_cmp(&bound[b], &at) <= 0)
			deny = !deny;
	return deny;
}

static void expect_at(const struct poise_range *range, size_t n, const union poise_addr *a)
{
	char text[POISE_ADDR_TEXT];

	cr_assert_eq(bounds_deny(a), range_model_denies(range, n, a), "%s of %zu prefixes",
		     poise_format_addr(a, text, sizeof(text)), n);
}

/* Wherever something may change. */
static void expect_everywhere(const struct poise_range *range, size_t n)
{
	static union poise_addr probe[RANGE_MODEL_PROBES(POISE_RANGES_MAX)];
	size_t probes = range_model_probes(range, n, probe);

	bounds = ranges_bounds(range, n, bound, &first);
	cr_assert_leq(bounds, RANGES_BOUNDS(n));
	for (size_t b = 0; b + 1 < bounds; b++)
		cr_assert_lt(bound_cmp(&bound[b], &bound[b + 1]), 0, "bound %zu of %zu", b, bounds);
	for (size_t p = 0; p < probes; p++)
		expect_at(range, n, &probe[p]);
}

/* ---- sets -------------------------------------------------------------------------------------*/

static size_t parse(const char *allow, const char *deny, struct poise_range *range)
{
	const char *const text[] = {allow, deny};
	size_t n = 0;

	for (int list = 0; list < 2; list++) {
		struct poise_error err = {0};
		struct ranges l = {0};

		if (!text[list])
			continue;
		cr_assert_eq(ranges_set(&l, text[list], &err), 0, "%s %s", err.object, err.message);
		for (size_t r = 0; r < l.n; r++) {
			range[n] = l.range[r];
			range[n++].deny = (__u8)list;
		}
		ranges_free(&l);
	}
	return n;
}

/* Four addresses each, and what becomes of them. */
Test(ranges, edges)
{
	static const struct {
		const char *allow, *deny;
		const char *admitted[3], *denied[3];
	} table[] = {
		{NULL, NULL, {"10.0.0.1", "2001:db8::1", "::"}, {NULL}},
		{"10.0.0.0/8",
		 NULL,
		 {"10.0.0.0", "10.255.255.255"},
		 {"9.255.255.255", "11.0.0.0", "::a00:1"}},
		{NULL, "10.0.0.0/8", {"9.255.255.255", "11.0.0.0", "::"}, {"10.0.0.0", "10.9.9.9"}},
		{"0.0.0.0/0", NULL, {"0.0.0.0", "255.255.255.255"}, {"::", "::1", "2001:db8::1"}},
		{"::/0",
		 NULL,
		 {"::", "ffff::1", "::fffe:ffff:ffff"},
		 {"0.0.0.0", "10.0.0.1", "255.255.255.255"}},
		{"0.0.0.0/0,::/0", NULL, {"::", "1.2.3.4", "ffff::"}, {NULL}},
		{NULL, "0.0.0.0/0", {"::", "::1:0:0:0", "ffff::"}, {"0.0.0.0", "255.255.255.255"}},
		{NULL, "0.0.0.0/0,::/0", {NULL}, {"::", "10.0.0.1", "ffff::"}},
		{NULL,
		 "::/0",
		 {"0.0.0.0", "255.255.255.255"},
		 {"::", "::fffe:ffff:ffff", "::1:0:0:0"}},
		{"192.0.2.1/32", NULL, {"192.0.2.1"}, {"192.0.2.0", "192.0.2.2"}},
		{"255.255.255.255",
		 "0.0.0.0",
		 {"255.255.255.255"},
		 {"0.0.0.0", "255.255.255.254", "::1:0:0:0"}},
		{"2001:db8::1", NULL, {"2001:db8::1"}, {"2001:db8::", "2001:db8::2", "10.0.0.1"}},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		 NULL,
		 {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
		 {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", "::"}},
		/* adjacent */
		{"10.0.0.0/9,10.128.0.0/9", NULL, {"10.127.255.255", "10.128.0.0"}, {"11.0.0.0"}},
		/* the longer one, whichever list it is of */
		{"10.0.0.0/8,10.1.1.0/24",
		 "10.1.0.0/16",
		 {"10.0.255.255", "10.1.1.255", "10.2.0.0"},
		 {"10.1.0.255", "10.1.2.0", "11.0.0.0"}},
		{"10.1.0.0/16",
		 "10.0.0.0/8",
		 {"10.1.255.255"},
		 {"10.0.255.255", "10.2.0.0", "9.0.0.0"}},
		/* one that ends where the one around it does */
		{"10.0.0.0/8", "10.255.0.0/16", {"10.254.255.255"}, {"10.255.255.255", "11.0.0.0"}},
		{"10.0.0.0/8,10.0.0.0/16",
		 "10.0.0.0/12",
		 {"10.0.255.255", "10.16.0.0"},
		 {"10.1.0.0", "10.15.255.255"}},
	};
	struct poise_range range[8];
	union poise_addr a;

	for (size_t t = 0; t < COUNT(table); t++) {
		size_t n = parse(table[t].allow, table[t].deny, range);

		expect_everywhere(range, n);
		for (int k = 0; k < 6; k++) {
			const char *text = k < 3 ? table[t].admitted[k] : table[t].denied[k - 3];

			if (!text)
				continue;
			cr_assert_eq(poise_parse_addr(text, &a, NULL), 0, "%s", text);
			cr_expect_eq(bounds_deny(&a), k >= 3, "allow %s deny %s: %s",
				     table[t].allow, table[t].deny, text);
		}
	}
}

/* One in the other, of each length of each family, in turn allowed and denied. */
Test(ranges, nested)
{
	static struct poise_range range[RANGE_BITS + 1];
	static const union poise_addr host[] = {
		{.b = {[10] = 0xff, 0xff, 0xc0, 0xa8, 0xff, 0x55}},
		{.b = {0xff, 0xff, 0xff, 0xff, 0x20, 1, 0, 0, 0xaa, 0x55, 0, 0, 0xff, 0xff, 0xff,
		       0xff}},
		{.b = {0}},
	};

	for (size_t h = 0; h < COUNT(host); h++) {
		int shortest = poise_addr_is4(&host[h]) ? RANGE_BITS_IPV4 : 0;
		size_t n = 0;

		for (int length = RANGE_BITS; length >= shortest; length--) {
			struct poise_range *r = &range[n++];

			*r = (struct poise_range){.length = (__u8)length, .deny = length & 1};
			for (int bit = 0; bit < length; bit++)
				r->addr.b[bit / 8] |= host[h].b[bit / 8] & (__u8)(0x80 >> bit % 8);
		}
		cr_assert_eq(n, (size_t)(RANGE_BITS + 1 - shortest));
		expect_everywhere(range, n);
		cr_assert_geq(bounds, n / 2, "%zu: %zu of %zu", h, bounds, n);
	}
}

Test(ranges, random_sets)
{
	static struct poise_range range[POISE_RANGES_MAX];
	size_t most = 0;

	for (int round = 0; round < 1500; round++) {
		size_t n = round % 100 ? range_model_number(24) : POISE_RANGES_MAX;

		range_model_draw(range, n);
		expect_everywhere(range, n);
		if (bounds > most)
			most = bounds;
	}
	cr_assert_gt(most, POISE_RANGES_MAX / 2, "at most %zu bounds: the sets are too simple",
		     most);
}

/* As many bounds as there may be: all apart, and none at either end. */
Test(ranges, worst_case)
{
	static struct poise_range range[POISE_RANGES_MAX];

	for (int n = 0; n < POISE_RANGES_MAX; n++)
		range[n] =
			(struct poise_range){.addr.b = {0x20, 1, (__u8)n, 1}, .length = RANGE_BITS};
	expect_everywhere(range, POISE_RANGES_MAX);
	cr_assert_eq(bounds, 2 * POISE_RANGES_MAX);
	range[0] = (struct poise_range){.length = 0};
	for (int n = 1; n < POISE_RANGES_MAX; n++)
		range[n].deny = 1;
	expect_everywhere(range, POISE_RANGES_MAX);
	cr_assert_eq(bounds, RANGES_BOUNDS(POISE_RANGES_MAX - 1));
}
