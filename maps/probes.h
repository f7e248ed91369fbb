/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ABI's map `probes`: health checks that take the way of clients' packets. Who probes sends to
 * the backend's own address from a port of the range below; the program at TC egress makes the
 * virtual address its destination and forwards it in the backend's mode, the one at TC ingress
 * gives the answer the backend's address back (bpf/probe.bpf.c). Entry n is that of port
 * POISE_PROBE_PORT + n, which is the identifier of an echo request.
 */
#ifndef POISE_PROBES_H
#define POISE_PROBES_H

/* 61440 to 65535: above the ports that Linux gives away by itself, up to 60999 unless told else.
 * The programs find an entry by a mask. */
#define POISE_PROBE_PORT  61440
#define POISE_PROBE_PORTS 4096 /* as many probes under way; a power of two */

struct poise_probe {
	union poise_addr backend;
	union poise_addr address; /* the virtual one, of the same family */
	/* Whoever raises it from what has passed has the entry till then: CLOCK_MONOTONIC, ns. */
	__u64 until;
	__u16 member; /* id */
	__u16 port;   /* that is asked, network order; 0: an echo request has none */
	__u8 proto;   /* 0: there is no probe. Stored last, cleared first */
	__u8 flags;   /* POISE_PROBE_* */
	__u8 spare[18];
};

POISE_ASSERT_SIZE(struct poise_probe, 64);

/* What begins it is made as large as the path takes, by zeros behind the IP packet: a TCP segment
 * with SYN, any datagram, an echo request. */
#define POISE_PROBE_FULL 0x01

#endif
