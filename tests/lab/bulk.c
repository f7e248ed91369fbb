/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bulk ADDR:PORT [BYTES [up]]: sends so many bytes to a `serve`, fetches as many unless only up,
 * and compares what arrived by SHA-256 on both ends. Exit 0: equal.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "endpoint.h"
#include "pattern.h"
#include "sha256.h"

#define DEFAULT_BYTES (10 << 20)
#define SILENCE	      15 /* seconds without a byte after which a transfer has failed */
#define SEED	      88172645463325252u

static int reach(const struct endpoint *e)
{
	struct timeval patience = {.tv_sec = SILENCE};
	int fd = socket(e->addr.ss_family, SOCK_STREAM, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (!connect(fd, (const struct sockaddr *)&e->addr, e->len))
		return fd;
	close(fd);
	return -1;
}

/* The server's line: its name and the digest on its side. */
static bool read_answer(FILE *in, char name[32], char hex[SHA256_HEX])
{
	char line[128];

	return fgets(line, sizeof(line), in) && sscanf(line, "%31s %64s", name, hex) == 2;
}

static void digest(const void *data, size_t len, char hex[SHA256_HEX])
{
	struct sha256 sha;

	sha256_init(&sha);
	sha256_add(&sha, data, len);
	sha256_end(&sha, hex);
}

/* One transfer over a connection of its own; data is what is sent, or where what came goes. */
static bool transfer(const struct endpoint *e, bool up, char *data, size_t bytes)
{
	char name[32] = "-", theirs[SHA256_HEX] = "-", ours[SHA256_HEX];
	struct timespec from, to;
	FILE *in = NULL, *out = NULL;
	bool ok = false;
	int fd;

	clock_gettime(CLOCK_MONOTONIC, &from);
	fd = reach(e);
	if (fd < 0)
		goto out;
	in = fdopen(fd, "r");
	out = fdopen(dup(fd), "w");
	if (!in || !out)
		goto out;
	if (up)
		ok = fprintf(out, "UP %zu\n", bytes) > 0 && fwrite(data, 1, bytes, out) == bytes;
	else
		ok = fprintf(out, "DOWN %zu %" PRIu64 "\n", bytes, SEED) > 0;
	ok = ok && !fflush(out) && read_answer(in, name, theirs);
	if (ok && !up)
		ok = fread(data, 1, bytes, in) == bytes;
out:
	if (!ok)
		printf("%s: %s\n", up ? "up" : "down", errno ? strerror(errno) : "cut short");
	if (out)
		fclose(out);
	if (in)
		fclose(in);
	if (!ok)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &to);
	digest(data, bytes, ours);
	printf("%-4s %s %zu bytes in %.3f s, sent %s received %s: %s\n", up ? "up" : "down", name,
	       bytes, (to.tv_sec - from.tv_sec) + (to.tv_nsec - from.tv_nsec) / 1e9,
	       up ? ours : theirs, up ? theirs : ours, strcmp(ours, theirs) ? "DIFFER" : "equal");
	return !strcmp(ours, theirs);
}

int main(int argc, char **argv)
{
	size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 0) : DEFAULT_BYTES;
	bool only_up = argc > 3 && !strcmp(argv[3], "up"), fine;
	uint64_t seed = SEED;
	struct endpoint e;
	char *data;

	if (argc < 2 || (argc > 3 && !only_up) || !bytes || !endpoint_parse(argv[1], &e)) {
		fprintf(stderr, "usage: bulk ADDR:PORT [BYTES [up]]\n");
		return 2;
	}
	data = malloc(bytes);
	if (!data)
		return 1;
	pattern_fill(&seed, data, bytes);
	fine = transfer(&e, true, data, bytes);
	if (!only_up)
		fine &= transfer(&e, false, data, bytes);
	free(data);
	return !fine;
}
