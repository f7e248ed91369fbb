// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Favour. CPU 0's words are those last stored, for only we store any and store these last. */
#include <stdlib.h>

#include "../maps/instance.h"
#include "../maps/memory.h"
#include "../maps/table.h"
#include "favour.h"

#define WHOLE (1ull << 32)

/* Requests say more than connections, but the two do not compare. */
static enum poise_sample kind_of(const struct poise_latency *const *line, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (line[k]->peak[POISE_SAMPLE_REQUEST])
			return POISE_SAMPLE_REQUEST;
	return POISE_SAMPLE_CONNECT;
}

static __u32 waited(const struct poise_latency *l, __u32 now)
{
	__u32 since = __atomic_load_n(&l->waits, __ATOMIC_RELAXED), age = now - since;

	/* What another CPU sent a moment ago may be in the future. */
	return since && age <= POISE_WAITS_TICKS ? age : 0;
}

bool favour_felt(const struct poise_latency *const *line, size_t n, __u64 ns, __u32 *felt)
{
	enum poise_sample kind = kind_of(line, n);
	__u64 sum = 0, known = 0;

	for (size_t k = 0; k < n; k++) {
		__u64 word = __atomic_load_n(&line[k]->peak[kind], __ATOMIC_RELAXED);

		felt[k] = word ? poise_peak_now(word, (__u32)(ns >> POISE_AGE_SHIFT)) : 0;
		sum += felt[k];
		known += felt[k] != 0;
	}
	for (size_t k = 0; k < n && known; k++) {
		__u32 wait = waited(line[k], (__u32)(ns >> POISE_TICK_SHIFT));

		if (!felt[k])
			felt[k] = (__u32)(sum / known);
		if (wait > felt[k])
			felt[k] = wait;
		felt[k] = poise_latency_floor(poise_latency_bucket(felt[k]));
	}
	return known != 0;
}

/* The part of 2^32 by which `less` is less than `more`. */
static __u32 part(__u64 less, __u64 more)
{
	if (less * FAVOUR_MOST < more)
		return (__u32)(WHOLE - WHOLE / FAVOUR_MOST);
	return more ? (__u32)((more - less) * WHOLE / more) : 0;
}

void favour_words(const __u32 *felt, size_t n, struct favour *word)
{
	__u32 least = n ? felt[0] : 0, most = least;

	for (size_t m = 0; m < n; m++) {
		least = felt[m] < least ? felt[m] : least;
		most = felt[m] > most ? felt[m] : most;
	}
	for (size_t m = 0; m < n; m++)
		word[m] = (struct favour){part(felt[m], most), part(least, felt[m])};
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
	__u32 *felt = memory_alloc(svc->members * sizeof(*felt));

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
