/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Probes for whoever waits for them: poise health test. */
#ifndef POISE_HEALTH_ONCE_H
#define POISE_HEALTH_ONCE_H

#include "probe.h"

/* All n at once; returns when the last has ended. i, or NULL: whose clients' way they may take. -1:
 * no event loop can be had. */
int probe_once(const struct instance *i, const struct probe_want *want, size_t n,
	       struct probe_result *result);

#endif
