/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the API server is, and how we prove who we are. Two sources: a kubeconfig, as kubectl has
 * it, or, in a pod, the environment and the files of its service account.
 *
 * A token that stands in a file is short-lived and replaced by the kubelet: it is read again
 * whenever the file is another one. Everything else stands for the life of the process.
 */
#ifndef POISE_KUBE_ACCESS_H
#define POISE_KUBE_ACCESS_H

#include <sys/types.h>
#include <time.h>

#include "../../maps/abi.h"
#include "../../maps/error.h"

/* Where a pod finds its service account: token, ca.crt, namespace. */
#define KUBE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

/* A certificate or key: a file that is read at each connection, or what stood in the kubeconfig
 * itself (PEM, NUL-terminated). Both NULL: none. */
struct kube_pem {
	char *file;
	char *data;
};

struct kube_access {
	char *server;	   /* https://10.96.0.1:443, without a slash at the end */
	char *server_name; /* whose certificate it has (tls-server-name); NULL: as in the URL */
	char *name_space;  /* ours: of the pod, of the kubeconfig's context; else "default" */
	struct kube_pem ca, cert, key;
	bool insecure;	  /* nothing is verified */
	char *token_file; /* NULL: token, if any, is for good */
	char *token;
	struct { /* of token_file when it was read */
		struct timespec changed;
		ino_t inode;
		off_t size;
	} read;
};

/* From the service account of this pod: KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and the
 * files in dir, NULL for KUBE_ACCOUNT. NULL with an error if this is no pod. */
struct kube_access *kube_access_pod(const char *dir, struct poise_error *err);
/* From the current context of a kubeconfig. Errors name file and line. What needs another program
 * (exec, auth-provider) or is no longer taken by any server (password) is refused. */
struct kube_access *kube_access_file(const char *path, struct poise_error *err);
/* The same of its text; what it names relatively is beside `path`. */
struct kube_access *kube_access_parse(const char *path, const char *text, size_t length,
				      struct poise_error *err);
void kube_access_free(struct kube_access *a);

/* Where a server is by its URL, if its host is an address. port: host order. */
bool kube_access_where(const char *server, union poise_addr *addr, __u16 *port);

/* The token as it is now, valid until the next call; NULL: there is none, a certificate speaks for
 * us. A file that cannot be read any more leaves the token as it was. */
const char *kube_access_token(struct kube_access *a);
/* The server did not take the token: the next call reads the file whatever its date says. */
void kube_access_doubt(struct kube_access *a);

#endif
