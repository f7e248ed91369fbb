/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether one of two is slower, from what both took in turns. A pair is one of each, taken a moment
 * apart; the change is the candidate's value over the baseline's, less 1. What disturbs a machine
 * disturbs both halves of a pair or makes it one of a few outliers, which a median does not heed.
 */
#ifndef POISE_BENCH_PAIRS_H
#define POISE_BENCH_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

#define PAIRS_LEAST 10
#define PAIRS_MOST  60

/* What lies nearer to no change than this is not called one: two loads of one and the same object
 * differ by about as much, by where their pages came to lie. */
#define PAIRS_CALL 0.01
/* A range this wide or less, from end to end, is as good as this machine gives. */
#define PAIRS_NARROW 0.02

struct pairs {
	double baseline[PAIRS_MOST], candidate[PAIRS_MOST];
	size_t n;
};

struct pairs_change {
	double baseline, candidate; /* medians */
	double change;		    /* median of the pairs' changes: 0.03 is 3 % more */
	double low, high;	    /* its 95 % range */
};

/* Leaves out a pair beyond PAIRS_MOST. */
void pairs_add(struct pairs *p, double baseline, double candidate);

/* The range is that between two of the sorted changes, which holds the median with a probability of
 * at least 95 % whatever the changes' distribution (the confidence interval by the sign test:
 * Thompson 1936). Fewer than 6 pairs have none so certain: then it is all of them. */
struct pairs_change pairs_change(const struct pairs *p);
bool pairs_narrow(const struct pairs_change *c);

enum pairs_call {
	PAIRS_SAME,
	PAIRS_FASTER,
	PAIRS_SLOWER,
};

/* Slower or faster only if the whole range says so, and by PAIRS_CALL. */
enum pairs_call pairs_call(const struct pairs_change *c);

/* Whether it is at most `most` over the baseline: held by its range's upper end. */
bool pairs_within(const struct pairs_change *c, double most);
/* Whether it improved as much as was to be: the median, and no doubt that it improved at all. */
bool pairs_improved(const struct pairs_change *c, double most);

#endif
