/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The loop: timers, the netlink socket, signals. Nothing in it waits for the lock but a reload,
 * which an operator asked for.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "../maps/clock.h"
#include "poised.h"

#define FOLD_MS	   5 /* simulated at 200k connections/s: worst load 1.022 of the mean */
#define SECOND_MS  1000
#define DEVICES_MS 100 /* poise attach bumps no generation: looked for so often */
/* Of the time that systemd waits for a sign of life: one may be late, or the next. */
#define SIGNS_OF_LIFE 4
#define FADE_MS	      50 /* shares of those who fade in: steps of half a percent in 10 s */
#define NS_PER_US     1000ull
#define US_PER_MS     1000ull

/* The table of nftables that some next hops need. */
static void look_at_overlay(struct poised *p)
{
	struct poise_error err = {0};

	p->follow.news += overlay_settle(&p->overlay, p->instance, &p->follow.plan.seen, &err);
	if (err.code && !p->told_overlay)
		log_error(LOG_LEVEL_ERROR, &err);
	if (err.code || p->instance->meta->overlay == POISE_OVERLAY_STANDS)
		p->told_overlay = err.code;
}

static void look_at_devices(struct poised *p)
{
	devices_look(&p->devices, p->instance);
	follow_devices(&p->follow);
	look_at_overlay(p);
	settle_tick(&p->settle, &p->follow); /* whether anything is attached counts there */
}

static void on_fold(uv_timer_t *timer)
{
	struct poised *p = timer->data;
	struct instance *i = p->instance;

	fold_run(&p->fold, i->loads, poise_loads_row(i->meta->members));
	if (p->follow.cfg)
		favour_run(i, p->follow.cfg, clock_monotonic(), true);
	__atomic_store_n(&i->meta->heartbeat, clock_monotonic(), __ATOMIC_RELAXED);
	herald_tick(&p->herald, p->follow.cfg);
	if (follow_tick(&p->follow)) {
		fold_members(&p->fold, p->follow.cfg);
		look_at_devices(p); /* what can be served again is announced at once */
	}
}

static void rate_member(struct poised *p, __u32 member)
{
	const struct poise_meta *meta = p->instance->meta;
	struct rate_sample now = {.at = clock_monotonic()};
	struct poise_rate rate;

	for (__u32 c = 0; c < meta->cpus; c++) {
		const struct poise_counter *line =
			&p->instance->counters[(size_t)c * meta->members + member];

		now.opened += POISE_COUNT(line->opened);
		now.packets += line->packets;
		now.bytes += line->bytes;
	}
	if (rate_take(&p->rates[member], &now, &rate))
		p->instance->rates[member] = rate;
}

static void say_status(struct poised *p)
{
	const struct config *cfg = p->follow.cfg;
	size_t backends = 0;

	if (!cfg)
		return;
	for (size_t s = 0; s < cfg->services; s++)
		backends += cfg->service[s]->members;
	sd_notifyf(0, "STATUS=%zu services, %zu backends (%zu without next hop), %zu devices",
		   cfg->services, backends, p->follow.plan.seen.unresolved, p->follow.devices);
}

/* False once the pins were removed (poise reset). */
static bool stands(const struct instance *i)
{
	struct stat st;

	return fstat(i->lock_fd, &st) == 0 && st.st_nlink > 0;
}

static void on_second(uv_timer_t *timer)
{
	struct poised *p = timer->data;

	for (size_t r = 0; r < p->fold.ranges; r++)
		for (__u32 k = 0; k < p->fold.range[r].count; k++)
			rate_member(p, p->fold.range[r].first + k);
	p->follow.news++; /* neighbours to ask again, routes that are old */
	devices_filters(p->instance);
	drained_look(&p->drained, p->instance, p->follow.cfg);
	say_status(p);
	if (!stands(p->instance)) {
		settle_removed(&p->settle, &p->follow);
		overlay_remove(p->instance, NULL);
		log_line(LOG_LEVEL_WARNING, "the instance was removed; nothing is left to keep");
		uv_stop(&p->loop);
	}
}

/* A loop that hangs gives none, and poised is started anew. */
static void on_alive(uv_timer_t *timer)
{
	(void)timer;
	sd_notify(0, "WATCHDOG=1");
}

static void on_devices(uv_timer_t *timer)
{
	look_at_devices(timer->data);
}

/* Only a commit makes somebody fade in; one that is not derived yet, or that follow has not read,
 * is a later tick's. */
static void on_fade(uv_timer_t *timer)
{
	struct poised *p = timer->data;
	struct instance *i = p->instance;
	const struct config *cfg = p->follow.cfg;

	if (!cfg || cfg->generation != __atomic_load_n(&i->meta->applied, __ATOMIC_ACQUIRE) ||
	    cfg->generation != __atomic_load_n(&i->meta->committed, __ATOMIC_ACQUIRE) ||
	    (!p->fading && p->faded == cfg->generation))
		return;
	p->fading = instance_fade(i, cfg, clock_realtime(), instance_stamp_now(i));
	p->faded = cfg->generation;
}

static void on_network(uv_poll_t *poll, int status, int events)
{
	struct poised *p = poll->data;

	(void)status;
	(void)events;
	follow_network(&p->follow);
}

static void on_reload(uv_signal_t *signal, int number)
{
	struct poised *p = signal->data;
	struct poise_error err = {0};
	struct boot boot;

	(void)number;
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", clock_monotonic() / NS_PER_US);
	if (boot_reread(&boot, &p->options, &err) < 0) {
		boot_refuse(p->instance, &p->options, &err);
		log_error(LOG_LEVEL_ERROR, &err);
	} else if (boot_apply(p->instance, &boot, &p->options, &err) < 0) {
		log_error(LOG_LEVEL_ERROR, &err);
	} else {
		devices_take(&p->devices, p->instance, boot.cfg);
		follow_devices(&p->follow);
	}
	boot_free(&boot);
	sd_notify(0, "READY=1");
}

static void on_stop(uv_signal_t *signal, int number)
{
	struct poised *p = signal->data;

	log_line(LOG_LEVEL_INFO, "stopping at %s", number == SIGTERM ? "SIGTERM" : "SIGINT");
	sd_notify(0, "STOPPING=1");
	uv_stop(&p->loop);
}

static void timer_start(struct poised *p, uv_timer_t *timer, uv_timer_cb cb, __u64 ms)
{
	uv_timer_init(&p->loop, timer);
	timer->data = p;
	uv_timer_start(timer, cb, ms, ms);
}

static void start_watchdog(struct poised *p)
{
	uint64_t us;

	if (sd_watchdog_enabled(0, &us) > 0)
		timer_start(p, &p->alive_timer, on_alive, us / US_PER_MS / SIGNS_OF_LIFE + 1);
}

static void signal_start(struct poised *p, uv_signal_t *signal, uv_signal_cb cb, int number)
{
	uv_signal_init(&p->loop, signal);
	signal->data = p;
	uv_signal_start(signal, cb, number);
}

static void close_handle(uv_handle_t *handle, void *arg)
{
	(void)arg;
	uv_close(handle, NULL);
}

int loop_run(struct poised *p, struct poise_error *err)
{
	if (uv_loop_init(&p->loop) < 0)
		return poise_fail(err, POISE_E_SYSTEM, "cannot make an event loop");
	timer_start(p, &p->fold_timer, on_fold, FOLD_MS);
	timer_start(p, &p->second_timer, on_second, SECOND_MS);
	timer_start(p, &p->fade_timer, on_fade, FADE_MS);
	timer_start(p, &p->devices_timer, on_devices, DEVICES_MS);
	start_watchdog(p);
	uv_poll_init(&p->loop, &p->network, net_fd(p->follow.net));
	p->network.data = p;
	uv_poll_start(&p->network, UV_READABLE, on_network);
	signal_start(p, &p->hup, on_reload, SIGHUP);
	signal_start(p, &p->term, on_stop, SIGTERM);
	signal_start(p, &p->interrupt, on_stop, SIGINT);

	on_fold(&p->fold_timer); /* next hops are asked for before we say that we are ready */
	drained_look(&p->drained, p->instance, p->follow.cfg);
	sd_notify(0, "READY=1");
	log_line(LOG_LEVEL_NOTICE, "ready");
	uv_run(&p->loop, UV_RUN_DEFAULT);

	uv_walk(&p->loop, close_handle, NULL);
	uv_run(&p->loop, UV_RUN_DEFAULT);
	uv_loop_close(&p->loop);
	return 0;
}
