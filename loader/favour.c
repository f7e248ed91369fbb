// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Favour. CPU 0's words are those last stored, for only we store any and store these last. */
#include <stdlib.h>

#include "../maps/instance.h"
#include "../maps/memory.h"
#include "../maps/table.h"
#include "favour.h"

#define WHOLE (1ull << 32)

/* An average that is older is not what a backend is now. */
#define FRESH (1u << POISE_PEAK_HALF_SHIFT) /* units of age */

/* A backend hangs if it has not answered for so long, and so many times longer than it takes. */
#define HANGS_TICKS (10000000u >> POISE_TICK_SHIFT)
#define HANGS_TIMES 4

/* Who takes less than this many halves of what the fastest takes is as fast, as is who takes so
 * many ticks more: of that much, which is what waking a process takes, nobody can tell whose it is.
 */
#define ALIKE_HALVES 3
#define ALIKE_TICKS  (250000u >> POISE_TICK_SHIFT)

/* What is known of a backend. */
struct known {
	__u64 mean; /* 0: no sample */
	__u32 wait; /* ticks; 0: nothing is waited for */
};

/* Long answers and short ones say the same, where connections say another thing. */
static __u64 mean_of(const struct poise_latency *l, bool requests)
{
	__u64 mean;

	if (!requests)
		return __atomic_load_n(&l->mean[POISE_SAMPLE_CONNECT], __ATOMIC_RELAXED);
	mean = __atomic_load_n(&l->mean[POISE_SAMPLE_REQUEST], __ATOMIC_RELAXED);
	return mean ? mean : __atomic_load_n(&l->mean[POISE_SAMPLE_SHORT], __ATOMIC_RELAXED);
}

/* Requests say more than connections, but the two do not compare. */
static bool have_requests(const struct poise_latency *const *line, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (mean_of(line[k], true))
			return true;
	return false;
}

static __u32 waited(const struct poise_latency *l, __u32 now)
{
	__u32 since = __atomic_load_n(&l->waits, __ATOMIC_RELAXED), age = now - since;

	/* What another CPU sent a moment ago may be in the future. */
	return since && age <= POISE_WAITS_TICKS ? age : 0;
}

/* The pool's mean, and the least of those whose average is fresh, or of all; ticks. */
struct pool {
	__u32 mean, least;
};

static struct pool pool_of(const struct known *is, size_t n, __u32 age)
{
	__u32 least = ~0u, fresh = ~0u;
	__u64 sum = 0, known = 0;

	for (size_t k = 0; k < n; k++) {
		__u32 ticks = POISE_MEAN_TICKS(is[k].mean);

		if (!is[k].mean)
			continue;
		sum += ticks;
		known++;
		least = ticks < least ? ticks : least;
		if (poise_age_since(is[k].mean, age) <= FRESH && ticks < fresh)
			fresh = ticks;
	}
	return (struct pool){
		.mean = known ? (__u32)(sum / known) : 0,
		.least = fresh != ~0u ? fresh : least,
	};
}

/* While nothing is waited for, what is known fades until the backend is tried again, as one without
 * samples is; then it counts in full, so that one request tries it and no crowd. */
static struct felt feel(const struct known *is, const struct pool *pool, __u32 age)
{
	__u32 ticks = is->mean ? POISE_MEAN_TICKS(is->mean) : pool->mean;
	__u32 faded = is->mean ? poise_peak_now(is->mean, age) >> POISE_MEAN_SHIFT : 0;
	struct felt felt = {
		.hangs = is->wait > HANGS_TICKS && is->wait / HANGS_TIMES > ticks,
	};

	if (!is->wait)
		felt.ticks = faded > pool->least ? faded : pool->least;
	else
		felt.ticks = is->wait > ticks ? is->wait : ticks;
	return felt;
}

/* Who is nearly as fast as the fastest is as fast: the rest is chance and load. */
static void level(struct felt *felt, size_t n)
{
	__u32 least = ~0u;

	for (size_t k = 0; k < n; k++) {
		felt[k].ticks = poise_latency_floor(poise_latency_bucket(felt[k].ticks));
		least = felt[k].ticks < least ? felt[k].ticks : least;
	}
	for (size_t k = 0; k < n; k++)
		if (2ull * felt[k].ticks < (__u64)ALIKE_HALVES * least ||
		    felt[k].ticks - least < ALIKE_TICKS)
			felt[k].ticks = least;
}

bool favour_felt(const struct poise_latency *const *line, size_t n, __u64 ns, struct felt *felt)
{
	struct known *is = memory_alloc(n * sizeof(*is));
	__u32 age = (__u32)(ns >> POISE_AGE_SHIFT);
	bool requests = have_requests(line, n);
	struct pool pool;

	for (size_t k = 0; k < n; k++)
		is[k] = (struct known){
			.mean = mean_of(line[k], requests),
			.wait = waited(line[k], (__u32)(ns >> POISE_TICK_SHIFT)),
		};
	pool = pool_of(is, n, age);
	for (size_t k = 0; k < n && pool.mean; k++)
		felt[k] = feel(&is[k], &pool, age);
	if (pool.mean)
		level(felt, n);
	free(is);
	return pool.mean != 0;
}

/* The part of 2^32 by which `less` is less than `more`. */
static __u32 part(__u64 less, __u64 more)
{
	if (less * FAVOUR_MOST < more)
		return (__u32)(WHOLE - WHOLE / FAVOUR_MOST);
	return more ? (__u32)((more - less) * WHOLE / more) : 0;
}

/* Ticks have 26 bits, their squares 52; 12 of them are enough for a ratio. */
static __u32 part_of_squares(__u64 less, __u64 more)
{
	while (more >> 16) {
		less >>= 1;
		more >>= 1;
	}
	return part(less * less, more * more);
}

void favour_words(const struct felt *felt, size_t n, struct favour *word)
{
	__u32 least = n ? felt[0].ticks : 0, most = least;

	for (size_t m = 0; m < n; m++) {
		least = felt[m].ticks < least ? felt[m].ticks : least;
		most = felt[m].ticks > most ? felt[m].ticks : most;
	}
	for (size_t m = 0; m < n; m++)
		word[m] = (struct favour){
			.eased = part(felt[m].ticks, most),
			.refused = felt[m].hangs ? ~0u : part_of_squares(least, felt[m].ticks),
		};
}

static void store(struct instance *i, __u16 id, const struct favour *want)
{
	const struct poise_loads *told = instance_loads(i, 0, id);

	if (told->eased == want->eased && told->refused == want->refused)
		return;
	for (__u32 cpu = i->meta->cpus; cpu-- > 0;) {
		struct poise_loads *l = instance_loads(i, cpu, id);

		__atomic_store_n(&l->eased, want->eased, __ATOMIC_RELAXED);
		__atomic_store_n(&l->refused, want->refused, __ATOMIC_RELAXED);
	}
}

/* What is wanted of each member, all 0 unless something is known. */
static void want_by_latency(const struct instance *i, const struct config_service *svc, __u64 ns,
			    struct favour *want)
{
	const struct poise_latency **line = memory_alloc(svc->members * sizeof(*line));
	struct felt *felt = memory_alloc(svc->members * sizeof(*felt));

	for (size_t m = 0; m < svc->members; m++)
		line[m] = instance_latencies(i, svc->member[m].id, 1);
	if (favour_felt(line, svc->members, ns, felt))
		favour_words(felt, svc->members, want);
	free(line);
	free(felt);
}

static void favour_service(struct instance *i, const struct config_service *svc, __u64 ns,
			   bool known)
{
	struct favour *want = memory_alloc(svc->members * sizeof(*want));
	bool p2c = svc->conf.policy == POISE_P2C, aware = svc->conf.policy == POISE_LATENCY_AWARE;

	if (known && (p2c || aware))
		want_by_latency(i, svc, ns, want);
	for (size_t m = 0; m < svc->members; m++) {
		want[m].eased *= p2c;
		want[m].refused *= aware;
		store(i, svc->member[m].id, &want[m]);
	}
	free(want);
}

void favour_run(struct instance *i, const struct config *cfg, __u64 ns, bool known)
{
	for (size_t s = 0; s < cfg->services; s++)
		favour_service(i, cfg->service[s], ns, known);
}
