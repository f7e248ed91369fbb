/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Clients at work on a node, c1 if nothing else is said, while something happens to the backends:
 * new connections at a rate (load) and one UDP flow that never pauses (sender); and what became of
 * each request, by when it was made.
 */
#ifndef TEST_CLIENTS_H
#define TEST_CLIENTS_H

#include "lab.h"

struct clients {
	const struct lab *lab;
	const char *node;
	char udp_on[16]; /* the backend that the UDP flow began on */
	double began;	 /* as clients_now() */
};

/* Begins: port 80 of the address for TCP, 9000 for UDP. rate: connections a second. */
void clients_begin(struct clients *c, const struct lab *lab, const char *vip, int rate);
void clients_begin_on(struct clients *c, const struct lab *lab, const char *node, const char *vip,
		      int rate);
/* Ends them; those under way are waited for. */
void clients_end(struct clients *c);

/* Seconds since 1970: the clock of all nodes. */
double clients_now(void);

/* Requests made from then on, and those of them that failed. */
int clients_asked(const struct clients *c, double from);
int clients_failed(const struct clients *c, double from);
/* Datagrams sent from then on, and those of them that were not answered, or by this backend (NULL:
 * whichever). */
int clients_sent(const struct clients *c, double from);
int clients_unanswered(const struct clients *c, double from, const char *by);

#endif
