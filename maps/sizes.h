/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How many entries each mapped map has, and where its pointer is in struct instance. */
#ifndef POISE_SIZES_H
#define POISE_SIZES_H

#include "instance.h"

struct instance_map {
	const char *name;
	size_t field; /* offset in struct instance */
	__u32 value;  /* bytes of an entry; of loads: of one in a CPU's row */
};

/* The maps that are mapped; meta first, it knows the sizes of the others. */
extern const struct instance_map instance_maps[];
extern const size_t instance_maps_count;

/* meta's sizes from limits; meta->cpus must be set. */
void sizes_fill(struct poise_meta *meta, const struct config_limits *limits);
/* Entries of a map by meta; before meta is mapped, 1 (it is meta itself). */
__u32 sizes_held(const struct instance *i, const struct instance_map *map);
/* Bytes of a value, as the kernel has it. */
__u32 sizes_value(const struct instance *i, const struct instance_map *map);
size_t sizes_bytes(const struct instance *i, const struct instance_map *map);
__u32 sizes_cpus(void);
/* The one whose pin and size may change (flow_table.h). */
bool sizes_is_flows(const struct instance_map *map);
/* Where the windows of a map are kept that is mapped by them (table.h); NULL: it is mapped whole.
 */
struct mapping **sizes_windows(struct instance *i, const struct instance_map *map);

static inline void **sizes_field(struct instance *i, const struct instance_map *map)
{
	return (void **)(void *)((char *)i + map->field);
}

#endif
