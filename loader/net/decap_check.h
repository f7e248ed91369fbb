/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a backend that answers clients directly lacks: facts about this host, and a judgement of
 * them in sentences, each with the command that mends it.
 *
 * Whether the host forwards (ip_forward) does not matter: what is unwrapped is for the host itself,
 * by an address it has.
 */
#ifndef POISE_NET_DECAP_CHECK_H
#define POISE_NET_DECAP_CHECK_H

#include <net/if.h>

#include "../../maps/abi.h"
#include "../../maps/error.h"

/* A virtual address, and where this host has it. */
struct decap_address {
	union poise_addr addr;
	char on[IF_NAMESIZE]; /* device; empty: the host has not got it */
	unsigned int prefix;  /* bits it stands there with */
	bool loopback;	      /* that device is lo, or another that answers no ARP */
};

/* The default route of a family. */
struct decap_way {
	bool exists;
	char device[IF_NAMESIZE];
	char gateway[64]; /* "via ADDR ", empty if there is none */
	__u32 advmss;	  /* 0: by the device's MTU */
};

struct decap_facts {
	char device[IF_NAMESIZE]; /* where packets for the addresses come in */
	bool encapsulated;	  /* poise decap is attached to it; else l2 */
	bool gue;		  /* and takes mode gue: a UDP header more; the caller's */
	__u32 mtu;
	bool outer6; /* it has an IPv6 address that a balancer could send to */
	/* In force for it: the larger of conf/all and conf/DEVICE. */
	int arp_ignore, arp_announce, rp_filter;
	struct decap_address *address; /* owned; decap_facts_free */
	size_t addresses;
	struct decap_way way[2]; /* IPv4, IPv6 */
};

/* Looks at this host. device "": the IPv4 default route's, else the IPv6 one's. */
int decap_facts_read(struct decap_facts *f, const char *device, bool encapsulated,
		     const union poise_addr *address, size_t addresses, struct poise_error *err);
void decap_facts_free(struct decap_facts *f);

/* Calls say(ctx, sentence, remedy) for each thing that is wrong; returns their number. */
typedef void (*decap_say)(void *ctx, const char *sentence, const char *remedy);
int decap_judge(const struct decap_facts *f, decap_say say, void *ctx);

#endif
