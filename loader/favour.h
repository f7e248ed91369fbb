/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Favour: what packets show of latencies (maps/latency.h) becomes what the policies p2c and
 * latency-aware choose by, every few milliseconds: a word of the loads' row that a choice reads
 * anyway, the part by which a backend is faster than the slowest of its service, or slower than the
 * fastest.
 *
 * What is felt of a backend is the mean of late, or how long something it was sent has waited for
 * an answer, whichever is longer: so one that hangs is avoided before any sample ends. Nothing is
 * waited for forever (POISE_WAITS_TICKS), and what is known of who is not chosen fades: it is tried
 * again, as is who has no sample, by what the fastest takes; but while such a try is unanswered by
 * what was known, or the mean of the pool, so that one request tries it and no crowd. Not the
 * peaks: of servers that are equally fast one always had a longer one, and of the fast and the
 * slow alike, so that the slow would get more than is theirs.
 *
 * Latencies of one bucket are the same one, and who is within half of the fastest, or a
 * quarter of a millisecond, is as fast: near-ties are left to load and chance. p2c weighs loads by
 * latency, latency-aware draws by its square: by the latency itself two of four that take ten times
 * as long would still get one request in twelve, and who waits longest makes what users feel.
 */
#ifndef POISED_FAVOUR_H
#define POISED_FAVOUR_H

#include "../maps/config.h"

struct instance;

/* Ratios of latencies count up to this one. */
#define FAVOUR_MOST 4096

struct felt {
	__u32 ticks;
	bool hangs; /* it has long not answered */
};

/* What each of n members is felt to take at `ns` of the kernel's clock, in felt[]; false: nothing
 * is known of any. */
bool favour_felt(const struct poise_latency *const *line, size_t n, __u64 ns, struct felt *felt);

/* As in struct poise_loads: what follows from felt[], for each of the n. */
struct favour {
	__u32 eased, refused;
};

void favour_words(const struct felt *felt, size_t n, struct favour *word);

/* Stores the words of all members of cfg. known: false: as if no latency were known. */
void favour_run(struct instance *i, const struct config *cfg, __u64 ns, bool known);

#endif
