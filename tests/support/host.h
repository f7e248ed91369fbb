/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A host for the command `poise`: a network namespace of this process with a veth pair e0 - p0 and
 * neighbours 10.0.0.1 .. 10.0.0.9, and an instance of its own. The command is the one that was
 * built, run as a program.
 */
#ifndef POISE_TEST_HOST_H
#define POISE_TEST_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "longest.h"

#define HOST_OUTPUT (1 << 20) /* bytes kept of each channel; more fails the test */

struct host {
	char instance[32];
	char dir[64]; /* a directory for files, removed at the end */
	/* of the last command */
	int status;
	char *out, *err;
};

/* Skips the test without root. */
void host_up(struct host *h);
/* Attaches to e0, and makes a service web of two listeners and backends 10.0.0.1 .. 10.0.0.3. */
void host_web(struct host *h);
void host_down(struct host *h);

/* Runs a shell command in which `poise` is the built one and $I is --instance of this host. Returns
 * its exit status. */
int host_run(struct host *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same with `poise --instance ...` in front; must exit 0. Returns standard output. */
const char *host_must(struct host *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same; any exit status, which it returns. */
int host_poise(struct host *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Writes a file into h->dir and returns its path, valid until the next call. */
const char *host_file(struct host *h, const char *name, const char *content);

#endif
