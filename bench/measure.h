/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Times a program against a no-op XDP_TX, both under the driver (driver.bpf.c). */
#ifndef POISE_BENCH_MEASURE_H
#define POISE_BENCH_MEASURE_H

#include "row.h"

struct figure {
	double ratio_median;		   /* of the rounds */
	double ratio_low, ratio_high;	   /* where the median of other rounds would be, 95 % */
	double ns_median, floor_ns_median; /* a packet; no-op, or the row beside */
	double over_ns_median; /* beyond the row beside: a flow of rows that choose, else a packet
				*/
	unsigned int rounds;
	__u64 unexpected; /* packets that had not grown as expected; each round's first one has not
			   */
	bool is_void;	  /* more than those were unexpected, or the verdict was another */
};

struct measure; /* the loaded driver */

/* NULL and a message on stderr if it cannot be loaded. */
struct measure *measure_open(void);
void measure_close(struct measure *m);
/* The yardsticks of bare.h: what this machine asks of any tunnel, and of any balancer. */
int measure_bare_tunnel(const struct measure *m);
int measure_bare_balancer(const struct measure *m);
/* Whether there are CPUs enough for this row. */
bool measure_can(const struct row *row);
/* Pins this thread to the last CPU, and lets nothing else run there where the kernel allows it. */
void measure_quiet(const struct measure *m);
/* Walks through all flows of the row and of the one beside, untimed: as they begin, then as they go
 * on. */
int measure_warm(struct measure *m, const struct row *row, int prog_fd);
/* One run of `rounds` interleaved rounds. -1: interrupted or refused (errno). */
int measure_run(struct measure *m, const struct row *row, int prog_fd, unsigned int rounds,
		struct figure *out);
/* So many packets once, of flows as they begin or as they go on: ns a packet, and whether all were
 * treated as expected. -1: interrupted or refused (errno). */
int measure_once(struct measure *m, const struct row *row, int prog_fd, bool first, __u32 packets,
		 double *ns, bool *as_expected);

#endif
