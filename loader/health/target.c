// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "target.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "maps/clock.h"

#define HOP_MS 10 /* between looks at a next hop that is not known yet */

static __u64 now_ms(void)
{
	return uv_hrtime() / NS_PER_MS;
}

static __u32 chance(void)
{
	__u32 r = 0;

	/* Early in a boot there may be none: no jitter then. */
	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
		r = 0;
	return r;
}

static struct state_rules rules(const struct target *t)
{
	const struct poise_health_conf *c = &t->about.conf;

	return (struct state_rules){
		.interval = c->interval,
		.fast_interval = c->fast_interval,
		.rise = c->rise,
		.fall = c->fall,
		.jitter = c->jitter,
		.hold_down = c->hold_down,
		.hold_max = c->hold_max,
	};
}

static void on_timer(uv_timer_t *timer);

static void next_at(struct target *t, __u64 when)
{
	__u64 now = now_ms();

	uv_update_time(t->timer.loop);
	uv_timer_start(&t->timer, on_timer, when > now ? when - now : 0, 0);
}

static void on_result(void *ctx, const struct probe_result *result)
{
	struct target *t = ctx;
	struct state_rules r = rules(t);
	__u64 now = now_ms();
	bool changed;
	__u32 wait;

	t->probe = NULL;
	t->last = *result;
	changed = state_result(&t->state, &r, result->good, now);
	wait = state_wait(&t->state, &r, now, chance());
	if (!t->spread)
		wait = (__u32)((__u64)wait * chance() >> 32);
	t->spread = true;
	next_at(t, t->began + wait);
	t->told(t->ctx, t, changed);
}

/* A new backend's first result decides alone: it is not asked before its next hop is known, if that
 * takes no longer than an answer may. */
static bool hopeless(struct target *t)
{
	if (t->state.health != POISE_HEALTH_CHECKING || !t->about.by_path ||
	    prober_has_hop(t->prober, t->about.member))
		return false;
	if (!t->hop_until)
		t->hop_until = t->began + t->about.conf.timeout;
	return t->began < t->hop_until;
}

static void on_timer(uv_timer_t *timer)
{
	struct target *t = timer->data;
	struct probe_want want = {
		.addr = t->about.addr,
		.port = t->about.port,
		.conf = &t->about.conf,
		.by_path = t->about.by_path,
		.address = t->about.address,
		.member = t->about.member,
	};

	t->began = now_ms();
	if (hopeless(t)) {
		next_at(t, t->began + HOP_MS);
		return;
	}
	t->probe = probe_start(t->prober, &want, on_result, t);
}

struct target *target_start(struct prober *r, uv_loop_t *loop, const struct target_about *about,
			    enum poise_health known, void (*told)(void *, struct target *, bool),
			    void *ctx)
{
	struct target *t = calloc(1, sizeof(*t));
	__u64 now = now_ms();

	if (!t)
		abort();
	*t = (struct target){.about = *about, .told = told, .ctx = ctx, .prober = r, .seen = true};
	state_init(&t->state, known, now);
	uv_timer_init(loop, &t->timer);
	t->timer.data = t;
	t->spread = t->state.health != POISE_HEALTH_CHECKING;
	if (t->spread)
		now += (__u64)about->conf.interval * chance() >> 32;
	next_at(t, now);
	return t;
}

void target_remember(struct target *t, __u32 hold, __u64 left)
{
	state_remember(&t->state, hold, left, now_ms());
}

__u64 target_held(const struct target *t)
{
	return state_held(&t->state, now_ms());
}

static void end_probe(struct target *t)
{
	if (t->probe)
		probe_cancel(t->probe);
	t->probe = NULL;
}

/* All but when, how often and how patiently. */
static bool asks_the_same(const struct target_about *a, const struct target_about *b)
{
	struct poise_health_conf conf = a->conf;

	conf.interval = b->conf.interval;
	conf.fast_interval = b->conf.fast_interval;
	conf.timeout = b->conf.timeout;
	conf.rise = b->conf.rise;
	conf.fall = b->conf.fall;
	conf.jitter = b->conf.jitter;
	conf.hold_down = b->conf.hold_down;
	conf.hold_max = b->conf.hold_max;
	return a->port == b->port && !memcmp(&conf, &b->conf, sizeof(conf));
}

void target_change(struct target *t, const struct target_about *about)
{
	end_probe(t);
	/* Answers to another question say nothing of this one: `fall` or `rise` of them decide. */
	if (!asks_the_same(&t->about, about))
		t->state.good = t->state.bad = 0;
	t->about = *about;
	t->spread = false;
	next_at(t, 0);
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void target_stop(struct target *t)
{
	end_probe(t);
	uv_close((uv_handle_t *)&t->timer, on_closed);
}
