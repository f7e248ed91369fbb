// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Types http and https: a request is answered with a status that is wanted and, if asked for, with
 * a body that holds something. Nothing is resolved, no redirect followed, no proxy asked, no
 * connection used twice, and no more read than CHECK_BODY and CHECK_HEAD: a server that never ends
 * its answer costs its probe alone.
 */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "maps/text.h"
#include "probe_priv.h"
#include "status.h"

#define CHECK_BODY 65536 /* bytes of a body that are searched */
#define CHECK_HEAD 65536 /* bytes of headers: no honest server sends more */
#define URL_TEXT   (POISE_CHECK_PATH + POISE_CHECK_WORDS + 32)

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
	return p->head <= CHECK_HEAD ? length : 0;
}

static bool found_regex(const struct probe *p)
{
	regex_t compiled;
	bool found;

	if (regcomp(&compiled, p->want.conf->regex, REG_EXTENDED | REG_NOSUB | REG_NEWLINE))
		return false;
	p->body[p->length] = '\0';
	found = !regexec(&compiled, p->body, 0, NULL, 0);
	regfree(&compiled);
	return found;
}

static bool found_body(const struct probe *p)
{
	const struct poise_health_conf *c = p->want.conf;

	if (c->body[0] && !memmem(p->body, p->length, c->body, strlen(c->body)))
		return false;
	return !c->regex[0] || found_regex(p);
}

static void judge(struct probe *p)
{
	const struct poise_health_conf *c = p->want.conf;
	long status = 0;

	curl_easy_getinfo(p->easy, CURLINFO_RESPONSE_CODE, &status);
	if (!status_wanted(c->status, (unsigned int)status))
		probe_end(p, false, "http %ld, wanted %s", status, c->status);
	else if (wants_body(c) && !found_body(p))
		probe_end(p, false, "http %ld, but not with the body wanted", status);
	else
		probe_end(p, true, "http %ld", status);
}

static void http_failed(struct probe *p, CURLcode code)
{
	long error = 0;

	curl_easy_getinfo(p->easy, CURLINFO_OS_ERRNO, &error);
	switch (code) {
	case CURLE_COULDNT_CONNECT:
		probe_end(p, false, "connect: %s", error ? probe_errno((int)error) : "failed");
		return;
	case CURLE_GOT_NOTHING: probe_end(p, false, "closed without an answer"); return;
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR: probe_end(p, false, "connection broke off"); return;
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_WEIRD_SERVER_REPLY: probe_end(p, false, "the answer is no HTTP"); return;
	default: probe_end(p, false, "%s", p->error[0] ? p->error : curl_easy_strerror(code));
	}
}

void probe_transfer_end(struct probe *p, CURLcode code)
{
	if (p->head > CHECK_HEAD)
		probe_end(p, false, "more than %d bytes of headers", CHECK_HEAD);
	else if (code == CURLE_OK || code == CURLE_WRITE_ERROR)
		judge(p);
	else
		http_failed(p, code);
}

static const char *http_late(struct probe *p)
{
	curl_off_t connected = 0, spoken = 0;

	curl_easy_getinfo(p->easy, CURLINFO_CONNECT_TIME_T, &connected);
	curl_easy_getinfo(p->easy, CURLINFO_PRETRANSFER_TIME_T, &spoken);
	return spoken ? "answer" : connected ? "TLS handshake" : "connect";
}

/* Whom the URL and the certificate are about, and where that is in truth. */
static void set_target(struct probe *p, const char *scheme)
{
	const struct poise_health_conf *c = p->want.conf;
	char addr[POISE_ADDR_TEXT], url[URL_TEXT], to[POISE_ADDR_TEXT + 16];
	bool six = !poise_addr_is4(&p->want.addr);
	const char *host;

	poise_format_addr(&p->want.addr, addr, sizeof(addr));
	snprintf(to, sizeof(to), six ? "::[%s]:%u" : "::%s:%u", addr, p->want.port);
	host = c->host[0] ? c->host : addr;
	snprintf(url, sizeof(url), six && !c->host[0] ? "%s://[%s]:%u%s" : "%s://%s:%u%s", scheme,
		 host, p->want.port, c->path[0] ? c->path : "/");
	p->connect = curl_slist_append(NULL, to);
	curl_easy_setopt(p->easy, CURLOPT_CONNECT_TO, p->connect);
	curl_easy_setopt(p->easy, CURLOPT_URL, url);
	if (c->host[0]) {
		char header[POISE_CHECK_WORDS + 8];

		/* Without the port, which no name-based server has in its configuration. */
		snprintf(header, sizeof(header), "Host: %s", c->host);
		p->headers = curl_slist_append(NULL, header);
		curl_easy_setopt(p->easy, CURLOPT_HTTPHEADER, p->headers);
	}
}

static void set_tls(struct probe *p)
{
	const struct poise_health_conf *c = p->want.conf;

	curl_easy_setopt(p->easy, CURLOPT_SSL_VERIFYPEER, c->verify ? 1L : 0L);
	curl_easy_setopt(p->easy, CURLOPT_SSL_VERIFYHOST, c->verify ? 2L : 0L);
	if (c->ca[0])
		curl_easy_setopt(p->easy, CURLOPT_CAINFO, c->ca);
	if (c->cert[0])
		curl_easy_setopt(p->easy, CURLOPT_SSLCERT, c->cert);
	if (c->key[0])
		curl_easy_setopt(p->easy, CURLOPT_SSLKEY, c->key);
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
	curl_easy_setopt(p->easy, CURLOPT_USERAGENT, "poise/" POISE_VERSION);
	curl_easy_setopt(p->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(p->easy, CURLOPT_WRITEDATA, p);
	curl_easy_setopt(p->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(p->easy, CURLOPT_HEADERDATA, p);
}

static void set_manners(struct probe *p)
{
	curl_easy_setopt(p->easy, CURLOPT_PRIVATE, p);
	curl_easy_setopt(p->easy, CURLOPT_ERRORBUFFER, p->error);
	curl_easy_setopt(p->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(p->easy, CURLOPT_PROXY, "");
	curl_easy_setopt(p->easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(p->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(p->easy, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(p->easy, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(p->easy, CURLOPT_TCP_NODELAY, 1L);
}

static void http_open(struct probe *p)
{
	bool tls = p->want.conf->type == POISE_CHECK_HTTPS;

	p->easy = curl_easy_init();
	p->body = wants_body(p->want.conf) ? malloc(CHECK_BODY + 1) : NULL;
	if (!p->easy || (wants_body(p->want.conf) && !p->body))
		abort();
	set_manners(p);
	set_target(p, tls ? "https" : "http");
	set_request(p, tls);
	if (tls)
		set_tls(p);
	if (curl_multi_add_handle(p->prober->multi, p->easy))
		probe_end(p, false, "libcurl takes no more requests");
}

static void http_close(struct probe *p)
{
	curl_multi_remove_handle(p->prober->multi, p->easy);
	curl_easy_cleanup(p->easy);
	curl_slist_free_all(p->headers);
	curl_slist_free_all(p->connect);
	free(p->body);
}

const struct probe_kind probe_http = {.open = http_open, .close = http_close, .late = http_late};
