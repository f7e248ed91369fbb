/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * hold tcp|udp ADDR:PORT COUNT: opens so many connections to a server (serve.c), or sockets that
 * have had a datagram echoed, says "ready", and holds them until SIGTERM. Then it asks over each
 * whether it still lives, and prints "N of COUNT answered, N reset". Exit 0: all did.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "endpoint.h"

#define SILENCE	   3 /* seconds without an answer */
#define TRIES	   3 /* of a datagram */
#define COUNT_MAX  1000
#define ANSWER_MAX 64

static bool ask(int fd, bool udp)
{
	static const char question[] = "HELLO\n";
	char answer[ANSWER_MAX];

	for (int k = 0; k < (udp ? TRIES : 1); k++) {
		if (send(fd, question, sizeof(question) - 1, MSG_NOSIGNAL) > 0 &&
		    recv(fd, answer, sizeof(answer), 0) > 0)
			return true;
	}
	return false;
}

static int open_one(const struct endpoint *e, bool udp)
{
	struct timeval patience = {.tv_sec = SILENCE};
	int fd = socket(e->addr.ss_family, udp ? SOCK_DGRAM : SOCK_STREAM, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (!connect(fd, (const struct sockaddr *)&e->addr, e->len) && (!udp || ask(fd, udp)))
		return fd;
	close(fd);
	return -1;
}

int main(int argc, char **argv)
{
	int fd[COUNT_MAX], count = argc == 4 ? atoi(argv[3]) : 0, answered = 0, reset = 0, sig;
	bool udp = argc > 1 && !strcmp(argv[1], "udp");
	struct endpoint e;
	sigset_t end;

	if (count < 1 || count > COUNT_MAX || !endpoint_parse(argv[2], &e)) {
		fprintf(stderr, "usage: hold tcp|udp ADDR:PORT COUNT\n");
		return 2;
	}
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);
	for (int i = 0; i < count; i++) {
		fd[i] = open_one(&e, udp);
		if (fd[i] < 0) {
			fprintf(stderr, "hold: connection %d: %s\n", i, strerror(errno));
			return 1;
		}
	}
	printf("ready\n");
	fflush(stdout);
	sigwait(&end, &sig);
	for (int i = 0; i < count; i++) {
		if (ask(fd[i], udp))
			answered++;
		else
			reset += errno == ECONNRESET;
	}
	printf("%d of %d answered, %d reset\n", answered, count, reset);
	return answered != count;
}
