// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A transaction: validate, plan, write the other copies, commit with one store, derive.
 *
 * Nothing is stored before everything is known to fit. After the committing store nothing can fail
 * any more: whoever takes the lock next would finish it.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "derive.h"
#include "fade.h"
#include "listener.h"
#include "plan.h"

/* generation and crc are the store's; all that follows is content. */
#define CONTENT offsetof(struct poise_record, state)

struct commit {
	struct plan plan;
	struct instance *i;
	struct config *cfg;
	struct instance_change *change;
	__u64 generation;
	__u64 now;
	struct derive_list dirty;
	__u8 *touched; /* [meta.services]: already in dirty.service */
	int poised;    /* it runs: 1, or not: 0; -1: not asked yet */
};

/* ---- what is in force -------------------------------------------------------------------------*/

/* Address and port are what a member is; another one in its record is another member. */
static bool member_stays(const struct config_service *svc, const struct config_member *m,
			 const struct poise_member_conf *old)
{
	return store_is_member(old) && old->service == svc->id &&
	       !memcmp(&old->addr, &m->conf.addr, sizeof(old->addr)) && old->port == m->conf.port;
}

static void match_members(struct commit *c, struct config_service *svc, bool stays)
{
	for (size_t m = 0; m < svc->members; m++) {
		struct config_member *member = &svc->member[m];
		__u16 id = member->id;
		const struct poise_member_conf *old;

		member->id = 0;
		if (!stays || !id || id >= c->i->meta->members || c->plan.old_member[id])
			continue;
		old = store_member(c->i, id);
		if (!member_stays(svc, member, old))
			continue;
		c->plan.old_member[id] = old;
		member->id = id;
		member->conf.ordinal = old->ordinal;
	}
}

/* Which of cfg is in force, and which of what is in force is not in cfg. */
static void match(struct commit *c)
{
	const struct poise_meta *meta = c->i->meta;

	/* what is not in a part is not known to go */
	memset(c->plan.kept_service, c->cfg->part, meta->services);
	for (size_t s = 0; s < c->cfg->services; s++)
		if (c->cfg->service[s]->id < meta->services)
			c->plan.kept_service[c->cfg->service[s]->id] = 0;
	memset(c->plan.old_member, 0, meta->members * sizeof(*c->plan.old_member));
	for (size_t s = 0; s < c->cfg->services; s++) {
		struct config_service *svc = c->cfg->service[s];
		const struct poise_service_conf *old =
			svc->id && svc->id < meta->services ? store_service(c->i, svc->id) : NULL;

		if (old && (old->r.state != POISE_REC_USED || c->plan.kept_service[svc->id]))
			old = NULL;
		if (!old)
			svc->id = 0;
		c->plan.kept_service[svc->id] = 1;
		c->plan.service[s] = (struct plan_service){svc, old};
		match_members(c, svc, old);
	}
}

/* ---- planning ---------------------------------------------------------------------------------*/

static int plan_all(struct commit *c, struct poise_error *err)
{
	if (listener_plan(c->i, c->cfg, err) || plan_ids(&c->plan, err) ||
	    plan_tables(&c->plan, err) || plan_ranges(&c->plan, err))
		return -1;
	return 0;
}

/* ---- writing ----------------------------------------------------------------------------------*/

static void touch_service(struct commit *c, __u16 id)
{
	if (c->touched[id])
		return;
	c->touched[id] = 1;
	c->dirty.service[c->dirty.services++] = id;
}

static __u64 flows_of(const struct instance *i, __u16 member)
{
	struct instance_stats stats;

	instance_member_stats(i, member, &stats);
	return stats.flows > 0 ? (__u64)stats.flows : 0;
}

static void open_once(struct commit *c)
{
	if (c->i->meta->opened < c->generation)
		store64(&c->i->meta->opened, c->generation);
}

static bool same_content(const void *a, const void *b, size_t size)
{
	return !memcmp((const char *)a + CONTENT, (const char *)b + CONTENT, size - CONTENT);
}

static void write_member(struct commit *c, __u16 id, struct poise_member_conf *conf,
			 const struct poise_member_conf *old)
{
	bool was = store_is_member(old);

	if (same_content(conf, old, sizeof(*conf)))
		return;
	if (was && old->r.state != conf->r.state)
		c->change->flows += flows_of(c->i, id);
	if (!was || ladder_own_rank(old) != ladder_own_rank(conf) ||
	    old->r.state != conf->r.state || old->admin != conf->admin ||
	    old->health != conf->health || !old->ejected != !conf->ejected)
		conf->since = c->now;
	open_once(c);
	touch_service(c, conf->service);
	store_member_write(c->i, id, conf, c->generation);
	c->dirty.member[c->dirty.members++] = id;
	c->change->members++;
}

static void write_service(struct commit *c, __u16 id, struct poise_service_conf *conf,
			  const struct poise_service_conf *old)
{
	if (same_content(conf, old, sizeof(*conf)))
		return;
	open_once(c);
	touch_service(c, id);
	store_service_write(c->i, id, conf, c->generation);
	c->change->services++;
}

/* ---- who fades in -----------------------------------------------------------------------------*/

static bool is_up(const struct poise_member_conf *m)
{
	return m && store_is_member(m) && ladder_own_rank(m) == POISE_RANK_UP;
}

static const struct poise_member_conf *before(const struct commit *c, const struct config_member *m)
{
	return m->id ? c->plan.old_member[m->id] : NULL;
}

/* Only poised moves a share on: without it nobody fades. Asking may take a while. */
static bool poised_runs(struct commit *c)
{
	if (c->poised < 0)
		c->poised = instance_daemon_runs(c->i);
	return c->poised;
}

/* Whoever becomes choosable in a service where others are and stay so begins to fade in. */
static void mark_fading(struct commit *c, const struct config_service *svc)
{
	bool others = false;

	for (size_t m = 0; m < svc->members && !others; m++)
		others = is_up(before(c, &svc->member[m])) && is_up(&svc->member[m].conf);
	for (size_t m = 0; m < svc->members; m++) {
		struct config_member *member = &svc->member[m];

		if (!is_up(&member->conf))
			member->conf.fades = 0;
		else if (!is_up(before(c, member)))
			member->conf.fades = others && config_fade_in(&svc->conf) && poised_runs(c);
	}
}

/* Who comes to a service with a check has to show itself first, if there is somebody to look: not
 * chosen while another is up. Said before slots are planned, which goes by who is chosen. */
static void await_checks(struct commit *c)
{
	for (size_t s = 0; s < c->cfg->services; s++) {
		struct config_service *svc = c->cfg->service[s];

		/* The listener that `auto` asked at may have gone. */
		config_health_forget(svc);
		for (size_t m = 0; m < svc->members; m++) {
			struct config_member *member = &svc->member[m];

			if (config_is_checked(svc, member) && !before(c, member) &&
			    member->conf.health == POISE_HEALTH_NONE && poised_runs(c))
				member->conf.health = POISE_HEALTH_CHECKING;
		}
	}
}

/* Likewise before slots are planned. */
static void end_ejections(struct commit *c)
{
	for (size_t s = 0; s < c->cfg->services; s++) {
		struct config_service *svc = c->cfg->service[s];

		for (size_t m = 0; m < svc->members && !svc->conf.passive; m++)
			config_member_pardon(&svc->member[m]);
	}
}

static void write_kept(struct commit *c, const struct plan_service *ps)
{
	struct config_service *svc = ps->svc;

	svc->conf.r.state = POISE_REC_USED;
	if (!svc->conf.created)
		svc->conf.created = c->now;
	plan_ranges_write(c->i, svc);
	write_service(c, svc->id, &svc->conf, ps->old ? ps->old : store_service(c->i, svc->id));
	for (size_t m = 0; m < svc->members; m++)
		if (svc->member[m].conf.r.state != POISE_REC_LEAVING)
			svc->member[m].conf.r.state = POISE_REC_USED;
	mark_fading(c, svc);
	for (size_t m = 0; m < svc->members; m++) {
		struct config_member *member = &svc->member[m];
		const struct poise_member_conf *old = c->plan.old_member[member->id];

		write_member(c, member->id, &member->conf,
			     old ? old : store_member(c->i, member->id));
	}
}

/* Does the configuration say which members this service has? */
static bool is_of(const struct commit *c, __u32 service)
{
	return !c->cfg->part || config_service_by_id(c->cfg, (__u16)service);
}

/* A service that is gone leaves no trace; a member leaves ashes. Whoever is in force is also what
 * packets see, since everything is derived while the lock is held; and that is quicker to read. */
static void write_gone(struct commit *c)
{
	const struct instance *i = c->i;

	for (__u32 id = 1; id < i->meta->members; id++) {
		__u32 service = i->members[id].service;
		const struct poise_member_conf *old;
		struct poise_member_conf conf;

		if (!service || c->plan.old_member[id] || !is_of(c, service))
			continue;
		old = store_member(i, id);
		conf = *old;
		conf.r.state = POISE_REC_ASHES;
		write_member(c, (__u16)id, &conf, old);
	}
	for (__u32 id = 1; id < i->meta->services; id++) {
		const struct poise_service_conf *old = store_service(i, id);
		struct poise_service_conf none = {0};

		if (old->r.state == POISE_REC_USED && !c->plan.kept_service[id])
			write_service(c, (__u16)id, &none, old);
	}
}

static void write_address(struct commit *c, __u32 slot, struct poise_address_conf *conf)
{
	if (same_content(conf, store_address(c->i, slot), sizeof(*conf)))
		return;
	open_once(c);
	store_address_write(c->i, slot, conf, c->generation);
	c->dirty.addresses = true;
	c->change->addresses++;
}

/* An address stays in its slot; nothing refers to a slot, so one that is free may be had at once,
 * and there are as many as there may be addresses. */
static void write_addresses(struct commit *c)
{
	struct config *cfg = c->cfg;
	const struct config_address *in[POISE_ADDRESSES] = {0};
	bool *placed = calloc(cfg->addresses + 1, sizeof(*placed));
	__u32 slot;

	if (!placed)
		abort();
	for (slot = 0; slot < POISE_ADDRESSES; slot++) {
		const struct poise_address_conf *old = store_address(c->i, slot);

		if (old->r.state != POISE_REC_FREE)
			in[slot] = config_address_at(cfg, &old->addr);
		if (in[slot])
			placed[in[slot] - cfg->address] = true;
	}
	slot = 0;
	for (size_t a = 0; a < cfg->addresses; a++) {
		if (placed[a])
			continue;
		while (in[slot])
			slot++;
		in[slot] = &cfg->address[a];
	}
	for (slot = 0; slot < POISE_ADDRESSES; slot++) {
		struct poise_address_conf conf = {0};

		if (in[slot])
			conf = in[slot]->conf;
		write_address(c, slot, &conf);
	}
	free(placed);
}

/* ---- the transaction --------------------------------------------------------------------------*/

static void commit_begin(struct commit *c, struct instance *i, struct config *cfg,
			 struct instance_change *change)
{
	const struct poise_meta *meta = i->meta;

	*c = (struct commit){
		.i = i,
		.cfg = cfg,
		.change = change,
		.now = clock_realtime(),
		.touched = calloc(meta->services, 1),
		.poised = -1,
		.dirty.service = calloc(meta->services, sizeof(__u16)),
		.dirty.member = calloc(meta->members, sizeof(__u16)),
		.plan =
			{
				.i = i,
				.cfg = cfg,
				.kept_service = calloc(meta->services, 1),
				.old_member = calloc(meta->members, sizeof(*c->plan.old_member)),
				.service = calloc(cfg->services + 1, sizeof(struct plan_service)),
			},
	};
	if (!c->touched || !c->dirty.service || !c->dirty.member || !c->plan.kept_service ||
	    !c->plan.old_member || !c->plan.service)
		abort();
	*change = (struct instance_change){0};
}

static void commit_end(struct commit *c)
{
	free(c->touched);
	free(c->dirty.service);
	free(c->dirty.member);
	free(c->plan.kept_service);
	free(c->plan.old_member);
	free(c->plan.service);
	free(c->plan.taken);
	gaps_free(&c->plan.slots);
	gaps_free(&c->plan.ranges);
}

static void commit_write(struct commit *c)
{
	struct instance *i = c->i;

	/* after planning: a grace period there raises what a stamp must exceed */
	c->generation = store_stamp(i);
	for (size_t s = 0; s < c->cfg->services; s++)
		write_kept(c, &c->plan.service[s]);
	write_gone(c);
	if (!c->cfg->part)
		write_addresses(c);
	if (i->meta->opened != c->generation)
		return; /* nothing differs */
	store64(&i->meta->committed, c->generation);
	c->change->tables = (unsigned int)c->dirty.services;
	derive(i, &c->dirty);
}

/* ---- when something is short ------------------------------------------------------------------*/

/* A transaction of its own: services give back the extents that they no longer need. */
static void give_back(struct instance *i)
{
	struct instance_change unasked;
	struct config *cfg;
	struct commit c;

	if (instance_load(i, &cfg, NULL))
		return;
	commit_begin(&c, i, cfg, &unasked);
	c.plan.tight = true;
	match(&c);
	if (!plan_all(&c, NULL))
		commit_write(&c);
	commit_end(&c);
	config_free(cfg);
}

/* What was given up lately may be had again after a grace period, or after a sweep: tried in this
 * order, each dearer than the one before. */
static int plan_patiently(struct commit *c, struct poise_error *err)
{
	if (!plan_all(c, err))
		return 0;
	instance_grace(c->i);
	if (!plan_all(c, err))
		return 0;
	if (instance_sweep(c->i, NULL))
		return -1;
	give_back(c->i);
	instance_grace(c->i);
	c->plan.tight = true;
	match(c);
	return plan_all(c, err);
}

int instance_commit(struct instance *i, struct config *cfg, struct instance_change *change,
		    struct poise_error *err)
{
	struct instance_change unasked;
	struct commit c;
	int rc;

	if (!i->locked || cfg->generation != i->meta->committed)
		return poise_fail(err, POISE_E_BUSY,
				  "the configuration was changed by somebody else meanwhile");
	if (config_validate(cfg, err))
		return -1;
	commit_begin(&c, i, cfg, change ? change : &unasked);
	match(&c);
	await_checks(&c);
	end_ejections(&c);
	rc = plan_patiently(&c, err);
	if (!rc) {
		commit_write(&c);
		cfg->generation = i->meta->committed;
	}
	commit_end(&c);
	return rc;
}
