/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ports that this host uses: those it takes for connections of its own (ip_local_port_range), those
 * somebody has reserved (ip_local_reserved_ports), and those that sockets stand on. Packets of mode
 * nat must come from none of them, or an answer to the host would be taken for one to a client.
 */
#ifndef POISE_HOSTPORTS_H
#define POISE_HOSTPORTS_H

#include "../../maps/ports.h"

/* A bit for each port; what cannot be read counts as not used, but for the range, which then is the
 * kernel's default. */
void host_ports(__u64 used[POISE_PORT_WORDS]);

/* Tells packets, if any service translates or, with `soon`, is about to. Lock held. */
void host_ports_note(struct instance *i, bool soon);

/* The parts of it, from text as the kernel has it. */
void host_ports_reserved(__u64 used[POISE_PORT_WORDS], const char *text);
void host_ports_socket(__u64 used[POISE_PORT_WORDS], const char *line, bool listening);

#endif
