// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How a request is made: to whom, by whom, and with which manners. No redirect is followed and no
 * proxy asked, for the token is in the request.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_priv.h"

#define CA_KEPT	    60L	  /* seconds that a CA file is not read again: reading takes milliseconds */
#define ALIVE_IDLE  10L	  /* seconds of silence until the other side is asked if it is there, */
#define ALIVE_EACH  5L	  /* how often, */
#define ALIVE_GONE  30000 /* and ms without a word after which it is not: a host that died */
#define HEADER_TEXT 64

const char *kube_verb_word(enum kube_verb verb)
{
	static const char *const words[] = {
		[KUBE_GET] = "GET",	      [KUBE_POST] = "POST",	[KUBE_PUT] = "PUT",
		[KUBE_MERGE_PATCH] = "PATCH", [KUBE_DELETE] = "DELETE",
	};

	return words[verb];
}

static void add_header(struct kube_call *c, const char *header)
{
	struct curl_slist *longer = curl_slist_append(c->headers, header);

	if (!longer)
		abort();
	c->headers = longer;
}

static void set_headers(struct kube_call *c)
{
	const char *token = kube_access_token(c->http->access);
	char text[HEADER_TEXT], *header;

	add_header(c, "Accept: application/json");
	add_header(c, "Expect:"); /* one round trip is enough for a body of some bytes */
	if (c->request.body) {
		snprintf(text, sizeof(text), "Content-Type: application/%s",
			 c->request.verb == KUBE_MERGE_PATCH ? "merge-patch+json" : "json");
		add_header(c, text);
	}
	if (token) {
		if (asprintf(&header, "Authorization: Bearer %s", token) < 0)
			abort();
		add_header(c, header);
		free(header);
	}
	curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
}

static void set_verb(struct kube_call *c)
{
	if (c->request.verb != KUBE_GET)
		curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, kube_verb_word(c->request.verb));
	if (c->request.body)
		curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, c->request.body);
}

/* Another name than the URL's is the certificate's: then that is the URL's, and where it is in
 * truth is said beside it. */
static void set_name(struct kube_call *c, CURLU *url)
{
	const char *name = c->http->access->server_name;
	char *host = NULL, *port = NULL, *to;

	if (!name)
		return;
	curl_url_get(url, CURLUPART_HOST, &host, 0);
	curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
	if (asprintf(&to, "::%s:%s", host ? host : "", port ? port : "") < 0)
		abort();
	c->connect = curl_slist_append(NULL, to);
	curl_easy_setopt(c->easy, CURLOPT_CONNECT_TO, c->connect);
	curl_url_set(url, CURLUPART_HOST, name, 0);
	free(to);
	curl_free(host);
	curl_free(port);
}

static void set_url(struct kube_call *c)
{
	CURLU *url = curl_url();
	char *text, *final = NULL;

	if (!url || asprintf(&text, "%s%s", c->http->access->server, c->request.path) < 0)
		abort();
	/* What curl does not take as a URL it says when it is to go there. */
	if (curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK) {
		set_name(c, url);
		curl_url_get(url, CURLUPART_URL, &final, 0);
	}
	curl_easy_setopt(c->easy, CURLOPT_URL, final ? final : text);
	curl_free(final);
	free(text);
	curl_url_cleanup(url);
}

static struct curl_blob blob(char *data)
{
	return (struct curl_blob){.data = data, .len = strlen(data), .flags = CURL_BLOB_NOCOPY};
}

static void set_certificates(struct kube_call *c)
{
	const struct kube_access *a = c->http->access;
	struct curl_blob b;

	if (a->cert.data) {
		b = blob(a->cert.data);
		curl_easy_setopt(c->easy, CURLOPT_SSLCERT_BLOB, &b);
	} else if (a->cert.file) {
		curl_easy_setopt(c->easy, CURLOPT_SSLCERT, a->cert.file);
	}
	if (a->key.data) {
		b = blob(a->key.data);
		curl_easy_setopt(c->easy, CURLOPT_SSLKEY_BLOB, &b);
	} else if (a->key.file) {
		curl_easy_setopt(c->easy, CURLOPT_SSLKEY, a->key.file);
	}
}

/* Without a certificate authority the host's own decide. With one they do not: curl would ask its
 * directory of them besides. */
static void set_tls(struct kube_call *c)
{
	const struct kube_access *a = c->http->access;
	struct curl_blob b;

	curl_easy_setopt(c->easy, CURLOPT_SSL_VERIFYPEER, a->insecure ? 0L : 1L);
	curl_easy_setopt(c->easy, CURLOPT_SSL_VERIFYHOST, a->insecure ? 0L : 2L);
	curl_easy_setopt(c->easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (a->ca.data || a->ca.file)
		curl_easy_setopt(c->easy, CURLOPT_CAPATH, NULL);
	if (a->ca.data) {
		b = blob(a->ca.data);
		curl_easy_setopt(c->easy, CURLOPT_CAINFO_BLOB, &b);
	} else if (a->ca.file) {
		curl_easy_setopt(c->easy, CURLOPT_CAINFO, a->ca.file);
	}
#if LIBCURL_VERSION_NUM >= 0x075700 /* 7.87, which keeps it for a day */
	curl_easy_setopt(c->easy, CURLOPT_CA_CACHE_TIMEOUT, CA_KEPT);
#endif
	set_certificates(c);
}

static int on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
	int gone = ALIVE_GONE;

	(void)ctx;
	(void)purpose;
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &gone, sizeof(gone));
	return CURL_SOCKOPT_OK;
}

/* HTTP/2 where TLS agrees on it; then all share a connection, and wait for it to be there. */
static void set_manners(struct kube_call *c)
{
	__u32 timeout = c->request.timeout ? c->request.timeout : KUBE_TIMEOUT;

	curl_easy_setopt(c->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(c->easy, CURLOPT_PIPEWAIT, 1L);
	curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, (long)timeout);
	curl_easy_setopt(c->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)KUBE_CONNECT);
	curl_easy_setopt(c->easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(c->easy, CURLOPT_TCP_KEEPIDLE, ALIVE_IDLE);
	curl_easy_setopt(c->easy, CURLOPT_TCP_KEEPINTVL, ALIVE_EACH);
	curl_easy_setopt(c->easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
	curl_easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c->easy, CURLOPT_PROXY, "");
	curl_easy_setopt(c->easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(c->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c->easy, CURLOPT_USERAGENT, "poise/" POISE_VERSION);
}

void call_prepare(struct kube_call *c)
{
	curl_easy_setopt(c->easy, CURLOPT_PRIVATE, c);
	curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->error);
	curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, call_on_body);
	curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
	curl_easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, call_on_head);
	curl_easy_setopt(c->easy, CURLOPT_HEADERDATA, c);
	set_manners(c);
	set_url(c);
	set_verb(c);
	set_tls(c);
	set_headers(c);
}
