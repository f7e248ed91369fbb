/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * serve NAME ADDR:PORT...: a server that says who it is. On each address, TCP and UDP:
 *
 *	UP bytes\n<bytes>	answers NAME SHA256\n of what it received
 *	DOWN bytes seed\n	answers NAME SHA256\n and then that many bytes of the pattern
 *	HELLO\n			answers NAME\n
 *	a datagram		comes back with NAME and a space in front
 *
 * One request a connection, one thread a connection: a client that hangs must not stop the others.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "endpoint.h"
#include "pattern.h"
#include "sha256.h"

#define DATAGRAM_MAX 65536
#define CHUNK	     65536

static const char *name;

static bool receive_up(FILE *in, FILE *out, uint64_t bytes)
{
	struct sha256 sha;
	char hex[SHA256_HEX], buf[CHUNK];

	sha256_init(&sha);
	while (bytes) {
		size_t want = bytes < sizeof(buf) ? bytes : sizeof(buf);
		size_t got = fread(buf, 1, want, in);

		if (!got)
			return false;
		sha256_add(&sha, buf, got);
		bytes -= got;
	}
	sha256_end(&sha, hex);
	return fprintf(out, "%s %s\n", name, hex) > 0;
}

static bool send_down(FILE *out, uint64_t bytes, uint64_t seed)
{
	struct sha256 sha;
	char hex[SHA256_HEX], *data = malloc(bytes);
	bool ok;

	if (!data)
		return false;
	pattern_fill(&seed, data, bytes);
	sha256_init(&sha);
	sha256_add(&sha, data, bytes);
	sha256_end(&sha, hex);
	ok = fprintf(out, "%s %s\n", name, hex) > 0 && fwrite(data, 1, bytes, out) == bytes;
	free(data);
	return ok;
}

static void *serve_connection(void *arg)
{
	int fd = (int)(intptr_t)arg;
	FILE *in = fdopen(fd, "r"), *out = fdopen(dup(fd), "w");
	uint64_t bytes, seed;
	char line[128];

	if (!in || !out || !fgets(line, sizeof(line), in))
		goto out;
	if (sscanf(line, "UP %" SCNu64, &bytes) == 1)
		receive_up(in, out, bytes);
	else if (sscanf(line, "DOWN %" SCNu64 " %" SCNu64, &bytes, &seed) == 2)
		send_down(out, bytes, seed);
	else
		fprintf(out, "%s\n", name);
out:
	if (out)
		fclose(out);
	if (in)
		fclose(in);
	return NULL;
}

static void start(void *(*run)(void *), int fd)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, (void *)(intptr_t)fd))
		close(fd);
	else
		pthread_detach(thread);
}

static void *serve_tcp(void *arg)
{
	int listener = (int)(intptr_t)arg;

	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd >= 0)
			start(serve_connection, fd);
		else if (errno != EINTR && errno != ECONNABORTED)
			return NULL;
	}
}

static void *serve_udp(void *arg)
{
	int fd = (int)(intptr_t)arg, prefix;
	struct sockaddr_storage from;
	char *buf = malloc(DATAGRAM_MAX + 1);

	if (!buf)
		return NULL;
	prefix = sprintf(buf, "%s ", name);
	for (;;) {
		socklen_t len = sizeof(from);
		ssize_t got = recvfrom(fd, buf + prefix, DATAGRAM_MAX - prefix, 0,
				       (struct sockaddr *)&from, &len);

		if (got >= 0)
			sendto(fd, buf, prefix + got, 0, (struct sockaddr *)&from, len);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: serve NAME ADDR:PORT...\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	name = argv[1];
	for (int i = 2; i < argc; i++) {
		struct endpoint e;
		int tcp, udp;

		if (!endpoint_parse(argv[i], &e)) {
			fprintf(stderr, "serve: %s: not ADDR:PORT\n", argv[i]);
			return 2;
		}
		tcp = endpoint_bind(&e, SOCK_STREAM);
		udp = endpoint_bind(&e, SOCK_DGRAM);
		if (tcp < 0 || udp < 0) {
			fprintf(stderr, "serve: %s: %s\n", argv[i], strerror(errno));
			return 1;
		}
		start(serve_tcp, tcp);
		start(serve_udp, udp);
	}
	/* Whoever started us may wait for this line: every address is bound. */
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}
