/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef POISE_PATH_H
#define POISE_PATH_H

#include "store.h"

/* Counts every path's references anew and empties half-written paths: after a writer that may have
 * been between two stores. */
void path_recount(struct instance *i);

#endif
