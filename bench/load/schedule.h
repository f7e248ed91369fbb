/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When each request of each client is due: fixed before the first is sent, by rate and seed alone,
 * whatever becomes of those before it. Uniform: request k of n clients' is due at k/rate, and
 * clients take turns. Poisson: each client's gaps are exponential, independent of the others'.
 */
#ifndef BENCH_SCHEDULE_H
#define BENCH_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct schedule_next {
	uint64_t due; /* ns since the load began */
	uint32_t client;
	uint64_t turn; /* how many this client has had */
	uint64_t random;
};

struct schedule {
	uint32_t clients;
	double rate; /* of all together, a second */
	bool poisson;
	struct schedule_next *heap; /* of each client the next; the first is due first */
};

/* False without memory. */
bool schedule_open(struct schedule *s, uint32_t clients, double rate, bool poisson, uint64_t seed);
void schedule_close(struct schedule *s);
/* When the next request is due, ns since the load began. */
uint64_t schedule_due(const struct schedule *s);
/* Takes it: whose it is. */
uint32_t schedule_take(struct schedule *s);

#endif
