/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "unsent.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define GOOD 299 /* and below */

struct kube_call unsent[UNSENT];
size_t unsents;

void unsent_begin(void)
{
	memset(unsent, 0, sizeof(unsent));
	unsents = 0;
}

void unsent_end(void)
{
	for (size_t k = 0; k < unsents; k++)
		unsent[k].open = false;
}

struct kube_call *kube_http_send(struct kube_http *h, const struct kube_request *request)
{
	struct kube_call *c = &unsent[unsents++];

	(void)h;
	cr_assert_leq(unsents, UNSENT, "more requests than anybody would expect");
	c->verb = request->verb;
	cr_assert_lt(strlen(request->path), sizeof(c->path));
	snprintf(c->path, sizeof(c->path), "%s", request->path);
	cr_assert(!request->body || strlen(request->body) < sizeof(c->body));
	snprintf(c->body, sizeof(c->body), "%s", request->body ? request->body : "");
	c->done = request->done;
	c->ctx = request->ctx;
	c->open = true;
	return c;
}

void kube_http_drop(struct kube_call *c)
{
	cr_assert(c->open, "dropped after its end");
	c->open = false;
	c->dropped = true;
}

struct kube_call *unsent_newest(void)
{
	for (size_t k = unsents; k--;)
		if (unsent[k].open)
			return &unsent[k];
	cr_assert_fail("nothing was sent");
	return NULL;
}

size_t unsent_open(void)
{
	size_t n = 0;

	for (size_t k = 0; k < unsents; k++)
		n += unsent[k].open;
	return n;
}

void unsent_answer(struct kube_call *call, int status, const char *body)
{
	struct kube_answer a = {.status = status, .end = status ? KUBE_END_WHOLE : KUBE_END_NONE};

	cr_assert(call->open);
	call->open = false;
	a.body = body ? json_tokener_parse(body) : NULL;
	if (!status || status > GOOD)
		poise_fail(&a.err, POISE_E_SYSTEM, "answered %d", status);
	call->done(call->ctx, &a);
	json_object_put(a.body);
}
