// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Maglev hashing (Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load Balancer",
 * NSDI 2016, section 3.4), weighted by credit: each round a member gains weight / heaviest, and
 * places one slot per whole credit. That keeps shares within a thousandth of fair, and moves few
 * slots of others while one weight ramps (taking several turns in a row moves many).
 *
 * A member walks the table by its own permutation, (offset + j * skip) mod size, drawn from a keyed
 * hash of its address and port; so two balancers with one file and one key agree.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "divisor.h"
#include "hash.h"
#include "maglev.h"

#define MAGLEV_EMPTY 0xffffu /* no ordinal: those have 15 bits */

struct walk {
	__u32 at;
	__u32 skip;
	__u32 weight;
	__u32 credit;
	__u16 ordinal;
};

static int by_address(const void *a, const void *b)
{
	const struct maglev_member *x = a, *y = b;
	int order = memcmp(&x->addr, &y->addr, sizeof(x->addr));

	return order ? order : memcmp(&x->port, &y->port, sizeof(x->port));
}

static void start_walk(struct walk *w, const struct maglev_member *m, __u32 size,
		       const __u64 key[2])
{
	__u64 h = poise_mix(poise_mix(m->addr.q[0] ^ key[0]) ^ m->addr.q[1] ^ m->port * POISE_GOLD);

	w->at = (__u32)(poise_mix(h ^ key[1]) % size);
	w->skip = size > 1 ? (__u32)(poise_mix(h + key[1]) % (size - 1)) + 1 : 1;
	/* the sizes of `auto` are prime and need no step here; others may be given */
	while (common_divisor(w->skip, size) != 1)
		w->skip = w->skip % size + 1;
	w->weight = m->weight;
	w->credit = 0;
	w->ordinal = m->ordinal;
}

static void place(struct walk *w, __u16 *table, __u32 size)
{
	__u32 at = w->at;

	while (table[at] != MAGLEV_EMPTY) {
		at += w->skip;
		if (at >= size)
			at -= size;
	}
	table[at] = w->ordinal;
	w->at = at;
}

void maglev_fill(__u16 *table, __u32 size, struct maglev_member *member, size_t n,
		 const __u64 key[2])
{
	struct walk *walk = calloc(n, sizeof(*walk));
	__u32 heaviest = 1, filled = 0;

	if (!walk)
		abort();
	qsort(member, n, sizeof(*member), by_address);
	memset(table, 0xff, size * sizeof(*table));
	for (size_t m = 0; m < n; m++) {
		start_walk(&walk[m], &member[m], size, key);
		if (member[m].weight > heaviest)
			heaviest = member[m].weight;
	}
	while (filled < size)
		for (size_t m = 0; m < n && filled < size; m++) {
			walk[m].credit += walk[m].weight;
			if (walk[m].credit < heaviest)
				continue;
			walk[m].credit -= heaviest;
			place(&walk[m], table, size);
			filled++;
		}
	free(walk);
}
