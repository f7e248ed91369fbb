/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands that are told of events: a service's (key `notify`) of its own, poised's (--notify) of
 * all. They are run as health/child.h says, with what happened in the environment; NOTIFY_RUNNING
 * at once, the others wait in a queue, in order. What finds the queue full is not told, and the log
 * says so. None of it holds up the loop: it is looked after every few milliseconds.
 */
#ifndef POISED_NOTIFY_H
#define POISED_NOTIFY_H

#include <sys/types.h>

#include "../maps/events.h"

#define NOTIFY_RUNNING 4     /* at once: the machine has better to do */
#define NOTIFY_QUEUE   256   /* events that wait: a service's in a bad minute, 0.2 MiB */
#define NOTIFY_MS      10000 /* how long one may take: then its process group is killed */
#define NOTIFY_LAST_MS 1000  /* and those that still run when poised ends, all of them together */

struct notice {
	char command[POISE_NOTIFY];
	struct poise_event event;
};

struct notify {
	char instance[POISE_NAME_MAX];
	struct notice waiting[NOTIFY_QUEUE];
	unsigned int first, count;
	struct notify_running {
		pid_t pid;		   /* 0: none */
		__u64 until;		   /* CLOCK_MONOTONIC ms; 0: killed */
		char name[POISE_NAME_MAX]; /* of the command, for the log */
	} running[NOTIFY_RUNNING];
	__u64 lost; /* found the queue full, and not told of yet */
	__u64 told; /* CLOCK_MONOTONIC ms when that was last told */
};

/* Tells this command, by and by. */
void notify_put(struct notify *n, const char *command, const struct poise_event *e);
/* Starts what waits, ends what lasts too long, takes note of what has ended. */
void notify_tick(struct notify *n);
/* Runs what waits and is left, for NOTIFY_LAST_MS; then kills it. */
void notify_close(struct notify *n);

#define NOTIFY_VARIABLES 16
#define NOTIFY_TEXT	 2048
/* What happened as an environment: the variables in buf, each with its NUL, and pointers to them,
 * NULL-ended. */
void notify_variables(const struct poise_event *e, const char *instance,
		      char *variables[NOTIFY_VARIABLES], char buf[NOTIFY_TEXT]);

#endif
