// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The Maglev table: shares follow weights, little moves when little changes, and nothing but the
 * set of backends decides.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/maglev.h"
#include "tests/support/store.h"

#define SIZE 65537

static const __u64 key[2] = {0x0123456789abcdef, 0xfedcba9876543210};

static void make(struct maglev_member *m, __u32 n, __u32 weight)
{
	memset(m, 0, sizeof(*m));
	m->addr.h[5] = 0xffff;
	m->addr.b[12] = 10;
	m->addr.b[14] = (__u8)(n >> 8);
	m->addr.b[15] = (__u8)n;
	m->ordinal = (__u16)n;
	m->weight = weight;
}

static void fill(__u16 *table, __u32 size, const struct maglev_member *member, size_t n)
{
	struct maglev_member *copy = calloc(n, sizeof(*copy));

	memcpy(copy, member, n * sizeof(*copy));
	maglev_fill(table, size, copy, n, key);
	free(copy);
}

static __u32 share(const __u16 *table, __u32 size, __u16 ordinal)
{
	__u32 slots = 0;

	for (__u32 s = 0; s < size; s++)
		slots += table[s] == ordinal;
	return slots;
}

Test(maglev, shares_follow_weights)
{
	static __u16 table[SIZE];
	struct maglev_member member[11];

	for (__u32 n = 0; n < 11; n++)
		make(&member[n], n, n ? 10 : 1);
	fill(table, SIZE, member, 11);
	for (__u16 n = 0; n < 11; n++) {
		double fair = SIZE * (n ? 10 : 1) / 101.0;
		double part = share(table, SIZE, n) / fair;

		cr_assert(part > 0.99 && part < 1.01, "backend %u has %.4f of its share", n, part);
	}
}

Test(maglev, equal_weights_share_evenly)
{
	static __u16 table[SIZE];
	struct maglev_member member[100];

	for (__u32 n = 0; n < 100; n++)
		make(&member[n], n, 7);
	fill(table, SIZE, member, 100);
	for (__u16 n = 0; n < 100; n++) {
		__u32 slots = share(table, SIZE, n);

		cr_assert(slots == SIZE / 100 || slots == SIZE / 100 + 1, "backend %u: %u slots", n,
			  slots);
	}
}

/* Of the slots that were not the lost one's, at most one in a hundred gets another answer. */
Test(maglev, losing_one_moves_few_of_the_others)
{
	static __u16 all[SIZE], less[SIZE];
	struct maglev_member member[100], lost;
	double worst = 0;

	for (__u32 n = 0; n < 100; n++)
		make(&member[n], n, 1);
	fill(all, SIZE, member, 100);
	for (__u32 gone = 0; gone < 100; gone += 9) {
		__u32 moved = 0, others = 0;

		lost = member[gone];
		member[gone] = member[99];
		fill(less, SIZE, member, 99);
		member[gone] = lost;
		for (__u32 s = 0; s < SIZE; s++) {
			others += all[s] != lost.ordinal;
			moved += all[s] != lost.ordinal && all[s] != less[s];
		}
		if ((double)moved / others > worst)
			worst = (double)moved / others;
	}
	printf("losing one of 100 moves at most %.2f %% of the others' slots\n", 100 * worst);
	cr_assert_leq(worst, 0.01);
}

Test(maglev, order_does_not_matter)
{
	static __u16 one[SIZE], two[SIZE];
	struct maglev_member member[40], swap;

	for (__u32 n = 0; n < 40; n++)
		make(&member[n], n, 1 + n % 3);
	fill(one, SIZE, member, 40);
	for (__u32 n = 0; n < 20; n++) {
		swap = member[n];
		member[n] = member[39 - n];
		member[39 - n] = swap;
	}
	fill(two, SIZE, member, 40);
	cr_assert(!memcmp(one, two, sizeof(one)));
}

Test(maglev, ports_and_key_matter)
{
	static __u16 one[SIZE], two[SIZE];
	const __u64 other[2] = {1, 2};
	struct maglev_member member[2];

	make(&member[0], 0, 1);
	make(&member[1], 0, 1);
	member[1].port = 80;
	member[1].ordinal = 1;
	fill(one, SIZE, member, 2);
	cr_assert_gt(share(one, SIZE, 1), SIZE / 3);
	maglev_fill(two, SIZE, member, 2, other);
	cr_assert(memcmp(one, two, sizeof(one)) != 0);
}

/* Sizes that are not prime, down to one slot, are filled as well. */
Test(maglev, any_size_is_filled)
{
	static __u16 table[4096];
	struct maglev_member member[5];
	const __u32 sizes[] = {1, 2, 3, 4, 6, 12, 60, 61, 1000, 4096};

	for (__u32 n = 0; n < 5; n++)
		make(&member[n], n, n + 1);
	for (size_t z = 0; z < sizeof(sizes) / sizeof(sizes[0]); z++) {
		fill(table, sizes[z], member, 5);
		for (__u32 s = 0; s < sizes[z]; s++)
			cr_assert_lt(table[s], 5, "size %u, slot %u", sizes[z], s);
	}
}

/* ---- through the library ----------------------------------------------------------------------*/

static const char *const address[] = {"10.0.0.1", "10.0.0.2", "2001:db8::3", "10.0.0.4"};

static void in_order(struct config *cfg, unsigned long argument)
{
	struct config_service *svc = store_add_service(cfg, "web", 1, 0, 0);

	(void)argument;
	for (int n = 0; n < 4; n++)
		store_add_member(svc, address[n]);
}

static void backwards_among_others(struct config *cfg, unsigned long argument)
{
	struct config_service *svc;

	(void)argument;
	store_add_service(cfg, "first", 7, 40, 3);
	svc = store_add_service(cfg, "web", 1, 100, 2);
	for (int n = 3; n >= 1; n--)
		store_add_member(svc, address[n]);
}

static void remove_the_others(struct config *cfg, unsigned long argument)
{
	struct config_service *svc = config_service_named(cfg, "web");
	struct poise_error err;

	(void)argument;
	config_service_del(cfg, config_service_named(cfg, "first"));
	config_member_del(svc, config_member_find(svc, "10.0.0.101", &err));
	store_add_member(svc, address[0]);
	config_member_del(svc, config_member_find(svc, "10.0.0.102", &err));
}

/* Two balancers, one file, different histories: packets see the same. */
Test(maglev, history_does_not_matter)
{
	struct instance *a = store_full(), *b = store_full();

	store_change(a, in_order, 0);
	store_change(b, backwards_among_others, 0);
	store_change(b, remove_the_others, 0);
	store_check(b, "after its history");
	store_same(a, b, "two histories");
	instance_close(a);
	instance_close(b);
}

static void weigh(struct config *cfg, unsigned long argument)
{
	(void)argument;
	config_service_named(cfg, "web")->member[0].conf.weight = 5;
	config_service_named(cfg, "web")->member[1].conf.weight = 0;
}

Test(maglev, shown_shares_are_the_tables)
{
	struct instance *i = store_full();
	struct poise_error err;
	struct config *cfg;
	double share[4];

	store_change(i, in_order, 0);
	store_change(i, weigh, 0);
	cr_assert_eq(instance_load(i, &cfg, &err), 0);
	instance_shares(i, cfg->service[0], share);
	cr_assert_float_eq(share[0], 5 / 7.0, 0.01);
	cr_assert_float_eq(share[1], 0, 0.0001);
	cr_assert_float_eq(share[2], 1 / 7.0, 0.01);
	cr_assert_float_eq(share[0] + share[1] + share[2] + share[3], 1, 0.0001);
	config_free(cfg);
	instance_close(i);
}
