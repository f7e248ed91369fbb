/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --watch: a command's output again and again, in place on a terminal. */
#ifndef POISE_CLI_WATCH_H
#define POISE_CLI_WATCH_H

#include "cli.h"

/* Runs once() every interval of --watch until ^C or an error; the exit status. once prints to
 * c->out and reads its words anew each time. */
int watch(struct cli *c, int (*once)(struct cli *c));

#endif
