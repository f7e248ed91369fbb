// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Probes of types udp, dns and icmp.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loader/health/probe_priv.h"
#include "tests/support/probing.h"

TestSuite(health_datagram, .init = probing_begin, .fini = probing_end, .timeout = PROBING_LONGEST);

/* Answers with what it was sent, after `answer` was put over its bytes from 2 on. */
static void *echo(void *arg)
{
	struct server *s = arg;
	struct sockaddr_storage from;
	socklen_t size = sizeof(from);
	char in[512];
	ssize_t got = recvfrom(s->fd, in, sizeof(in), 0, (struct sockaddr *)&from, &size);

	if (got <= 0 || s->manner == SILENCE)
		return NULL;
	if (s->answer)
		memcpy(in + 2, s->answer, 6);
	sendto(s->fd, in, (size_t)got, 0, (struct sockaddr *)&from, size);
	return NULL;
}

Test(health_datagram, udp)
{
	for (size_t f = 0; f < 2; f++) {
		struct poise_health_conf conf = {.send = "pi\\x6eg\\n", .expect = "ing\\n"};
		struct poise_health_conf other = {.send = "ping", .expect = "pong"};
		struct poise_health_conf never = {.send = "ping", .timeout = PROBING_TIMEOUT};
		struct server echoes[3] = {{0}, {0}, {.manner = SILENCE}}, off = {0};
		size_t first = probing_begun();

		for (size_t n = 0; n < 3; n++)
			server_udp(&echoes[n], probing_families[f], echo);
		server_bind(&off, probing_families[f], SOCK_DGRAM);
		close(off.fd);
		probing_ask(POISE_CHECK_UDP, probing_families[f], echoes[0].port, &conf);
		probing_ask(POISE_CHECK_UDP, probing_families[f], echoes[1].port, &other);
		probing_ask(POISE_CHECK_UDP, probing_families[f], echoes[2].port, &never);
		probing_ask(POISE_CHECK_UDP, probing_families[f], off.port, &conf);
		probing_run();
		probing_expect(first, true, "udp answered");
		probing_expect(first + 1, false, "answer of 4 bytes is not what is expected");
		probing_expect(first + 2, false, "answer: timed out after 400ms");
		probing_expect(first + 3, false, "answer: refused");
		for (size_t n = 0; n < 3; n++)
			server_stop(&echoes[n]);
	}
}

/* Flags and counts of an answer: bytes 2 to 7. */
#define DNS_GOOD     "\x81\x80\0\1\0\1"
#define DNS_NXDOMAIN "\x81\x83\0\1\0\0"
#define DNS_NONE     "\x81\x80\0\1\0\0"
#define DNS_QUERY    "\x01\x00\0\1\0\0" /* no answer at all */

Test(health_datagram, dns)
{
	static const struct {
		const char *answer;
		const char *name;
		bool good;
		const char *words;
	} cases[] = {
		{DNS_GOOD, "example.org", true, "dns NOERROR"},
		{DNS_GOOD, ".", true, "dns NOERROR"},
		{DNS_NXDOMAIN, "example.org.", false, "dns NXDOMAIN"},
		{DNS_NONE, "example.org", false, "dns no record of this type"},
		{DNS_QUERY, "example.org", false, "answer: timed out after 400ms"},
		{DNS_GOOD, "a..b", false, "query: \"a..b\" is no name"},
		{DNS_GOOD, "a234567890123456789012345678901234567890123456789012345678901234.b",
		 false,
		 "query: \"a234567890123456789012345678901234567890123456789012345678901234.b\" "
		 "is no name"},
	};
	const size_t count = sizeof(cases) / sizeof(cases[0]);

	for (size_t f = 0; f < 2; f++) {
		struct server servers[sizeof(cases) / sizeof(cases[0])];
		size_t first = probing_begun();

		for (size_t n = 0; n < count; n++) {
			struct poise_health_conf conf = {
				.query_type = POISE_QUERY_A,
				.timeout = probing_timeout(cases[n].words),
			};

			strcpy(conf.query, cases[n].name);
			servers[n] = (struct server){.answer = cases[n].answer};
			server_udp(&servers[n], probing_families[f], echo);
			probing_ask(POISE_CHECK_DNS, probing_families[f], servers[n].port, &conf);
		}
		probing_run();
		for (size_t n = 0; n < count; n++) {
			probing_expect(first + n, cases[n].good, cases[n].words);
			server_stop(&servers[n]);
		}
	}
}

Test(health_datagram, icmp)
{
	for (size_t f = 0; f < 2; f++) {
		size_t n = probing_ask(POISE_CHECK_ICMP, probing_families[f], 0, NULL);

		probing_run();
		/* Whether this group may is the host's to say. */
		if (probing_result(n)->good)
			probing_expect(n, true, "echo answered");
		else
			probing_expect(n, false,
				       "ping socket: not permitted; set net.ipv4.ping_group_range");
	}
}

/* ---- whatever bytes ---------------------------------------------------------------------------*/

/* An answer with our id and good counts: where its names point to is nothing to us. */
static const char *const odd_answers[] = {
	"\x81\x80\xff\xff\xff\xff\xff\xff\xff\xff", /* counts of what is not there */
	"\x81\x80\0\1\0\1\0\0\0\0\xc0\x0c\xc0\x0c", /* a name that points to itself */
	"\x81\x80\0\1\0\1\0\0\0\0\x3f",		    /* a label beyond the end */
};

Test(health_datagram, dns_answers_that_point_anywhere)
{
	static const size_t lengths[] = {10, 14, 11};
	char words[PROBE_WORDS];

	for (size_t n = 0; n < 3; n++) {
		unsigned char in[16] = {0x12, 0x34};

		memcpy(in + 2, odd_answers[n], lengths[n]);
		cr_expect_eq(probe_dns_said(in, 2 + lengths[n], 0x1234, words), PROBE_GOOD);
		for (size_t cut = 0; cut < 12; cut++)
			cr_expect_eq(probe_dns_said(in, cut, 0x1234, words), PROBE_NOT_OURS);
		cr_expect_eq(probe_dns_said(in, 2 + lengths[n], 0x1235, words), PROBE_NOT_OURS);
	}
}

/* Somebody else's answers, as many as they like: ours is waited for in between. */
static void *flood(void *arg)
{
	struct server *s = arg;
	struct sockaddr_storage from;
	socklen_t size = sizeof(from);
	char in[512];
	ssize_t got = recvfrom(s->fd, in, sizeof(in), 0, (struct sockaddr *)&from, &size);

	if (got <= 2)
		return NULL;
	memcpy(in + 2, DNS_GOOD, sizeof(DNS_GOOD) - 1);
	in[0] ^= 1;
	for (int n = 0; n < 100; n++)
		sendto(s->fd, in, (size_t)(got - n % 20), 0, (struct sockaddr *)&from, size);
	in[0] ^= 1;
	sendto(s->fd, in, (size_t)got, 0, (struct sockaddr *)&from, size);
	return NULL;
}

Test(health_datagram, dns_answers_of_others)
{
	for (size_t f = 0; f < 2; f++) {
		struct poise_health_conf conf = {.query = "example.org",
						 .query_type = POISE_QUERY_A};
		struct server lies = {0};
		size_t n;

		server_udp(&lies, probing_families[f], flood);
		n = probing_ask(POISE_CHECK_DNS, probing_families[f], lies.port, &conf);
		probing_run();
		probing_expect(n, true, "dns NOERROR");
		server_stop(&lies);
	}
}
