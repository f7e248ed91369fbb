// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Probes of whatever type: their beginning, their time-out, their end. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe_priv.h"

#define NS_PER_US 1000

/* Probes that begin in a turn of the loop, before it looks at sockets again: two thousand at once
 * would hold up answers for a second. */
#define BEGIN_MAX 16

static const struct probe_kind *const kinds[POISE_CHECKS] = {
	[POISE_CHECK_TCP] = &probe_tcp,	   [POISE_CHECK_HTTP] = &probe_http,
	[POISE_CHECK_HTTPS] = &probe_http, [POISE_CHECK_UDP] = &probe_udp,
	[POISE_CHECK_DNS] = &probe_dns,	   [POISE_CHECK_ICMP] = &probe_icmp,
	[POISE_CHECK_GRPC] = &probe_grpc,  [POISE_CHECK_EXEC] = &probe_exec,
};

static void on_idle(uv_idle_t *idle);

static void queue(struct probe *p)
{
	struct prober *r = p->prober;

	*r->end = p;
	r->end = &p->next;
	uv_idle_start(&r->idle, on_idle);
}

static void unqueue(struct probe *p)
{
	struct prober *r = p->prober;
	struct probe **at = &r->begin;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (!p->next)
		r->end = at;
	p->next = NULL;
}

static void begin(struct probe *p)
{
	p->begun = true;
	p->began = uv_hrtime();
	probe_time(p);
	p->kind->open(p);
}

static void on_idle(uv_idle_t *idle)
{
	struct prober *r = idle->data;

	for (int n = 0; n < BEGIN_MAX && r->begin; n++) {
		struct probe *p = r->begin;

		unqueue(p);
		begin(p);
	}
	if (!r->begin)
		uv_idle_stop(idle);
}

struct prober *prober_new(uv_loop_t *loop)
{
	struct prober *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	*r = (struct prober){.loop = loop, .end = &r->begin, .handles = 3};
	if (prober_curl_open(r)) {
		free(r);
		return NULL;
	}
	uv_idle_init(loop, &r->idle);
	r->idle.data = r;
	prober_exec_open(r);
	return r;
}

void prober_closed(uv_handle_t *handle)
{
	struct prober *r = handle->data;

	if (!--r->handles)
		free(r);
}

void prober_use(struct prober *r, const struct instance *i)
{
	r->instance = i;
}

void prober_free(struct prober *r)
{
	if (!r)
		return;
	prober_curl_close(r);
	prober_exec_close(r);
	uv_close((uv_handle_t *)&r->idle, prober_closed);
}

void probe_closed(uv_handle_t *handle)
{
	struct probe *p = handle->data;

	if (--p->handles)
		return;
	if (p->fd >= 0)
		close(p->fd);
	probe_way_end(p);
	free(p);
}

static void release(struct probe *p)
{
	why_end(p);
	if (p->begun && p->kind->close)
		p->kind->close(p);
	uv_close((uv_handle_t *)&p->timer, probe_closed);
	if (p->poll.data)
		uv_close((uv_handle_t *)&p->poll, probe_closed);
}

/* Of the time that an answer may take: what is left by then is for asking why there is none. */
static __u32 half(const struct probe *p)
{
	return p->want.conf->timeout / 2;
}

/* From the loop: the answer is there, or half of the time is over, or all. */
static void on_timer(uv_timer_t *timer)
{
	struct probe *p = timer->data;

	if (!p->ended && why_ask(p)) {
		uv_timer_start(timer, on_timer, p->want.conf->timeout - half(p), 0);
		return;
	}
	/* The loop may have been held up, and the answer be there: it is looked for once more. */
	if (!p->ended && !p->looked) {
		p->looked = true;
		uv_timer_start(timer, on_timer, 1, 0);
		return;
	}
	if (!p->ended)
		probe_end(p, false, "%s: timed out after %ums%s",
			  p->kind->late ? p->kind->late(p) : p->doing, p->want.conf->timeout,
			  why_words(p));
	p->done(p->ctx, &p->result);
	release(p);
}

/* Behind its words: what the check did not show. */
static void say_portless(struct probe *p)
{
	size_t used = strlen(p->result.words);

	snprintf(p->result.words + used, sizeof(p->result.words) - used,
		 "; directly: others have ports %u to %u", POISE_PROBE_PORT,
		 POISE_PROBE_PORT + POISE_PROBE_PORTS - 1);
}

void probe_end(struct probe *p, bool good, const char *fmt, ...)
{
	va_list ap;

	if (p->ended)
		return;
	p->ended = true;
	p->result.good = good;
	p->result.us = (uv_hrtime() - p->began) / NS_PER_US;
	va_start(ap, fmt);
	vsnprintf(p->result.words, sizeof(p->result.words), fmt, ap);
	va_end(ap);
	if (p->portless)
		say_portless(p);
	/* Some are the other side's: the name in a certificate. */
	poise_printable(p->result.words);
	/* Whoever calls may be deep in a library: done is called from the loop. */
	uv_timer_start(&p->timer, on_timer, 0, 0);
}

void probe_time(struct probe *p)
{
	uv_update_time(p->prober->loop);
	uv_timer_start(&p->timer, on_timer, p->want.by_path ? half(p) : p->want.conf->timeout, 0);
}

struct probe *probe_start(struct prober *r, const struct probe_want *want, probe_done done,
			  void *ctx)
{
	struct probe *p = calloc(1, sizeof(*p));

	if (!p)
		abort();
	*p = (struct probe){
		.prober = r,
		.kind = kinds[want->conf->type],
		.want = *want,
		.done = done,
		.ctx = ctx,
		.doing = "connect",
		.fd = -1,
		.socket = -1,
		.handles = 1,
		.grpc_status = -1,
	};
	p->want.by_path = want->by_path && r->instance &&
			  __atomic_load_n(&r->instance->meta->probes, __ATOMIC_RELAXED);
	uv_timer_init(r->loop, &p->timer);
	p->timer.data = p;
	queue(p);
	return p;
}

void probe_cancel(struct probe *p)
{
	if (!p->begun)
		unqueue(p);
	p->ended = true;
	uv_timer_stop(&p->timer);
	release(p);
}
