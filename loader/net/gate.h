/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The announcing gate: which claimed addresses are on their devices now. With `announce usable` an
 * address stands there only while this balancer can serve it, so that a routing daemon which
 * exports what it finds on lo draws traffic here exactly then, and other balancers have it else.
 *
 * Found is what could be said this moment: that a service on the address has a backend to which a
 * new flow would go, or why not. Judged is what follows from it: an address that was announced
 * outlives withdraw-grace without any such backend; one that is withdrawn, or was never announced,
 * comes with the first. Who only looks once (the command, which cannot wait) therefore never
 * withdraws, and while nobody looks nothing changes.
 */
#ifndef POISE_NET_GATE_H
#define POISE_NET_GATE_H

#include "claim.h"

/* An address of the configuration, in the same place of it. */
struct gate_place {
	union poise_addr addr;
	__u8 found; /* enum poise_announced */
	__u64 lost; /* CLOCK_MONOTONIC ns since when it cannot be served; 0: it can */
};

/* A service that listens on an address with a gate. */
struct gate_pair {
	size_t address, service; /* of the configuration */
};

struct gate {
	bool alone; /* poised does not run: with no program attached, nobody but us will withdraw */
	__u64 generation; /* of the configuration that the rest is of */
	struct gate_place *place;
	size_t places;
	struct gate_pair *pair;
	size_t pairs, room;
};

void gate_free(struct gate *g);

/* What can be served now; attached: whether any device has the program. cfg is a whole one. Cheap
 * while it stays the same: a look at one backend for each pair. */
void gate_look(struct gate *g, const struct instance *i, const struct config *cfg, bool attached,
	       __u64 now);
/* Whether a judgement at `now` of what was found, in the same cfg, differs from the record. */
bool gate_due(const struct gate *g, const struct config *cfg, __u64 now);
/* Judges what was found, notes it in the records of the same cfg, and says what changed for
 * anybody. Returns how many records are others now. */
int gate_decide(const struct gate *g, struct config *cfg, net_claim_say say, void *ctx);
/* Looks, judges, settles (claim.h) and commits. The lock is held since before cfg was loaded.
 * Returns how many records changed, or -1. */
int gate_settle(struct gate *g, struct net *n, struct instance *i, struct config *cfg,
		bool attached, net_claim_say say, void *ctx, struct poise_error *err);

/* The judgement of one address, an enum poise_announced. */
enum poise_announced gate_judge(const struct config_address *a, enum poise_announced found,
				__u64 lost_ms);

#endif
