/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of instance_check: each compares some maps and says what differs. */
#ifndef POISE_CHECK_H
#define POISE_CHECK_H

#include "derive.h"

struct check {
	struct instance *i;
	instance_report report;
	void *ctx;
	int differences;
};

void check_say(struct check *c, const char *map, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* False, and a report, if bytes [from, to) of something are not all 0. */
bool check_zero(struct check *c, const char *map, __u32 index, const void *bytes, size_t size,
		const char *what);
/* False, and a report, if this was not stamped in the past. */
bool check_stamp(struct check *c, const char *map, __u32 index, __u32 retired);

/* check_records.c: true if records can be derived from (their bounds hold) */
bool check_meta(struct check *c);
bool check_records(struct check *c);
/* check_derived.c */
void check_services(struct check *c);
void check_members(struct check *c);
/* check_listeners.c */
void check_listeners(struct check *c);
/* check_server_ids.c */
void check_server_ids(struct check *c);
/* check_flows.c */
void check_paths(struct check *c);
void check_flows(struct check *c);
/* ports.c */
void check_ports(struct check *c);
/* check_slots.c */
void check_slots(struct check *c);

#endif
