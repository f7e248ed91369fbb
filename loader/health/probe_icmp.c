// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Type icmp: an echo request is answered. By a ping socket, which needs no capability but that
 * net.ipv4.ping_group_range holds poised's group; the kernel gives it an id of its own and only
 * answers to that.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/icmpv6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <string.h>

#include "maps/text.h"
#include "probe_priv.h"

#define PAYLOAD "poise"

static void icmp_open(struct probe *p)
{
	bool v4 = poise_addr_is4(&p->want.addr);
	struct {
		struct icmphdr head;
		char payload[sizeof(PAYLOAD)];
	} out = {.payload = PAYLOAD};

	p->doing = "echo";
	p->want.port = 0;
	p->id = uv_hrtime() >> 10;
	if (probe_socket(p, SOCK_DGRAM, v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6, UV_READABLE)) {
		if (p->fd < 0)
			snprintf(p->result.words, sizeof(p->result.words),
				 "ping socket: not permitted; set net.ipv4.ping_group_range");
		return;
	}
	out.head.type = v4 ? ICMP_ECHO : ICMPV6_ECHO_REQUEST;
	out.head.un.echo.sequence = htons(p->id);
	if (send(p->fd, &out, sizeof(out), 0) < 0)
		probe_end(p, false, "echo: %s", probe_errno(errno));
}

static void icmp_ready(struct probe *p, int events)
{
	struct icmphdr in;
	ssize_t got = recv(p->fd, &in, sizeof(in), 0);

	(void)events;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got < 0)
		probe_end(p, false, "echo: %s", probe_errno(errno));
	else if (got == sizeof(in) && in.un.echo.sequence == htons(p->id))
		probe_end(p, true, "echo answered");
}

const struct probe_kind probe_icmp = {.open = icmp_open, .ready = icmp_ready};
