/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Passive signals: what the flows of a service's backends tell of them. Pure: counters and times
 * are given, so that all of it can be tested.
 *
 * In direct modes only what clients send is ever seen, but a client that gets no answer behaves
 * unlike one that does:
 *
 *  - unanswered: a flow began with a SYN, and nothing but that SYN ever came. The backend is
 * silent, or refuses: a client that is refused does not come back with the same port.
 *  - unfinished: a flow was answered, and did not end by a FIN or reset of its client. Whoever is
 *    reset falls silent without a word, and so does whoever waits for an application that hangs. As
 *    flows that last look the same at first, this is judged over three times as long as the pool's
 *    flows last (Little's law: those that live, by those that begin per second); by then two thirds
 *    of a newcomer's have ended, too.
 *  - refused: a flow was reset by the backend, which is seen in mode nat alone.
 *
 * None of these means anything by itself: clients scan, flood, vanish and are cut off. So a backend
 * is compared with the median of the pool over the same time, in which every client meets every
 * backend alike: what the network or clients do, they do to all.
 *
 * A window goes on until each backend has enough flows; or half of them have, and all together
 * twice as many as would do: some get few, by their weight or since they hang. A backend is sick if
 * it is found so in PASSIVE_TWICE windows in a row, which rules out bursts of flows of a kind of
 * their own.
 */
#ifndef POISE_HEALTH_PASSIVE_H
#define POISE_HEALTH_PASSIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "maps/abi.h"

/* Flows of a backend that say something of it: by chance a share of 20 is off by 11 points, and
 * once in some thousands by PASSIVE_MARGIN, points above the median. */
#define PASSIVE_LEAST	 20
#define PASSIVE_MARGIN	 40
#define PASSIVE_TWICE	 2
#define PASSIVE_PATIENCE 60 /* windows after which one is given up that has too few flows */
#define PASSIVE_LASTING	 3  /* times that the pool's flows last */
#define PASSIVE_QUIET	 10 /* times eject-time that it was back, after which it begins anew */

/* A backend over a window. */
struct passive_member {
	bool counts; /* it could be chosen all the while */
	__u32 before[POISE_SIGNALS], now[POISE_SIGNALS];
	__u64 live; /* flows now */
	/* what passive_judge makes of it: */
	bool measured; /* it had enough flows */
	bool sick;
	__u32 flows; /* that it is judged by */
	__u8 bad;    /* percent of them */
};

/* Milliseconds that a window must be long, of a pool as it is after `age` of them. */
__u64 passive_window(enum poise_fault fault, __u32 window, const struct passive_member *m, size_t n,
		     __u64 age);

/* Finds the sick by one kind of fault, and the median in percent. False: the window has to go on.
 */
bool passive_judge(enum poise_fault fault, struct passive_member *m, size_t n, __u8 *median);

/* Backends of a service: up, of these reached by a next hop, up but for being ejected, and how many
 * have to be up. */
struct passive_pool {
	long up, reached, ejected, enough;
};

/* How many more may be ejected; below 0: so many too many are. */
long passive_room(const struct poise_service_conf *conf, const struct passive_pool *p);

/* Milliseconds of m's next ejection, at CLOCK_REALTIME ns. */
__u32 passive_time(const struct poise_service_conf *conf, const struct poise_member_conf *m,
		   __u64 now);

#endif
