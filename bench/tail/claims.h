/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the policies that choose by latency promise, held against what was measured. */
#ifndef BENCH_CLAIMS_H
#define BENCH_CLAIMS_H

#include "cells.h"

/* A table of them in Markdown, for every mode and every policy that was measured: what is promised,
 * measured (median, and the 95 % range of the bootstrap), and whether it holds: the range includes
 * the limit or lies on its right side. stalls: the CSV of what a stalled server was still sent. */
void claims_print(const struct cells *c, FILE *stalls, FILE *out);

#endif
