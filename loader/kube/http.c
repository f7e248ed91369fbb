// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * When requests begin and end. curl takes none while it is telling somebody something, so a new one
 * waits for the next turn.
 */
#include "http_priv.h"

#include <stdlib.h>
#include <string.h>

#include "../../maps/memory.h"

struct kube_http *kube_http_new(struct kube_access *access)
{
	struct kube_http *h = memory_alloc(sizeof(*h));

	h->access = access;
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		abort();
	h->multi = curl_multi_init();
	if (!h->multi)
		abort();
	return h;
}

static void call_free(struct kube_call *c)
{
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	if (c->begun)
		curl_multi_remove_handle(c->http->multi, c->easy);
	curl_easy_cleanup(c->easy);
	curl_slist_free_all(c->headers);
	curl_slist_free_all(c->connect);
	json_tokener_free(c->tokener);
	json_object_put(c->json);
	free((char *)c->request.path);
	free((char *)c->request.body);
	free(c);
}

void kube_http_free(struct kube_http *h)
{
	struct kube_call *next;

	if (!h)
		return;
	for (struct kube_call *c = h->calls; c; c = next) {
		next = c->next;
		call_free(c);
	}
	curl_multi_cleanup(h->multi);
	free(h);
}

struct kube_access *kube_http_access(const struct kube_http *h)
{
	return h->access;
}

struct kube_call *kube_http_send(struct kube_http *h, const struct kube_request *request)
{
	struct kube_call *c = memory_alloc(sizeof(*c));

	c->http = h;
	c->request = *request;
	c->request.path = memory_text(request->path);
	c->request.body = memory_text(request->body);
	c->tokener = json_tokener_new();
	c->easy = curl_easy_init();
	if (!c->tokener || !c->easy)
		abort();
	c->next = h->calls;
	c->link = &h->calls;
	if (c->next)
		c->next->link = &c->next;
	h->calls = c;
	curl_multi_wakeup(h->multi);
	return c;
}

void kube_http_drop(struct kube_call *c)
{
	call_free(c);
}

static void begin(struct kube_http *h)
{
	for (struct kube_call *c = h->calls; c; c = c->next) {
		if (c->begun)
			continue;
		call_prepare(c);
		if (curl_multi_add_handle(h->multi, c->easy))
			abort(); /* it cannot be in use, and there is memory */
		c->begun = true;
	}
}

static void collect(struct kube_http *h)
{
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(h->multi, &left))) {
		struct kube_answer answer;
		struct kube_call *c = NULL;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&c);
		call_answer(c, msg->data.result, &answer);
		/* Whoever is told may drop everything of theirs: this one is not among it. */
		if (c->request.done)
			c->request.done(c->request.ctx, &answer);
		call_free(c);
	}
}

void kube_http_turn(struct kube_http *h, int ms)
{
	int running;

	begin(h);
	curl_multi_poll(h->multi, NULL, 0, ms, NULL);
	begin(h);
	curl_multi_perform(h->multi, &running);
	collect(h);
}

void kube_http_wake(struct kube_http *h)
{
	curl_multi_wakeup(h->multi);
}

/* ---- one, and wait ----------------------------------------------------------------------------*/

struct awaited {
	struct kube_answer *answer;
	bool ended;
};

static void on_done(void *ctx, const struct kube_answer *answer)
{
	struct awaited *a = ctx;

	*a->answer = *answer;
	json_object_get(a->answer->body);
	a->ended = true;
}

bool kube_http_do(struct kube_http *h, const struct kube_request *request,
		  struct kube_answer *answer)
{
	struct awaited awaited = {.answer = answer};
	struct kube_request r = *request;

	r.piece = NULL;
	r.done = on_done;
	r.ctx = &awaited;
	kube_http_send(h, &r);
	while (!awaited.ended)
		kube_http_turn(h, KUBE_CONNECT);
	return kube_answer_good(answer);
}

char *kube_http_escape(const char *text)
{
	char *escaped = curl_easy_escape(NULL, text, 0), *copy;

	if (!escaped)
		abort();
	copy = memory_text(escaped);
	curl_free(escaped);
	return copy;
}
