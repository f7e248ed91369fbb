/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long a server takes for a question, without any CPU time: it sleeps. Work is done by so many
 * workers at once, one question each, in order of arrival; half the speed makes it twice as long.
 * A delay comes on top, to each question alone. A stalled server does nothing at all: what it was
 * to answer meanwhile, it answers afterwards.
 */
#ifndef BENCH_SERVICE_H
#define BENCH_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#define SERVICE_WORKERS 64

struct service {
	uint64_t work, delay;	      /* ns */
	double speed;		      /* 1: work takes as long as it says */
	uint32_t workers;	      /* 0: any number */
	uint64_t stall, stall_period; /* ns of every so many, at its end; 0: never */
	uint64_t free_at[SERVICE_WORKERS];
};

/* When a question that arrived is to be answered. Never before that of one that arrived earlier. */
uint64_t service_take(struct service *s, uint64_t arrived);
/* Until when the server stalls, its clock having begun at 0; 0: it does not. */
uint64_t service_stalls_until(const struct service *s, uint64_t now);

#endif
