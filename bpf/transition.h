/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a packet makes of its flow's word: one table, a row for each state, a column for each kind
 * of packet. What the table says to a word that was not found is in flow_born.
 *
 * A SYN on an established flow is no news while that flow was heard of lately: it may be spoofed,
 * and a backend that does know the flow answers it with a challenge ACK (RFC 5961), the client with
 * a reset, and then the next SYN is a new flow.
 */
#ifndef POISE_TRANSITION_H
#define POISE_TRANSITION_H

#include "flow.h"

/* A cell: the state after, and ... */
#define CELL_STATE  0x07
#define CELL_KEEP   0x08 /* the word stays as it is, stamp and all */
#define CELL_AFRESH 0x10 /* a new flow in the old one's slot: choose again */
#define CELL_LATER  0x20 /* only in a later second than the last, else keep */
#define CELL_SILENT 0x40 /* only after POISE_REUSE_SECONDS of silence, else keep */
#define CELL_USABLE 0x80 /* only while the member may be chosen, else afresh */

#define TRANSITION_ROWS 8 /* states fit in 3 bits */
#define TRANSITION_COLS 8 /* power of two above PACKET_KINDS */

const __u8 transitions[TRANSITION_ROWS][TRANSITION_COLS] = {
	[POISE_FLOW_FREE] =
		{
			[PACKET_SYN] = CELL_AFRESH,
			[PACKET_DATA] = CELL_AFRESH,
			[PACKET_FIN] = CELL_AFRESH,
			[PACKET_RST] = CELL_AFRESH,
			[PACKET_UDP] = CELL_AFRESH,
		},
	[POISE_FLOW_NEW] =
		{
			[PACKET_SYN] = POISE_FLOW_NEW | CELL_USABLE,
			[PACKET_DATA] = POISE_FLOW_EST,
			[PACKET_FIN] = POISE_FLOW_FIN,
			[PACKET_RST] = POISE_FLOW_RST,
			[PACKET_UDP] = POISE_FLOW_EST | CELL_LATER,
		},
	[POISE_FLOW_PICKUP] =
		{
			[PACKET_SYN] = CELL_AFRESH | CELL_SILENT,
			[PACKET_DATA] = POISE_FLOW_EST | CELL_LATER,
			[PACKET_FIN] = POISE_FLOW_FIN,
			[PACKET_RST] = POISE_FLOW_RST,
			[PACKET_UDP] = POISE_FLOW_EST | CELL_LATER,
		},
	[POISE_FLOW_EST] =
		{
			[PACKET_SYN] = CELL_AFRESH | CELL_SILENT,
			[PACKET_DATA] = POISE_FLOW_EST,
			[PACKET_FIN] = POISE_FLOW_FIN,
			[PACKET_RST] = POISE_FLOW_RST,
			[PACKET_UDP] = POISE_FLOW_EST,
		},
	[POISE_FLOW_FIN] =
		{
			[PACKET_SYN] = CELL_AFRESH,
			[PACKET_DATA] = POISE_FLOW_FIN,
			[PACKET_FIN] = POISE_FLOW_FIN,
			[PACKET_RST] = CELL_KEEP,
			[PACKET_UDP] = CELL_AFRESH,
		},
	[POISE_FLOW_RST] =
		{
			[PACKET_SYN] = CELL_AFRESH,
			[PACKET_DATA] = POISE_FLOW_EST,
			[PACKET_FIN] = POISE_FLOW_FIN,
			[PACKET_RST] = CELL_KEEP,
			[PACKET_UDP] = CELL_AFRESH,
		},
	[POISE_FLOW_AFFINITY] =
		{
			[PACKET_SYN] = CELL_AFRESH,
			[PACKET_DATA] = CELL_AFRESH,
			[PACKET_FIN] = CELL_AFRESH,
			[PACKET_RST] = CELL_AFRESH,
			[PACKET_UDP] = CELL_AFRESH,
		},
	[7] =
		{
			[PACKET_SYN] = CELL_AFRESH,
			[PACKET_DATA] = CELL_AFRESH,
			[PACKET_FIN] = CELL_AFRESH,
			[PACKET_RST] = CELL_AFRESH,
			[PACKET_UDP] = CELL_AFRESH,
		},
};

/* The state of a flow whose first packet we see: a flow that is met at its end is never live, and
 * a reset of an unknown flow (FREE) is not worth a word. */
static __always_inline __u32 flow_born(enum packet_kind kind)
{
	switch (kind) {
	case PACKET_DATA: return POISE_FLOW_PICKUP;
	case PACKET_FIN: return POISE_FLOW_FIN;
	case PACKET_RST: return POISE_FLOW_FREE;
	default: return POISE_FLOW_NEW;
	}
}

/* The cell for a word, its conditions resolved: CELL_KEEP, CELL_AFRESH, or a state. */
static __always_inline __u32 flow_transition(__u64 word, enum packet_kind kind, __u32 seconds,
					     __u32 timeout, bool usable)
{
	__u32 cell = transitions[POISE_WORD_STATE(word) & (TRANSITION_ROWS - 1)]
				[kind & (TRANSITION_COLS - 1)];

	/* Swept or not: a flow that begins does not inherit from one that is over. */
	if ((kind == PACKET_SYN || kind == PACKET_UDP) && stamp_expired(word, timeout, seconds))
		return CELL_AFRESH;
	if (cell & CELL_LATER && !stamp_units(word, seconds))
		return CELL_KEEP;
	if (cell & CELL_SILENT && stamp_age(word, seconds) < POISE_REUSE_SECONDS)
		return CELL_KEEP;
	if (cell & CELL_USABLE && !usable)
		return CELL_AFRESH;
	return cell & (CELL_KEEP | CELL_AFRESH | CELL_STATE);
}

#endif
