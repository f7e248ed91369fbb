/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A place for a test to make instances in: a network namespace of its own with a veth pair, and a
 * name that no other test has. place_cleanup, as a suite's .fini, removes what was made there.
 */
#ifndef POISE_TEST_PLACE_H
#define POISE_TEST_PLACE_H

#include "longest.h"
#include "maps/error.h"
#include "maps/instance.h"

struct place {
	char name[POISE_NAME_MAX];
	struct instance_where where;
	char dir[128];	  /* of the instance: <root>/<name>/v1 */
	unsigned int lo;  /* interfaces: no native XDP */
	unsigned int out; /* "out", a veth whose peer is "outpeer" */
};

/* Limits of instances that are only made and removed: a few of everything. */
extern const struct config place_small;

void place_open(struct place *p);
void place_cleanup(void);
/* Takes the name of an instance that outlives the test: cleanup leaves it. */
void place_keep(struct place *p, const char *name);

/* True where the CPU is QEMU's emulation, some fifty times slower: tests that do a thing millions
 * of times do a part of it there. */
bool place_emulated(void);

/* Fails the test with an error as a user would read it, if rc says there was one. */
void place_must(int rc, const char *what, const struct poise_error *err);

#endif
