/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the counting build of inside.c counts. Cache lines are those of maps and packet: the
 * compiler is told that memory is to be checked as AddressSanitizer would, by a call for each
 * access, and those calls come to touch.c. The stack, and the program's own variables (which in the
 * kernel are constants, or registers), do not count.
 */
#ifndef POISE_BENCH_TOUCH_H
#define POISE_BENCH_TOUCH_H

#include <linux/types.h>

struct touch_counts {
	__u64 calls, helpers, lookups, lines;
};

extern struct touch_counts touch_counts;

/* Between the two, lines are counted once each. */
void touch_begin(void);
void touch_end(void);

#endif
