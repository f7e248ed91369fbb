/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests over a lab (tests/lab/lab): build one, run commands on its nodes, take it down. What fails
 * fails the test and shows the command and what it printed.
 *
 * Tests run from the root of the tree, as make does. Build products are found in $B (build).
 */
#ifndef TEST_LAB_H
#define TEST_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "longest.h"

#define LAB_OUTPUT 65536 /* bytes kept of what a command prints */

/* Seconds until what must come to be is there, on the slowest and busiest of machines: for
 * everything that is waited for and whose time is no claim. */
#define LAB_SOON 60

struct lab {
	char name[32];
	char log[64]; /* what background commands print */
};

/* Builds a lab with these options of `lab up`. Skips the test without root. */
void lab_up(struct lab *l, const char *options);
void lab_down(struct lab *l);

/* Runs a shell command as on the node; its exit status. *out, if wanted, is what it printed on both
 * channels, valid until the next call. */
int lab_run(const struct lab *l, const char *node, const char **out, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The same; the status must be 0. Returns what it printed. */
const char *lab_must(const struct lab *l, const char *node, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Runs it again and again until its status is 0; fails the test after so many seconds, LAB_SOON at
 * the least. */
void lab_until(const struct lab *l, const char *node, int seconds, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The same where it is a claim that it takes no longer than that: on a slow machine in as many
 * times longer as this one is slower. */
void lab_within(const struct lab *l, const char *node, double seconds, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* How many times slower it is now than one with nothing else to do, by how long a command on a node
 * takes to start and end; at least 1. */
double lab_slowness(const struct lab *l);

/* Starts one program (no shell: words at blanks) on the node and returns its pid. */
pid_t lab_start(const struct lab *l, const char *node, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, and waits for it to say "ready". */
pid_t lab_serve(const struct lab *l, const char *node, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Waits for its end, after a signal or without; its exit status. */
int lab_stop(pid_t pid, int sig);
int lab_wait(pid_t pid);
/* Starts poised with these options, or "", and waits until it says it is ready. */
pid_t lab_poised(const struct lab *l, const char *node, const char *options);

/* Runs a shell command here, outside any node; its exit status. */
int lab_host(const char **out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
