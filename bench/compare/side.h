/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One side of a comparison: a standby (standby.c) of one revision, and what it answers. */
#ifndef POISE_BENCH_SIDE_H
#define POISE_BENCH_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#define SIDE_ANSWER 4096 /* bytes of an answer: all rows' names */

struct side {
	const char *program;
	pid_t pid;
	FILE *to, *from;
};

/* Starts it and waits until it is loaded. False: it said why on stderr. */
bool side_start(struct side *s, const char *program);
/* Gives an order; the answer without its end of line is valid until the next call. NULL: it is
 * gone. */
const char *side_ask(struct side *s, const char *order, const char *row);
/* Runs the row once: ns a packet, NAN if that did not go as expected. */
double side_run(struct side *s, const char *row);
/* Waits until it has removed what it made. No-op if it never started. */
void side_stop(struct side *s);

#endif
