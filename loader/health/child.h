/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Somebody else's command, for a check (probe_exec.c) or to be told of events (loader/notify.c). No
 * shell; no descriptor, no capability and no way to get one; nothing of our environment but PATH; a
 * process group of its own, so that all of what it has started can be ended with it.
 */
#ifndef POISE_HEALTH_CHILD_H
#define POISE_HEALTH_CHILD_H

#include <sys/types.h>

#define CHILD_FAILED 127 /* exit status of what could not be run */

/* Starts `command`, split into words as a line of a batch is, with these variables ("NAME=value",
 * NULL-ended) beside PATH. out is where both of its outputs go; -1: nowhere. The process, which
 * leads its group, or -1 with errno. */
pid_t child_start(const char *command, char *const *variables, int out);
/* Ends the whole group; its leader is to be reaped. */
void child_end(pid_t pid);

#endif
