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
/* The same with a service web that has two listeners and three backends of weight 2, the third
 * named three. */
void command_start_web(struct command *c);
void command_stop(struct command *c);
/* Runs a line as typed, without "poise"; quotes as in a shell. Returns the exit status. */
int command(struct command *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What is in force, as a file; malloc'ed. */
char *command_saved(const struct command *c);
/* A backend of web as it is in force, good until the next call; NULL: there is none. */
const struct config_member *command_member(const struct command *c, const char *text);

#endif
