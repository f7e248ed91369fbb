// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Windows of counters, who is found sick in them, and when they come back; see eject.h. */
#include "eject.h"

#include <stdlib.h>
#include <string.h>

#include "../maps/clock.h"
#include "../maps/ladder.h"
#include "../maps/memory.h"
#include "health/passive.h"

/* Of a backend, by id. */
struct track {
	__u16 service;
	__u64 seen; /* look */
	struct {
		__u32 before[POISE_SIGNALS];
		bool counts; /* since the window began */
		__u8 strikes;
	} of[POISE_FAULTS];
};

struct ejector {
	struct track *track;		  /* [meta.members] */
	__u64 (*began)[POISE_FAULTS];	  /* [meta.services] windows, ms; 0: none */
	struct config *cfg;		  /* as last seen */
	__u64 look;			  /* counts them */
	__u64 now;			  /* CLOCK_MONOTONIC ms */
	struct instance_ejection *change; /* of this look */
	size_t changes, room;
};

/* What is found in a backend. */
struct finding {
	enum poise_fault fault; /* the worst; NONE: it is well, or not judged */
	__u32 flows;
	__u8 bad, median;
};

/* One service in a look: of its backend k tell member[k] and found[k]. */
struct pool {
	const struct config_service *svc;
	struct passive_member *member;
	struct finding *found;
	struct passive_pool size;
};

struct ejector *ejector_new(const struct instance *i)
{
	struct ejector *e = calloc(1, sizeof(*e));

	if (e) {
		e->track = calloc(i->meta->members, sizeof(*e->track));
		e->began = calloc(i->meta->services, sizeof(*e->began));
	}
	if (!e || !e->track || !e->began)
		abort();
	return e;
}

void ejector_free(struct ejector *e)
{
	if (!e)
		return;
	config_free(e->cfg);
	free(e->track);
	free(e->began);
	free(e->change);
	free(e);
}

/* ---- one service ------------------------------------------------------------------------------*/

static void count(const struct instance *i, __u16 id, struct passive_member *m)
{
	__u64 opened = 0, closed = 0;

	for (__u32 cpu = 0; cpu < i->meta->cpus; cpu++) {
		const struct poise_counter *c = &i->counters[(size_t)cpu * i->meta->members + id];

		for (int s = 0; s < POISE_SIGNALS; s++)
			m->now[s] += c->signal[s];
		opened += POISE_COUNT(c->opened);
		closed += POISE_COUNT(c->closed);
	}
	m->live = opened > closed ? opened - closed : 0;
}

static bool may_be_judged(const struct instance *i, const struct config_member *m)
{
	return ladder_own_rank(&m->conf) == POISE_RANK_UP && i->members[m->id].nexthop;
}

static void pool_open(struct ejector *e, const struct instance *i, const struct config_service *svc,
		      struct pool *p)
{
	struct ladder ladder = instance_ladder(i, svc);

	*p = (struct pool){.svc = svc,
			   .size = {.up = ladder.at[POISE_RANK_UP],
				    .ejected = ladder.ejected,
				    .enough = ladder_enough(&ladder)}};
	p->member = calloc(svc->members + 1, sizeof(*p->member));
	p->found = calloc(svc->members + 1, sizeof(*p->found));
	if (!p->member || !p->found)
		abort();
	for (size_t k = 0; k < svc->members; k++) {
		const struct config_member *m = &svc->member[k];
		struct track *t = &e->track[m->id];
		bool judged = may_be_judged(i, m);

		/* an id that was away is another backend's */
		if (t->service != svc->id || t->seen + 1 != e->look)
			*t = (struct track){.service = svc->id};
		t->seen = e->look;
		p->size.reached += judged;
		for (int f = 0; f < POISE_FAULTS && !judged; f++)
			t->of[f].counts = false;
		count(i, m->id, &p->member[k]);
	}
}

static void pool_close(struct pool *p)
{
	free(p->member);
	free(p->found);
}

static void window_begin(struct ejector *e, const struct instance *i, struct pool *p, int fault)
{
	e->began[p->svc->id][fault] = e->now;
	for (size_t k = 0; k < p->svc->members; k++) {
		struct track *t = &e->track[p->svc->member[k].id];

		memcpy(t->of[fault].before, p->member[k].now, sizeof(t->of[fault].before));
		t->of[fault].counts = may_be_judged(i, &p->svc->member[k]);
		if (!t->of[fault].counts)
			t->of[fault].strikes = 0;
	}
}

/* Points above the median; 0: nothing is found. */
static int excess(const struct finding *f)
{
	return f->fault ? f->bad - f->median : 0;
}

/* What a window has found. */
static void strike(struct ejector *e, struct pool *p, int fault, __u8 median)
{
	for (size_t k = 0; k < p->svc->members; k++) {
		const struct passive_member *m = &p->member[k];
		struct track *t = &e->track[p->svc->member[k].id];

		if (!m->measured)
			continue;
		t->of[fault].strikes = m->sick ? t->of[fault].strikes + 1 : 0;
		if (t->of[fault].strikes < PASSIVE_TWICE)
			continue;
		t->of[fault].strikes = PASSIVE_TWICE;
		if (excess(&p->found[k]) < m->bad - median)
			p->found[k] =
				(struct finding){(enum poise_fault)fault, m->flows, m->bad, median};
	}
}

/* False: the window goes on. */
static bool window_ends(struct ejector *e, struct pool *p, int fault, __u64 age)
{
	__u32 window = p->svc->conf.passive_window;
	size_t n = p->svc->members;
	__u8 median;

	for (size_t k = 0; k < n; k++) {
		const struct track *t = &e->track[p->svc->member[k].id];

		memcpy(p->member[k].before, t->of[fault].before, sizeof(t->of[fault].before));
		p->member[k].counts = t->of[fault].counts;
	}
	if (age >= passive_window((enum poise_fault)fault, window, p->member, n, age) &&
	    passive_judge((enum poise_fault)fault, p->member, n, &median)) {
		strike(e, p, fault, median);
		return true;
	}
	return age >= (__u64)PASSIVE_PATIENCE * window;
}

static void look_for(struct ejector *e, const struct instance *i, struct pool *p, int fault)
{
	__u64 began = e->began[p->svc->id][fault];

	if (!began || window_ends(e, p, fault, e->now - began))
		window_begin(e, i, p, fault);
}

/* ---- what follows -----------------------------------------------------------------------------*/

static struct instance_ejection *change_add(struct ejector *e, const struct config_service *svc,
					    const struct config_member *m)
{
	e->change = memory_grow(e->change, e->changes, &e->room, sizeof(*e->change));
	e->change[e->changes] = (struct instance_ejection){.service = svc->id, .member = m->id};
	return &e->change[e->changes++];
}

/* The worst of those found and not yet taken; the number of members: nobody. */
static size_t worst(const struct pool *p)
{
	size_t at = p->svc->members;

	for (size_t k = 0; k < p->svc->members; k++)
		if (excess(&p->found[k]) > (at < p->svc->members ? excess(&p->found[at]) : 0))
			at = k;
	return at;
}

/* Whoever is to be back soonest, when others have gone down since: the number of members, nobody.
 */
static size_t soonest(const struct pool *p, __u64 realtime)
{
	const struct config_member *m = p->svc->member;
	size_t at = p->svc->members;

	for (size_t k = 0; k < p->svc->members; k++)
		if (ladder_ejected(&m[k].conf) && m[k].conf.eject_until > realtime &&
		    (at == p->svc->members || m[k].conf.eject_until < m[at].conf.eject_until))
			at = k;
	return at;
}

static void eject(struct ejector *e, struct pool *p, __u64 realtime)
{
	const struct poise_service_conf *conf = &p->svc->conf;
	long room = passive_room(conf, &p->size);
	size_t k;

	/* One a look: the next one finds out whether that was enough. */
	if (room < 0 && (k = soonest(p, realtime)) < p->svc->members)
		change_add(e, p->svc, &p->svc->member[k]);
	for (; room > 0 && (k = worst(p)) < p->svc->members; room--) {
		const struct config_member *m = &p->svc->member[k];
		struct instance_ejection *to = change_add(e, p->svc, m);

		to->fault = (__u8)p->found[k].fault;
		to->bad = p->found[k].bad;
		to->median = p->found[k].median;
		to->flows = p->found[k].flows;
		to->time = passive_time(conf, &m->conf, realtime);
		to->until = realtime + to->time * NS_PER_MS;
		p->found[k].fault = POISE_FAULT_NONE;
	}
}

static void look_at(struct ejector *e, const struct instance *i, const struct config_service *svc,
		    __u64 realtime)
{
	struct pool p;

	for (size_t k = 0; k < svc->members; k++)
		if (svc->member[k].conf.ejected && svc->member[k].conf.eject_until <= realtime)
			change_add(e, svc, &svc->member[k]);
	if (config_passive_obstacle(&svc->conf)) {
		memset(e->began[svc->id], 0, sizeof(e->began[svc->id]));
		return;
	}
	pool_open(e, i, svc, &p);
	for (int fault = POISE_FAULT_NONE + 1; fault < POISE_FAULTS; fault++)
		look_for(e, i, &p, fault);
	eject(e, &p, realtime);
	pool_close(&p);
}

static int store(struct ejector *e, struct instance *i, struct poise_error *err)
{
	int rc;

	if (!e->changes)
		return 0;
	if (instance_lock(i, err) < 0)
		return -1;
	rc = instance_set_ejected(i, e->change, e->changes, err);
	instance_unlock(i);
	return rc;
}

/* Who is there and who is ejected: again only if somebody changed something. */
static int follow(struct ejector *e, struct instance *i, struct poise_error *err)
{
	struct config *cfg;

	if (e->cfg && e->cfg->generation == __atomic_load_n(&i->meta->committed, __ATOMIC_ACQUIRE))
		return 0;
	if (instance_load(i, &cfg, err) < 0)
		return -1;
	config_free(e->cfg);
	e->cfg = cfg;
	return 0;
}

int ejector_tick(struct ejector *e, struct instance *i, __u64 now_ms, __u64 realtime_ns,
		 struct poise_error *err)
{
	if (follow(e, i, err) < 0)
		return -1;
	e->look++;
	e->now = now_ms;
	e->changes = 0;
	for (size_t s = 0; s < e->cfg->services; s++)
		look_at(e, i, e->cfg->service[s], realtime_ns);
	return store(e, i, err);
}
