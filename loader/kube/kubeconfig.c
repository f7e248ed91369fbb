// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A kubeconfig: the current context names a cluster and a user. Keys that say nothing about where
 * or who are passed over, as kubectl does; those that do, and that poise cannot honour, are
 * refused, for without them it would speak to another server or as somebody else.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../maps/memory.h"
#include "../../maps/tree.h"
#include "access_priv.h"
#include "base64.h"

#define SHOWN 64 /* bytes of a quoted name in a message */

struct reader {
	const char *path;
	const struct tree_node *root;
	struct kube_access *access;
	struct poise_error *err;
};

/* Of node, NULL: the file as a whole. */
static int fail_at(const struct reader *r, const struct tree_node *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int fail_at(const struct reader *r, const struct tree_node *n, const char *fmt, ...)
{
	char text[sizeof(r->err->message)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	r->err->line = n ? n->line : 1;
	return poise_fail(r->err, POISE_E_BAD_VALUE, "%s", text);
}

/* *out NULL: not said. */
static int text_of(const struct reader *r, const struct tree_node *map, const char *key,
		   const struct tree_node **out)
{
	const struct tree_node *n = tree_value(map, key);

	*out = NULL;
	if (!n || tree_is_null(n))
		return 0;
	if (n->kind != TREE_TEXT)
		return fail_at(r, n, "%s: %s, wanted is a text", key, tree_kind_word(n->kind));
	*out = n->text[0] ? n : NULL;
	return 0;
}

/* The mapping `inner` of the entry of this name in the list `key`; NULL with an error. */
static const struct tree_node *named(const struct reader *r, const char *key, const char *inner,
				     const struct tree_node *name)
{
	const struct tree_node *list = tree_value(r->root, key), *entry, *value;
	char quoted[SHOWN];

	for (size_t k = 0; list && list->kind == TREE_LIST && k < list->items; k++) {
		entry = list->item[k];
		if (entry->kind != TREE_MAP)
			continue;
		value = tree_value(entry, "name");
		if (!value || value->kind != TREE_TEXT || strcmp(value->text, name->text))
			continue;
		value = tree_value(entry, inner);
		if (value && value->kind == TREE_MAP)
			return value;
		fail_at(r, entry, "%s %s: no mapping `%s` in it", inner,
			poise_quote(name->text, quoted, sizeof(quoted)), inner);
		return NULL;
	}
	fail_at(r, name, "no %s %s in `%s`", inner, poise_quote(name->text, quoted, sizeof(quoted)),
		key);
	return NULL;
}

/* What a kubeconfig names is relative to where it is. */
static char *beside(const struct reader *r, const char *name)
{
	const char *slash = strrchr(r->path, '/');
	char *path;

	if (name[0] == '/' || !slash)
		return memory_text(name);
	if (asprintf(&path, "%.*s/%s", (int)(slash - r->path), r->path, name) < 0)
		abort();
	return path;
}

/* Which of two keys is there: the data itself wins, as with kubectl. */
static int pem_of(const struct reader *r, const struct tree_node *map, const char *key,
		  const char *data_key, struct kube_pem *out)
{
	const struct tree_node *file, *data;
	size_t length;

	if (text_of(r, map, key, &file) < 0 || text_of(r, map, data_key, &data) < 0)
		return -1;
	if (!data) {
		out->file = file ? beside(r, file->text) : NULL;
		return 0;
	}
	out->data = base64_decode(data->text, &length);
	if (!out->data)
		return fail_at(r, data, "%s: not base64", data_key);
	if (strlen(out->data) != length || !strstr(out->data, "-----BEGIN "))
		return fail_at(r, data, "%s: not PEM in base64", data_key);
	return 0;
}

static int refuse(const struct reader *r, const struct tree_node *map, const char *key,
		  const char *why, const char *remedy)
{
	const struct tree_node *n = tree_value(map, key);

	if (!n || tree_is_null(n))
		return 0;
	fail_at(r, n, "%s: %s", key, why);
	return poise_error_remedy(r->err, "%s", remedy);
}

/* ---- the cluster ------------------------------------------------------------------------------*/

static int take_server(const struct reader *r, const struct tree_node *cluster)
{
	const struct tree_node *n;
	size_t length;

	if (text_of(r, cluster, "server", &n) < 0)
		return -1;
	if (!n)
		return fail_at(r, cluster, "the cluster has no `server`");
	if (strncmp(n->text, "https://", 8) && strncmp(n->text, "http://", 7))
		return fail_at(r, n, "server: neither https:// nor http://");
	for (const char *c = n->text; *c; c++)
		if (*c <= ' ' || *c > '~' || strchr("?#@", *c))
			return fail_at(r, n, "server: wanted is https://HOST:PORT, maybe a path");
	length = strlen(n->text);
	while (n->text[length - 1] == '/')
		length--;
	if (n->text[length - 1] == ':')
		return fail_at(r, n, "server: no host in it");
	r->access->server = strndup(n->text, length);
	return 0;
}

static int take_insecure(const struct reader *r, const struct tree_node *cluster)
{
	const struct tree_node *n;

	if (text_of(r, cluster, "insecure-skip-tls-verify", &n) < 0)
		return -1;
	if (n && strcmp(n->text, "true") && strcmp(n->text, "false"))
		return fail_at(r, n, "insecure-skip-tls-verify: neither true nor false");
	r->access->insecure = n && !strcmp(n->text, "true");
	if (r->access->insecure && (r->access->ca.file || r->access->ca.data))
		return fail_at(r, n,
			       "insecure-skip-tls-verify and a certificate authority: is it "
			       "to be verified or not?");
	return 0;
}

static int take_cluster(const struct reader *r, const struct tree_node *cluster)
{
	struct kube_access *a = r->access;
	const struct tree_node *name;

	if (refuse(r, cluster, "proxy-url", "poise asks no proxy",
		   "let the node reach the API server by itself") < 0 ||
	    take_server(r, cluster) < 0 ||
	    pem_of(r, cluster, "certificate-authority", "certificate-authority-data", &a->ca) < 0 ||
	    take_insecure(r, cluster) < 0 || text_of(r, cluster, "tls-server-name", &name) < 0)
		return -1;
	if (name && name->text[strspn(name->text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
						  "UVWXYZ0123456789.-:_")])
		return fail_at(r, name, "tls-server-name: no name of a host");
	a->server_name = name ? memory_text(name->text) : NULL;
	return 0;
}

/* ---- the user ---------------------------------------------------------------------------------*/

/* What would need another program, or make us somebody else. */
static int refuse_user(const struct reader *r, const struct tree_node *user)
{
	static const struct {
		const char *key, *why;
	} refused[] = {
		{"exec", "poise runs no credential plugin"},
		{"auth-provider", "poise runs no credential plugin"},
		{"username", "API servers take no passwords any more"},
		{"password", "API servers take no passwords any more"},
		{"as", "poise speaks for nobody else"},
		{"as-uid", "poise speaks for nobody else"},
		{"as-groups", "poise speaks for nobody else"},
		{"as-user-extra", "poise speaks for nobody else"},
	};

	for (size_t k = 0; k < sizeof(refused) / sizeof(refused[0]); k++)
		if (refuse(r, user, refused[k].key, refused[k].why,
			   "give the user a tokenFile or a client certificate, or run poised in a "
			   "pod with a service account") < 0)
			return -1;
	return 0;
}

static int take_token(const struct reader *r, const struct tree_node *user)
{
	struct kube_access *a = r->access;
	const struct tree_node *token, *file;

	if (text_of(r, user, "token", &token) < 0 || text_of(r, user, "tokenFile", &file) < 0)
		return -1;
	/* The file is the one that is renewed. */
	if (file) {
		a->token_file = beside(r, file->text);
		r->err->line = file->line;
		if (access_first_token(a, r->err) < 0)
			return poise_error_about(r->err, "tokenFile");
	} else if (token) {
		r->err->line = token->line;
		if (access_take_token(a, token->text, r->err) < 0)
			return poise_error_about(r->err, "token");
	}
	return 0;
}

static int take_user(const struct reader *r, const struct tree_node *user)
{
	struct kube_access *a = r->access;

	if (refuse_user(r, user) < 0 ||
	    pem_of(r, user, "client-certificate", "client-certificate-data", &a->cert) < 0 ||
	    pem_of(r, user, "client-key", "client-key-data", &a->key) < 0)
		return -1;
	if ((a->cert.file || a->cert.data) != (a->key.file || a->key.data))
		return fail_at(r, user,
			       "a client certificate takes its key, and a key its "
			       "certificate");
	return take_token(r, user);
}

/* ---- the file ---------------------------------------------------------------------------------*/

static int take_context(const struct reader *r)
{
	const struct tree_node *name, *context, *cluster, *user, *space;

	if (!r->root || r->root->kind != TREE_MAP)
		return fail_at(r, r->root, "no kubeconfig: a mapping is wanted");
	if (text_of(r, r->root, "current-context", &name) < 0)
		return -1;
	if (!name) {
		fail_at(r, NULL, "no current-context");
		return poise_error_remedy(r->err, "kubectl config use-context NAME sets it");
	}
	context = named(r, "contexts", "context", name);
	if (!context || text_of(r, context, "cluster", &name) < 0 ||
	    text_of(r, context, "namespace", &space) < 0)
		return -1;
	if (!name)
		return fail_at(r, context, "the context has no `cluster`");
	cluster = named(r, "clusters", "cluster", name);
	if (!cluster || take_cluster(r, cluster) < 0 || text_of(r, context, "user", &name) < 0)
		return -1;
	r->access->name_space = memory_text(space ? space->text : "default");
	if (!name)
		return 0; /* a server that asks nobody, such as kubectl proxy */
	user = named(r, "users", "user", name);
	return user ? take_user(r, user) : -1;
}

struct kube_access *kube_access_parse(const char *path, const char *text, size_t length,
				      struct poise_error *err)
{
	struct poise_error ignored = {0};
	struct reader r = {.path = path, .err = err ? err : &ignored};
	struct tree *tree;
	int rc = -1;

	snprintf(r.err->file, sizeof(r.err->file), "%s", path);
	r.access = memory_alloc(sizeof(*r.access));
	tree = tree_read(text, length, r.err);
	if (tree) {
		r.root = tree->root;
		rc = take_context(&r);
	}
	tree_free(tree);
	if (rc == 0) {
		*r.err = (struct poise_error){0};
		return r.access;
	}
	kube_access_free(r.access);
	return NULL;
}

struct kube_access *kube_access_file(const char *path, struct poise_error *err)
{
	size_t length;
	char *text = access_read(path, KUBE_FILE_MOST, &length, err);
	struct kube_access *a = text ? kube_access_parse(path, text, length, err) : NULL;

	free(text);
	return a;
}
