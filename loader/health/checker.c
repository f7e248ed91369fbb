// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "../../maps/memory.h"
#include "../../maps/clock.h"
#include "checker.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "target.h"

#define LOOK_MS	 50 /* between looks at the generation, which are two loads */
#define RETRY_MS 5  /* somebody has the lock: a commit takes some milliseconds */
/* Where a cluster changes all the time, and a configuration of ten thousand backends takes 5 ms to
 * read, a fiftieth of a CPU goes into that, not more; but a change waits for a second at most. */
#define LOAD_PART 50
#define LOAD_MOST NS_PER_S

struct checker {
	struct instance *instance;
	checker_say say;
	pthread_t thread;
	uv_loop_t loop;
	uv_async_t stop;
	uv_timer_t look;
	uv_timer_t store;
	struct prober *prober;
	__u64 generation;		/* that the targets follow */
	__u64 next;			/* no other is read before: CLOCK_MONOTONIC ns */
	struct target **target;		/* by member id; NULL: not checked */
	struct instance_health *change; /* to be stored */
	size_t changes, room;
	bool told_fault;
};

/* ---- results ----------------------------------------------------------------------------------*/

static void fault(struct checker *c, const struct poise_error *err)
{
	if (!c->told_fault)
		c->say(err);
	c->told_fault = true;
}

/* For poise show: at is 0 while the rest is being written. */
static void publish(struct checker *c, const struct target *t)
{
	struct poise_check_result *r = &c->instance->checks[t->about.member];
	__u64 held = target_held(t), now = clock_realtime();

	__atomic_store_n(&r->at, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* nothing that follows is seen before */
	r->us = t->last.us;
	r->good = t->last.good;
	r->type = t->about.conf.type;
	r->by_path = t->last.by_path;
	r->in_a_row = t->last.good ? t->state.good : t->state.bad;
	r->hold = t->state.hold;
	r->held_until = held ? now + held * NS_PER_MS : 0;
	snprintf(r->words, sizeof(r->words), "%s", t->last.words);
	__atomic_store_n(&r->at, now, __ATOMIC_RELEASE);
}

static void on_store(uv_timer_t *timer);

static void on_told(void *ctx, struct target *t, bool changed)
{
	struct checker *c = ctx;

	publish(c, t);
	if (!changed)
		return;
	c->change = memory_grow(c->change, c->changes, &c->room, sizeof(*c->change));
	c->change[c->changes++] = (struct instance_health){
		.member = t->about.member,
		.service = t->about.service,
		.health = (__u8)t->state.health,
	};
	/* Those whose results come in the same turn of the loop go with it. */
	if (!uv_is_active((uv_handle_t *)&c->store))
		uv_timer_start(&c->store, on_store, 0, 0);
}

static void on_store(uv_timer_t *timer)
{
	struct checker *c = timer->data;
	struct poise_error err = {0};
	int rc = instance_try_lock(c->instance, &err);

	if (rc > 0) {
		rc = instance_set_health(c->instance, c->change, c->changes, &err);
		instance_unlock(c->instance);
	} else if (!rc) {
		uv_timer_start(timer, on_store, RETRY_MS, 0);
		return;
	}
	if (rc < 0) {
		fault(c, &err);
		uv_timer_start(timer, on_store, LOOK_MS, 0);
		return;
	}
	c->told_fault = false;
	c->changes = 0;
}

/* ---- who is checked ---------------------------------------------------------------------------*/

/* False: it is not checked. */
static bool about(const struct config_service *svc, const struct config_member *m,
		  struct target_about *out)
{
	const char *why;

	if (m->conf.r.state != POISE_REC_USED || m->conf.admin == POISE_DISABLED ||
	    !config_is_checked(svc, m))
		return false;
	memset(out, 0, sizeof(*out)); /* compared with its padding */
	out->member = m->id;
	out->service = svc->id;
	out->addr = m->conf.addr;
	out->port = config_check_port(svc, m);
	out->by_path = config_check_path(svc, m, &out->address, &why);
	config_check_of(svc, m, &out->conf);
	memcpy(out->name, svc->conf.name, sizeof(out->name));
	return true;
}

static bool same_backend(const struct target_about *a, const struct target_about *b)
{
	return a->service == b->service && !memcmp(&a->addr, &b->addr, sizeof(a->addr));
}

static void drop(struct checker *c, __u32 id)
{
	target_stop(c->target[id]);
	c->target[id] = NULL;
	__atomic_store_n(&c->instance->checks[id].at, 0, __ATOMIC_RELEASE);
}

/* How long it is held down is kept beside its last result, whoever of us dies. */
static void remember(struct checker *c, struct target *t)
{
	struct poise_check_result r = {0};
	__u64 now = clock_realtime();

	instance_check_result(c->instance, (__u16)t->about.member, &r);
	if (r.at)
		target_remember(t, r.hold,
				r.held_until > now ? (r.held_until - now) / NS_PER_MS : 0);
}

static void take(struct checker *c, const struct config_service *svc, const struct config_member *m)
{
	struct target *t = c->target[m->id];
	struct target_about wanted;

	if (!about(svc, m, &wanted))
		return;
	if (t && !same_backend(&t->about, &wanted)) {
		drop(c, m->id);
		t = NULL;
	}
	if (!t) {
		c->target[m->id] = target_start(c->prober, &c->loop, &wanted,
						(enum poise_health)m->conf.health, on_told, c);
		remember(c, c->target[m->id]);
		return;
	}
	t->seen = true;
	if (memcmp(&t->about, &wanted, sizeof(wanted)))
		target_change(t, &wanted);
}

static void follow(struct checker *c, const struct config *cfg)
{
	const __u32 members = c->instance->meta->members;

	for (__u32 id = 0; id < members; id++)
		if (c->target[id])
			c->target[id]->seen = false;
	for (size_t s = 0; s < cfg->services; s++)
		for (size_t m = 0; m < cfg->service[s]->members; m++)
			take(c, cfg->service[s], &cfg->service[s]->member[m]);
	for (__u32 id = 0; id < members; id++)
		if (c->target[id] && !c->target[id]->seen)
			drop(c, id);
	c->generation = cfg->generation;
}

static void on_look(uv_timer_t *timer)
{
	struct checker *c = timer->data;
	const struct poise_meta *meta = c->instance->meta;
	__u64 committed = __atomic_load_n(&meta->committed, __ATOMIC_ACQUIRE);
	__u64 begun = clock_monotonic(), pause;
	struct poise_error err = {0};
	struct config *cfg;

	if (committed == c->generation || begun < c->next ||
	    __atomic_load_n(&meta->applied, __ATOMIC_ACQUIRE) != committed)
		return;
	if (instance_load(c->instance, &cfg, &err) < 0) {
		fault(c, &err);
		return;
	}
	follow(c, cfg);
	config_free(cfg);
	pause = (clock_monotonic() - begun) * LOAD_PART;
	c->next = begun + (pause < LOAD_MOST ? pause : LOAD_MOST);
}

/* ---- the thread -------------------------------------------------------------------------------*/

/* Nothing is left for the loop to wait for. */
static void shut(struct checker *c)
{
	for (__u32 id = 0; id < c->instance->meta->members; id++)
		if (c->target[id])
			target_stop(c->target[id]);
	prober_free(c->prober);
	uv_close((uv_handle_t *)&c->look, NULL);
	uv_close((uv_handle_t *)&c->store, NULL);
	uv_close((uv_handle_t *)&c->stop, NULL);
}

static void on_stop(uv_async_t *async)
{
	shut(async->data);
}

static void *run(void *arg)
{
	struct checker *c = arg;

	uv_run(&c->loop, UV_RUN_DEFAULT);
	return NULL;
}

static void timer_init(struct checker *c, uv_timer_t *timer)
{
	uv_timer_init(&c->loop, timer);
	timer->data = c;
}

/* A probe takes a descriptor or two: as many as we may have. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void destroy(struct checker *c)
{
	instance_close(c->instance);
	free(c->target);
	free(c->change);
	free(c);
}

/* The loop and what lives on it for as long as it does. */
static int open_loop(struct checker *c)
{
	if (uv_loop_init(&c->loop))
		return -1;
	if (uv_async_init(&c->loop, &c->stop, on_stop)) {
		uv_loop_close(&c->loop);
		return -1;
	}
	c->stop.data = c;
	timer_init(c, &c->look);
	timer_init(c, &c->store);
	uv_timer_start(&c->look, on_look, 0, LOOK_MS);
	return 0;
}

static int start(struct checker *c, struct poise_error *err)
{
	const char *what = "a prober";

	c->prober = prober_new(&c->loop);
	if (c->prober) {
		prober_use(c->prober, c->instance);
		what = "a thread";
		if (!pthread_create(&c->thread, NULL, run, c))
			return 0;
	}
	shut(c);
	uv_run(&c->loop, UV_RUN_DEFAULT);
	uv_loop_close(&c->loop);
	return poise_fail(err, POISE_E_SYSTEM, "health checks: cannot make %s", what);
}

int checker_start(struct checker **out, const struct instance_where *where, checker_say say,
		  struct poise_error *err)
{
	struct checker *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		abort();
	c->say = say;
	if (instance_open(&c->instance, where, err) < 0) {
		free(c);
		return -1;
	}
	c->target = calloc(c->instance->meta->members, sizeof(struct target *));
	if (!c->target)
		abort();
	raise_descriptors();
	if (open_loop(c))
		rc = poise_fail(err, POISE_E_SYSTEM, "health checks: cannot make an event loop");
	else
		rc = start(c, err);
	if (rc)
		destroy(c);
	else
		*out = c;
	return rc;
}

void checker_stop(struct checker *c)
{
	if (!c)
		return;
	uv_async_send(&c->stop);
	pthread_join(c->thread, NULL);
	uv_loop_close(&c->loop);
	destroy(c);
}
