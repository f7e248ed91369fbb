/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rows of the cost table: each a kind of packet and what its cost must not exceed. Shared by
 * the timed bench, which compares with a no-op XDP_TX, and the counted one.
 */
#ifndef POISE_BENCH_ROW_H
#define POISE_BENCH_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/* The services that balancer.c sets up, and one address that is nobody's. */
enum row_service {
	ROW_AUTO4,   /* track auto: hash policy, untracked */
	ROW_ALWAYS4, /* track always */
	ROW_AUTO6,
	ROW_GUE4,
	ROW_MAGLEV_8, /* track always, this policy and so many backends */
	ROW_ROUND_ROBIN_8,
	ROW_RANDOM_8,
	ROW_LEAST_CONN_8,
	ROW_P2C_8,
	ROW_LEAST_CONN_256,
	ROW_P2C_256,
	ROW_NOBODY,
	ROW_SERVICES,
};

struct row {
	const char *name;
	enum row_service service;
	unsigned int flows; /* a power of two */
	bool syn;	    /* SYN, else ACK */
	int growth;	    /* bytes of outer header expected */
	double required;    /* ratio to the no-op that must not be exceeded */
	/* What a choice costs: each flow begins and is reset at once, so that the next finds its
	 * word and is chosen for afresh; over the same of another row, in ns a flow. */
	const struct row *beside;
	double over; /* ns that must not be exceeded */
};

#define ROW_CHOOSES(row) ((row)->beside != NULL)
#define ROW_PER_FLOW	 2 /* packets of a flow of these rows */

extern const struct row rows[];
extern const size_t rows_count;
/* Not of the table: yardsticks (bare.h). */
extern const struct row row_bare_tunnel, row_bare_balancer;
/* What rows of choices are compared with. */
extern const struct row row_choose;

/* The row's packet of its first flow: TCP, ROW_PAYLOAD bytes; first: the one that a flow begins
 * with. Returns its length. */
#define ROW_PAYLOAD   10
#define ROW_FRAME_MAX 128
size_t row_frame(const struct row *row, bool first, __u8 frame[ROW_FRAME_MAX]);
/* Where in the frame the low 32 bits of the source address stand. */
/* Where TCP's flags stand; only rows of choices ask. */
unsigned int row_flags_at(void);
unsigned int row_vary_at(const struct row *row);
const char *row_address(enum row_service service);
#define ROW_PORT 80

#endif
