/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rates from samples. */
#include <string.h>

#include "rate.h"

#define NS_PER_S 1000000000.0

static __u64 per_second(__u64 from, __u64 to, double seconds)
{
	return (to - from) / seconds + 0.5;
}

static void rate_between(const struct rate_sample *a, const struct rate_sample *b, int which,
			 struct poise_rate *rate)
{
	double seconds = (b->at - a->at) / NS_PER_S;

	rate->flows[which] = per_second(a->opened, b->opened, seconds);
	rate->packets[which] = per_second(a->packets, b->packets, seconds);
	rate->bytes[which] = per_second(a->bytes, b->bytes, seconds);
}

static void window_put(struct rate_window *w, const struct rate_sample *now)
{
	w->sample[w->next] = *now;
	w->next = (w->next + 1) % RATE_SAMPLES;
	if (w->used < RATE_SAMPLES)
		w->used++;
}

bool rate_take(struct rate_window *w, const struct rate_sample *now, struct poise_rate *rate)
{
	const struct rate_sample *last = &w->last, *oldest, *newest;
	bool back = now->opened < last->opened || now->packets < last->packets ||
		    now->bytes < last->bytes;

	if (!w->used || back || now->at <= last->at) {
		memset(w, 0, sizeof(*w));
		window_put(w, now);
		w->last = *now;
		return false;
	}
	oldest = &w->sample[(w->next + RATE_SAMPLES - w->used) % RATE_SAMPLES];
	newest = &w->sample[(w->next + RATE_SAMPLES - 1) % RATE_SAMPLES];
	memset(rate, 0, sizeof(*rate));
	rate->at = now->at;
	rate_between(last, now, 0, rate);
	rate_between(oldest, now, 1, rate);
	if (now->at - newest->at >= RATE_STEP)
		window_put(w, now);
	w->last = *now;
	return true;
}
