// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Probes as such: the simplest of them, and those that nobody waits for any more.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "maps/text.h"
#include "tests/support/probing.h"

TestSuite(health_probe, .init = probing_begin, .fini = probing_end, .timeout = PROBING_LONGEST);

Test(health_probe, tcp)
{
	for (size_t f = 0; f < 2; f++) {
		struct server up = {.manner = SILENCE}, off = {0};
		size_t good, refused;

		server_tcp(&up, probing_families[f]);
		server_bind(&off, probing_families[f], SOCK_STREAM); /* nobody listens */
		good = probing_ask(POISE_CHECK_TCP, probing_families[f], up.port, NULL);
		refused = probing_ask(POISE_CHECK_TCP, probing_families[f], off.port, NULL);
		probing_run();
		probing_expect(good, true, "tcp connected");
		probing_expect(refused, false, "connect: refused");
		cr_assert_gt(probing_result(good)->us, 0);
		server_stop(&up);
		close(off.fd);
	}
}

static void *answer_late(void *arg)
{
	struct server *s = arg;
	struct sockaddr_storage from;
	socklen_t size = sizeof(from);
	char in[64];
	ssize_t got = recvfrom(s->fd, in, sizeof(in), 0, (struct sockaddr *)&from, &size);

	usleep(20000);
	if (got > 0)
		sendto(s->fd, in, (size_t)got, 0, (struct sockaddr *)&from, size);
	return NULL;
}

/* The machine holds us up for longer than the time-out, and the answer is there when we go on. */
Test(health_probe, an_answer_that_waited_for_us_counts)
{
	struct poise_health_conf conf = {.timeout = 150, .send = "ping"};

	for (size_t f = 0; f < 2; f++) {
		struct server late = {0};
		size_t n;

		server_udp(&late, probing_families[f], answer_late);
		n = probing_ask(POISE_CHECK_UDP, probing_families[f], late.port, &conf);
		uv_run(&probing_loop, UV_RUN_NOWAIT);
		pthread_join(late.thread, NULL);
		usleep(1000 * conf.timeout);
		probing_run();
		probing_expect(n, true, "udp answered");
		close(late.fd);
	}
}

static void on_done(void *ctx, const struct probe_result *result)
{
	(void)result;
	*(bool *)ctx = true;
}

/* However far it has come. */
static void check_cancelled(enum poise_check type, __u16 port)
{
	struct poise_health_conf conf = {.type = type, .timeout = PROBING_TIMEOUT};
	struct probe_want want = {.port = port, .conf = &conf};

	poise_parse_addr("127.0.0.1", &want.addr, NULL);
	for (int turns = 0; turns < 3; turns++) {
		bool ended = false;
		struct probe *p = probe_start(probing_prober, &want, on_done, &ended);

		for (int t = 0; t < turns; t++)
			uv_run(&probing_loop, UV_RUN_NOWAIT);
		if (!ended)
			probe_cancel(p);
		uv_run(&probing_loop, UV_RUN_NOWAIT);
	}
}

Test(health_probe, cancelled_probes_leave_nothing)
{
	struct server silent = {.manner = SILENCE};
	static const enum poise_check types[] = {POISE_CHECK_TCP, POISE_CHECK_HTTP,
						 POISE_CHECK_UDP};

	server_tcp(&silent, AF_INET);
	for (size_t n = 0; n < sizeof(types) / sizeof(types[0]); n++)
		check_cancelled(types[n], silent.port);
	server_stop(&silent);
}
