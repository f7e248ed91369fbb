/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who of a service may be chosen: up, else not yet checked, else draining, else sorry, else those
 * whose only fault is a failed check. Each member has a rank of its own; the service says what
 * becomes of those that failed: as long as too few are up they count as up (panic), when fewer are
 * up than it wants (min-up) they give way to sorry ones, and when nobody else is left those that
 * failed may be tried or not (on-none-up). Whoever is ejected (loader/health/passive.h) stands with
 * those that failed while somebody is up, else with these.
 *
 * And whose flows go on: those of a member that may be chosen, of one that drains, and of one that
 * is down as on-down says.
 *
 * Made by ladder_begin, then ladder_count for each member; then it can be asked.
 */
#ifndef POISE_LADDER_H
#define POISE_LADDER_H

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"

struct ladder {
	const struct poise_service_conf *conf;
	__u32 at[POISE_RANK_NEVER + 1]; /* members by their own rank */
	__u32 takers;			/* those that are up unless a check says otherwise */
	__u32 ejected;			/* those that are up but for being ejected */
	bool was_below;			/* its minimum, when last derived */
};

/* stood: as ladder_standing had it when the service was derived last (instance_standing); 0: it
 * never was. Asked with its own answer it answers the same. */
void ladder_begin(struct ladder *l, const struct poise_service_conf *conf, __u8 stood);
void ladder_count(struct ladder *l, const struct poise_member_conf *m);

/* The best rank with anybody on it; POISE_RANK_NOBODY if that may not be chosen. */
enum poise_rank ladder_rung(const struct ladder *l);
/* Some are up, but fewer than `panic` says of those that would be if all checks were good. */
bool ladder_panics(const struct ladder *l);
/* How many must be up: min-up (0: any number); if fewer were, more by min-up-margin, or all there
 * are. */
__u32 ladder_enough(const struct ladder *l);
/* Fewer are: it is below its minimum. */
bool ladder_below(const struct ladder *l);
/* Nobody is up but those that are ejected: then they are. */
bool ladder_pardons(const struct ladder *l);
enum poise_rank ladder_rank(const struct ladder *l, const struct poise_member_conf *m);
/* The member's word `live` (POISE_L_*) but for fading. */
__u32 ladder_live(const struct ladder *l, const struct poise_member_conf *m);

/* What of it is worth telling when it turns: POISE_STANDS_*. */
__u8 ladder_standing(const struct ladder *l);
/* A rung in one word or two: up, checking, draining, sorry, sorry draining, failed, nobody. */
const char *ladder_rung_word(enum poise_rank rung);
/* Who serves now and why, in words: a text that lasts, or buf. */
const char *ladder_says(const struct ladder *l, char *buf, size_t size);

/* The rank of a member by what is said of it alone. */
enum poise_rank ladder_own_rank(const struct poise_member_conf *m);
/* Whether it is only for being ejected that it is not up. */
bool ladder_ejected(const struct poise_member_conf *m);

#endif
