/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Health checks of an instance: a thread with an event loop and a handle of its own, so that
 * neither a slow server nor the instance's lock holds up the folding of loads, nor the other way
 * round. Which backends are checked follows the configuration in force; what is found out goes into
 * their records, all changes of a moment in one transaction, and from there to the packets.
 */
#ifndef POISE_HEALTH_CHECKER_H
#define POISE_HEALTH_CHECKER_H

#include "maps/instance.h"

struct checker;

/* What the checker has to say to the log: why it cannot store what it found. What it finds is told
 * as events (maps/events.h). */
typedef void (*checker_say)(const struct poise_error *fault);

int checker_start(struct checker **out, const struct instance_where *where, checker_say say,
		  struct poise_error *err);
/* Ends probes and thread; the records stay as they are. NULL: nothing. */
void checker_stop(struct checker *c);

#endif
