/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What source ranges mean, written down once more as plainly as can be: every prefix is asked
 * whether it holds an address, bit by bit. And sets of prefixes to try it on.
 */
#ifndef TEST_RANGES_H
#define TEST_RANGES_H

#include "maps/ranges.h"

/* Whether a client of this address is denied by n prefixes. */
bool range_model_denies(const struct poise_range *range, size_t n, const union poise_addr *a);

/* Addresses at which something may change: at both sides of where each prefix begins and ends, and
 * of IPv4 as a whole. Returns how many. */
#define RANGE_MODEL_PROBES(n) (6 * ((n) + 1))
size_t range_model_probes(const struct poise_range *range, size_t n, union poise_addr *out);

/* n prefixes of both families that often share their beginnings, none twice; the same ones in every
 * run. */
void range_model_draw(struct poise_range *range, size_t n);
/* A number below this one, likewise. */
__u32 range_model_number(__u32 below);

#endif
