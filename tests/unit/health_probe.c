// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Probes against servers on loopback that answer rightly, wrongly, too much, too late or never. All
 * of a test's probes run at once on one loop, so that one that hangs would be seen to hold up the
 * others.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loader/health/probe.h"
#include "maps/status.h"
#include "maps/text.h"

#define TIMEOUT_MS 400
#define LONGEST	   20	/* seconds of a test, on the busiest machine */
#define PIECES	   2000 /* that a server without an end sends */

/* ---- servers ----------------------------------------------------------------------------------*/

enum manner {
	ANSWER,	 /* once, then close */
	SILENCE, /* accept, say nothing */
	FOREVER, /* the answer's last piece again and again */
	DRIBBLE, /* a byte every 50 ms */
	RESET,	 /* close with a reset */
};

struct server {
	enum manner manner;
	const char *answer;
	int fd;
	__u16 port;
	pthread_t thread;
};

static const int families[] = {AF_INET, AF_INET6};

static void bind_loopback(struct server *s, int family, int type)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_in four = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = family == AF_INET ? sizeof(four) : sizeof(six);
	struct sockaddr *a = family == AF_INET ? (void *)&four : (void *)&six;

	s->fd = socket(family, type | SOCK_CLOEXEC, 0);
	cr_assert_geq(s->fd, 0);
	cr_assert_eq(bind(s->fd, a, size), 0);
	cr_assert_eq(getsockname(s->fd, a, &size), 0);
	s->port = ntohs(family == AF_INET ? four.sin_port : six.sin6_port);
}

static void dribble(int fd, const char *text)
{
	for (; *text; text++) {
		if (send(fd, text, 1, MSG_NOSIGNAL) != 1)
			return;
		usleep(50000);
	}
}

static void forever(int fd, const char *text)
{
	send(fd, text, strlen(text), MSG_NOSIGNAL);
	text = strrchr(text, '\n') ? strrchr(text, '|') + 1 : text;
	for (int n = 0; n < PIECES; n++)
		if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
			return;
}

static void serve_one(const struct server *s, int fd)
{
	const struct linger now = {.l_onoff = 1};
	char asked[2048];

	if (recv(fd, asked, sizeof(asked), 0) <= 0)
		return;
	switch (s->manner) {
	case RESET: setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)); break;
	case ANSWER: send(fd, s->answer, strlen(s->answer), MSG_NOSIGNAL); break;
	case DRIBBLE: dribble(fd, s->answer); break;
	case FOREVER: forever(fd, s->answer); break;
	default:
		while (recv(fd, asked, sizeof(asked), 0) > 0)
			;
	}
}

static void *serve(void *arg)
{
	struct server *s = arg;
	int fd;

	while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
		serve_one(s, fd);
		close(fd);
	}
	return NULL;
}

static void serve_tcp(struct server *s, int family)
{
	bind_loopback(s, family, SOCK_STREAM);
	cr_assert_eq(listen(s->fd, 16), 0);
	cr_assert_eq(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void stop(struct server *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
}

/* ---- probes -----------------------------------------------------------------------------------*/

#define PROBES_MAX 32

static uv_loop_t loop;
static struct prober *prober;
static struct probe_result results[PROBES_MAX];
static struct poise_health_conf confs[PROBES_MAX];
static size_t begun, ended;

static void setup(void)
{
	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(uv_loop_init(&loop), 0);
	prober = prober_new(&loop);
	cr_assert(prober);
}

static void teardown(void)
{
	prober_free(prober);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&loop), 0, "handles are left open");
}

TestSuite(health_probe, .init = setup, .fini = teardown, .timeout = LONGEST);

static void on_done(void *ctx, const struct probe_result *result)
{
	*(struct probe_result *)ctx = *result;
	ended++;
}

/* Begins a probe; the place of its result. */
static size_t ask(enum poise_check type, int family, __u16 port,
		  const struct poise_health_conf *like)
{
	struct probe_want want = {.port = port, .conf = &confs[begun]};

	cr_assert_lt(begun, PROBES_MAX);
	confs[begun] = like ? *like : (struct poise_health_conf){0};
	confs[begun].type = type;
	confs[begun].timeout = TIMEOUT_MS;
	if (!confs[begun].status[0])
		strcpy(confs[begun].status, "200-399");
	cr_assert_eq(poise_parse_addr(family == AF_INET ? "127.0.0.1" : "::1", &want.addr, NULL),
		     0);
	cr_assert(probe_start(prober, &want, on_done, &results[begun]));
	return begun++;
}

static void run(void)
{
	while (ended < begun && uv_run(&loop, UV_RUN_ONCE))
		;
	cr_assert_eq(ended, begun);
	uv_run(&loop, UV_RUN_NOWAIT); /* what has ended is closed in the turn after */
	uv_run(&loop, UV_RUN_NOWAIT);
}

static void expect(size_t n, bool good, const char *words)
{
	cr_assert_str_eq(results[n].words, words);
	cr_assert_eq(results[n].good, good, "%s", words);
}

/* ---- tcp --------------------------------------------------------------------------------------*/

Test(health_probe, tcp)
{
	for (size_t f = 0; f < 2; f++) {
		struct server up = {.manner = SILENCE}, off = {0};
		size_t good, refused;

		serve_tcp(&up, families[f]);
		bind_loopback(&off, families[f], SOCK_STREAM); /* nobody listens */
		good = ask(POISE_CHECK_TCP, families[f], up.port, NULL);
		refused = ask(POISE_CHECK_TCP, families[f], off.port, NULL);
		run();
		expect(good, true, "tcp connected");
		expect(refused, false, "connect: refused");
		cr_assert_gt(results[good].us, 0);
		stop(&up);
		close(off.fd);
	}
}

/* ---- http -------------------------------------------------------------------------------------*/

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nall is well\n"

static const struct http_case {
	const char *what;
	enum manner manner;
	const char *answer;
	struct poise_health_conf conf;
	bool good;
	const char *words;
} http_cases[] = {
	{"right", ANSWER, OK, {.path = "/healthz"}, true, "http 200"},
	{"head", ANSWER, "HTTP/1.1 204 x\r\n\r\n", {.method = POISE_METHOD_HEAD}, true, "http 204"},
	{"error",
	 ANSWER,
	 "HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n",
	 {0},
	 false,
	 "http 503, wanted 200-399"},
	{"redirect refused",
	 ANSWER,
	 "HTTP/1.1 302 x\r\nLocation: http://127.0.0.9/\r\n\r\n",
	 {.status = "200"},
	 false,
	 "http 302, wanted 200"},
	{"redirect not followed",
	 ANSWER,
	 "HTTP/1.1 302 x\r\nLocation: /\r\n\r\n",
	 {0},
	 true,
	 "http 302"},
	{"body", ANSWER, OK, {.body = "is well"}, true, "http 200"},
	{"wrong body",
	 ANSWER,
	 OK,
	 {.body = "is sick"},
	 false,
	 "http 200, but not with the body wanted"},
	{"regex", ANSWER, OK, {.regex = "^all (is|was) well$"}, true, "http 200"},
	{"wrong regex",
	 ANSWER,
	 OK,
	 {.regex = "^well"},
	 false,
	 "http 200, but not with the body wanted"},
	{"silent", SILENCE, "", {0}, false, "answer: timed out after 400ms"},
	{"dribbles", DRIBBLE, OK, {0}, false, "answer: timed out after 400ms"},
	{"reset", RESET, "", {0}, false, "connection broke off"},
	{"closed", ANSWER, "", {0}, false, "closed without an answer"},
	{"HTTP/0.9", ANSWER, "all is well\n", {0}, false, "the answer is no HTTP"},
	{"garbage", ANSWER, "\1\2\3\377", {0}, false, "the answer is no HTTP"},
	{"endless headers",
	 FOREVER,
	 "HTTP/1.1 200 OK\r\n|X-Y: 0123456789012345678901234567890\r\n",
	 {0},
	 false,
	 "more than 65536 bytes of headers"},
	{"endless body",
	 FOREVER,
	 "HTTP/1.1 200 OK\r\n\r\n|0123456789012345678901234567890123456789\n",
	 {.body = "not in there"},
	 false,
	 "http 200, but not with the body wanted"},
	{"endless body, status alone",
	 FOREVER,
	 "HTTP/1.1 200 OK\r\n\r\n|0123456789012345678901234567890123456789\n",
	 {0},
	 true,
	 "http 200"},
};
#define HTTP_CASES (sizeof(http_cases) / sizeof(http_cases[0]))

Test(health_probe, http)
{
	for (size_t f = 0; f < 2; f++) {
		struct server servers[HTTP_CASES];
		size_t first = begun = ended = 0;

		for (size_t n = 0; n < HTTP_CASES; n++) {
			servers[n] = (struct server){.manner = http_cases[n].manner,
						     .answer = http_cases[n].answer};
			serve_tcp(&servers[n], families[f]);
			ask(POISE_CHECK_HTTP, families[f], servers[n].port, &http_cases[n].conf);
		}
		run();
		for (size_t n = 0; n < HTTP_CASES; n++) {
			cr_expect_str_eq(results[first + n].words, http_cases[n].words, "%s: %s",
					 http_cases[n].what, results[first + n].words);
			cr_expect_eq(results[first + n].good, http_cases[n].good, "%s",
				     http_cases[n].what);
			stop(&servers[n]);
		}
	}
}

Test(health_probe, lists_of_statuses)
{
	static const char *const wrong[] = {"",	      "20",	  "2000",    "200-",	"-200",
					    "200,",   "300-200",  "99",	     "600",	"200 - 299",
					    "200,,1", "200-1000", "two 200", "200-299x"};

	cr_assert(status_wanted("200-299,404", 200));
	cr_assert(status_wanted("200-299,404", 299));
	cr_assert(status_wanted("200-299,404", 404));
	cr_assert_not(status_wanted("200-299,404", 300));
	cr_assert_not(status_wanted("200-299,404", 199));
	for (size_t n = 0; n < sizeof(wrong) / sizeof(wrong[0]); n++)
		cr_assert_not(status_list_valid(wrong[n]), "%s", wrong[n]);
	cr_assert(status_list_valid("100-599"));
}

/* ---- udp and dns ------------------------------------------------------------------------------*/

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

static void serve_udp(struct server *s, int family)
{
	bind_loopback(s, family, SOCK_DGRAM);
	cr_assert_eq(pthread_create(&s->thread, NULL, echo, s), 0);
}

Test(health_probe, udp)
{
	for (size_t f = 0; f < 2; f++) {
		struct poise_health_conf conf = {.send = "pi\\x6eg\\n", .expect = "ing\\n"};
		struct poise_health_conf other = {.send = "ping", .expect = "pong"};
		struct server echoes[3] = {{0}, {0}, {.manner = SILENCE}}, off = {0};
		size_t first = begun;

		for (size_t n = 0; n < 3; n++)
			serve_udp(&echoes[n], families[f]);
		bind_loopback(&off, families[f], SOCK_DGRAM);
		close(off.fd);
		ask(POISE_CHECK_UDP, families[f], echoes[0].port, &conf);
		ask(POISE_CHECK_UDP, families[f], echoes[1].port, &other);
		ask(POISE_CHECK_UDP, families[f], echoes[2].port, &conf);
		ask(POISE_CHECK_UDP, families[f], off.port, &conf);
		run();
		expect(first, true, "udp answered");
		expect(first + 1, false, "answer of 4 bytes is not what is expected");
		expect(first + 2, false, "answer: timed out after 400ms");
		expect(first + 3, false, "answer: refused");
		for (size_t n = 0; n < 3; n++)
			stop(&echoes[n]);
	}
}

/* Flags and counts of an answer: bytes 2 to 7. */
#define DNS_GOOD     "\x81\x80\0\1\0\1"
#define DNS_NXDOMAIN "\x81\x83\0\1\0\0"
#define DNS_NONE     "\x81\x80\0\1\0\0"
#define DNS_QUERY    "\x01\x00\0\1\0\0" /* no answer at all */

Test(health_probe, dns)
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
		size_t first = begun;

		for (size_t n = 0; n < count; n++) {
			struct poise_health_conf conf = {.query_type = POISE_QUERY_A};

			strcpy(conf.query, cases[n].name);
			servers[n] = (struct server){.answer = cases[n].answer};
			serve_udp(&servers[n], families[f]);
			ask(POISE_CHECK_DNS, families[f], servers[n].port, &conf);
		}
		run();
		for (size_t n = 0; n < count; n++) {
			expect(first + n, cases[n].good, cases[n].words);
			stop(&servers[n]);
		}
	}
}

/* ---- icmp -------------------------------------------------------------------------------------*/

Test(health_probe, icmp)
{
	for (size_t f = 0; f < 2; f++) {
		size_t n = ask(POISE_CHECK_ICMP, families[f], 0, NULL);

		run();
		/* Whether this group may is the host's to say. */
		if (results[n].good)
			expect(n, true, "echo answered");
		else
			expect(n, false,
			       "ping socket: not permitted; set net.ipv4.ping_group_range");
	}
}

/* ---- exec -------------------------------------------------------------------------------------*/

static const struct exec_case {
	const char *command;
	bool good;
	const char *words;
} exec_cases[] = {
	{"true", true, "exec 0"},
	{"false", false, "exec 1"},
	{"echo all is 'well  \"now\"' now", true, "exec 0: all is well  \"now\" now"},
	{"sh -c 'echo no > /dev/stderr; exit 3'", false, "exec 3: no"},
	{"sh -c 'kill -9 $$'", false, "exec killed by signal 9"},
	{"printenv POISE_ADDRESS POISE_PORT", true, "exec 0: 127.0.0.1"},
	{"grep -c . /proc/self/environ", true, "exec 0: 3"},
	{"grep CapEff: /proc/self/status", true, "exec 0: CapEff:?0000000000000000"},
	{"grep CapPrm: /proc/self/status", true, "exec 0: CapPrm:?0000000000000000"},
	{"sh -c 'ls /proc/self/fd | wc -l'", true, "exec 0: 4"},
	{"sleep 10", false, "exec: timed out after 400ms"},
	{"sh -c 'sleep 10 & sleep 10; true'", false, "exec: timed out after 400ms"},
	{"/nonexistent/poise", false, "exec 127: /nonexistent/poise: No such file or directory"},
	{"sh -c 'unended", false, "exec: Invalid argument"},
	{"", false, "exec: Invalid argument"},
};
#define EXEC_CASES (sizeof(exec_cases) / sizeof(exec_cases[0]))

Test(health_probe, exec)
{
	for (size_t n = 0; n < EXEC_CASES; n++) {
		struct poise_health_conf conf = {0};

		strcpy(conf.command, exec_cases[n].command);
		ask(POISE_CHECK_EXEC, AF_INET, 80, &conf);
	}
	run();
	for (size_t n = 0; n < EXEC_CASES; n++)
		expect(n, exec_cases[n].good, exec_cases[n].words);
}

/* Twice as many as may run at once, each longer than half its time-out: who waits has lost
 * nothing. */
Test(health_probe, commands_wait_for_their_turn)
{
	for (int n = 0; n < 32; n++) {
		struct poise_health_conf conf = {.command = "sleep 0.25"};

		ask(POISE_CHECK_EXEC, AF_INET, 80, &conf);
	}
	run();
	for (size_t n = 0; n < 32; n++)
		expect(n, true, "exec 0");
}

/* ---- cancelled --------------------------------------------------------------------------------*/

Test(health_probe, cancelled_probes_leave_nothing)
{
	struct server silent = {.manner = SILENCE};
	static const enum poise_check types[] = {POISE_CHECK_TCP, POISE_CHECK_HTTP,
						 POISE_CHECK_UDP};

	serve_tcp(&silent, AF_INET);
	for (size_t n = 0; n < sizeof(types) / sizeof(types[0]); n++) {
		struct poise_health_conf conf = {.type = types[n], .timeout = TIMEOUT_MS};
		struct probe_want want = {.port = silent.port, .conf = &conf};

		poise_parse_addr("127.0.0.1", &want.addr, NULL);
		for (int turns = 0; turns < 3; turns++) {
			struct probe *p = probe_start(prober, &want, on_done, &results[0]);

			for (int t = 0; t < turns; t++)
				uv_run(&loop, UV_RUN_NOWAIT);
			if (!ended)
				probe_cancel(p);
			ended = 0;
			uv_run(&loop, UV_RUN_NOWAIT);
		}
	}
	stop(&silent);
}
