// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where the API server is and who we are: a kubeconfig, a pod's service account, and a token that
 * is replaced while we run.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/kube/access.h"
#include "loader/kube/base64.h"
#include "maps/text.h"
#include "tests/support/longest.h"

static char dir[] = "/tmp/poise-kube-XXXXXX";

static void up(void)
{
	cr_assert(mkdtemp(dir));
}

static void down(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	cr_assert_eq(system(command), 0); /* NOLINT(cert-env33-c): a path of ours */
}

TestSuite(kube_access, .init = up, .fini = down, .timeout = TEST_LONGEST);

static const char *path(const char *name)
{
	static char buf[128];

	snprintf(buf, sizeof(buf), "%s/%s", dir, name);
	return buf;
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(path(name), "we");

	cr_assert(f);
	fputs(text, f);
	fclose(f);
}

/* As the kubelet does: another file under the same name. */
static void replace(const char *name, const char *text)
{
	char to[128];

	put("new", text);
	snprintf(to, sizeof(to), "%s", path(name));
	cr_assert_eq(rename(path("new"), to), 0);
}

Test(kube_access, where)
{
	static const struct {
		const char *server, *addr;
		__u16 port; /* 0: it is not known */
	} urls[] = {
		{"https://10.96.0.1:443", "10.96.0.1", 443},
		{"https://10.96.0.1", "10.96.0.1", 443},
		{"http://10.96.0.1/api", "10.96.0.1", 80},
		{"https://[2001:db8::1]:6443", "2001:db8::1", 6443},
		{"https://[2001:db8::1]/at/last", "2001:db8::1", 443},
		{"https://api.example.net:6443", NULL, 0},
		{"https://10.96.0.1:65536", NULL, 0},
		{"https://10.96.0.1:123456789012345678901", NULL, 0},
		{"https://", NULL, 0},
	};
	char text[POISE_ADDR_TEXT];

	for (size_t k = 0; k < sizeof(urls) / sizeof(urls[0]); k++) {
		union poise_addr addr;
		__u16 port;
		bool known = kube_access_where(urls[k].server, &addr, &port);

		cr_expect_eq(known, urls[k].addr != NULL, "%s", urls[k].server);
		if (!known || !urls[k].addr)
			continue;
		cr_expect_str_eq(poise_format_addr(&addr, text, sizeof(text)), urls[k].addr);
		cr_expect_eq(port, urls[k].port, "%s: %u", urls[k].server, port);
	}
}

#define HEAD                                                                                       \
	"apiVersion: v1\nkind: Config\ncurrent-context: here\npreferences: {}\n"                   \
	"contexts:\n- name: other\n  context: {cluster: none, user: none}\n"                       \
	"- name: here\n  context: {cluster: c, user: u}\n"
#define CLUSTER "clusters:\n- name: c\n  cluster: {server: \"https://10.0.0.1:6443/\"}\n"
/* "-----BEGIN X-----\n" */
#define PEM "LS0tLS1CRUdJTiBYLS0tLS0K"

static struct kube_access *parse(const char *text, struct poise_error *err)
{
	return kube_access_parse(path("config"), text, strlen(text), err);
}

Test(kube_access, token)
{
	struct poise_error err = {0};
	struct kube_access *a =
		parse(HEAD CLUSTER "users:\n- {name: u, user: {token: abc.def}}\n", &err);

	cr_assert(a, "%s", err.message);
	cr_assert_str_eq(a->server, "https://10.0.0.1:6443", "no slash at the end");
	cr_assert_str_eq(kube_access_token(a), "abc.def");
	cr_assert_str_eq(a->name_space, "default");
	cr_assert_eq(err.code, POISE_E_NONE);
	kube_access_free(a);
}

Test(kube_access, certificates)
{
	struct poise_error err = {0};
	struct kube_access *a = parse(
		HEAD
		"clusters:\n- name: c\n  cluster:\n    server: https://[::1]:6443\n"
		"    certificate-authority-data: " PEM "\n    tls-server-name: kubernetes\n"
		"users:\n- name: u\n  user: {client-certificate: pki/me.crt, client-key-data: " PEM
		", client-key: /nowhere}\n",
		&err);

	cr_assert(a, "%s", err.message);
	cr_assert_str_eq(a->ca.data, "-----BEGIN X-----\n");
	cr_assert_str_eq(a->server_name, "kubernetes");
	cr_assert_str_eq(a->cert.file, path("pki/me.crt"), "relative to the kubeconfig");
	cr_assert(a->key.data && !a->key.file, "data wins over a file");
	cr_assert_null(kube_access_token(a));
	kube_access_free(a);
}

/* Each with the line that is to blame. */
static const struct refused {
	const char *text, *why;
	int line;
} refused[] = {
	{"", "no kubeconfig", 1},
	{"- a\n", "no kubeconfig", 1},
	{"a: [\n", "not YAML", 2},
	{"kind: Config\n", "no current-context", 1},
	{"a: 1\ncurrent-context: x\n", "no context x in `contexts`", 2},
	{HEAD, "no cluster c in `clusters`", 9},
	{HEAD CLUSTER, "no user u in `users`", 9},
	{HEAD "clusters:\n- name: c\n  cluster: {}\n", "no `server`", 12},
	{HEAD "clusters:\n- name: c\n  cluster: 7\n", "no mapping `cluster`", 11},
	{HEAD "clusters:\n- name: c\n  cluster:\n    server: 10.0.0.1\n", "neither https:// nor",
	 13},
	{HEAD "clusters:\n- name: c\n  cluster:\n    server: https://a@b\n", "wanted is", 13},
	{HEAD "clusters:\n- name: c\n  cluster:\n    server: https://\n", "no host", 13},
	{HEAD "clusters:\n- name: c\n  cluster:\n    server: https://x\n    proxy-url: http://p\n",
	 "poise asks no proxy", 14},
	{HEAD "clusters:\n- name: c\n  cluster:\n    server: https://x\n"
	      "    certificate-authority-data: \"*\"\n",
	 "not base64", 14},
	{HEAD "clusters:\n- name: c\n  cluster:\n    server: https://x\n"
	      "    certificate-authority-data: aGVsbG8=\n",
	 "not PEM", 14},
	{HEAD "clusters:\n- name: c\n  cluster:\n    server: https://x\n"
	      "    certificate-authority: ca\n    insecure-skip-tls-verify: true\n",
	 "is it to be verified", 15},
	{HEAD CLUSTER "users:\n- name: u\n  user:\n    exec: {command: aws}\n",
	 "runs no credential plugin", 16},
	{HEAD CLUSTER "users:\n- name: u\n  user:\n    username: admin\n", "no passwords", 16},
	{HEAD CLUSTER "users:\n- name: u\n  user:\n    as: admin\n", "for nobody else", 16},
	{HEAD CLUSTER "users:\n- name: u\n  user: {client-certificate: x}\n", "takes its key", 15},
	{HEAD CLUSTER "users:\n- name: u\n  user:\n    tokenFile: none\n", "cannot read", 16},
	{HEAD CLUSTER "users:\n- name: u\n  user:\n    token: \"a\\r\\nX: y\"\n",
	 "more than one word", 16},
	{HEAD CLUSTER "users:\n- name: u\n  user:\n    token: \"a\\x01\"\n", "byte 0x01", 16},
	{HEAD CLUSTER "users:\n- name: u\n  user:\n    token: [a]\n", "a list, wanted is a text",
	 16},
};

Test(kube_access, is_refused)
{
	for (size_t k = 0; k < sizeof(refused) / sizeof(refused[0]); k++) {
		const struct refused *c = &refused[k];
		struct poise_error err = {0};
		char text[2048];

		cr_expect_null(parse(c->text, &err), "%s", c->text);
		poise_error_text(&err, text, sizeof(text));
		cr_expect(strstr(text, c->why), "%s, wanted %s", text, c->why);
		cr_expect_eq(err.line, c->line, "line %d, not %d: %s", err.line, c->line, text);
		cr_expect_str_eq(err.file, path("config"));
	}
}

Test(kube_access, token_file_changes)
{
	struct poise_error err = {0};
	struct kube_access *a;

	put("token", "first\n");
	a = parse(HEAD CLUSTER "users:\n- name: u\n  user: {token: x, tokenFile: token}\n", &err);
	cr_assert(a, "%s", err.message);
	cr_assert_str_eq(kube_access_token(a), "first", "the file wins");
	replace("token", "other\n");
	cr_assert_str_eq(kube_access_token(a), "other");
	replace("token", " \n");
	cr_assert_str_eq(kube_access_token(a), "other", "an empty file is no token");
	unlink(path("token"));
	cr_assert_str_eq(kube_access_token(a), "other", "gone: the old one stays");
	put("token", "third");
	cr_assert_str_eq(kube_access_token(a), "third");
	kube_access_free(a);
}

/* Written in place, by a clock that stands. */
static void overwrite(const char *name, const char *text)
{
	struct timespec times[2];
	struct stat st;
	int fd = open(path(name), O_WRONLY | O_CLOEXEC);

	cr_assert_eq(fstat(fd, &st), 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	cr_assert_eq(futimens(fd, times), 0);
	close(fd);
}

Test(kube_access, token_that_is_refused_is_read_again)
{
	struct poise_error err = {0};
	struct kube_access *a;

	put("token", "first");
	a = parse(HEAD CLUSTER "users:\n- name: u\n  user: {tokenFile: token}\n", &err);
	cr_assert(a, "%s", err.message);
	overwrite("token", "other");
	cr_assert_str_eq(kube_access_token(a), "first", "nothing tells that it is another");
	kube_access_doubt(a);
	cr_assert_str_eq(kube_access_token(a), "other");
	kube_access_free(a);
}

Test(kube_access, pod)
{
	struct poise_error err = {0};
	struct kube_access *a;

	unsetenv("KUBERNETES_SERVICE_HOST");
	cr_assert_null(kube_access_pod(dir, &err));
	cr_assert(strstr(err.remedy, "--kubeconfig"), "%s", err.remedy);
	setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
	setenv("KUBERNETES_SERVICE_PORT", "443", 1);
	cr_assert_null(kube_access_pod(dir, &err));
	cr_assert(strstr(err.message, path("token")), "%s", err.message);
	put("token", "t");
	cr_assert_null(kube_access_pod(dir, &err));
	cr_assert(strstr(err.message, path("ca.crt")), "%s", err.message);
	put("ca.crt", "");
	a = kube_access_pod(dir, &err);
	cr_assert(a, "%s", err.message);
	cr_assert_str_eq(a->server, "https://[fd00::1]:443");
	cr_assert_str_eq(a->name_space, "default");
	kube_access_free(a);
	put("namespace", "edge\n");
	a = kube_access_pod(dir, &err);
	cr_assert_str_eq(a->name_space, "edge");
	kube_access_free(a);
	setenv("KUBERNETES_SERVICE_HOST", "a/../b", 1);
	cr_assert_null(kube_access_pod(dir, &err));
}

static const struct coded {
	const char *text, *bytes; /* NULL: none */
} coded[] = {
	{"", ""},
	{"Zg==", "f"},
	{"Zm8=", "fo"},
	{"Zm9v", "foo"},
	{"Zm9v\n YmFy", "foobar"},
	{"Zg=", NULL},
	{"Zg", NULL},
	{"Z", NULL},
	{"Zm9v=", NULL},
	{"Zm9v====", NULL},
	{"Zh==", NULL},
	{"Zg==Zg==", NULL},
	{"Zm-v", NULL},
	{"====", NULL},
	{"Zm9vZ", NULL},
};

Test(kube_access, base64)
{
	for (size_t k = 0; k < sizeof(coded) / sizeof(coded[0]); k++) {
		size_t length;
		char *bytes = base64_decode(coded[k].text, &length);

		if (!coded[k].bytes) {
			cr_expect_null(bytes, "%s", coded[k].text);
		} else {
			cr_assert(bytes, "%s", coded[k].text);
			cr_expect_str_eq(bytes, coded[k].bytes);
			cr_expect_eq(length, strlen(coded[k].bytes));
		}
		free(bytes);
	}
}
