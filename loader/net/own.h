/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which addresses of services the host has by itself: on a device where we did not put them, or by
 * a local route. Those are the kernel's to answer for, all others are ours (bpf/address.h). What
 * the kernel says is noted in the records, from which everything is derived. So is, where no more
 * than a port of an address is ours, whether the rest would loop if it were left to the kernel.
 */
#ifndef POISE_NET_OWN_H
#define POISE_NET_OWN_H

#include "net.h"

/* Where the kernel takes packets for itself. */
struct own_place {
	union poise_addr addr;
	unsigned int ifindex;
	unsigned int bits; /* of addr that count: 128 is one address */
};

struct own_places {
	struct own_place *at;
	size_t count;
	size_t room;
	size_t single; /* so many are one address each, in order; the others follow */
};

void own_places_add(struct own_places *p, const union poise_addr *addr, unsigned int bits,
		    unsigned int ifindex);
/* Once all are there. */
void own_places_sort(struct own_places *p);
void own_places_free(struct own_places *p);
/* What they say of every address in cfg; the number of notes that are new. store: writes them
 * there. */
size_t own_note(struct config *cfg, const struct own_places *p, bool store);

/* Whether noting would change anything. Needs no lock. -1: the kernel could not be asked. */
int net_own_due(struct net *n, struct config *cfg, struct poise_error *err);
/* Notes in cfg what the kernel says; the number of notes that are new, -1 as above. */
int net_own_note(struct net *n, struct config *cfg, struct poise_error *err);
/* The same, and commits if anything changed. The lock is held since before cfg was loaded, which is
 * all of the configuration. */
int net_own_settle(struct net *n, struct instance *i, struct config *cfg, struct poise_error *err);

#endif
