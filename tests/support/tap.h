/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What passes on every link of a lab, as tcpdump prints it: a line a packet and link, which begins
 * with the time, the router's port (c1-eth0, lb1-eth0, b1-eth0) and the direction: Out, or, to the
 * router, In or P, which is for what goes on by its bridge.
 */
#ifndef TEST_TAP_H
#define TEST_TAP_H

#include "lab.h"

#define TAP_IN	"(In|P)"
#define TAP_OUT "Out"

struct tap {
	const struct lab *lab;
	pid_t tcpdump;
	unsigned int marks;
	char log[96];
};

/* Begins to listen; every packet from then on is seen. */
void tap_open(struct tap *t, const struct lab *l);
void tap_close(struct tap *t);
/* Waits until all that passed so far has been printed. */
void tap_settle(struct tap *t);
/* Forgets it. */
void tap_forget(struct tap *t);
/* Of what was printed, the lines that match this extended regular expression. */
unsigned int tap_count(const struct tap *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* All that was printed, valid until the next command: for messages. */
const char *tap_shown(const struct tap *t);

#endif
