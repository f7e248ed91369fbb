/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the buckets of latencies (latency.h) say of requests. */
#ifndef POISE_QUANTILE_H
#define POISE_QUANTILE_H

#include "abi.h"

/* Seconds within which the part q (0..1) of the requests were answered, by the middle of the bucket
 * that the request of that rank fell into: within 1/16 of its time and a tick. 0: there are none.
 * While samples come, one of a moment ago may be missing. */
double latency_quantile(const struct poise_latency *l, double q);

/* What is known of a backend's latency, in seconds. */
struct latency_told {
	/* What was timed: "request" to the first byte of its answer, or, by clients' packets alone,
	 * "acknowledged" answers, of which "short" ones only if there are no others; "connect"
	 * until there was a request; NULL: nothing. */
	const char *source;
	__u64 samples;	      /* of that kind */
	double p50, p90, p99; /* of all requests that were timed; 0 until then */
	double recent;	      /* average of late, by its peaks, when the last sample came */
};

struct latency_told latency_tell(const struct poise_latency *l);

/* Ticks as seconds. */
double latency_seconds(double ticks);

#endif
