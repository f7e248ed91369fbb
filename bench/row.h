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

#include "../maps/abi.h"

/* The services that balancer.c sets up, and one address that is nobody's. */
enum row_service {
	ROW_AUTO4,   /* track auto: hash policy, untracked */
	ROW_ALWAYS4, /* track always */
	ROW_AUTO6,
	ROW_GUE4,
	ROW_NAT4,
	ROW_NAT46, /* backends of the other family */
	ROW_NAT64,
	ROW_NOBODY,
	ROW_CHOICES, /* from here on ROW_CHOICE */
};

/* One of each policy and size, track always. */
#define ROW_SIZES		 3
#define ROW_CHOICE(policy, size) (ROW_CHOICES + (policy)*ROW_SIZES + (size))
/* The same of the last size, of which one backend fades in, or all do. */
#define ROW_FADING(policy, all)	   (ROW_CHOICE(POISE_POLICIES, 0) + (policy)*2 + (all))
#define ROW_SERVICES		   ROW_FADING(POISE_POLICIES, 0)
#define ROW_CHOICE_POLICY(service) (((service)-ROW_CHOICES) / ROW_SIZES)
extern const int row_sizes[ROW_SIZES]; /* backends */

struct row {
	const char *name;
	unsigned int service; /* enum row_service or ROW_CHOICE */
	unsigned int flows;   /* a power of two */
	bool syn;	      /* SYN, else ACK */
	int growth;	      /* bytes of outer header expected */
	double required;      /* ratio to the no-op that must not be exceeded; 0: no matter */
	/* What a policy costs: over the same of another row, in ns. */
	const struct row *beside;
	double over; /* ns that must not be exceeded; negative: no matter */
	/* Each flow begins and is reset at once, so that the next finds its word and is chosen for
	 * afresh. Then `over` is of a flow, else of a packet. */
	bool chooses;
	bool both; /* on two CPUs at once */
	bool asks; /* each packet ends a request (PSH), so that latency may be taken by it */
	/* Its packets are a backend's answers to that row's, which is of mode nat and one flow. */
	const struct row *answers;
};

#define ROW_PER_FLOW 2 /* packets of a flow of rows that choose */
/* ns of the no-op where the required ratios were set (AMD Zen 3, on which a helper's call costs 7
 * to 20): where the no-op takes a fifth of that, what they leave a packet in ns is the better
 * measure. */
#define ROW_REQUIRED_FLOOR 33

extern const struct row rows[];
extern const size_t rows_count;
/* Not of the table: yardsticks (bare.h). */
extern const struct row row_bare_tunnel, row_bare_balancer;

/* The row's packet of its first flow: TCP, ROW_PAYLOAD bytes; first: the one that a flow begins
 * with. Returns its length. */
#define ROW_PAYLOAD   10
#define ROW_FRAME_MAX 128
size_t row_frame(const struct row *row, bool first, __u8 frame[ROW_FRAME_MAX]);
/* What a packet of row->answers has become: from then on row_frame gives answers to that. */
void row_answer_to(const __u8 frame[ROW_FRAME_MAX]);
/* Where TCP's flags stand; only rows of choices ask. */
unsigned int row_flags_at(void);
/* Where in the frame the low 32 bits of the source address stand. */
unsigned int row_vary_at(const struct row *row);
/* Valid until the next call. */
const char *row_address(unsigned int service);
#define ROW_PORT 80

#endif
