/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every kind of change to a configuration, for tests that look at each single store of it. */
#ifndef TEST_KINDS_H
#define TEST_KINDS_H

#include "store.h"

struct kind {
	const char *name;
	store_edit first; /* NULL, or what was changed before */
	store_edit edit;
};

extern const struct kind kinds[];
extern const size_t kinds_count;

/* What all begin with, as an edit of an empty configuration. */
void kinds_set_up(struct config *cfg, unsigned long argument);
/* Two services, web (3 backends, weights and states mixed) and dns (2), small tables. */
struct instance *kinds_begin(void);
/* The same after the kind's first change. */
struct instance *kinds_begin_for(const struct kind *kind);
const struct kind *kind_named(const char *name);

#endif
