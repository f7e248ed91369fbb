/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sizes ADDR:PORT LARGEST: asks a `serve` by datagrams of every size from 0 to LARGEST bytes, and
 * over TCP by a segment of each size; what comes back must be what was sent. Prints how many did.
 * Exit 0: all.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "endpoint.h"
#include "pattern.h"
#include "sha256.h"

#define LARGEST 9000
#define NAME	32 /* bytes of a name with the blank behind */
#define TRIES	5
#define SEED	2463534242u

static char data[LARGEST];

static int reach(const struct endpoint *to, int type, int seconds)
{
	struct timeval patience = {.tv_sec = seconds};
	int fd = socket(to->addr.ss_family, type, 0), on = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (type == SOCK_STREAM)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (!connect(fd, (const struct sockaddr *)&to->addr, to->len))
		return fd;
	close(fd);
	return -1;
}

/* The answer to a datagram of so many bytes, and not one to an earlier that was asked twice: 1, or
 * 0 if it is not what was sent, -1 if there is none. */
static int answer(int fd, size_t bytes)
{
	char answer[LARGEST + NAME], *space;
	ssize_t got;

	while ((got = recv(fd, answer, sizeof(answer), 0)) >= 0) {
		space = memchr(answer, ' ', (size_t)got);
		if (space && (size_t)(answer + got - space - 1) == bytes)
			return !memcmp(space + 1, data, bytes);
	}
	return -1;
}

/* A datagram may be lost; what is answered must be right. */
static int datagram(int fd, size_t bytes)
{
	int right = -1;

	for (int k = 0; k < TRIES && right < 0; k++) {
		if (send(fd, data, bytes, 0) != (ssize_t)bytes)
			return 0;
		right = answer(fd, bytes);
	}
	return right > 0;
}

/* A connection for each kind of size would tell no more: every write is a segment of its own. */
static int segments(const struct endpoint *to, size_t most)
{
	char line[128], name[NAME], theirs[SHA256_HEX], ours[SHA256_HEX];
	int fd = reach(to, SOCK_STREAM, 15), ok = 0;
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	struct sha256 sha;

	if (!in)
		return 0;
	sha256_init(&sha);
	dprintf(fd, "UP %zu\n", most * (most + 1) / 2);
	for (size_t bytes = 1; bytes <= most; bytes++) {
		sha256_add(&sha, data, bytes);
		if (send(fd, data, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
			break;
	}
	sha256_end(&sha, ours);
	if (fgets(line, sizeof(line), in) && sscanf(line, "%31s %64s", name, theirs) == 2)
		ok = !strcmp(ours, theirs);
	fclose(in);
	return ok;
}

int main(int argc, char **argv)
{
	struct endpoint to;
	uint64_t seed = SEED;
	size_t most, right = 0;
	int fd, whole;

	if (argc != 3 || !endpoint_parse(argv[1], &to) || strtoul(argv[2], NULL, 10) > LARGEST) {
		fprintf(stderr, "usage: sizes ADDR:PORT LARGEST\n");
		return 2;
	}
	most = strtoul(argv[2], NULL, 10);
	pattern_fill(&seed, data, sizeof(data));
	fd = reach(&to, SOCK_DGRAM, 2);
	for (size_t bytes = 0; bytes <= most && fd >= 0; bytes++)
		right += datagram(fd, bytes);
	whole = segments(&to, most);
	printf("%zu of %zu datagrams, segments %s\n", right, most + 1, whole ? "whole" : "broken");
	return right != most + 1 || !whole;
}
