/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What only time can settle about tracking: a slot's base follows its current, a slot is no longer
 * mixed, a base table beside the table goes, and what went unrecorded is over.
 */
#ifndef POISE_AGING_H
#define POISE_AGING_H

#include "instance.h"

struct aging;

struct aging *aging_new(void); /* never NULL */
void aging_free(struct aging *a);

/*
 * Looks at as many slots as take a millisecond or two, going on where the last look ended, and
 * settles those whose time has come. `now`: seconds on a clock that never jumps. A slot's time
 * begins when it was first seen, so an aging that was just made settles nothing early. Returns the
 * number of services that a base table was taken from or for which something was declared over,
 * each in a transaction; -1 and an error if that failed. The lock is held.
 */
int aging_tick(struct aging *a, struct instance *i, __u32 now, struct poise_error *err);

/* How far a service is from settled; all zero: packets go by the table alone. */
struct aging_counts {
	__u32 slots;
	__u32 differing; /* current is not base: flows are recorded */
	__u32 mixed;	 /* current is base, but flows may have words */
	bool base;	 /* a base table beside it: every packet's flow is looked up */
	bool untracked;	 /* all is recorded, but flows from before may not be yet */
};

/* Takes no lock. */
void aging_count(const struct instance *i, __u16 service, struct aging_counts *n);

/* Seconds that a slot must have differed, or rested, before it is settled. */
__u32 aging_seconds(const struct instance *i, __u16 service);

#endif
