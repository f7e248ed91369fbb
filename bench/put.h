/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kind of case that puts one frame through the datapath, again and again. */
#ifndef POISE_BENCH_PUT_H
#define POISE_BENCH_PUT_H

#include "case.h"

#define PUT_BEFORE 3

struct put {
	const char *name;
	const char *listen, *backend; /* the service's address and port, its backend's address */
	const char *forward;	      /* mode and any other keys */
	/* The frame, in words (tests/support/frame.h), and those that go before it. %u is the
	 * source port that the first of those left with. */
	const char *before[PUT_BEFORE];
	const char *words;
	int verdict;
	bool answered; /* by us, so often and no oftener */
};

/* Adds all of them to a suite. */
void put_suite(struct cases *cases, const char *suite, const struct put *put, size_t n);

#endif
