// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Whatever a server sends: its probe ends in its time with a result, memory stays bounded, and
 * those who ask others at the same time, on the same loop, get their answers.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/support/probing.h"

TestSuite(health_hostile, .init = probing_begin, .fini = probing_end, .timeout = PROBING_LONGEST);

#define BYTES(text) .answer = (text), .length = sizeof(text) - 1
#define HEAD	    "HTTP/1.1 200 OK\r\n"

/* Frames of HTTP/2 (RFC 9113, section 4): length, type, flags, stream. */
#define H2_SETTINGS "\0\0\0\4\0\0\0\0\0"
#define H2_PING                                                                                    \
	"\0\0\x08\6\0\0\0\0\0"                                                                     \
	"01234567"
#define H2_HEADERS                                                                                 \
	"\0\0\1\1\0\0\0\0\1"                                                                       \
	"\x88" /* :status 200, and more to come */
#define H2_MORE                                                                                    \
	"\0\0\3\x09\0\0\0\0\1"                                                                     \
	"\x7f\x80\x01" /* a reference to nowhere */
#define H2_DATA                                                                                    \
	"\0\0\x0a\0\0\0\0\0\1"                                                                     \
	"\0\0\0\0\5hello"

/* "all is well" by gzip; and a beginning after which each byte 0 stands for a thousand. */
#define GZIP_HEAD "\x1f\x8b\x08\0\0\0\0\0\0\xff"
#define GZIP                                                                                       \
	GZIP_HEAD "\x4b\xcc\xc9\x51\xc8\x2c\x56\x28\x4f\xcd\xc9\x01\0"                             \
		  "\x67\xcd\xc6\x15\x0b\0\0\0"
#define BOMB GZIP_HEAD "\xed\xc1\x01\x0d\0\0\0\xc2\xa0\xf7\x4f\x6d\x0f\x07\x14"

static const struct hostile {
	const char *what;
	enum poise_check type;
	struct server server;
	struct poise_health_conf conf;
	const char *words; /* NULL: any, as long as they are bad */
} hostiles[] = {
	{"endless informational answers",
	 POISE_CHECK_HTTP,
	 {.manner = FOREVER,
	  .answer = "HTTP/1.1 100 Continue\r\n\r\n|HTTP/1.1 100 Continue\r\n\r\n"},
	 {0},
	 "more than 65536 bytes of headers"},
	{"one endless header",
	 POISE_CHECK_HTTP,
	 {.manner = FOREVER, .answer = HEAD "X: |0123456789abcdef0123456789abcdef"},
	 {0},
	 NULL},
	{"an endless status line",
	 POISE_CHECK_HTTP,
	 {.manner = FOREVER, .answer = "HTTP/1.1 200 |OK OK OK OK OK OK OK OK OK OK OK OK "},
	 {0},
	 NULL},
	{"an endless length of a chunk",
	 POISE_CHECK_HTTP,
	 {.manner = FOREVER,
	  .answer = HEAD "Transfer-Encoding: chunked\r\n\r\n0|00000000000000000000000000000000000"},
	 {.body = "x"},
	 NULL},
	{"an endless extension of a chunk",
	 POISE_CHECK_HTTP,
	 {.manner = FOREVER,
	  .answer = HEAD "Transfer-Encoding: chunked\r\n\r\n5;|name=valuename=valuename=value"},
	 {.body = "x"},
	 NULL},
	{"endless trailers",
	 POISE_CHECK_HTTP,
	 {.manner = FOREVER,
	  .answer = HEAD "Transfer-Encoding: chunked\r\n\r\n0\r\n|X-Y: 01234567890123456789\r\n"},
	 {.body = "x"},
	 NULL},
	{"more than was said",
	 POISE_CHECK_HTTP,
	 {.manner = ANSWER, .answer = HEAD "Content-Length: 99999999999999\r\n\r\nall is well"},
	 {.body = "is well"},
	 NULL},
	{"a length that is none",
	 POISE_CHECK_HTTP,
	 {.manner = ANSWER, .answer = HEAD "Content-Length: -1\r\n\r\nall is well"},
	 {.body = "is well"},
	 NULL},
	{"a status that is none",
	 POISE_CHECK_HTTP,
	 {.manner = ANSWER, .answer = "HTTP/1.1 99999 OK\r\n\r\n"},
	 {0},
	 NULL},
	{"zeros",
	 POISE_CHECK_HTTP,
	 {.manner = FOREVER, BYTES("\0\0\0\0\0\0\0\0|\0\0\0\0\0\0\0\0")},
	 {0},
	 "the answer is no HTTP"},
	{"a compressed answer, which is none of ours to unpack",
	 POISE_CHECK_HTTP,
	 {.manner = ANSWER, BYTES(HEAD "Content-Encoding: gzip\r\n\r\n" GZIP)},
	 {.body = "all is well"},
	 "http 200, but not with the body wanted"},
	/* Which HTTP/1.1 lets anybody send. */
	{"an endless bomb",
	 POISE_CHECK_HTTP,
	 {.manner = FOREVER,
	  BYTES(HEAD "Transfer-Encoding: gzip\r\n\r\n" BOMB "|\0\0\0\0\0\0\0\0")},
	 {.body = "all is well"},
	 "http 200, but not with the body wanted"},
	{"a bomb in bombs",
	 POISE_CHECK_HTTP,
	 {.manner = FOREVER,
	  BYTES(HEAD
		"Transfer-Encoding: gzip, gzip, gzip, gzip, gzip, gzip, gzip, gzip\r\n\r\n" BOMB
		"|\0\0\0\0\0\0\0\0")},
	 {.body = "all is well"},
	 NULL},
	{"a body that makes a regular expression begin anew at each byte",
	 POISE_CHECK_HTTP,
	 {.manner = FOREVER, .answer = HEAD "\r\n|all is well all is well "},
	 {.regex = "[a-z ]+: ok"},
	 "http 200, but body-regex takes too long over it: simplify it"},
	{"a redirect to a file",
	 POISE_CHECK_HTTP,
	 {.manner = ANSWER,
	  .answer =
		  "HTTP/1.1 301 x\r\nLocation: file:///etc/hostname\r\nContent-Length: 0\r\n\r\n"},
	 {.status = "200"},
	 "http 301, wanted 200"},
	{"no TLS", POISE_CHECK_HTTPS, {.manner = ANSWER, .answer = HEAD "\r\n"}, {0}, NULL},
	{"TLS that is rubbish",
	 POISE_CHECK_HTTPS,
	 {.manner = FOREVER, BYTES("\x16\x03\x03\x40\x00|\xff\xff\xff\xff\xff\xff\xff\xff")},
	 {0},
	 NULL},
	{"TLS that is silent",
	 POISE_CHECK_HTTPS,
	 {.manner = SILENCE, .answer = ""},
	 {0},
	 "TLS handshake: timed out after 400ms"},
	{"a TLS alert, slowly",
	 POISE_CHECK_HTTPS,
	 {.manner = DRIBBLE, .answer = "\x15\x03\x03\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01"},
	 {0},
	 NULL},
	{"HTTP/2: HTTP/1.1",
	 POISE_CHECK_HTTP,
	 {.manner = ANSWER, .answer = HEAD "Content-Length: 2\r\n\r\nok"},
	 {.http2 = 1},
	 NULL},
	{"HTTP/2: endless pings",
	 POISE_CHECK_HTTP,
	 {.manner = FOREVER, BYTES(H2_SETTINGS "|" H2_PING)},
	 {.http2 = 1},
	 NULL},
	{"HTTP/2: endless settings",
	 POISE_CHECK_HTTP,
	 {.manner = FOREVER, BYTES(H2_SETTINGS "|" H2_SETTINGS)},
	 {.http2 = 1},
	 NULL},
	{"HTTP/2: headers without an end",
	 POISE_CHECK_HTTP,
	 {.manner = FOREVER, BYTES(H2_SETTINGS H2_HEADERS "|" H2_MORE)},
	 {.http2 = 1},
	 NULL},
	{"gRPC: rubbish",
	 POISE_CHECK_GRPC,
	 {.manner = FOREVER, BYTES("|\x07\xff\x00\x80\xfe")},
	 {0},
	 NULL},
	{"gRPC: HTTP/1.1",
	 POISE_CHECK_GRPC,
	 {.manner = ANSWER, .answer = HEAD "grpc-status: 0\r\n\r\n"},
	 {0},
	 NULL},
	{"gRPC: data before headers",
	 POISE_CHECK_GRPC,
	 {.manner = FOREVER, BYTES(H2_SETTINGS "|" H2_DATA)},
	 {0},
	 NULL},
	{"gRPC: a byte at a time",
	 POISE_CHECK_GRPC,
	 {.manner = DRIBBLE, .answer = "all is well all is well all is well"},
	 {0},
	 NULL},
};
#define HOSTILES (sizeof(hostiles) / sizeof(hostiles[0]))

#define GOOD   "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define GOODS  8
#define MEMORY 32768 /* KiB that all of them at once may take */

static long memory(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void ask_all(struct server *servers, int family)
{
	for (size_t n = 0; n < HOSTILES; n++) {
		struct poise_health_conf conf = hostiles[n].conf;

		conf.timeout = probing_timeout(hostiles[n].words);
		servers[n] = hostiles[n].server;
		server_tcp(&servers[n], family);
		probing_ask(hostiles[n].type, family, servers[n].port, &conf);
	}
}

static void check_hostile(size_t n)
{
	const struct probe_result *r = probing_result(n);
	const struct hostile *h = &hostiles[n];

	cr_expect(!r->good && r->words[0], "%s: %s", h->what, r->words);
	if (h->words)
		cr_expect_str_eq(r->words, h->words, "%s: %s", h->what, r->words);
}

Test(health_hostile, servers_bound_in_time_and_memory)
{
	struct server servers[HOSTILES], good = {.manner = ANSWER, .answer = GOOD};
	long before;

	for (size_t f = 0; f < 2; f++) {
		probing_forget();
		before = memory();
		server_tcp(&good, probing_families[f]);
		ask_all(servers, probing_families[f]);
		for (int n = 0; n < GOODS; n++)
			probing_ask(POISE_CHECK_HTTP, probing_families[f], good.port, NULL);
		probing_run();
		for (size_t n = 0; n < HOSTILES; n++)
			check_hostile(n);
		for (size_t n = HOSTILES; n < HOSTILES + GOODS; n++)
			probing_expect(n, true, "http 200");
		cr_expect_lt(memory() - before, MEMORY, "%ld KiB", memory() - before);
		for (size_t n = 0; n < HOSTILES; n++)
			server_stop(&servers[n]);
		server_stop(&good);
	}
}
