/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ledger of flows: what clients would know. It makes flows begin and go on, writes down which
 * backend each went to, and counts those that moved though their backend stayed. It knows nothing
 * of tables, words or bases.
 */
#ifndef POISE_TEST_LEDGER_H
#define POISE_TEST_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct ledger_flow {
	__u32 client; /* its address and port follow from this number, and are its own */
	__u32 last;   /* second of its last packet */
	__u8 backend; /* last byte of its address; 0: has not begun, LEDGER_ANY: may go anywhere */
	bool udp;
};

#define LEDGER_FRAME 128 /* bytes, more than enough for headers and a little data */

struct ledger {
	struct ledger_flow *flow;
	size_t flows;
	__u64 random;
	__u32 clients; /* given out so far */
	__u32 now;     /* seconds; the caller's to move on */
	__u32 idle;    /* seconds of silence after which a TCP flow is over ... */
	__u32 udp;     /* ... and a UDP flow */
	/* Puts a frame through; last byte of the address of the backend that it went to, 0 none. */
	int (*send)(void *ctx, const __u8 *frame, size_t length);
	void *ctx;
	__u8 frame[2][LEDGER_FRAME]; /* TCP's, UDP's */
	size_t length[2];
	unsigned long packets, begun, moved, lost, over;
	char first[160]; /* what moved first, in words */
};

#define LEDGER_SERVICE	 "10.2.0.1" /* where flows go: this address, ports 80/tcp and 53/udp */
#define LEDGER_LISTENERS "[ '10.2.0.1:80', '10.2.0.1:53/udp' ]"

#define LEDGER_ANY 255

/* Room for so many flows, none of which has begun. */
void ledger_open(struct ledger *l, size_t flows, __u64 seed);
/* The same, to another address than LEDGER_SERVICE. */
void ledger_open_to(struct ledger *l, size_t flows, __u64 seed, const char *service);
void ledger_close(struct ledger *l);
/* A number below n. */
__u32 ledger_random(struct ledger *l, __u32 n);
/* A new flow in place f of the ledger: a handshake, or two datagrams. */
void ledger_begin(struct ledger *l, size_t f, bool udp);
/* A packet in the middle of a flow; one that was silent for too long, or none yet, begins anew. */
void ledger_talk(struct ledger *l, size_t f);
/* This backend's flows may move, all or only those of UDP. (Connections do not survive that: they
 * begin anew.) */
void ledger_release(struct ledger *l, int backend, bool udp_only);
/* ledger_talk for `n` flows drawn by chance. */
void ledger_talk_some(struct ledger *l, size_t n);
void ledger_talk_all(struct ledger *l);

#endif
