/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A transaction before it is written: which records change, and where new things go. Planning
 * touches no map, so that a full pool leaves everything as it was.
 */
#ifndef POISE_PLAN_H
#define POISE_PLAN_H

#include "gaps.h"

struct plan_service {
	struct config_service *svc;
	const struct poise_service_conf *old; /* in force; NULL: new */
};

struct plan {
	struct instance *i;
	struct config *cfg;
	__u8 *kept_service; /* [meta.services]: in force and still in cfg */
	/* [meta.members]: the record in force of who is still in cfg */
	const struct poise_member_conf **old_member;
	struct plan_service *service; /* as cfg->service */

	bool tight; /* ids are short: no room to grow, and what is not needed is given back */

	/* ids.c; NULL until somebody needs a new id */
	__u8 *taken;
	__u32 hint;	    /* every id below is taken */
	struct gaps slots;  /* slots.c */
	struct gaps ranges; /* plan_ranges.c */
};

/* Gives ids and extents to what in cfg has none. May be called again after the pools changed. */
int plan_ids(struct plan *p, struct poise_error *err);
/* Reserves slots for tables that are new or change their size or hash, and for cycles that change.
 * Likewise. */
int plan_tables(struct plan *p, struct poise_error *err);
/* Reserves runs for source ranges that are new or changed, and says in conf what is to stand
 * there. Likewise. */
int plan_ranges(struct plan *p, struct poise_error *err);
/* Writes the run that was planned for the service. Nobody reads it yet, unless it is there. */
void plan_ranges_write(struct instance *i, const struct config_service *svc);

/* The policy whose hash of a packet a policy's table is read by. */
static inline __u8 plan_hash(__u8 policy)
{
	return policy == POISE_SOURCE_HASH ? POISE_SOURCE_HASH : POISE_MAGLEV;
}

#endif
