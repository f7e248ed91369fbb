/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef POISE_PATH_H
#define POISE_PATH_H

#include "store.h"

/* Counts every path's references anew and empties half-written paths: after a writer that may have
 * been between two stores. */
void path_recount(struct instance *i);

/* How often each path is named, by members and paths: [meta.paths], to be freed. */
__u64 *path_count(const struct instance *i);

/* Would instance_path_chain give this path? */
bool path_chain_is(const struct instance *i, __u16 at, const struct poise_path *want,
		   const union poise_addr *source, __u32 sources);

#endif
