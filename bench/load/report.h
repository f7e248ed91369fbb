/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a load's outcomes come to: for people as text, for programs as one line of JSON. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "outcome.h"

/* Of times in microseconds. */
struct report_times {
	size_t n;
	uint32_t p50, p90, p99, p999, max;
};

/* What a client may expect. */
struct report_promise {
	double failures; /* share of its requests */
	uint64_t p99;	 /* us: of connecting, and of the whole answer */
};

/* What the program was told, for the JSON. */
struct report_load {
	const char *kinds, *target;
	double rate;
	bool poisson;
	uint64_t seed;
	uint32_t clients, question_bytes, answer_bytes;
	uint64_t lag_limit; /* us; 0: none */
	struct report_promise promise;
};

struct report_clients {
	uint32_t served, judged; /* judged: all that asked anything */
	uint32_t worst_p99;	 /* us: of the client whose p99 of the whole answer is longest */
};

/* Of requests that were answered; failed ones are counted, not averaged in. */
struct report_times report_total(const struct outcomes *o);
struct report_times report_connect(const struct outcomes *o);
/* Of all requests. */
struct report_times report_lag(const struct outcomes *o);
/* Each client by its own figures: failures, misdirected ones (none is forgiven), p99 of connect and
 * total. One with none answered is not served. */
struct report_clients report_clients(const struct outcomes *o, uint32_t clients,
				     const struct report_promise *promise);

/* Totals, and who answered how often, by name. */
void report_text(const struct outcomes *o, FILE *out);
void report_json(const struct outcomes *o, const struct report_load *load, FILE *out);

#endif
