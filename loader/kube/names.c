// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Things by namespace and name; see names.h. Buckets are as many as things, at least. Names are
 * others' choice, so the hash is seeded: nobody can make a cluster's names meet in one bucket.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "maps/memory.h"
#include "names.h"

#define LEAST 64 /* buckets */

/* The 16 random bytes that the kernel gives each process. */
static __u64 seed(void)
{
	const unsigned char *random = (const unsigned char *)getauxval(AT_RANDOM);
	__u64 value = 0;

	if (random)
		memcpy(&value, random, sizeof(value));
	return value;
}

/* FNV-1a's step with a multiply-and-fold, from a start that nobody outside knows. */
static __u64 mix(__u64 hash, const char *text)
{
	do {
		hash = (hash ^ (__u8)*text) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	} while (*text++);
	return hash;
}

static __u64 hash_of(const char *ns, const char *name)
{
	return mix(mix(seed(), ns), name);
}

static struct named **bucket_of(const struct names *t, __u64 hash)
{
	return &t->bucket[hash & (t->buckets - 1)];
}

struct named *names_find(const struct names *t, const char *ns, const char *name)
{
	__u64 hash = hash_of(ns, name);
	struct named *i = t->n ? *bucket_of(t, hash) : NULL;

	while (i && (i->hash != hash || strcmp(i->name, name) != 0 || strcmp(i->ns, ns) != 0))
		i = i->next;
	return i;
}

static void put(struct names *t, struct named *item)
{
	struct named **at = bucket_of(t, item->hash);

	item->next = *at;
	*at = item;
}

static void grow(struct names *t)
{
	struct names old = *t;

	t->buckets = old.buckets ? 2 * old.buckets : LEAST;
	t->bucket = memory_alloc(t->buckets * sizeof(struct named *));
	for (size_t b = 0; b < old.buckets; b++)
		for (struct named *i = old.bucket[b], *next; i; i = next) {
			next = i->next;
			put(t, i);
		}
	free(old.bucket);
}

void names_add(struct names *t, struct named *item)
{
	if (t->n == t->buckets)
		grow(t);
	item->hash = hash_of(item->ns, item->name);
	put(t, item);
	t->n++;
}

void names_remove(struct names *t, struct named *item)
{
	struct named **at = bucket_of(t, item->hash);

	while (*at != item)
		at = &(*at)->next;
	*at = item->next;
	t->n--;
}

struct named *names_next(const struct names *t, const struct named *item)
{
	size_t b = 0;

	if (item && item->next)
		return item->next;
	if (item)
		b = (item->hash & (t->buckets - 1)) + 1;
	while (b < t->buckets && !t->bucket[b])
		b++;
	return b < t->buckets ? t->bucket[b] : NULL;
}

void names_free(struct names *t)
{
	free(t->bucket);
	memset(t, 0, sizeof(*t));
}

void names_free_all(struct names *t, void (*one)(struct named *item))
{
	struct named *next;

	for (struct named *i = names_next(t, NULL); i; i = next) {
		next = names_next(t, i);
		one(i);
	}
	names_free(t);
}
