/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The clock of flow words: 12 bits of seconds, or of 16 s where a timeout is longer than an hour.
 * One second of jiffies costs a multiplication; a clock helper would cost 40 ns.
 */
#ifndef POISE_STAMP_H
#define POISE_STAMP_H

#include "packet.h"

#define STAMP_LONG_SHIFT 4  /* the long unit is 16 s */
#define STAMP_FUTURE	 16 /* units ahead of our clock that another CPU's stamp may seem to be */

static __always_inline __u32 stamp_seconds(void)
{
	return bpf_jiffies64() * poise_jiffies_mult >> 32;
}

/* Seconds of silence after which a word of this state is dead. */
static __always_inline __u32 stamp_timeout(const struct poise_service_rec *rec, __u32 state,
					   bool udp)
{
	switch (state) {
	case POISE_FLOW_FIN: return rec->closing;
	case POISE_FLOW_RST: return POISE_RST_SECONDS;
	case POISE_FLOW_AFFINITY: return rec->affinity;
	}
	if (udp)
		return rec->udp;
	if (state == POISE_FLOW_PICKUP)
		return rec->pickup;
	return state == POISE_FLOW_EST ? rec->idle : rec->syn;
}

/* The low 16 bits of a word: state, unit, stamp. */
static __always_inline __u32 stamp_low(__u32 state, __u32 timeout, __u32 seconds)
{
	__u32 low = state << POISE_WORD_STATE_SHIFT;

	if (timeout > POISE_LONG_UNIT_ABOVE)
		return low | POISE_WORD_UNIT | (seconds >> STAMP_LONG_SHIFT & POISE_WORD_STAMP);
	return low | (seconds & POISE_WORD_STAMP);
}

/* Units since a word was stamped. */
static __always_inline __u32 stamp_units(__u64 word, __u32 seconds)
{
	__u32 now = word & POISE_WORD_UNIT ? seconds >> STAMP_LONG_SHIFT : seconds;
	__u32 units = (now - (__u32)word) & POISE_WORD_STAMP;

	return units > POISE_WORD_STAMP - STAMP_FUTURE ? 0 : units;
}

static __always_inline __u32 stamp_age(__u64 word, __u32 seconds)
{
	__u32 units = stamp_units(word, seconds);

	return word & POISE_WORD_UNIT ? units << STAMP_LONG_SHIFT : units;
}

/* True only once the whole timeout has passed, whatever the stamp lost by rounding down. */
static __always_inline bool stamp_expired(__u64 word, __u32 timeout, __u32 seconds)
{
	__u32 unit = word & POISE_WORD_UNIT ? 1 << STAMP_LONG_SHIFT : 1;

	return stamp_age(word, seconds) >= timeout + unit;
}

#endif
