// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Quantiles by the nearest rank. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "quantile.h"

#define NS_PER_S 1e9

double latency_seconds(double ticks)
{
	return ticks * POISE_TICK_NS / NS_PER_S;
}

static double middle(__u32 bucket)
{
	double next = bucket + 1 < POISE_LATENCY_BUCKETS ? poise_latency_floor(bucket + 1)
							 : 1u << POISE_LATENCY_BITS;

	return (poise_latency_floor(bucket) + next) / 2;
}

struct latency_told latency_tell(const struct poise_latency *l)
{
	static const char *const names[POISE_SAMPLES] = {
		[POISE_SAMPLE_REQUEST] = "request",
		[POISE_SAMPLE_SHORT] = "short",
		[POISE_SAMPLE_CONNECT] = "connect",
	};
	enum poise_sample kind = l->peak[POISE_SAMPLE_REQUEST] ? POISE_SAMPLE_REQUEST
				 : l->peak[POISE_SAMPLE_SHORT] ? POISE_SAMPLE_SHORT
							       : POISE_SAMPLE_CONNECT;
	bool acknowledged = kind == POISE_SAMPLE_REQUEST && l->by_client;
	__u64 peak = __atomic_load_n(&l->peak[kind], __ATOMIC_RELAXED);

	return (struct latency_told){
		.source = !peak		 ? NULL
			  : acknowledged ? "acknowledged"
					 : names[kind],
		.samples = l->samples[kind],
		.p50 = latency_quantile(l, 0.5),
		.p90 = latency_quantile(l, 0.9),
		.p99 = latency_quantile(l, 0.99),
		.recent = latency_seconds(POISE_PEAK_TICKS(peak)),
	};
}

double latency_quantile(const struct poise_latency *l, double q)
{
	__u32 count[POISE_LATENCY_BUCKETS], bucket = 0;
	__u64 sum = 0, rank, seen;

	for (__u32 b = 0; b < POISE_LATENCY_BUCKETS; b++)
		sum += count[b] = __atomic_load_n(&l->requests[b], __ATOMIC_RELAXED);
	if (!sum)
		return 0;
	rank = (__u64)ceil(q * (double)sum);
	for (seen = count[0]; seen < rank && bucket + 1 < POISE_LATENCY_BUCKETS;)
		seen += count[++bucket];
	return latency_seconds(middle(bucket));
}
