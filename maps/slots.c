// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Slots: where in the one pool a service's table and its cycle lie.
 */
#include <stdlib.h>

#include "cycle.h"
#include "derive.h"
#include "plan.h"

static void conf_slots(struct gaps *taken, const struct poise_service_conf *conf)
{
	gaps_add(taken, conf->table_at, conf->table_slots);
	gaps_add(taken, conf->base_at, conf->base_size);
	gaps_add(taken, conf->cycle_at, derive_cycle_slots(conf));
}

/* A record with table_size 0 sends nobody to its table. */
static void rec_slots(struct gaps *taken, const struct poise_service_rec *rec)
{
	gaps_add(taken, rec->table_at, rec->table_size);
	gaps_add(taken, rec->base_at, rec->base_size);
	gaps_add(taken, rec->cycle_at, rec->cycle_size * POISE_CYCLE_WIDTH(rec->policy));
}

static int no_slots(const struct plan *p, const struct config_service *svc, const char *what,
		    __u32 need, struct poise_error *err)
{
	__u32 largest, left = gaps_left(&p->slots, &largest);

	poise_fail(err, POISE_E_FULL,
		   "its %s needs %u slots side by side; of %u slots %u are free, at most %u side "
		   "by side",
		   what, need, p->i->meta->table_slots, left, largest);
	poise_error_about(err, "service \"%s\"", svc->conf.name);
	return poise_error_remedy(err, "choose a smaller table-size, or raise limits: table-slots, "
				       "which counts when the maps are created");
}

/* The table changes its size or its hash: the old one becomes the base beside it, unless there is
 * an older base already; going back to that one makes it the table again. */
static void keep_base(struct poise_service_conf *conf, const struct poise_service_conf *old,
		      __u32 slots)
{
	if (!old->base_size) {
		conf->base_at = old->table_at;
		conf->base_size = old->table_slots;
		conf->base_policy = plan_hash(old->policy);
	} else if (old->base_size == slots && old->base_policy == plan_hash(conf->policy)) {
		conf->table_at = old->base_at;
		conf->table_slots = slots;
		conf->base_at = 0;
		conf->base_size = 0;
		conf->base_policy = 0;
	}
}

/* What may go on unrecorded after all is to be recorded: what went unrecorded before, until time
 * has told (maps/aging.c). */
static __u8 untracked(const struct plan_service *ps)
{
	if (!ps->old || !config_records_all(&ps->svc->conf))
		return 0;
	if (config_records_all(ps->old))
		return ps->old->untracked |
		       (config_by_hash(ps->old) && !config_by_hash(&ps->svc->conf)
				? POISE_UNTRACKED_TCP
				: 0);
	return POISE_UNTRACKED_UDP | POISE_UNTRACKED_TCP;
}

/* 1: needs slots of its own. */
static bool start_over(const struct plan_service *ps)
{
	static const struct poise_service_conf none;
	const struct poise_service_conf *old = ps->old ? ps->old : &none;
	struct poise_service_conf *conf = &ps->svc->conf;
	__u32 slots = ps->svc->members ? config_table_size(ps->svc) : 0;

	conf->table_at = slots ? old->table_at : 0;
	conf->table_slots = slots;
	conf->base_at = slots ? old->base_at : 0;
	conf->base_size = slots ? old->base_size : 0;
	conf->base_policy = slots ? old->base_policy : 0;
	conf->limited = config_limited(ps->svc);
	conf->untracked = untracked(ps) & (__u8)~ps->svc->over.untracked;
	if (ps->svc->over.base || conf->track == POISE_TRACK_OFF)
		conf->base_at = conf->base_size = conf->base_policy = 0;
	if (!slots ||
	    (old->table_slots == slots && plan_hash(old->policy) == plan_hash(conf->policy)))
		return false;
	conf->table_at = 0;
	if (old->table_slots && conf->track != POISE_TRACK_OFF)
		keep_base(conf, old, slots);
	return !conf->table_at;
}

/* ---- the cycle --------------------------------------------------------------------------------*/

/* The record a member will have once this configuration is in force. */
static struct poise_member_conf future(const struct config_member *m)
{
	struct poise_member_conf conf = m->conf;

	if (!config_member_leaving(m))
		conf.r.state = POISE_REC_USED;
	return conf;
}

/* As derived_make will have it, but for the order. Returns how many. */
static size_t cycle_members(const struct instance *i, const struct config_service *svc,
			    struct cycle_member *to)
{
	struct ladder ladder;
	size_t n = 0;

	ladder_begin(&ladder, &svc->conf, instance_standing(i, svc->id));
	for (size_t m = 0; m < svc->members; m++) {
		struct poise_member_conf conf = future(&svc->member[m]);

		ladder_count(&ladder, &conf);
	}
	for (size_t m = 0; m < svc->members; m++) {
		struct poise_member_conf conf = future(&svc->member[m]);

		if (ladder_rank(&ladder, &conf) == ladder_rung(&ladder))
			to[n++] = derive_cycle_member(&conf, svc->member[m].id);
	}
	return n;
}

/* 1: needs slots of its own. */
static bool cycle_anew(const struct instance *i, const struct plan_service *ps)
{
	struct poise_service_conf *conf = &ps->svc->conf;
	struct cycle_member *member = calloc(ps->svc->members + 1, sizeof(*member));
	size_t n;

	if (!member)
		abort();
	n = cycle_members(i, ps->svc, member);
	conf->cycle_at = 0;
	conf->cycle_slots = cycle_size(conf->policy, member, n);
	conf->cycle_key = conf->cycle_slots ? cycle_key(conf->policy, member, n) : 0;
	free(member);
	if (ps->old && ps->old->cycle_slots == conf->cycle_slots &&
	    ps->old->cycle_key == conf->cycle_key)
		conf->cycle_at = ps->old->cycle_at;
	return conf->cycle_slots && !conf->cycle_at;
}

/* ---- both -------------------------------------------------------------------------------------*/

/* At a multiple of `align`, a power of two; what is passed over for it is lost to this transaction
 * alone. */
static int place(struct plan *p, struct config_service *svc, const char *what, __u32 slots,
		 __u32 align, __u32 *at, struct poise_error *err)
{
	const struct gaps_pool pool = {p->i->meta->table_slots, conf_slots, rec_slots};

	gaps_find(&p->slots, p->i, &pool);
	*at = (gaps_take(&p->slots, slots + align - 1) + align - 1) & ~(align - 1);
	return *at ? 0 : no_slots(p, svc, what, slots, err);
}

int plan_tables(struct plan *p, struct poise_error *err)
{
	gaps_free(&p->slots);
	for (size_t s = 0; s < p->cfg->services; s++) {
		struct config_service *svc = p->service[s].svc;
		struct poise_service_conf *conf = &svc->conf;

		if (start_over(&p->service[s]) &&
		    place(p, svc, "table", conf->table_slots, 1, &conf->table_at, err))
			return -1;
		if (cycle_anew(p->i, &p->service[s]) &&
		    place(p, svc, "cycle", derive_cycle_slots(conf), POISE_WORDS, &conf->cycle_at,
			  err))
			return -1;
	}
	return 0;
}
