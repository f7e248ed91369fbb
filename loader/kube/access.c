// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A pod's own access, and the token as it changes. The kubelet replaces the files of a service
 * account by turning a symbolic link, so a new token is a file of another inode; one that is
 * written in place has another date or size.
 */
#include "access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../maps/memory.h"
#include "../../maps/text.h"
#include "access_priv.h"

#define NAMESPACE_MOST 256 /* bytes of the file; the name in it has at most 63 */
#define HTTP	       80
#define HTTPS	       443
#define PORT_DIGITS    5

static char *read_open(int fd, const char *path, size_t most, size_t *length,
		       struct poise_error *err)
{
	char *text = memory_alloc(most + 2);
	ssize_t n = 0;

	*length = 0;
	do {
		*length += (size_t)n;
		n = read(fd, text + *length, most + 1 - *length);
	} while (n > 0 || (n < 0 && errno == EINTR && !(n = 0)));
	text[*length] = '\0';
	if (n == 0 && *length <= most)
		return text;
	if (n < 0)
		poise_fail_errno(err, "cannot read %s", path);
	else
		poise_fail(err, POISE_E_BAD_VALUE, "%s: more than %zu bytes", path, most);
	free(text);
	return NULL;
}

char *access_read(const char *path, size_t most, size_t *length, struct poise_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text;

	if (fd < 0) {
		poise_fail_errno(err, "cannot read %s", path);
		return NULL;
	}
	text = read_open(fd, path, most, length, err);
	close(fd);
	return text;
}

/* ---- the token --------------------------------------------------------------------------------*/

static void token_free(struct kube_access *a)
{
	if (a->token)
		explicit_bzero(a->token, strlen(a->token));
	free(a->token);
	a->token = NULL;
}

int access_take_token(struct kube_access *a, const char *text, struct poise_error *err)
{
	size_t length;

	text += strspn(text, " \t\r\n");
	length = strcspn(text, " \t\r\n");
	if (!length)
		return poise_fail(err, POISE_E_BAD_VALUE, "the token is empty");
	if (text[length + strspn(text + length, " \t\r\n")])
		return poise_fail(err, POISE_E_BAD_VALUE, "more than one word: no token");
	for (size_t k = 0; k < length; k++)
		if (text[k] <= ' ' || text[k] > '~')
			return poise_fail(err, POISE_E_BAD_VALUE,
					  "byte 0x%02x in a token: it cannot stand in a header",
					  (unsigned char)text[k]);
	token_free(a);
	a->token = strndup(text, length);
	if (!a->token)
		abort();
	return 0;
}

static int token_read(struct kube_access *a, const struct stat *st, struct poise_error *err)
{
	size_t length;
	char *text = access_read(a->token_file, KUBE_TOKEN_MOST, &length, err);
	int rc;

	if (!text)
		return -1;
	rc = access_take_token(a, text, err);
	if (rc < 0)
		poise_error_about(err, "%s", a->token_file);
	explicit_bzero(text, length);
	free(text);
	if (rc == 0) {
		a->read.changed = st->st_mtim;
		a->read.inode = st->st_ino;
		a->read.size = st->st_size;
	}
	return rc;
}

int access_first_token(struct kube_access *a, struct poise_error *err)
{
	struct stat st;

	if (stat(a->token_file, &st) < 0)
		return poise_fail_errno(err, "cannot read %s", a->token_file);
	return token_read(a, &st, err);
}

static bool is_read(const struct kube_access *a, const struct stat *st)
{
	return a->read.inode == st->st_ino && a->read.size == st->st_size &&
	       a->read.changed.tv_sec == st->st_mtim.tv_sec &&
	       a->read.changed.tv_nsec == st->st_mtim.tv_nsec;
}

const char *kube_access_token(struct kube_access *a)
{
	struct stat st;

	/* A file that is being replaced, or gone for good: the server says when the old token is
	 * over. */
	if (a->token_file && stat(a->token_file, &st) == 0 && !is_read(a, &st))
		token_read(a, &st, NULL);
	return a->token;
}

void kube_access_doubt(struct kube_access *a)
{
	memset(&a->read, 0, sizeof(a->read));
}

/* ---- where it is ------------------------------------------------------------------------------*/

/* 0: it is none. */
static __u16 port_of(const char *text, bool tls)
{
	size_t digits = strspn(text, "0123456789");
	long port = digits <= PORT_DIGITS ? strtol(text, NULL, 10) : 0;

	if (!digits)
		return tls ? HTTPS : HTTP;
	return port <= UINT16_MAX ? (__u16)port : 0;
}

bool kube_access_where(const char *server, union poise_addr *addr, __u16 *port)
{
	const char *host = strstr(server, "://"), *end;
	bool tls = !strncmp(server, "https:", strlen("https:"));
	char text[POISE_ADDR_TEXT];
	bool brackets;

	host = host ? host + strlen("://") : server;
	brackets = *host == '[';
	host += brackets;
	end = host + strcspn(host, brackets ? "]" : ":/");
	snprintf(text, sizeof(text), "%.*s", (int)(end - host), host);
	if (poise_parse_addr(text, addr, NULL))
		return false;
	end += *end == ']';
	*port = port_of(end + (*end == ':'), tls);
	return *port;
}

/* ---- a pod's ----------------------------------------------------------------------------------*/

static char *joined(const char *dir, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		abort();
	return path;
}

/* Optional: without one everything that has a namespace is in "default". */
static char *own_namespace(const char *dir)
{
	char *path = joined(dir, "namespace");
	size_t length;
	char *text = access_read(path, NAMESPACE_MOST, &length, NULL);

	free(path);
	if (text)
		text[strcspn(text, " \t\r\n")] = '\0';
	if (text && text[0])
		return text;
	free(text);
	return memory_text("default");
}

static bool is_host(const char *text)
{
	return text[0] && !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					     "0123456789.:-_")];
}

static int pod_server(struct kube_access *a, struct poise_error *err)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");

	if (!host || !port) {
		poise_fail(err, POISE_E_NOT_FOUND,
			   "no API server: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are "
			   "not set, so this is no pod");
		return poise_error_remedy(err, "name a kubeconfig: --kubeconfig FILE");
	}
	if (!is_host(host) || !port[0] || port[strspn(port, "0123456789")])
		return poise_fail(err, POISE_E_BAD_VALUE,
				  "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are no "
				  "address and port");
	if (asprintf(&a->server, strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host,
		     port) < 0)
		abort();
	return 0;
}

struct kube_access *kube_access_pod(const char *dir, struct poise_error *err)
{
	struct kube_access *a = memory_alloc(sizeof(*a));

	dir = dir ? dir : KUBE_ACCOUNT;
	a->ca.file = joined(dir, "ca.crt");
	a->token_file = joined(dir, "token");
	a->name_space = own_namespace(dir);
	if (pod_server(a, err) < 0 || access_first_token(a, err) < 0)
		goto fail;
	if (access(a->ca.file, R_OK) < 0) {
		poise_fail_errno(err, "cannot read %s", a->ca.file);
		goto fail;
	}
	return a;
fail:
	kube_access_free(a);
	return NULL;
}

static void pem_free(struct kube_pem *p)
{
	free(p->file);
	if (p->data)
		explicit_bzero(p->data, strlen(p->data));
	free(p->data);
}

void kube_access_free(struct kube_access *a)
{
	if (!a)
		return;
	free(a->server);
	free(a->server_name);
	free(a->name_space);
	pem_free(&a->ca);
	pem_free(&a->cert);
	pem_free(&a->key);
	free(a->token_file);
	token_free(a);
	free(a);
}
