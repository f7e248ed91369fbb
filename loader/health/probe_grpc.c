// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Type grpc: the standard health service (github.com/grpc/grpc, doc/health-checking.md) says that
 * `query`, or the server as a whole, is SERVING. A request of one message over HTTP/2 (gRPC's
 * doc/PROTOCOL-HTTP2.md); the two messages have one field each, so their protobuf is a few bytes.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http.h"

#define PREFIX	    5	 /* compressed flag and length in front of every message */
#define FIELD_TEXT  0x0a /* field 1, length-delimited: HealthCheckRequest.service */
#define FIELD_ENUM  0x08 /* field 1, varint: HealthCheckResponse.status */
#define SERVING	    1
#define UNKNOWN	    0 /* also what a field left out means */
#define ANSWER_MAX  256
#define STATUS_NAME "grpc-status:"

_Static_assert(POISE_CHECK_WORDS <= 128, "the length of a service is one byte of varint");

static void set_message(struct probe *p)
{
	const char *service = p->want.conf->query;
	size_t length = strlen(service), message = length ? length + 2 : 0;
	unsigned char out[PREFIX + 2 + POISE_CHECK_WORDS] = {0};

	out[PREFIX - 1] = (unsigned char)message;
	if (length) {
		out[PREFIX] = FIELD_TEXT;
		out[PREFIX + 1] = (unsigned char)length;
		snprintf((char *)out + PREFIX + 2, POISE_CHECK_WORDS, "%s", service);
	}
	curl_easy_setopt(p->easy, CURLOPT_POSTFIELDSIZE, (long)(PREFIX + message));
	curl_easy_setopt(p->easy, CURLOPT_COPYPOSTFIELDS, out);
}

static size_t on_body(char *data, size_t one, size_t length, void *ctx)
{
	struct probe *p = ctx;

	(void)one;
	if (length > ANSWER_MAX - p->length)
		return 0;
	memcpy(p->body + p->length, data, length);
	p->length += length;
	return length;
}

/* Headers, and the trailers in which the call's own status comes. */
static size_t on_header(char *data, size_t one, size_t length, void *ctx)
{
	const size_t name = sizeof(STATUS_NAME) - 1;
	struct probe *p = ctx;

	(void)one;
	p->head += length;
	if (p->head > HTTP_HEAD)
		return 0;
	if (length > name && !strncasecmp(data, STATUS_NAME, name))
		for (size_t at = name; at < length; at++)
			if (isdigit((unsigned char)data[at]))
				p->grpc_status =
					(p->grpc_status < 0 ? 0 : p->grpc_status % 100) * 10 +
					(data[at] - '0');
	return length;
}

/* HealthCheckResponse.status; -1: the answer is none. */
static int serving(const unsigned char *in, size_t length)
{
	if (length < PREFIX || in[0])
		return -1;
	if (length == PREFIX)
		return UNKNOWN;
	return length >= PREFIX + 2 && in[PREFIX] == FIELD_ENUM ? in[PREFIX + 1] : -1;
}

enum probe_said probe_grpc_said(const void *answer, size_t length, char words[PROBE_WORDS])
{
	static const char *const names[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
	int said = serving(answer, length);

	if (said < 0 || said >= (int)(sizeof(names) / sizeof(names[0])))
		snprintf(words, PROBE_WORDS, "grpc answer is no health");
	else
		snprintf(words, PROBE_WORDS, "grpc %s", names[said]);
	return said == SERVING ? PROBE_GOOD : PROBE_BAD;
}

static void grpc_end(struct probe *p, CURLcode code)
{
	char words[PROBE_WORDS];
	enum probe_said said;
	long status = 0;

	curl_easy_getinfo(p->easy, CURLINFO_RESPONSE_CODE, &status);
	if (code != CURLE_OK) {
		http_failed(p, code);
		return;
	}
	if (status != 200 || p->grpc_status) {
		if (p->grpc_status < 0)
			probe_end(p, false, "http %ld, no gRPC", status);
		else
			probe_end(p, false, "grpc status %d", p->grpc_status);
		return;
	}
	said = probe_grpc_said(p->body, p->length, words);
	probe_end(p, said == PROBE_GOOD, "%s", words);
}

static void grpc_open(struct probe *p)
{
	p->body = malloc(ANSWER_MAX);
	if (!p->body)
		abort();
	p->transfer_end = grpc_end;
	http_prepare(p, p->want.conf->tls, "/grpc.health.v1.Health/Check");
	p->headers = curl_slist_append(p->headers, "Content-Type: application/grpc");
	p->headers = curl_slist_append(p->headers, "TE: trailers");
	curl_easy_setopt(p->easy, CURLOPT_HTTPHEADER, p->headers);
	curl_easy_setopt(p->easy, CURLOPT_HTTP_VERSION,
			 p->want.conf->tls ? CURL_HTTP_VERSION_2TLS
					   : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
	set_message(p);
	curl_easy_setopt(p->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(p->easy, CURLOPT_HEADERFUNCTION, on_header);
	http_begin(p);
}

const struct probe_kind probe_grpc = {.open = grpc_open, .close = http_close, .late = http_late};
