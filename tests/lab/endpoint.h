/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ADDR:PORT on the lab programs' command lines. They use none of poise's own code: a fault there
 * must not hide itself from the tests that look for it.
 */
#ifndef LAB_ENDPOINT_H
#define LAB_ENDPOINT_H

#include <stdbool.h>
#include <sys/socket.h>

struct endpoint {
	struct sockaddr_storage addr;
	socklen_t len;
};

/* 192.0.2.1:80 or [2001:db8::1]:80. False if it is neither. */
bool endpoint_parse(const char *text, struct endpoint *e);
/* A server's socket, bound to the address itself, so that answers leave from it; a SOCK_STREAM one
 * listens. -1 and errno if it cannot be. */
int endpoint_bind(const struct endpoint *e, int type);

#endif
