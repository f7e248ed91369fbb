/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The test API server (tests/kube/README.md) for tests: up, told by commands, down. */
#ifndef TEST_KUBE_H
#define TEST_KUBE_H

#include <stdio.h>
#include <sys/types.h>

struct kube_server {
	char dir[64]; /* its state: kubeconfig, kubeconfig-plain, requests */
	pid_t pid;
	FILE *control;
	char *said; /* what the last command printed */
};

/* Starts it with these options besides --dir; waits until it is ready. */
void kube_server_up(struct kube_server *s, const char *options);
void kube_server_down(struct kube_server *s);
/* A command of its control socket, which must succeed; what it printed, until the next one. */
const char *kube_server_do(struct kube_server *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* A file of its state directory. */
const char *kube_server_path(const struct kube_server *s, const char *name);

#endif
