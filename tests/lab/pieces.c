/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pieces ADDR:PORT COUNT SIZE [shuffled]: asks a `serve` COUNT times by datagrams of SIZE bytes,
 * each from a port of its own, larger than a packet if you like. Shuffled: in fragments made here,
 * sent in random order by a raw socket. Exit 0: every answer came, whole.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "endpoint.h"

#define LARGEST	   60000
#define PIECE	   1200 /* bytes of a fragment, a multiple of 8 that every link carries */
#define PIECES_MAX (LARGEST / PIECE + 2)
#define NAME_BYTES 32
#define PATIENCE                                                                                   \
	{                                                                                          \
		.tv_sec = 2                                                                        \
	}

struct sender {
	struct endpoint to;
	struct sockaddr_storage from;
	bool v6;
	int raw;
};

struct udp {
	uint16_t from, to, length, check;
};

static uint32_t sum16(const void *bytes, size_t n)
{
	const uint8_t *b = bytes;
	uint32_t sum = 0;

	for (size_t k = 0; k < n; k++)
		sum += k & 1 ? b[k] : (uint32_t)b[k] << 8;
	return sum;
}

static const void *address(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET6)
		return &((const struct sockaddr_in6 *)a)->sin6_addr;
	return &((const struct sockaddr_in *)a)->sin_addr;
}

static uint16_t port(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_port
					: ((const struct sockaddr_in *)a)->sin_port;
}

/* The UDP header in front of the question, for what fragments carry. */
static void head(const struct sender *s, uint8_t *datagram, size_t length)
{
	struct udp udp = {port(&s->from), port(&s->to.addr), htons((uint16_t)length), 0};
	uint32_t sum = IPPROTO_UDP + (uint32_t)length;
	size_t n = s->v6 ? 16 : 4;

	memcpy(datagram, &udp, sizeof(udp));
	sum += sum16(address(&s->from), n);
	sum += sum16(address(&s->to.addr), n);
	sum += sum16(datagram, length);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	udp.check = htons((uint16_t)~sum);
	memcpy(datagram, &udp, sizeof(udp));
}

/* The IP header of a fragment at this offset; returns its length. */
static size_t ip_head(const struct sender *s, uint8_t *h, uint32_t id, size_t at, size_t n,
		      bool more)
{
	memset(h, 0, 48);
	id = htonl(id);
	if (s->v6) {
		h[0] = 0x60;
		h[4] = (uint8_t)((n + 8) >> 8);
		h[5] = (uint8_t)(n + 8);
		h[6] = IPPROTO_FRAGMENT;
		h[7] = 64;
		memcpy(h + 8, address(&s->from), 16);
		memcpy(h + 24, address(&s->to.addr), 16);
		h[40] = IPPROTO_UDP;
		h[42] = (uint8_t)(at >> 8);
		h[43] = (uint8_t)(at | more);
		memcpy(h + 44, &id, 4);
		return 48;
	}
	h[0] = 0x45; /* the kernel adds length and checksum */
	memcpy(h + 4, (uint8_t *)&id + 2, 2);
	h[6] = (uint8_t)(at >> 11 | (more ? 0x20 : 0));
	h[7] = (uint8_t)(at >> 3);
	h[8] = 64;
	h[9] = IPPROTO_UDP;
	memcpy(h + 12, address(&s->from), 4);
	memcpy(h + 16, address(&s->to.addr), 4);
	return 20;
}

static bool send_piece(const struct sender *s, const uint8_t *datagram, size_t length, uint32_t id,
		       size_t at)
{
	struct sockaddr_storage to = s->to.addr;
	uint8_t packet[PIECE + 48];
	size_t n = length - at < PIECE ? length - at : PIECE;
	size_t h = ip_head(s, packet, id, at, n, at + n < length);

	if (s->v6)
		((struct sockaddr_in6 *)&to)->sin6_port = 0;
	memcpy(packet + h, datagram + at, n);
	return sendto(s->raw, packet, h + n, 0, (struct sockaddr *)&to, s->to.len) ==
	       (ssize_t)(h + n);
}

static bool send_shuffled(const struct sender *s, const uint8_t *datagram, size_t length,
			  uint32_t id)
{
	size_t order[PIECES_MAX], pieces = (length + PIECE - 1) / PIECE;

	for (size_t k = 0; k < pieces; k++) {
		size_t other = (size_t)rand() % (k + 1);

		if (other < k)
			order[k] = order[other];
		order[other] = k;
	}
	for (size_t k = 0; k < pieces; k++)
		if (!send_piece(s, datagram, length, id, order[k] * PIECE))
			return false;
	return true;
}

/* One question and its answer: a name, a space, the question. */
static bool ask(struct sender *s, size_t size, uint32_t id)
{
	static uint8_t datagram[sizeof(struct udp) + LARGEST], answer[LARGEST + NAME_BYTES];
	uint8_t *question = datagram + sizeof(struct udp), *space;
	struct timeval patience = PATIENCE;
	socklen_t len = sizeof(s->from);
	int fd = socket(s->to.addr.ss_family, SOCK_DGRAM, 0);
	bool sent, fine = false;
	ssize_t got;

	for (size_t k = 0; k < size; k++)
		question[k] = (uint8_t)('a' + (k * 7 + id) % 26);
	if (fd < 0 || connect(fd, (struct sockaddr *)&s->to.addr, s->to.len) ||
	    getsockname(fd, (struct sockaddr *)&s->from, &len))
		goto out;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	head(s, datagram, sizeof(struct udp) + size);
	sent = s->raw >= 0 ? send_shuffled(s, datagram, sizeof(struct udp) + size, id)
			   : send(fd, question, size, 0) == (ssize_t)size;
	if (!sent) {
		perror("pieces");
		goto out;
	}
	got = recv(fd, answer, sizeof(answer), 0);
	space = got > 0 ? memchr(answer, ' ', (size_t)got) : NULL;
	fine = space && (size_t)(answer + got - space - 1) == size &&
	       !memcmp(space + 1, question, size);
out:
	if (fd >= 0)
		close(fd);
	return fine;
}

int main(int argc, char **argv)
{
	struct sender s = {.raw = -1};
	unsigned long count, size, failed = 0;

	if (argc < 4 || !endpoint_parse(argv[1], &s.to)) {
		fprintf(stderr, "pieces ADDR:PORT COUNT SIZE [shuffled]\n");
		return 2;
	}
	count = strtoul(argv[2], NULL, 10);
	size = strtoul(argv[3], NULL, 10);
	if (!count || !size || size > LARGEST)
		return 2;
	s.v6 = s.to.addr.ss_family == AF_INET6;
	if (argc > 4) {
		s.raw = socket(s.to.addr.ss_family, SOCK_RAW, IPPROTO_RAW);
		if (s.raw < 0) {
			perror("pieces: raw socket");
			return 1;
		}
	}
	for (unsigned long k = 0; k < count; k++)
		failed += !ask(&s, size, (uint32_t)k + 1);
	printf("%lu datagrams, %lu failed\n", count, failed);
	return failed != 0;
}
