// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Types http and https: a request is answered with a status that is wanted and, if asked for, with
 * a body that holds something. Nothing is resolved, no redirect followed, no proxy asked, no
 * connection used twice, and no more read than CHECK_BODY and HTTP_HEAD: a server that never ends
 * its answer costs its probe alone.
 */
#include <stdlib.h>
#include <string.h>

#include "http.h"
#include "maps/pattern.h"
#include "maps/status.h"

#define CHECK_BODY 65536 /* bytes of a body that are searched */

static bool wants_body(const struct poise_health_conf *c)
{
	return c->body[0] || c->regex[0];
}

/* CURLE_WRITE_ERROR is the answer that ends a body nobody wants to hear the rest of. */
static size_t on_body(char *data, size_t one, size_t length, void *ctx)
{
	struct probe *p = ctx;
	size_t room = CHECK_BODY - p->length;

	(void)one;
	if (!wants_body(p->want.conf))
		return 0;
	if (length > room)
		length = room;
	memcpy(p->body + p->length, data, length);
	p->length += length;
	return p->length < CHECK_BODY ? length : 0;
}

static size_t on_header(char *data, size_t one, size_t length, void *ctx)
{
	struct probe *p = ctx;

	(void)one;
	(void)data;
	p->head += length;
	return p->head <= HTTP_HEAD ? length : 0;
}

static void judge_body(struct probe *p, long status)
{
	const struct poise_health_conf *c = p->want.conf;
	enum pattern_found found = PATTERN_PRESENT;

	if (c->body[0] && !memmem(p->body, p->length, c->body, strlen(c->body)))
		found = PATTERN_ABSENT;
	else if (c->regex[0])
		found = pattern_find(c->regex, p->body, p->length);
	switch (found) {
	case PATTERN_PRESENT: probe_end(p, true, "http %ld", status); return;
	case PATTERN_ABSENT:
		probe_end(p, false, "http %ld, but not with the body wanted", status);
		return;
	case PATTERN_ENDLESS:
		probe_end(p, false, "http %ld, but body-regex takes too long over it: simplify it",
			  status);
	}
}

static void judge(struct probe *p)
{
	const struct poise_health_conf *c = p->want.conf;
	long status = 0;

	curl_easy_getinfo(p->easy, CURLINFO_RESPONSE_CODE, &status);
	if (!status_wanted(c->status, (unsigned int)status))
		probe_end(p, false, "http %ld, wanted %s", status, c->status);
	else
		judge_body(p, status);
}

static void set_request(struct probe *p, bool tls)
{
	const struct poise_health_conf *c = p->want.conf;
	long version = CURL_HTTP_VERSION_1_1;

	if (c->http2)
		version = tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
	curl_easy_setopt(p->easy, CURLOPT_HTTP_VERSION, version);
	if (c->method == POISE_METHOD_HEAD)
		curl_easy_setopt(p->easy, CURLOPT_NOBODY, 1L);
	else if (c->method == POISE_METHOD_OPTIONS)
		curl_easy_setopt(p->easy, CURLOPT_CUSTOMREQUEST, "OPTIONS");
	curl_easy_setopt(p->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(p->easy, CURLOPT_HEADERFUNCTION, on_header);
}

static void http_end(struct probe *p, CURLcode code)
{
	bool enough = code == CURLE_WRITE_ERROR && p->head <= HTTP_HEAD;

	if (code == CURLE_OK || enough)
		judge(p);
	else
		http_failed(p, code);
}

static void http_open(struct probe *p)
{
	const struct poise_health_conf *c = p->want.conf;
	bool tls = c->type == POISE_CHECK_HTTPS;

	p->body = wants_body(c) ? malloc(CHECK_BODY) : NULL;
	if (wants_body(c) && !p->body)
		abort();
	p->transfer_end = http_end;
	http_prepare(p, tls, c->path[0] ? c->path : "/");
	set_request(p, tls);
	http_begin(p);
}

const struct probe_kind probe_http = {.open = http_open, .close = http_close, .late = http_late};
