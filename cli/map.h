/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The maps of an instance as `poise map` lists and shows them. */
#ifndef POISE_CLI_MAP_H
#define POISE_CLI_MAP_H

#include "cli.h"

struct map_view {
	const char *name;
	const char *about; /* what an entry is */
	const void *entry; /* the first; NULL: the kernel does not let it be mapped */
	size_t size;	   /* bytes of an entry */
	__u64 entries;
	/* Prints the fields of an entry, "key value" after "key value". */
	void (*print)(FILE *out, const struct instance *i, __u64 key, const void *entry);
};

#define MAP_VIEWS 26

/* Fills view[] in the order of POISE_MAPS; returns their number. */
size_t map_views(const struct instance *i, struct map_view view[MAP_VIEWS]);

/* map_table.c: the table of a service, slot by slot, in its backends' names. */
int map_show_table(struct cli *c, const char *service);

/* map_print.c: what the fields of entries mean. */
void print_meta(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_service_conf(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_member_conf(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_listener(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_u32(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_service(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_member(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_table_entry(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_path(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_bucket(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_counter(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_latency(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_loads(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_address_conf(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_held(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_server_ids(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_range(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_bound(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_rate(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_check(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_cluster(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_probe(FILE *out, const struct instance *i, __u64 key, const void *entry);
void print_event(FILE *out, const struct instance *i, __u64 key, const void *entry);

#endif
