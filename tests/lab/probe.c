/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * probe tcp|udp ADDR:PORT [ttl N] [size N]: connects, or sends a datagram of so many bytes that
 * must not be fragmented, and says in a line what came back within five seconds:
 *
 *   connected | answered | refused | nothing | icmp TYPE CODE from ADDR [mtu N]
 *
 * then " after N ms". Exit 0 unless it was nothing.
 *
 * probe late ADDR:PORT [ttl N] [size N]: a server there that answers the first datagram so again
 * and again, from its own port, and says what came back of that; "ready" before.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/errqueue.h>

#include "endpoint.h"

#define PATIENCE 5000  /* ms */
#define AGAIN	 100   /* ms between two answers of `late` */
#define ANSWERS	 50    /* of `late` at most */
#define LARGEST	 65507 /* bytes of a UDP datagram */

struct probe {
	struct endpoint to;
	int type; /* SOCK_* */
	bool late;
	int ttl; /* 0: as usual */
	size_t size;
};

static int usage(void)
{
	fprintf(stderr, "usage: probe tcp|udp|late ADDR:PORT [ttl N] [size N]\n");
	return 2;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

/* A socket that hears of ICMP errors and sends what it is told, whatever it knows of the path. */
static int open_socket(const struct probe *p)
{
	bool six = p->to.addr.ss_family == AF_INET6;
	int fd = socket(p->to.addr.ss_family, p->type | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (six ? set(fd, IPPROTO_IPV6, IPV6_RECVERR, 1) : set(fd, IPPROTO_IP, IP_RECVERR, 1))
		return -1;
	if (six ? set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE)
		: set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE))
		return -1;
	if (p->ttl && (six ? set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, p->ttl)
			   : set(fd, IPPROTO_IP, IP_TTL, p->ttl)))
		return -1;
	return fd;
}

/* What an entry of the error queue says. */
static bool say_error(const struct cmsghdr *c)
{
	const struct sock_extended_err *e = (const void *)CMSG_DATA(c);
	const struct sockaddr *from = SO_EE_OFFENDER(e);
	char name[INET6_ADDRSTRLEN] = "?";

	if (e->ee_origin != SO_EE_ORIGIN_ICMP && e->ee_origin != SO_EE_ORIGIN_ICMP6)
		return false;
	if (from->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)from)->sin_addr, name,
			  sizeof(name));
	if (from->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)from)->sin6_addr, name,
			  sizeof(name));
	printf("icmp %u %u from %s", e->ee_type, e->ee_code, name);
	if (e->ee_info)
		printf(" mtu %u", e->ee_info);
	return true;
}

static bool take_error(int fd)
{
	char control[512], data[64];
	struct iovec io = {data, sizeof(data)};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};

	if (recvmsg(fd, &m, MSG_ERRQUEUE) < 0)
		return false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
		if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
		    (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR))
			return say_error(c);
	return false;
}

static bool outcome(int fd, const struct probe *p)
{
	struct pollfd wait = {.fd = fd, .events = p->type == SOCK_STREAM ? POLLOUT : POLLIN};
	socklen_t size = sizeof(int);
	int error = 0;

	if (poll(&wait, 1, p->late ? AGAIN : PATIENCE) < 1) {
		printf("%s", p->late ? "" : "nothing");
		return false;
	}
	if (take_error(fd))
		return true;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	if (error == ECONNREFUSED)
		printf("refused");
	else if (error)
		printf("%s", strerror(error));
	else
		printf(p->type == SOCK_STREAM ? "connected" : "answered");
	return true;
}

static bool parse(int argc, char **argv, struct probe *p)
{
	if (argc < 3 || argc % 2 == 0 || !endpoint_parse(argv[2], &p->to))
		return false;
	p->late = !strcmp(argv[1], "late");
	if (strcmp(argv[1], "tcp") != 0 && strcmp(argv[1], "udp") != 0 && !p->late)
		return false;
	p->type = argv[1][0] == 't' ? SOCK_STREAM : SOCK_DGRAM;
	for (int k = 3; k < argc; k += 2) {
		if (!strcmp(argv[k], "ttl"))
			p->ttl = atoi(argv[k + 1]);
		else if (!strcmp(argv[k], "size"))
			p->size = (size_t)atoi(argv[k + 1]);
		else
			return false;
	}
	return p->size <= LARGEST;
}

static const char data[LARGEST];

/* Waits for somebody to answer to. */
static bool meet(int fd, struct probe *p)
{
	struct sockaddr_storage from;
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	socklen_t len = sizeof(from);

	if (bind(fd, (struct sockaddr *)&p->to.addr, p->to.len))
		return false;
	printf("ready\n");
	fflush(stdout);
	return poll(&wait, 1, -1) == 1 &&
	       recvfrom(fd, NULL, 0, 0, (struct sockaddr *)&from, &len) >= 0 &&
	       !connect(fd, (struct sockaddr *)&from, len);
}

/* Until something comes of it: the other end may not be gone yet. */
static bool answer(int fd, const struct probe *p)
{
	for (int k = 0; k < ANSWERS; k++) {
		/* An error that has come meanwhile is this call's, too. */
		if (send(fd, data, p->size, 0) < 0)
			return take_error(fd);
		if (outcome(fd, p))
			return true;
	}
	printf("nothing");
	return false;
}

static bool ask(int fd, const struct probe *p)
{
	if (connect(fd, (struct sockaddr *)&p->to.addr, p->to.len) && errno != EINPROGRESS)
		return false;
	return p->type == SOCK_STREAM || send(fd, data, p->size, 0) >= 0;
}

int main(int argc, char **argv)
{
	struct probe p = {0};
	double begin;
	bool heard;
	int fd;

	if (!parse(argc, argv, &p))
		return usage();
	fd = open_socket(&p);
	begin = now();
	if (fd < 0 || !(p.late ? meet(fd, &p) : ask(fd, &p))) {
		perror("probe");
		return 1;
	}
	heard = p.late ? answer(fd, &p) : outcome(fd, &p);
	printf(" after %.1f ms\n", now() - begin);
	close(fd);
	return !heard;
}
