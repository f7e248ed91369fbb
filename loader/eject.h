/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ejections: once a second the counters of what became of flows are looked at, backends that are
 * sick by them (health/passive.h) get no new flows for a while, and those whose time is over come
 * back. Who is ejected stands in the records, and stays so whatever becomes of poised; what is
 * counted meanwhile is judged from the next start on.
 */
#ifndef POISED_EJECT_H
#define POISED_EJECT_H

#include "../maps/instance.h"

struct ejector;

/* Aborts when memory is out. */
struct ejector *ejector_new(const struct instance *i);
void ejector_free(struct ejector *e);

/* A look, at CLOCK_MONOTONIC ms and CLOCK_REALTIME ns. May wait for the lock, which is not held. */
int ejector_tick(struct ejector *e, struct instance *i, __u64 now_ms, __u64 realtime_ns,
		 struct poise_error *err);

#endif
