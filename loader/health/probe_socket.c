// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The socket of a probe that has one of its own. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "maps/text.h"
#include "probe_priv.h"

socklen_t probe_sockaddr(const union poise_addr *addr, __u16 port, struct sockaddr_storage *out)
{
	struct sockaddr_in *in = (struct sockaddr_in *)out;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (poise_addr_is4(addr)) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		in->sin_addr.s_addr = addr->w[3];
		return sizeof(*in);
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, addr, sizeof(in6->sin6_addr));
	return sizeof(*in6);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct probe *p = poll->data;

	(void)status; /* the socket says it better */
	if (!p->ended)
		p->kind->ready(p, events);
}

void probe_watch_fd(struct probe *p, int events)
{
	uv_poll_init(p->prober->loop, &p->poll, p->fd);
	p->poll.data = p;
	p->handles++;
	uv_poll_start(&p->poll, events, on_ready);
}

int probe_socket(struct probe *p, int type, int protocol, int events)
{
	struct sockaddr_storage to;
	socklen_t length = probe_sockaddr(&p->want.addr, p->want.port, &to);

	p->fd = socket(to.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
	if (p->fd < 0) {
		probe_end(p, false, "socket: %s", probe_errno(errno));
		return -1;
	}
	probe_way(p, p->fd, protocol);
	if (connect(p->fd, (struct sockaddr *)&to, length) && errno != EINPROGRESS) {
		probe_end(p, false, "connect: %s", probe_errno(errno));
		return -1;
	}
	probe_watch_fd(p, events);
	return 0;
}

const char *probe_errno(int error)
{
	switch (error) {
	case ECONNREFUSED: return "refused";
	case ECONNRESET: return "reset";
	case EHOSTUNREACH: return "no route to the host";
	case ENETUNREACH: return "no route to the network";
	case ETIMEDOUT: return "timed out";
	case EACCES:
	case EPERM: return "not permitted";
	default: return strerror(error);
	}
}
