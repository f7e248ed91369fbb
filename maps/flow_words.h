/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Part of abi.h: the words that packets write into the flow table and into that of fragments, in
 * buckets of one cache line.
 *
 * A flow's: 63..32 tag, 31..16 member, 15..13 state, 12 unit, 11..0 stamp; the whole word 0: free.
 * Changed only by compare-and-swap, freed only by kernel code.
 */
#ifndef POISE_FLOW_WORDS_H
#define POISE_FLOW_WORDS_H

enum poise_flow_state {
	POISE_FLOW_FREE = 0,
	POISE_FLOW_NEW,
	POISE_FLOW_PICKUP,
	POISE_FLOW_EST,
	POISE_FLOW_FIN,
	POISE_FLOW_RST,
	POISE_FLOW_AFFINITY,
};

#define POISE_WORD_TAG_SHIFT	32
#define POISE_WORD_MEMBER_SHIFT 16
#define POISE_WORD_STATE_SHIFT	13
#define POISE_WORD_UNIT		(1u << 12) /* stamp counts 16 s instead of 1 s */
#define POISE_WORD_STAMP	0xfffu
#define POISE_WORD_TAG(w)	((__u32)((w) >> POISE_WORD_TAG_SHIFT))
#define POISE_WORD_MEMBER(w)	((__u16)((w) >> POISE_WORD_MEMBER_SHIFT))
#define POISE_WORD_STATE(w)	((__u32)(w) >> POISE_WORD_STATE_SHIFT & 7)
#define POISE_TAG_UDP		1u /* lowest bit of the tag: a word tells TCP from UDP */
#define POISE_RST_SECONDS	10 /* a reset flow's word lives on so long */
#define POISE_REUSE_SECONDS	60 /* a SYN to a flow silent for so long is a new flow */
#define POISE_YOUNG_SECONDS	3 /* a flow that loses its word so soon puts all under pressure ... */
#define POISE_PRESSED_FOR	1    /* ... for so many seconds more */
#define POISE_LONG_UNIT_ABOVE	3600 /* idle timeouts above use the 16 s unit */

struct poise_bucket {
	__u64 word[POISE_BUCKET_WORDS];
};

POISE_ASSERT_SIZE(struct poise_bucket, 64);

/*
 * A flow table of another size (loader/attach/resize.c). Two pins take turns: `flows` and
 * POISE_FLOWS_OTHER. meta.flow_stage says how far a resize is, and which pin holds the table in
 * force, where programs loaded now put their words; a miss looks into the one beside it and brings
 * the word over.
 */
#define POISE_FLOWS_OTHER     "flows_1"
#define POISE_FLOWS_STAGE(s)  ((s)&3)
#define POISE_FLOWS_PIN(s)    ((s) >> 2 & 1) /* 1: the table in force is POISE_FLOWS_OTHER */
#define POISE_FLOWS_AT(st, p) ((__u32)(st) | (__u32)(p) << 2)

enum poise_flow_stage {
	POISE_FLOWS_ALONE = 0,
	POISE_FLOWS_BESIDE,   /* the new table is there; programs may not look into it yet */
	POISE_FLOWS_SWITCHED, /* the new table is in force; programs may not put words there yet */
	POISE_FLOWS_MOVING,   /* they all do; the old table goes once it is empty */
};

/* ---- fragments ---------------------------------------------------------------------------------
 * Map `fragments`: buckets of words like those of flows, one for each fragmented datagram: tag of
 * its addresses, protocol and id, member (0: nobody's, for the host), state, stamp. A word is never
 * freed, only replaced, by compare-and-swap.
 */
#define POISE_FRAGMENT_BUCKETS 8192 /* 64 K datagrams within a reassembly timeout */
#define POISE_FRAGMENT_SECONDS 30   /* as long as Linux keeps the fragments of one datagram */

enum poise_fragment_state {
	POISE_FRAGMENT_FREE = 0,
	POISE_FRAGMENT_GUESS, /* by a later fragment that came before the first */
	POISE_FRAGMENT_FIRST, /* by the first, which knows its flow */
	POISE_FRAGMENT_ENDED, /* the same, and the last was seen */
};

#endif
