/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rates: counters looked at once a second give what happened over the last second and over the last
 * minute. The minute is a window of samples RATE_STEP apart, not a decaying average: what is shown
 * is what happened.
 */
#ifndef POISED_RATE_H
#define POISED_RATE_H

#include <stdbool.h>

#include "../maps/abi.h"

#define RATE_STEP    5000000000ull /* ns between samples that the minute is made of */
#define RATE_SAMPLES 13		   /* 12 steps: 60 s */

struct rate_sample {
	__u64 at; /* CLOCK_MONOTONIC ns */
	__u64 opened;
	__u64 packets;
	__u64 bytes;
};

struct rate_window {
	struct rate_sample last;		 /* a second ago */
	struct rate_sample sample[RATE_SAMPLES]; /* ring of the minute */
	__u8 next;
	__u8 used;
};

/* Takes in the counters of now; true if *rate could be given: a sample before it is there and no
 * counter went back (an id used anew begins anew). */
bool rate_take(struct rate_window *w, const struct rate_sample *now, struct poise_rate *rate);

#endif
