/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A load as its command line tells it. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "ask.h"
#include "report.h"
#include "schedule.h"

struct load {
	struct ask ask;
	struct schedule schedule;
	struct outcomes outcomes;
	struct report_load told;
	uint64_t duration; /* ns during which requests are due; 0: no end */
	uint64_t count;	   /* requests; 0: no end */
	FILE *json;
	char page[256];
};

/* Reads it, opens its files, sets up ask, schedule and outcomes. False: said what is wrong. */
bool load_open(struct load *l, int argc, char **argv);
void load_close(struct load *l);

#endif
