/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Command lines of poise run in this process, on an instance of plain memory. */
#ifndef POISE_TEST_COMMAND_H
#define POISE_TEST_COMMAND_H

#include "../../cli/cli.h"

struct command {
	struct cli cli;
	int status; /* of the last line */
	char *out, *err;
};

/* A fresh instance with small limits. */
void command_start(struct command *c);
void command_stop(struct command *c);
/* Runs a line as typed, without "poise"; quotes as in a shell. Returns the exit status. */
int command(struct command *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
