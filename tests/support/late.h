/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How late this machine wakes whoever slept, while something is timed: what others that wait for a
 * moment could not help being late by, too.
 */
#ifndef TEST_LATE_H
#define TEST_LATE_H

/* Watches from here on. */
void late_begin(void);
/* The worst since then, in seconds. */
double late_end(void);

#endif
