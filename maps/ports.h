/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which ports packets of mode nat are sent from (maps/nat.h). Lock held for all that
 * changes something. */
#ifndef POISE_PORTS_H
#define POISE_PORTS_H

#include "instance.h"

/* Word `word` of one of the map's bitmaps: a group's, or, after the last of these, one of enum
 * poise_ports. POISE_PORT_WORDS have a bit a port, POISE_PORT_SUMMARY after them a bit a word. */
__u64 *instance_ports_word(const struct instance *i, __u32 map, __u32 word);

/* Bars what no slot may have: ports outside the limits', those of listeners, those that the host
 * uses; and says whether packets may come back at all. Part of deriving: what was changed is dirty
 * (derive.h). */
struct derive_list;
void derive_ports(struct instance *i, const struct derive_list *dirty);

/* The host's own ports, a bit each, from now on (loader/net/hostports.h). */
void instance_host_ports(struct instance *i, const __u64 used[POISE_PORT_WORDS]);

/* Ports that slots of one group may have. */
__u32 instance_ports_free(const struct instance *i);

/* How a group's ports are used. */
struct port_use {
	__u32 used;    /* by flows that go on */
	__u32 resting; /* their flows are over; had again when there are no others (bpf/slots.h) */
	__u64 refused; /* flows that found none, since the maps were made */
};

struct port_use instance_port_use(const struct instance *i, __u32 group);

#endif
