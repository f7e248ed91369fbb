// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The listeners' hash against a model: 65,536 keys come and go at random, and at any store every
 * key that is there is found and no other, also by a packet that read its seed long before.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/hash.h"
#include "maps/listener.h"
#include "tests/support/store.h"
#include "tests/support/longest.h"

#define KEYS	65536 /* as many as the default limit takes */
#define OTHERS	16384 /* keys that take turns with them */
#define LOOKS	4     /* keys looked up between two stores */
#define NO_BODY 0

/* The same in small. */
#define FEW	   10
#define OTHERS_FEW 500 /* of 1,024 slots */
#define CHANGES	   100000

static struct {
	struct instance *i;
	__u32 service[KEYS + OTHERS]; /* where key n leads; 0: not there */
	__u32 seed[KEYS + OTHERS];    /* of its bucket, as a slow packet read it */
	__u64 graced;
	__u32 touched;		   /* the key that is being changed */
	__u32 first[2 * KEYS];	   /* by bucket: key + 1 */
	__u32 next[KEYS + OTHERS]; /* in the same bucket */
	unsigned long looks;
	__u64 random;
} model;

static __u32 draw(__u32 n)
{
	model.random = model.random * 6364136223846793005ull + 1442695040888963407ull;
	return (__u32)(model.random >> 33) % n;
}

static struct poise_listener_conf key_of(__u32 n)
{
	struct poise_listener_conf l = {.port = (__u16)(n % 7 ? n : 0), .proto = n & 1 ? 6 : 17};

	l.addr.q[0] = n % 3 ? 0x20010db8 : 0;
	l.addr.q[1] = (__u64)n << 40 | n;
	return l;
}

static __u32 *seed_of(const struct poise_listener_conf *l, __u64 *hash)
{
	*hash = poise_listener_hash(&l->addr, l->port, l->proto);
	return &model.i->listener_seeds[*hash & (model.i->meta->listener_seeds - 1)];
}

static __u32 bucket_of(__u32 n)
{
	struct poise_listener_conf l = key_of(n);
	__u64 hash;

	return (__u32)(seed_of(&l, &hash) - model.i->listener_seeds);
}

/* What a packet finds that read this seed. */
static __u32 packet_finds(const struct poise_listener_conf *l, __u64 hash, __u32 seed)
{
	const struct poise_listener *e = &model.i->listeners[poise_listener_slot(hash, seed) &
							     (model.i->meta->listener_slots - 1)];

	if (!seed || memcmp(&e->addr, &l->addr, sizeof(e->addr)) || e->port != l->port ||
	    e->proto != l->proto)
		return NO_BODY;
	return e->service;
}

static void look(__u32 n, unsigned long store)
{
	struct poise_listener_conf l = key_of(n);
	__u64 hash;
	__u32 *seed = seed_of(&l, &hash), found = packet_finds(&l, hash, *seed);

	if (n == model.touched)
		return; /* old or new, both right */
	cr_assert_eq(found, model.service[n], "store %lu: key %u leads to %u, not %u", store, n,
		     found, model.service[n]);
	/* a packet that read its seed before: it may miss a key that came since, nothing else */
	found = packet_finds(&l, hash, model.seed[n]);
	if (model.seed[n] && model.service[n])
		cr_assert(found == model.service[n],
			  "store %lu: a slow packet's key %u leads to %u, not %u", store, n, found,
			  model.service[n]);
	model.looks++;
}

static void read_seeds(void)
{
	__u64 hash;

	for (__u32 n = 0; n < KEYS + OTHERS; n++) {
		struct poise_listener_conf l = key_of(n);

		model.seed[n] = model.service[n] ? *seed_of(&l, &hash) : 0;
	}
	model.graced = model.i->meta->graced;
}

static void between_stores(unsigned long store)
{
	if (model.graced != model.i->meta->graced)
		read_seeds();
	for (int n = 0; n < LOOKS; n++)
		look(draw(KEYS + OTHERS), store);
	for (__u32 n = model.first[bucket_of(model.touched)]; n; n = model.next[n - 1])
		look(n - 1, store);
}

/* Keys that share a bucket move together. */
static void link_buckets(void)
{
	for (__u32 n = 0; n < KEYS + OTHERS; n++) {
		model.next[n] = model.first[bucket_of(n)];
		model.first[bucket_of(n)] = n + 1;
	}
}

static void look_everywhere(void)
{
	model.touched = KEYS + OTHERS;
	for (__u32 n = 0; n < KEYS + OTHERS; n++)
		look(n, 0);
}

static void put(struct listeners *ls, __u32 n, __u32 service)
{
	struct poise_listener_conf l = key_of(n);

	model.touched = n;
	model.seed[n] = 0;
	listener_put(ls, &l, service, 0);
	model.service[n] = service;
}

static void del(struct listeners *ls, __u32 n)
{
	struct poise_listener_conf l = key_of(n);

	model.touched = n;
	model.seed[n] = 0;
	listener_del(ls, &l, model.service[n]);
	model.service[n] = NO_BODY;
}

/* Fills the hash to its limit, then swaps keys as long as it likes, always nearly full. */
Test(listener, a_full_hash_under_change, .timeout = TEST_LONGEST)
{
	struct listeners ls;
	__u32 there = 0, n;

	model.i = store_full();
	model.random = 99;
	link_buckets();
	ls = (struct listeners){.i = model.i};
	for (n = 0; n < KEYS; n++, there++)
		put(&ls, n, 1 + n % 4000);
	look_everywhere();
	read_seeds();
	instance_step = between_stores;
	for (int change = 0; change < 20000; change++) {
		n = draw(KEYS + OTHERS);
		if (model.service[n]) {
			del(&ls, n);
			there--;
		} else if (there < KEYS) {
			put(&ls, n, 1 + draw(4000));
			there++;
		}
	}
	instance_step = NULL;
	look_everywhere();
	listeners_end(&ls);
	printf("%u keys at last, %lu looks between stores\n", there, model.looks);
	cr_assert_gt(there, KEYS * 8 / 10);
	instance_close(model.i);
}

/* Emptied, it is as if nobody had ever listened: no seed is left. */
Test(listener, emptied)
{
	struct listeners ls;

	model.i = store_full();
	ls = (struct listeners){.i = model.i};
	for (__u32 n = 0; n < 3000; n++)
		put(&ls, n, 1);
	for (__u32 n = 0; n < 3000; n++)
		del(&ls, n);
	listeners_end(&ls);
	for (__u32 seed = 0; seed < model.i->meta->listener_seeds; seed++)
		cr_assert_eq(model.i->listener_seeds[seed], 0, "seed %u", seed);
	instance_close(model.i);
}

/* A removed key stays removed, though its bucket moves on and may hit the entries that the key has
 * moved away from: all keys are of one bucket, so that this happens within some thousand changes.
 */
Test(listener, a_removed_key_does_not_come_back)
{
	struct listeners ls;
	__u32 of_one[FEW], few = 0, others = 0;

	model.i = store_tiny();
	model.random = 7;
	ls = (struct listeners){.i = model.i};
	for (__u32 n = 0; few < FEW; n++) {
		if (bucket_of(n) == bucket_of(0))
			of_one[few++] = n;
		else if (others < OTHERS_FEW)
			put(&ls, n, 1 + others++);
	}
	for (unsigned long change = 0; change < CHANGES; change++) {
		__u32 n = of_one[draw(FEW)];

		if (model.service[n])
			del(&ls, n);
		else
			put(&ls, n, 1 + n);
		model.touched = KEYS + OTHERS;
		for (__u32 k = 0; k < FEW; k++)
			look(of_one[k], change);
	}
	listeners_end(&ls);
	instance_close(model.i);
}
