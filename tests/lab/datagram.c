/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * datagram FROM:PORT TO:PORT HEX: sends these bytes from that address to a server (serve.c), and
 * prints the name that answers. Asks again after a second, three times.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "endpoint.h"

#define TRIES	   3
#define BYTES_MAX  256
#define ANSWER_MAX 512

static size_t read_hex(const char *hex, unsigned char *bytes)
{
	unsigned int byte;
	size_t n = 0;

	for (; n < BYTES_MAX && sscanf(hex, "%2x", &byte) == 1; hex += 2) {
		bytes[n++] = (unsigned char)byte;
		if (!hex[1])
			break;
	}
	return n;
}

static int ask(int fd, const unsigned char *bytes, size_t n)
{
	char answer[ANSWER_MAX], name[32];
	ssize_t got;

	for (int i = 0; i < TRIES; i++) {
		if (send(fd, bytes, n, 0) != (ssize_t)n)
			continue;
		got = recv(fd, answer, sizeof(answer) - 1, 0);
		if (got < 0)
			continue;
		answer[got] = '\0';
		if (sscanf(answer, "%31s", name) == 1) {
			printf("%s\n", name);
			return 0;
		}
	}
	fprintf(stderr, "datagram: no answer\n");
	return 1;
}

int main(int argc, char **argv)
{
	struct timeval second = {.tv_sec = 1};
	unsigned char bytes[BYTES_MAX];
	struct endpoint from, to;
	int fd;

	if (argc != 4 || !endpoint_parse(argv[1], &from) || !endpoint_parse(argv[2], &to)) {
		fprintf(stderr, "usage: datagram FROM:PORT TO:PORT HEX\n");
		return 2;
	}
	fd = socket(to.addr.ss_family, SOCK_DGRAM, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second)) ||
	    bind(fd, (struct sockaddr *)&from.addr, from.len) ||
	    connect(fd, (struct sockaddr *)&to.addr, to.len)) {
		perror("datagram");
		return 1;
	}
	return ask(fd, bytes, read_hex(argv[3], bytes));
}
