// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What load balancers and the kubelet are answered, as text and over loopback: who has local
 * endpoints, who hangs, who was never ready; ports that come, change, go, and are somebody else's.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loader/kube/healthport.h"
#include "loader/kube/json.h"
#include "maps/clock.h"
#include "tests/support/longest.h"

#define NOW    1000000ull /* ms */
#define ANSWER 4096
#define TRIES  600 /* of 50 ms: a port opens and closes in a thread of its own */

TestSuite(kube_health, .timeout = TEST_LONGEST);

/* ---- replies ----------------------------------------------------------------------------------*/

static __u64 loop;

static struct kube_signs well(void)
{
	loop = NOW * NS_PER_MS;
	return (struct kube_signs){.loop = &loop, .thread = NOW, .ready = true};
}

static struct kube_reply of_port(size_t local, const struct kube_signs *s)
{
	struct kube_health_port port = {.ns = "shop", .name = "web", .port = 30123, .local = local};
	struct kube_reply r;

	kube_health_reply_port(&r, &port, s, NOW);
	return r;
}

Test(kube_health, a_port_says_how_many_endpoints_are_here)
{
	struct kube_signs s = well();
	struct kube_reply r = of_port(3, &s);

	cr_assert_eq(r.status, 200);
	cr_assert_str_eq(r.type, "application/json");
	cr_assert_str_eq(r.body, "{\"service\":{\"namespace\":\"shop\",\"name\":\"web\"},"
				 "\"localEndpoints\":3,\"serviceProxyHealthy\":true}");
	r = of_port(0, &s);
	cr_assert_eq(r.status, 503);
	cr_assert(strstr(r.body, "\"localEndpoints\":0,\"serviceProxyHealthy\":true"), "%s",
		  r.body);
}

Test(kube_health, a_port_says_503_while_poised_is_not_well)
{
	struct kube_signs s = well();

	s.thread = NOW - KUBE_THREAD_MS - 1;
	cr_assert_eq(of_port(3, &s).status, 503);
	cr_assert(
		strstr(of_port(3, &s).body, "\"localEndpoints\":3,\"serviceProxyHealthy\":false"));
	s = well();
	s.ready = false;
	cr_assert_eq(of_port(3, &s).status, 503);
	s = well();
	loop = (NOW - KUBE_LOOP_MS - 1) * NS_PER_MS;
	cr_assert_eq(of_port(3, &s).status, 503);
}

Test(kube_health, probes)
{
	static const struct {
		const char *path;
		__u64 loop_ago, thread_ago;
		bool ready;
		unsigned int status;
		const char *body;
	} cases[] = {
		{"/livez", 0, 0, true, 200, "ok\n"},
		{"/readyz", 0, 0, true, 200, "ok\n"},
		{"/livez", 0, 0, false, 200, "ok\n"},
		{"/readyz", 0, 0, false, 503, "not yet known"},
		{"/livez", KUBE_LOOP_MS, KUBE_THREAD_MS, true, 200, "ok\n"},
		{"/livez", KUBE_LOOP_MS + 1, 0, true, 503, "the loop"},
		{"/readyz", KUBE_LOOP_MS + 1, 0, true, 503, "the loop"},
		{"/livez", 0, KUBE_THREAD_MS + 1, true, 503, "the thread"},
		{"/readyz", 0, KUBE_THREAD_MS + 1, true, 503, "the thread"},
		{"/", 0, 0, true, 404, "/livez"},
		{"/livez/", 0, 0, true, 404, "/livez"},
	};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct kube_signs s = well();
		struct kube_reply r;

		loop = (NOW - cases[k].loop_ago) * NS_PER_MS;
		s.thread = NOW - cases[k].thread_ago;
		s.ready = cases[k].ready;
		kube_health_reply_probe(&r, cases[k].path, &s, NOW);
		cr_assert_eq(r.status, cases[k].status, "case %zu: %u", k, r.status);
		cr_assert(strstr(r.body, cases[k].body), "case %zu: %s", k, r.body);
	}
}

Test(kube_health, a_sign_of_life_of_just_now_is_none_of_long_ago)
{
	struct kube_signs s = well();
	struct kube_reply r;

	loop = (NOW + 5) * NS_PER_MS; /* stored after the time was read */
	s.thread = NOW + 5;
	kube_health_reply_probe(&r, "/livez", &s, NOW);
	cr_assert_eq(r.status, 200);
}

/* ---- served -----------------------------------------------------------------------------------*/

static int reach(int family, __u16 port)
{
	struct sockaddr_in four = {.sin_family = AF_INET,
				   .sin_port = htons(port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6,
				   .sin6_port = htons(port),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = family == AF_INET ? connect(fd, (struct sockaddr *)&four, sizeof(four))
				   : connect(fd, (struct sockaddr *)&six, sizeof(six));

	if (!rc)
		return fd;
	close(fd);
	return -1;
}

/* The whole answer, or NULL: nobody listens. */
static const char *ask(int family, __u16 port, const char *request)
{
	static char answer[ANSWER];
	int fd = reach(family, port);
	size_t length = 0;
	ssize_t got;

	if (fd < 0)
		return NULL;
	(void)!send(fd, request, strlen(request), MSG_NOSIGNAL); /* it may have been refused */
	while ((got = read(fd, answer + length, sizeof(answer) - 1 - length)) > 0)
		length += (size_t)got;
	answer[length] = '\0';
	close(fd);
	return answer;
}

static const char *get(__u16 port, const char *path)
{
	char request[256];

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
	return ask(AF_INET, port, request);
}

/* A port that nobody has just now. */
static __u16 free_port(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t length = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(bind(fd, (struct sockaddr *)&at, length), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&at, &length), 0);
	close(fd);
	return ntohs(at.sin_port);
}

static struct kube_health *served(void)
{
	struct poise_error err = {0};
	struct kube_health *h = kube_health_open("127.0.0.1", NULL, &err);

	cr_assert(h, "%s", err.message);
	return h;
}

Test(kube_health, the_kubelet_is_answered)
{
	struct kube_health *h = served();
	const char *a = get(kube_health_bound(h), "/readyz");

	cr_assert(a && strstr(a, "HTTP/1.1 503 "), "%s", a);
	kube_health_beat(h, true);
	a = get(kube_health_bound(h), "/readyz");
	cr_assert(strstr(a, "HTTP/1.1 200 ") && strstr(a, "\r\n\r\nok\n"), "%s", a);
	a = get(kube_health_bound(h), "/livez");
	cr_assert(strstr(a, "HTTP/1.1 200 "), "%s", a);
	kube_health_close(h);
}

Test(kube_health, load_balancers_are_answered_on_each_port_and_family)
{
	struct kube_health *h = served();
	struct kube_health_port port[] = {{"shop", "api", free_port(), 0},
					  {"shop", "web", free_port(), 2}};
	const char *a;
	int six;

	kube_health_beat(h, true);
	kube_health_ports(h, port, 2);
	a = get(port[0].port, "/healthz");
	cr_assert(a && strstr(a, "HTTP/1.1 503 ") && strstr(a, "\"name\":\"api\""), "%s", a);
	a = get(port[1].port, "/");
	cr_assert(strstr(a, "HTTP/1.1 200 ") && strstr(a, "\"localEndpoints\":2"), "%s", a);
	cr_assert(strstr(a, "X-Content-Type-Options: nosniff\r\n"), "%s", a);
	cr_assert(strstr(a, "Content-Type: application/json\r\n"), "%s", a);
	a = ask(AF_INET, port[1].port, "HEAD / HTTP/1.0\r\n\r\n");
	cr_assert(strstr(a, " 200 ") && !strstr(a, "localEndpoints"), "%s", a);
	a = ask(AF_INET, port[1].port,
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd");
	cr_assert(strstr(a, " 405 "), "%s", a);
	six = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	a = six < 0 ? "HTTP/1.1 200 " : ask(AF_INET6, port[1].port, "GET / HTTP/1.0\r\n\r\n");
	close(six);
	cr_assert(a && strstr(a, " 200 "), "%s", a);
	kube_health_close(h);
	cr_assert_null(get(port[1].port, "/"));
}

Test(kube_health, ports_change_and_go)
{
	struct kube_health *h = served();
	struct kube_health_port port[] = {{"shop", "api", free_port(), 1},
					  {"shop", "web", free_port(), 1}};
	__u16 gone = port[0].port;
	const char *a;

	kube_health_beat(h, true);
	kube_health_ports(h, port, 2);
	cr_assert(strstr(get(port[1].port, "/"), " 200 "));
	port[1].local = 0;
	kube_health_ports(h, &port[1], 1);
	cr_assert(strstr(get(port[1].port, "/"), " 503 "));
	cr_assert_null(get(gone, "/"));
	/* a port that was one's is another's in the same moment */
	port[0].port = port[1].port;
	kube_health_ports(h, port, 1);
	a = get(port[0].port, "/");
	cr_assert(a && strstr(a, "\"name\":\"api\"") && strstr(a, " 200 "), "%s", a);
	kube_health_ports(h, NULL, 0);
	cr_assert_null(get(port[0].port, "/"));
	kube_health_close(h);
}

Test(kube_health, a_port_that_somebody_has_is_served_when_he_has_gone)
{
	struct kube_health *h = served();
	struct kube_health_port port = {"shop", "web", 0, 1};
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t length = sizeof(at);
	int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const char *a;

	cr_assert_eq(bind(other, (struct sockaddr *)&at, length), 0);
	cr_assert_eq(listen(other, 1), 0);
	cr_assert_eq(getsockname(other, (struct sockaddr *)&at, &length), 0);
	port.port = ntohs(at.sin_port);
	kube_health_beat(h, true);
	kube_health_ports(h, &port, 1);
	close(other);
	for (int tries = 0; !(a = get(port.port, "/")); tries++) {
		cr_assert_lt(tries, TRIES);
		usleep(50000);
	}
	cr_assert(strstr(a, " 200 "), "%s", a);
	kube_health_close(h);
}

Test(kube_health, who_holds_connections_does_not_keep_the_kubelet_out)
{
	enum { HELD = 200 };
	struct kube_health *h = served();
	struct kube_health_port port = {"shop", "web", free_port(), 1};
	int held[HELD];
	const char *a;

	kube_health_beat(h, true);
	kube_health_ports(h, &port, 1);
	for (int k = 0; k < HELD; k++) {
		held[k] = reach(AF_INET, port.port);
		if (held[k] >= 0)
			(void)!send(held[k], "GET / HT", 8, MSG_NOSIGNAL);
	}
	a = get(kube_health_bound(h), "/livez");
	cr_assert(a && strstr(a, " 200 "), "%s", a);
	for (int k = 0; k < HELD; k++)
		close(held[k]);
	/* and they are not counted for ever */
	for (int tries = 0; !(a = get(port.port, "/")) || !strstr(a, " 200 "); tries++) {
		cr_assert_lt(tries, TRIES);
		usleep(50000);
	}
	kube_health_close(h);
}

Test(kube_health, nonsense_does_no_harm)
{
	struct kube_health *h = served();
	char request[8192];

	kube_health_beat(h, true);
	memset(request, 'x', sizeof(request));
	request[sizeof(request) - 1] = '\0';
	ask(AF_INET, kube_health_bound(h), request);
	ask(AF_INET, kube_health_bound(h), "\x16\x03\x01\x02\x01\r\n\r\n");
	ask(AF_INET, kube_health_bound(h), "GET /livez\r\n\r\n");
	cr_assert(strstr(get(kube_health_bound(h), "/livez"), " 200 "));
	kube_health_close(h);
}

Test(kube_health, an_address_that_is_not_ours_is_refused)
{
	struct poise_error err = {0};

	cr_assert_null(kube_health_open("192.0.2.1:9254", NULL, &err));
	cr_assert(strstr(err.message, "cannot listen on 192.0.2.1:9254"), "%s", err.message);
	cr_assert_null(kube_health_open("localhost:9254", NULL, &err));
}
