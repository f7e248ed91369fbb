/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Free places in a pool of which services have runs: slots of tables, entries of source ranges.
 * Nothing is kept about them; they are what neither the configuration names nor a packet under way
 * may still read.
 *
 * Place 0 is never given, so that 0 can mean "none".
 */
#ifndef POISE_GAPS_H
#define POISE_GAPS_H

#include "store.h"

struct gap {
	__u32 at;
	__u32 count;
};

struct gaps {
	struct gap *gap; /* NULL: not looked for yet */
	size_t n, room;
};

/* Where a kind of pool is named. add is called with what they take; places of 0 are left out. */
struct gaps_pool {
	__u32 end;
	void (*conf)(struct gaps *taken, const struct poise_service_conf *conf);
	void (*rec)(struct gaps *taken, const struct poise_service_rec *rec);
};

void gaps_add(struct gaps *g, __u32 at, __u32 count);
/* What is free, unless it is known already. */
void gaps_find(struct gaps *g, const struct instance *i, const struct gaps_pool *pool);
/* Takes so many places side by side; 0 if there is no such gap. */
__u32 gaps_take(struct gaps *g, __u32 count);
/* How many places are free, and in *largest how many of them side by side at most. */
__u32 gaps_left(const struct gaps *g, __u32 *largest);
void gaps_free(struct gaps *g);

#endif
