/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What became of a load's requests: one line each in the log, counters and a histogram of times for
 * the status line, and who answered.
 */
#ifndef LAB_TALLY_H
#define LAB_TALLY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TALLY_BACKENDS 64 /* more would not fit a summary on a screen */
#define TALLY_NAME     32
/* Times in microseconds: 32 steps to each doubling, so a value is known within 3 %. */
#define TALLY_STEPS 32
#define TALLY_SLOTS (40 * TALLY_STEPS)

struct tally_backend {
	char name[TALLY_NAME];
	unsigned long count;
};

struct tally {
	FILE *log;	/* NULL: none */
	uint64_t begun; /* us, what times in the log count from */
	int status_fd;	/* a file that holds the present status line; -1: none */
	unsigned long sent, done, failed;
	uint64_t longest;
	unsigned long histogram[TALLY_SLOTS];
	struct tally_backend backend[TALLY_BACKENDS];
	unsigned int backends;
};

/* A finished request. Times in microseconds: due since the load began, connect and total since due.
 * error NULL: answered, by backend. */
struct tally_result {
	uint64_t due, connect, total;
	int status;
	const char *backend;
	const char *error;
};

void tally_add(struct tally *t, const struct tally_result *r);
/* The time that so many in a hundred requests did not exceed, in milliseconds. */
double tally_percentile(const struct tally *t, double percent);
/* Rewrites the status line, and lets the log's readers see what there is. */
void tally_status(struct tally *t, bool over);
/* Totals, and who answered how often, by name. */
void tally_summary(struct tally *t, FILE *out);

#endif
