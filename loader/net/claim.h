/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Claimed addresses on their devices. What is put there carries our mark where the kernel keeps one
 * (IFA_PROTO, from 5.18), and the record says that it was us; only with both is anything ever
 * taken off. An address that somebody else put there stays theirs.
 *
 * Settling is repeatable: it compares devices with records, mends the difference, and notes in the
 * records what it did. The command does it after every change, poised whenever the configuration,
 * a link or an address changes.
 */
#ifndef POISE_NET_CLAIM_H
#define POISE_NET_CLAIM_H

#include "net.h"

/* An address as the kernel has it. */
struct net_placed {
	union poise_addr addr;
	unsigned int ifindex;
	__u8 proto; /* IFA_PROTO; 0: the kernel says none */
};

struct net_placed_list {
	struct net_placed *at; /* the caller's to free */
	size_t count;
	size_t room;
};

/* All addresses of all devices. */
int net_placed_read(struct net *n, struct net_placed_list *l, struct poise_error *err);

/* Whether what stands there is ours to take off, by the record's enum poise_put. */
bool net_placed_ours(const struct net_placed *p, __u8 put);
/* What the record should say of what stands there (NULL: nothing), if it said `put` before. */
__u8 net_placed_put(const struct net_placed *p, __u8 put);

/* A sentence about one address: what was done, or why it cannot be. */
typedef void (*net_claim_say)(void *ctx, bool fault, const char *sentence);
/* Makes the sentence: "address 192.0.2.1: " and what the format says of it. */
void net_claim_tell(net_claim_say say, void *ctx, bool fault, const struct config_address *a,
		    const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Whether settling would do anything. Needs no lock. -1: the kernel could not be asked. */
int net_claims_due(struct net *n, const struct config *cfg, struct poise_error *err);
/* Puts and takes off what cfg asks for, and says so in cfg, which the caller then commits if the
 * result is above 0: the number of records that changed. The lock is held since before cfg was
 * loaded. A device that is missing, or an operation that is refused, is said and left for later. */
int net_claims_settle(struct net *n, struct config *cfg, net_claim_say say, void *ctx,
		      struct poise_error *err);

/* Whether the device is up and has carrier. */
bool net_claim_link(const struct net *n, unsigned int ifindex);

/* Where a claimed address is now, for show: "on" by us, "foreign" by somebody else, "absent". */
const char *net_claim_state(struct net *n, const struct config_address *a);

#endif
