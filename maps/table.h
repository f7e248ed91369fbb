/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The pool of tables, mapped as it is used. It is the largest map (128 MB by default) and most
 * commands look at the table of one service or none; the kernel fills the page tables of all that
 * is mapped, some 10 ms of CPU for the whole of it.
 */
#ifndef POISE_MAPS_TABLE_H
#define POISE_MAPS_TABLE_H

#include "instance.h"

/* Entries at, at + 1, ... at + n - 1 of the pool, to be read and changed until the instance is
 * closed. They must lie inside the pool. */
__u32 *instance_table(const struct instance *i, __u32 at, __u32 n);

/* Reserves room for the pool, whose map is fd (owned by the instance from now on): -1 with errno.
 * An instance that maps its pool itself (instance_anonymous) does not call this. */
int table_reserve(struct instance *i, int fd, size_t bytes);
void table_release(struct instance *i);

#endif
