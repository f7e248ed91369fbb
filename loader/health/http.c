// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A request by libcurl. Nothing is resolved, no redirect followed, no proxy asked, no connection
 * used twice.
 */
#include "http.h"

#include <netinet/tcp.h>
#include <stdlib.h>

#include "maps/text.h"

#define CA_KEPT 60L /* seconds that a CA file is not read again: reading takes milliseconds */
#define BUFFER                                                                                     \
	4096L /* bytes read at once; thousands of requests are under way when the host is slow */
#define URL_TEXT (POISE_CHECK_PATH + POISE_CHECK_WORDS + 32)

void http_failed(struct probe *p, CURLcode code)
{
	long error = 0;

	curl_easy_getinfo(p->easy, CURLINFO_OS_ERRNO, &error);
	if (p->head > HTTP_HEAD) {
		probe_end(p, false, "more than %d bytes of headers", HTTP_HEAD);
		return;
	}
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
	p->transfer_end(p, code);
}

/* libcurl's own idea of it includes TLS. */
static bool is_connected(const struct probe *p)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof(info);

	getsockopt(p->socket, IPPROTO_TCP, TCP_INFO, &info, &size);
	return info.tcpi_state == TCP_ESTABLISHED;
}

const char *http_late(struct probe *p)
{
	curl_off_t spoken = 0;

	curl_easy_getinfo(p->easy, CURLINFO_PRETRANSFER_TIME_T, &spoken);
	return spoken ? "answer" : is_connected(p) ? "TLS handshake" : "connect";
}

/* Whom the URL and the certificate are about, and where that is in truth. */
static void set_target(struct probe *p, const char *scheme, const char *path)
{
	const struct poise_health_conf *c = p->want.conf;
	char addr[POISE_ADDR_TEXT], url[URL_TEXT], to[POISE_ADDR_TEXT + 16];
	bool six = !poise_addr_is4(&p->want.addr);
	const char *host;

	poise_format_addr(&p->want.addr, addr, sizeof(addr));
	snprintf(to, sizeof(to), six ? "::[%s]:%u" : "::%s:%u", addr, p->want.port);
	host = c->host[0] ? c->host : addr;
	snprintf(url, sizeof(url), six && !c->host[0] ? "%s://[%s]:%u%s" : "%s://%s:%u%s", scheme,
		 host, p->want.port, path);
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
	if (c->ca[0]) {
		curl_easy_setopt(p->easy, CURLOPT_CAINFO, c->ca);
		curl_easy_setopt(p->easy, CURLOPT_CAPATH, NULL); /* nor the host's, besides */
	}
#if LIBCURL_VERSION_NUM >= 0x075700 /* 7.87, which keeps it for a day */
	curl_easy_setopt(p->easy, CURLOPT_CA_CACHE_TIMEOUT, CA_KEPT);
#endif
	if (c->cert[0])
		curl_easy_setopt(p->easy, CURLOPT_SSLCERT, c->cert);
	if (c->key[0])
		curl_easy_setopt(p->easy, CURLOPT_SSLKEY, c->key);
}

static curl_socket_t on_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct probe *p = ctx;
	int fd = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);

	(void)purpose;
	if (fd < 0)
		return CURL_SOCKET_BAD;
	p->socket = fd;
	probe_way(p, fd, IPPROTO_TCP);
	return fd;
}

static void set_manners(struct probe *p)
{
	curl_easy_setopt(p->easy, CURLOPT_PRIVATE, p);
	curl_easy_setopt(p->easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
	curl_easy_setopt(p->easy, CURLOPT_OPENSOCKETDATA, p);
	curl_easy_setopt(p->easy, CURLOPT_ERRORBUFFER, p->error);
	curl_easy_setopt(p->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(p->easy, CURLOPT_BUFFERSIZE, BUFFER);
	curl_easy_setopt(p->easy, CURLOPT_PROXY, "");
	curl_easy_setopt(p->easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(p->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(p->easy, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(p->easy, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(p->easy, CURLOPT_USERAGENT, "poise/" POISE_VERSION);
	curl_easy_setopt(p->easy, CURLOPT_WRITEDATA, p);
	curl_easy_setopt(p->easy, CURLOPT_HEADERDATA, p);
}

void http_prepare(struct probe *p, bool tls, const char *path)
{
	p->easy = curl_easy_init();
	if (!p->easy)
		abort();
	set_manners(p);
	set_target(p, tls ? "https" : "http", path);
	if (tls)
		set_tls(p);
}

void http_begin(struct probe *p)
{
	if (curl_multi_add_handle(p->prober->multi, p->easy))
		probe_end(p, false, "libcurl takes no more requests");
}

void http_close(struct probe *p)
{
	curl_multi_remove_handle(p->prober->multi, p->easy);
	curl_easy_cleanup(p->easy);
	curl_slist_free_all(p->headers);
	curl_slist_free_all(p->connect);
	free(p->body);
}
