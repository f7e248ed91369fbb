/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Telling neighbours where an address is now, so that none sends on to who had it before. */
#ifndef POISE_NET_ANNOUNCE_H
#define POISE_NET_ANNOUNCE_H

#include <stdbool.h>

#include "../../maps/abi.h"

#define ANNOUNCE_TEXT 80

/* Opens the packet socket for later, by a process that is about to give up CAP_NET_RAW: sending
 * takes none. What is not permitted now is done without. */
void announce_open(void);

/*
 * A gratuitous ARP or an unsolicited neighbour advertisement out of the device, which takes
 * CAP_NET_RAW; and arp_notify, ndisc_notify, so that the kernel does it whenever the link comes up.
 * how: what was done, to follow "put on DEV"; empty on devices without neighbours. These settings
 * say by their number that we made them: announce_end, for the last address of a family that is
 * claimed on the device, takes back what is ours.
 */
void announce(const union poise_addr *addr, unsigned int ifindex, const char *device,
	      char how[ANNOUNCE_TEXT]);
void announce_end(const char *device, bool v4);

#endif
