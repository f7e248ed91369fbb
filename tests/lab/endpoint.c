/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "endpoint.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Bytes of datagrams that may wait while the server waits for a CPU: none is lost for that. */
#define RECEIVE_ROOM (16 << 20)

bool endpoint_parse(const char *text, struct endpoint *e)
{
	struct addrinfo hint = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				.ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	const char *host = text, *colon = strrchr(text, ':');
	char buf[64];
	size_t len;

	if (!colon)
		return false;
	len = colon - text;
	if (text[0] == '[' && len > 2 && colon[-1] == ']') {
		host++;
		len -= 2;
	}
	if (len >= sizeof(buf))
		return false;
	memcpy(buf, host, len);
	buf[len] = '\0';
	if (getaddrinfo(buf, colon + 1, &hint, &found))
		return false;
	memcpy(&e->addr, found->ai_addr, found->ai_addrlen);
	e->len = found->ai_addrlen;
	freeaddrinfo(found);
	return true;
}

int endpoint_bind(const struct endpoint *e, int type)
{
	int fd = socket(e->addr.ss_family, type | SOCK_CLOEXEC, 0), on = 1, room = RECEIVE_ROOM;

	if (fd < 0)
		return -1;
	if (type == SOCK_DGRAM)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(fd, (const struct sockaddr *)&e->addr, e->len) &&
	    (type == SOCK_DGRAM || !listen(fd, SOMAXCONN)))
		return fd;
	close(fd);
	return -1;
}
