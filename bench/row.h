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
};

extern const struct row rows[];
extern const size_t rows_count;
/* Not of the table: yardsticks (bare.h). */
extern const struct row row_bare_tunnel, row_bare_balancer;

/* The row's packet of its first flow: TCP, ROW_PAYLOAD bytes. Returns its length. */
#define ROW_PAYLOAD   10
#define ROW_FRAME_MAX 128
size_t row_frame(const struct row *row, __u8 frame[ROW_FRAME_MAX]);
/* Where in the frame the low 32 bits of the source address stand. */
unsigned int row_vary_at(const struct row *row);
const char *row_address(enum row_service service);
#define ROW_PORT 80

#endif
