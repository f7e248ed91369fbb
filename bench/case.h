/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cases: what build/bench/cases counts and times, one for each distinct path. A suite is a file
 * suite_*.c that adds its own to a list; a kind of case knows how to set up, do and take down.
 * Only one case is open at a time, so kinds keep their state in variables of their file.
 */
#ifndef POISE_BENCH_CASE_H
#define POISE_BENCH_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "maps/error.h"

struct bench_case;

struct case_kind {
	/* Ready for so many CPUs at once, 0 .. cpus - 1. -1 with err set. */
	int (*open)(const struct bench_case *c, unsigned int cpus, struct poise_error *err);
	/* Before each run of a CPU, never counted or timed; NULL: nothing to do. */
	void (*reset)(unsigned int cpu);
	/* That many operations, each of them one call of a function measured_*. */
	void (*run)(unsigned int cpu, unsigned int times);
	/* Operations that did not end as they should have, since open. */
	unsigned long (*failed)(void);
	void (*close)(void);
};

#define CASE_NAME    64
#define CASE_ALONE   0x1 /* never on several CPUs at once */
#define CASE_TIMED   0x2 /* too long, or too much the machine's, to be counted */
#define CASE_OUTSIDE 0x4 /* not of the datapath: there are instructions to count, no look-ups */

struct bench_case {
	char name[CASE_NAME]; /* suite/case */
	const struct case_kind *kind;
	const void *what; /* the kind's: what it is of, static */
	long size;	  /* likewise */
	long more;
	unsigned int times;   /* operations that are counted */
	unsigned int at_most; /* operations between two resets; 0: any number */
	unsigned int flags;
	unsigned int per;   /* what an operation handles: figures are divided by it */
	unsigned int bytes; /* of maps that a flow takes; 0: it takes none */
	double band;	    /* % by which counts vary between machines with one toolchain */
};

struct cases {
	struct bench_case *list;
	size_t count, room;
};

/* Adds one with times = 64 and per = 1 and the rest 0; valid until the next is added. */
struct bench_case *case_add(struct cases *cases, const struct case_kind *kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void suite_packet(struct cases *cases);
void suite_parse(struct cases *cases);
void suite_choose(struct cases *cases);
void suite_flow(struct cases *cases);
void suite_tables(struct cases *cases);
void suite_forward(struct cases *cases);
void suite_daemon(struct cases *cases);

#endif
