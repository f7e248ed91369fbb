// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What came of a request. A server that refuses says why in a Status object (message, reason,
 * code), which is worth more to whoever reads the log than the number; what stands between (a
 * proxy) answers with anything.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_priv.h"

#define MS_PER_S 1000
#define GOOD	 200
#define OTHER	 300 /* and more: none is good */

static long status_of(const struct kube_call *c)
{
	long status = 0;

	curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

static bool is_good(long status)
{
	return status >= GOOD && status < OTHER;
}

/* ---- as it comes ------------------------------------------------------------------------------*/

size_t call_on_head(char *data, size_t one, size_t length, void *ctx)
{
	struct kube_call *c = ctx;

	(void)one;
	c->head += length;
	c->awry |= c->head > KUBE_HEAD;
	/* The line that ends them. */
	if (length && (data[0] == '\r' || data[0] == '\n') && c->request.begun &&
	    is_good(status_of(c)))
		c->request.begun(c->request.ctx);
	return c->awry ? 0 : length;
}

/* What follows one whole value is nobody's. */
static void keep(struct kube_call *c, const char *data, size_t length)
{
	if (c->json || c->awry)
		return;
	c->json = json_tokener_parse_ex(c->tokener, data, (int)length);
	c->awry = !c->json && json_tokener_get_error(c->tokener) != json_tokener_continue;
}

size_t call_on_body(char *data, size_t one, size_t length, void *ctx)
{
	struct kube_call *c = ctx;

	(void)one;
	if (c->request.piece && is_good(status_of(c))) {
		c->enough = !c->request.piece(c->request.ctx, data, length);
		return c->enough ? 0 : length;
	}
	c->got += length;
	if (c->got > KUBE_ANSWER_MOST) {
		c->awry = true;
		return 0;
	}
	keep(c, data, length);
	return length;
}

/* ---- at the end -------------------------------------------------------------------------------*/

static enum kube_end end_of(const struct kube_call *c, CURLcode code, long status)
{
	if (c->enough)
		return KUBE_END_AWRY;
	switch (code) {
	case CURLE_OK:
		/* Errors need not be JSON; what was asked for is. */
		return c->awry && is_good(status) ? KUBE_END_AWRY : KUBE_END_WHOLE;
	case CURLE_OPERATION_TIMEDOUT: return status ? KUBE_END_LATE : KUBE_END_NONE;
	case CURLE_WRITE_ERROR:
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_UNSUPPORTED_PROTOCOL: return KUBE_END_AWRY;
	default: return status ? KUBE_END_CUT : KUBE_END_NONE;
	}
}

/* "" if it has none. */
static const char *text_of(struct json_object *body, const char *key)
{
	struct json_object *value;

	if (!json_object_is_type(body, json_type_object) ||
	    !json_object_object_get_ex(body, key, &value) ||
	    !json_object_is_type(value, json_type_string))
		return "";
	return json_object_get_string(value);
}

static enum poise_code code_of(int status)
{
	switch (status) {
	case 401:
	case 403: return POISE_E_PERMISSION;
	case 404: return POISE_E_NOT_FOUND;
	case 409: return POISE_E_CONFLICT;
	case 429:
	case 503: return POISE_E_BUSY;
	default: return POISE_E_SYSTEM;
	}
}

static void explain_status(struct kube_answer *a)
{
	const char *message = text_of(a->body, "message");

	poise_fail(&a->err, code_of(a->status), "answered %d%s%s%s%s", a->status,
		   a->reason[0] ? " " : "", a->reason, message[0] ? ": " : "", message);
	poise_printable(a->err.message);
	if (a->status == 401)
		poise_error_remedy(&a->err, "see whether the token or the client certificate is "
					    "this cluster's, and not expired");
	else if (a->status == 403)
		poise_error_remedy(&a->err, "give the account the rights that deploy/kubernetes "
					    "lists");
}

static void explain_end(const struct kube_call *c, CURLcode code, struct kube_answer *a)
{
	const char *why = c->error[0] ? c->error : curl_easy_strerror(code);

	switch (a->end) {
	case KUBE_END_CUT:
		poise_fail(&a->err, POISE_E_SYSTEM, "the answer broke off: %s", why);
		break;
	case KUBE_END_LATE: poise_fail(&a->err, POISE_E_SYSTEM, "%s", why); break;
	case KUBE_END_AWRY:
		poise_fail(&a->err, POISE_E_CORRUPT, "%s",
			   c->head > KUBE_HEAD	       ? "far too many headers"
			   : c->got > KUBE_ANSWER_MOST ? "the answer is far too large"
			   : c->awry || c->enough      ? "the answer is not the JSON wanted"
						       : "the answer is no HTTP");
		break;
	default:
		poise_fail(&a->err, POISE_E_SYSTEM, "%s", why);
		if (code == CURLE_PEER_FAILED_VERIFICATION)
			poise_error_remedy(&a->err, "is the certificate authority this cluster's?");
	}
	poise_printable(a->err.message);
}

void call_answer(struct kube_call *c, CURLcode code, struct kube_answer *a)
{
	long status = status_of(c);
	curl_off_t wait = 0;

	memset(a, 0, sizeof(*a));
	a->end = end_of(c, code, status);
	a->status = (int)status;
	a->body = c->json;
	snprintf(a->reason, sizeof(a->reason), "%s", text_of(c->json, "reason"));
	curl_easy_getinfo(c->easy, CURLINFO_RETRY_AFTER, &wait);
	if (wait > 0 && wait < UINT32_MAX / MS_PER_S)
		a->retry_after = (__u32)wait * MS_PER_S;
	if (a->end != KUBE_END_WHOLE)
		explain_end(c, code, a);
	else if (!is_good(status))
		explain_status(a);
	else
		return;
	poise_error_about(&a->err, "%s %.*s", kube_verb_word(c->request.verb),
			  (int)strcspn(c->request.path, "?"), c->request.path);
	poise_error_about(&a->err, "API server %s", c->http->access->server);
}
