/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "probing.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "maps/text.h"

const int probing_families[2] = {AF_INET, AF_INET6};

/* ---- servers ----------------------------------------------------------------------------------*/

void server_bind(struct server *s, int family, int type)
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

static size_t length_of(const struct server *s)
{
	return s->length ? s->length : strlen(s->answer);
}

static void dribble(int fd, const char *text)
{
	for (; *text; text++) {
		if (send(fd, text, 1, MSG_NOSIGNAL) != 1)
			return;
		usleep(50000);
	}
}

static void forever(int fd, const struct server *s)
{
	const char *piece = (const char *)memrchr(s->answer, '|', length_of(s)) + 1;
	size_t head = (size_t)(piece - 1 - s->answer), length = length_of(s) - head - 1;

	send(fd, s->answer, head, MSG_NOSIGNAL);
	while (send(fd, piece, length, MSG_NOSIGNAL) > 0)
		;
}

static void serve_one(const struct server *s, int fd)
{
	const struct linger now = {.l_onoff = 1};
	char asked[2048];

	if (recv(fd, asked, sizeof(asked), 0) <= 0)
		return;
	switch (s->manner) {
	case RESET: setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)); break;
	case ANSWER: send(fd, s->answer, length_of(s), MSG_NOSIGNAL); break;
	case DRIBBLE: dribble(fd, s->answer); break;
	case FOREVER: forever(fd, s); break;
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

void server_tcp(struct server *s, int family)
{
	server_bind(s, family, SOCK_STREAM);
	cr_assert_eq(listen(s->fd, 16), 0);
	cr_assert_eq(pthread_create(&s->thread, NULL, serve, s), 0);
}

void server_udp(struct server *s, int family, void *(*run)(void *))
{
	server_bind(s, family, SOCK_DGRAM);
	cr_assert_eq(pthread_create(&s->thread, NULL, run, s), 0);
}

void server_stop(struct server *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
}

/* ---- probes -----------------------------------------------------------------------------------*/

uv_loop_t probing_loop;
struct prober *probing_prober;

static struct probe_result results[PROBING_MOST];
static struct poise_health_conf confs[PROBING_MOST];
static size_t begun, ended;

void probing_begin(void)
{
	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(uv_loop_init(&probing_loop), 0);
	probing_prober = prober_new(&probing_loop);
	cr_assert(probing_prober);
}

void probing_end(void)
{
	prober_free(probing_prober);
	uv_run(&probing_loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&probing_loop), 0, "handles are left open");
}

static void on_done(void *ctx, const struct probe_result *result)
{
	*(struct probe_result *)ctx = *result;
	ended++;
}

__u32 probing_timeout(const char *words)
{
	return !words || strstr(words, "timed out") ? PROBING_TIMEOUT : PROBING_PATIENT;
}

size_t probing_ask(enum poise_check type, int family, __u16 port,
		   const struct poise_health_conf *like)
{
	struct poise_health_conf *conf = &confs[begun];
	struct probe_want want = {.port = port, .conf = conf};

	cr_assert_lt(begun, PROBING_MOST);
	*conf = like ? *like : (struct poise_health_conf){0};
	conf->type = type;
	conf->timeout = conf->timeout ?: PROBING_PATIENT;
	if (!conf->status[0])
		strcpy(conf->status, "200-399");
	cr_assert_eq(poise_parse_addr(family == AF_INET ? "127.0.0.1" : "::1", &want.addr, NULL),
		     0);
	cr_assert(probe_start(probing_prober, &want, on_done, &results[begun]));
	return begun++;
}

void probing_run(void)
{
	while (ended < begun && uv_run(&probing_loop, UV_RUN_ONCE))
		;
	cr_assert_eq(ended, begun);
	uv_run(&probing_loop, UV_RUN_NOWAIT); /* what has ended is closed in the turn after */
	uv_run(&probing_loop, UV_RUN_NOWAIT);
}

const struct probe_result *probing_result(size_t n)
{
	return &results[n];
}

void probing_expect(size_t n, bool good, const char *words)
{
	cr_assert_str_eq(results[n].words, words);
	cr_assert_eq(results[n].good, good, "%s", words);
}

size_t probing_begun(void)
{
	return begun;
}

void probing_forget(void)
{
	begun = ended = 0;
}
