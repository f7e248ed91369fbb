/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "endpoint.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

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
