/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a packet costs, to the instruction: a child puts it through the native datapath, and is
 * stopped at each step. What it changes in the instance's maps stays, all else is gone with it.
 */
#ifndef POISE_TEST_STEPS_H
#define POISE_TEST_STEPS_H

#include "frame.h"

struct steps {
	long count; /* instructions, a few around included; 0: nobody may trace */
	__u64 path; /* a sum of where each instruction stands: equal if the same ones were run */
	/* The same of all general registers: equal if they also read and wrote the same places. To
	 * be compared where the same function counted, in the same memory. */
	__u64 places;
};

/* Puts f through, as it is; XDP_*. */
int steps_put(const struct frame *f);
struct steps steps_of(const struct frame *f);

#endif
