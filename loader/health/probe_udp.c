// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Type udp: a datagram is sent, one that holds what is expected comes back. Without `expect` any
 * answer will do, but silence never: it is what a host that is off answers, too.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "probe_priv.h"

#define DATAGRAM 2048 /* bytes of an answer that are looked at */

static void udp_open(struct probe *p)
{
	char out[POISE_CHECK_WORDS];
	size_t length = probe_unescape(p->want.conf->send, out, sizeof(out));

	p->doing = "answer";
	if (probe_socket(p, SOCK_DGRAM, IPPROTO_UDP, UV_READABLE))
		return;
	if (send(p->fd, out, length, 0) < 0)
		probe_end(p, false, "send: %s", probe_errno(errno));
}

static void udp_ready(struct probe *p, int events)
{
	char in[DATAGRAM], wanted[POISE_CHECK_WORDS];
	size_t length = probe_unescape(p->want.conf->expect, wanted, sizeof(wanted));
	ssize_t got = recv(p->fd, in, sizeof(in), 0);

	(void)events;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got < 0)
		probe_end(p, false, "answer: %s", probe_errno(errno));
	else if (length && !memmem(in, (size_t)got, wanted, length))
		probe_end(p, false, "answer of %zd bytes is not what is expected", got);
	else
		probe_end(p, true, "udp answered");
}

const struct probe_kind probe_udp = {.open = udp_open, .ready = udp_ready};
