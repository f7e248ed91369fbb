// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libcurl's multi interface on the prober's loop: curl says which of its sockets to watch and when
 * to be called, we do (libcurl-multi(3), "multi_socket").
 */
#include <stdlib.h>

#include "probe_priv.h"

/* A socket of curl's. */
struct watched {
	uv_poll_t poll;
	struct prober *prober;
	curl_socket_t fd;
};

/* Tells the probes whose transfers have ended. */
static void collect(struct prober *r)
{
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(r->multi, &left))) {
		struct probe *p = NULL;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&p);
		probe_transfer_end(p, msg->data.result);
	}
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct watched *w = poll->data;
	int flags = 0, running;

	if (status < 0)
		flags = CURL_CSELECT_ERR;
	if (events & UV_READABLE)
		flags |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	curl_multi_socket_action(w->prober->multi, w->fd, flags, &running);
	collect(w->prober);
}

static void on_curl_timer(uv_timer_t *timer)
{
	struct prober *r = timer->data;
	int running;

	curl_multi_socket_action(r->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	collect(r);
}

/* Called from within curl, which may not be called back: 0 ms is the loop's next turn. */
static int set_timer(CURLM *multi, long ms, void *ctx)
{
	struct prober *r = ctx;

	(void)multi;
	if (ms < 0)
		uv_timer_stop(&r->curl_timer);
	else
		uv_timer_start(&r->curl_timer, on_curl_timer, (__u64)ms, 0);
	return 0;
}

static void on_unwatched(uv_handle_t *handle)
{
	free(handle->data);
}

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *known)
{
	struct prober *r = ctx;
	struct watched *w = known;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (w) {
			uv_poll_stop(&w->poll);
			uv_close((uv_handle_t *)&w->poll, on_unwatched);
			curl_multi_assign(r->multi, fd, NULL);
		}
		return 0;
	}
	if (!w) {
		w = calloc(1, sizeof(*w));
		if (!w)
			abort();
		w->prober = r;
		w->fd = fd;
		w->poll.data = w;
		uv_poll_init_socket(r->loop, &w->poll, fd);
		curl_multi_assign(r->multi, fd, w);
	}
	uv_poll_start(&w->poll,
		      (what & CURL_POLL_IN ? UV_READABLE : 0) |
			      (what & CURL_POLL_OUT ? UV_WRITABLE : 0),
		      on_ready);
	return 0;
}

int prober_curl_open(struct prober *r)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return -1;
	r->multi = curl_multi_init();
	if (!r->multi)
		return -1;
	curl_multi_setopt(r->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
	curl_multi_setopt(r->multi, CURLMOPT_SOCKETDATA, r);
	curl_multi_setopt(r->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	curl_multi_setopt(r->multi, CURLMOPT_TIMERDATA, r);
	uv_timer_init(r->loop, &r->curl_timer);
	r->curl_timer.data = r;
	return 0;
}

void prober_curl_close(struct prober *r)
{
	curl_multi_cleanup(r->multi);
	uv_close((uv_handle_t *)&r->curl_timer, prober_closed);
}
