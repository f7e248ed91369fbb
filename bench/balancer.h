/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A balancer to be measured: an instance of its own, made by the same calls as poised and poise
 * make, with the services of row.h and next hops that need no neighbour.
 */
#ifndef POISE_BENCH_BALANCER_H
#define POISE_BENCH_BALANCER_H

#include "../maps/instance.h"
#include "row.h"

#define BALANCER_BACKENDS     100
#define BALANCER_BACKENDS_ALL 8192	 /* of all services: more than there are */
#define BALANCER_FLOW_SLOTS   (4u << 20) /* the default */

struct balancer {
	char name[POISE_NAME_MAX];
	struct instance *instance;
	int prog_fd; /* the loaded XDP program */
};

/* Removes what dead benches left, then loads and configures. */
int balancer_open(struct balancer *b, struct poise_error *err);
/* Fills an instance that is there already with the services: all, or the one of a row. */
int balancer_configure(struct instance *i, const struct row *only, struct poise_error *err);
/* What poised does by netlink: every member is reached through one path, on the device that packets
 * come by, so that their verdict is XDP_TX. */
int balancer_resolve(struct instance *i, const struct config *cfg, struct poise_error *err);
/* Forgets every flow. */
int balancer_forget(struct balancer *b, struct poise_error *err);
/* Words in use in the flow table. */
long balancer_words(struct balancer *b);
void balancer_close(struct balancer *b);

#endif
