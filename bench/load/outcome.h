/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What became of each request: kept until the end, so that percentiles are exact and each client
 * can be judged by its own figures; a line each in the log; and a status line for who watches.
 */
#ifndef BENCH_OUTCOME_H
#define BENCH_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "wire.h"

#define OUTCOME_SERVERS 64	    /* more would not fit a summary on a screen */
#define OUTCOMES_MAX	(16u << 20) /* requests of one load: 320 MB, an hour at 4,000 a second */
#define OUTCOME_NOBODY	UINT8_MAX   /* no server answered, or one beyond the 64th */
#define OUTCOME_LATEST	1000	    /* requests that the status line's p99 is of */

enum fault {
	FAULT_NONE,
	FAULT_REFUSED,
	FAULT_RESET,
	FAULT_TIMED_OUT,
	FAULT_HOST_UNREACHABLE,
	FAULT_NETWORK_UNREACHABLE,
	FAULT_OUT_OF_SOCKETS,
	FAULT_OUT_OF_PORTS,
	FAULT_OTHER,
	FAULT_CUT_SHORT,
	FAULT_CLOSED,
	FAULT_STATUS,
	FAULT_NO_NAME,
	FAULT_WRONG_ANSWER,
	FAULT_MISDIRECTED,
	FAULT_NO_ANSWER,
	FAULT_NO_CONNECTION,
	FAULTS,
};

/* A finished request. Times in microseconds: connect and total since it was due. */
struct outcome {
	uint32_t client;
	uint32_t lag;	  /* how late this program was: to begin it, and at most, to hear of it */
	uint32_t connect; /* 0: no connection of its own */
	uint32_t total;
	uint8_t fault;
	uint8_t server;
	uint16_t status; /* of HTTP */
};

struct outcomes {
	FILE *log;	  /* NULL: none */
	uint64_t begun;	  /* ns, what times in the log count from */
	int status_fd;	  /* a file that holds the present status line; -1: none */
	uint64_t warm_up; /* ns: requests due before are logged, and counted by themselves */
	struct outcome *all;
	size_t done, room;
	size_t sent, failed, faults[FAULTS];
	size_t warm_sent, warm_failed;
	char server[OUTCOME_SERVERS][WIRE_NAME];
	size_t served[OUTCOME_SERVERS]; /* answers without a fault */
	unsigned int servers;
};

/* Makes room for that many, and touches it: no page is missing while the load runs. */
bool outcomes_open(struct outcomes *o, size_t expected);
void outcomes_close(struct outcomes *o);
/* A request is begun, due so many ns after the load. False: no room for what will become of it. */
bool outcomes_expect(struct outcomes *o, uint64_t due);
/* It is finished; who: the server that answered, NULL if none did. */
void outcomes_add(struct outcomes *o, struct outcome one, uint64_t due, const char *who);
/* Rewrites the status line, and lets the log's readers see what there is. */
void outcomes_status(struct outcomes *o, bool over);

const char *fault_word(enum fault fault);
enum fault fault_of(int error);

#endif
