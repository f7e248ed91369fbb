/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The flow table's mapping, which alone may change while an instance is open: a resize puts another
 * table in force.
 */
#ifndef POISE_FLOW_TABLE_H
#define POISE_FLOW_TABLE_H

#include "instance.h"

/* Maps the table in force, and the one beside it if there is one. */
int flow_table_open(struct instance *i, struct poise_error *err);
void flow_table_close(struct instance *i);
/* The same anew if a resize went on meanwhile, and the sweeper that belongs to it. Nothing may be
 * under way in the tables. */
int flow_table_refresh(struct instance *i, struct poise_error *err);

#endif
