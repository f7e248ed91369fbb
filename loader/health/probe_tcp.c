// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Type tcp: a connection can be made. Ended by a reset: 2,000 checks a second would otherwise hold
 * 120,000 of this host's ports in TIME_WAIT.
 */
#include <netinet/in.h>

#include "probe_priv.h"

static void tcp_open(struct probe *p)
{
	const struct linger reset = {.l_onoff = 1};

	if (!probe_socket(p, SOCK_STREAM, IPPROTO_TCP, UV_WRITABLE))
		setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

static void tcp_ready(struct probe *p, int events)
{
	socklen_t size = sizeof(int);
	int error = 0;

	(void)events;
	getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &size);
	if (error)
		probe_end(p, false, "connect: %s", probe_errno(error));
	else
		probe_end(p, true, "tcp connected");
}

const struct probe_kind probe_tcp = {.open = tcp_open, .ready = tcp_ready};
