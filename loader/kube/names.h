/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Things by namespace and name: a hash table of pointers. A thing begins with a struct named, whose
 * texts are its own.
 */
#ifndef POISE_KUBE_NAMES_H
#define POISE_KUBE_NAMES_H

#include <linux/types.h>
#include <stddef.h>

struct named {
	struct named *next; /* in its bucket */
	__u64 hash;
	const char *ns, *name;
};

struct names {
	struct named **bucket; /* a power of two of them; NULL: none yet */
	size_t buckets;
	size_t n;
};

struct named *names_find(const struct names *t, const char *ns, const char *name);
/* Adds one that is not there yet. */
void names_add(struct names *t, struct named *item);
void names_remove(struct names *t, struct named *item);
/* All of them, in any order: NULL begins, NULL ends. The one given may be removed meanwhile only
 * after its successor was asked for. */
struct named *names_next(const struct names *t, const struct named *item);
/* The table, not the things. */
void names_free(struct names *t);
/* And the things, each by one(). */
void names_free_all(struct names *t, void (*one)(struct named *item));

#endif
