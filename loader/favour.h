/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Favour: what packets show of latencies (maps/latency.h) becomes what the policies p2c and
 * latency-aware choose by, every few milliseconds: a word of the loads' row that a choice reads
 * anyway, the part by which a backend is faster than the slowest of its service, or slower than the
 * fastest.
 *
 * What is felt of a backend is its average as it is by now, or how long something it was sent has
 * waited for an answer, whichever is longer: so one that hangs is avoided before any sample ends.
 * Nothing is waited for forever (POISE_WAITS_TICKS), and averages fade: whoever is avoided is tried
 * again. Who has no sample is taken for the mean of the pool. Latencies of one bucket are the same
 * one, so near-ties are left to load and chance.
 */
#ifndef POISED_FAVOUR_H
#define POISED_FAVOUR_H

#include "../maps/config.h"

struct instance;

/* Ratios of latencies count up to this one. */
#define FAVOUR_MOST 4096

/* Ticks that each of n members is felt to take at `ns` of the kernel's clock, in felt[]; false:
 * nothing is known of any. */
bool favour_felt(const struct poise_latency *const *line, size_t n, __u64 ns, __u32 *felt);

/* As in struct poise_loads: what follows from felt[], for each of the n. */
struct favour {
	__u32 eased, refused;
};

void favour_words(const __u32 *felt, size_t n, struct favour *word);

/* Stores the words of all members of cfg. known: false: as if no latency were known. */
void favour_run(struct instance *i, const struct config *cfg, __u64 ns, bool known);

#endif
