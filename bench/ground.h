/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What cases stand on: a balancer in plain memory, configured from YAML, with next hops, and the
 * native datapath upon it. One at a time.
 */
#ifndef POISE_BENCH_GROUND_H
#define POISE_BENCH_GROUND_H

#include "maps/instance.h"

#define GROUND_DEVICE  1 /* packets come from here and leave by it */
#define GROUND_SECONDS 1000
#define GROUND_SERVICE "web"

struct ground {
	struct instance *i;
	struct config *cfg; /* in force */
	__u16 service;	    /* id of GROUND_SERVICE; 0: there is none */
};

extern struct ground ground;

/* cpus: at least; flow_slots: words of flows. */
int ground_open(const char *yaml, unsigned int cpus, __u32 flow_slots, struct poise_error *err);
/* The same with room for so many services of GROUND_MANY_BACKENDS each. */
int ground_open_many(const char *yaml, unsigned int services, unsigned int cpus,
		     struct poise_error *err);
void ground_close(void);

/* YAML of GROUND_SERVICE on 10.2.0.1:80 with so many backends 10.3.*.*, into a buffer that the next
 * call reuses. keys: more of it, "policy: p2c, track: always". */
const char *ground_yaml(const char *keys, unsigned int backends);
/* YAML of so many services, malloc'ed. */
#define GROUND_MANY_BACKENDS 4
char *ground_many(unsigned int services);

#endif
