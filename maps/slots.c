// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Slots: where in the one pool a service's table and its cycle lie. Nothing is kept about free
 * slots; they are what neither the configuration names nor a packet under way may still read.
 *
 * Slot 0 is never given, so that 0 can mean "no table".
 */
#include <stdlib.h>

#include "cycle.h"
#include "derive.h"
#include "plan.h"

struct runs {
	struct plan_run *run;
	size_t n, room;
};

static void add_run(struct runs *r, __u32 at, __u32 count)
{
	if (!at || !count)
		return;
	if (r->n == r->room) {
		r->room = r->room ? 2 * r->room : 64;
		r->run = realloc(r->run, r->room * sizeof(*r->run));
		if (!r->run)
			abort();
	}
	r->run[r->n++] = (struct plan_run){at, count};
}

static void add_conf(struct runs *r, const struct poise_service_conf *conf)
{
	add_run(r, conf->table_at, conf->table_slots);
	add_run(r, conf->base_at, conf->base_size);
	add_run(r, conf->cycle_at, conf->cycle_slots);
}

/* What packets may still read by one id: its active record, and both until a grace period. A
 * record with table_size 0 sends nobody to its table. */
static void add_published(struct runs *r, const struct instance *i, __u32 id)
{
	const struct poise_service *s = &i->services[id];
	bool graced = store_graced(i, s->retired);
	bool gone = s->active & POISE_SERVICE_GONE;

	for (int copy = 0; copy < 2; copy++)
		if (!graced || (!gone && (s->active & 1) == (__u32)copy)) {
			add_run(r, s->rec[copy].table_at, s->rec[copy].table_size);
			add_run(r, s->rec[copy].base_at, s->rec[copy].base_size);
			add_run(r, s->rec[copy].cycle_at, s->rec[copy].cycle_size);
		}
}

static int by_place(const void *a, const void *b)
{
	const struct plan_run *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void find_gaps(struct plan *p)
{
	struct runs taken = {0}, gaps = {0};
	__u32 at = 1, end = p->i->meta->table_slots;

	for (__u32 id = 1; id < p->i->meta->services; id++) {
		const struct poise_service_conf *conf = store_service(p->i, id);

		if (conf->r.state == POISE_REC_USED)
			add_conf(&taken, conf);
		add_published(&taken, p->i, id);
	}
	if (taken.n)
		qsort(taken.run, taken.n, sizeof(*taken.run), by_place);
	for (size_t t = 0; t < taken.n; t++) {
		if (taken.run[t].at > at)
			add_run(&gaps, at, taken.run[t].at - at);
		if (taken.run[t].at + taken.run[t].count > at)
			at = taken.run[t].at + taken.run[t].count;
	}
	if (at < end)
		add_run(&gaps, at, end - at);
	free(taken.run);
	p->gap = gaps.run;
	p->gaps = gaps.n;
}

/* Gaps too small for any table are passed over once and for all. */
static __u32 take_slots(struct plan *p, __u32 count)
{
	for (size_t g = 0; g < p->gaps; g++)
		if (p->gap[g].count >= count) {
			__u32 at = p->gap[g].at;

			p->gap[g].at += count;
			p->gap[g].count -= count;
			return at;
		}
	return 0;
}

static int no_slots(const struct plan *p, const struct config_service *svc, const char *what,
		    __u32 need, struct poise_error *err)
{
	__u32 left = 0, largest = 0;

	for (size_t g = 0; g < p->gaps; g++) {
		left += p->gap[g].count;
		if (p->gap[g].count > largest)
			largest = p->gap[g].count;
	}
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
	if (!slots ||
	    (old->table_slots == slots && plan_hash(old->policy) == plan_hash(conf->policy)))
		return false;
	conf->table_at = 0;
	if (old->table_slots)
		keep_base(conf, old, slots);
	return !conf->table_at;
}

/* ---- the cycle --------------------------------------------------------------------------------*/

/* The rank a member will have once this configuration is in force. */
static enum poise_rank rank_of(const struct config_member *m)
{
	struct poise_member_conf conf = m->conf;

	if (!config_member_leaving(m))
		conf.r.state = POISE_REC_USED;
	return derive_rank(&conf, DERIVE_ENDED);
}

/* As derived_make will have it, but for the order. Returns how many. */
static size_t cycle_members(const struct config_service *svc, struct cycle_member *to)
{
	enum poise_rank rung = POISE_RANK_NEVER;
	size_t n = 0;

	for (size_t m = 0; m < svc->members; m++)
		if (rank_of(&svc->member[m]) < rung)
			rung = rank_of(&svc->member[m]);
	for (size_t m = 0; m < svc->members && rung != POISE_RANK_NEVER; m++)
		if (rank_of(&svc->member[m]) == rung)
			to[n++] = derive_cycle_member(&svc->member[m].conf, svc->member[m].id);
	return n;
}

/* 1: needs slots of its own. */
static bool cycle_anew(const struct plan_service *ps)
{
	struct poise_service_conf *conf = &ps->svc->conf;
	struct cycle_member *member = calloc(ps->svc->members + 1, sizeof(*member));
	size_t n;

	if (!member)
		abort();
	n = cycle_members(ps->svc, member);
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

static int place(struct plan *p, struct config_service *svc, const char *what, __u32 slots,
		 __u32 *at, struct poise_error *err)
{
	if (!p->gap)
		find_gaps(p);
	*at = take_slots(p, slots);
	return *at ? 0 : no_slots(p, svc, what, slots, err);
}

int plan_tables(struct plan *p, struct poise_error *err)
{
	free(p->gap);
	p->gap = NULL;
	for (size_t s = 0; s < p->cfg->services; s++) {
		struct config_service *svc = p->service[s].svc;
		struct poise_service_conf *conf = &svc->conf;

		if (start_over(&p->service[s]) &&
		    place(p, svc, "table", conf->table_slots, &conf->table_at, err))
			return -1;
		if (cycle_anew(&p->service[s]) &&
		    place(p, svc, "cycle", conf->cycle_slots, &conf->cycle_at, err))
			return -1;
	}
	return 0;
}
