// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Requests under way, over loopback: however much comes at once, a turn takes only some of it, what
 * waited to be heard is told as lag, and what is closed late is not heard any more.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/load/ask.h"

#define MANY	 (2 * ASK_TURN + 8)
#define LATE_US	 20000
#define DEADLINE 30000000000ull /* ns: a hang, not a claim */

static const struct timespec at_once = {};
static struct ask ask;
static struct outcomes outcomes;
static int server;

static void open_ask(uint64_t timeout)
{
	struct sockaddr_in at = {.sin_family = AF_INET};

	server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert(server >= 0 && !bind(server, (struct sockaddr *)&at, sizeof(at)));
	ask = (struct ask){
		.question_bytes = sizeof(struct wire), .timeout = timeout, .outcomes = &outcomes};
	outcomes = (struct outcomes){.status_fd = -1};
	ask.target.len = sizeof(ask.target.addr);
	cr_assert(!getsockname(server, (struct sockaddr *)&ask.target.addr, &ask.target.len));
	cr_assert(ask_open(&ask, 1) && outcomes_open(&outcomes, MANY));
	ask.clients[0].kind = ASK_UDP;
	ask.begin = ask.since = wire_now();
}

static void close_ask(void)
{
	ask_close(&ask, 1);
	outcomes_close(&outcomes);
	close(server);
}

static void begin(int n)
{
	while (n-- > 0)
		cr_assert(ask_begin(&ask, 0, 0));
}

static void answer_one(void)
{
	struct pollfd ready = {.fd = server, .events = POLLIN};
	struct endpoint from = {.len = sizeof(from.addr)};
	char text[3 + sizeof(struct wire)] = "b1 ";

	cr_assert(poll(&ready, 1, DEADLINE / 1000000) == 1, "no question came");
	cr_assert(recvfrom(server, text + 3, sizeof(struct wire), 0, (struct sockaddr *)&from.addr,
			   &from.len) == sizeof(struct wire));
	cr_assert(sendto(server, text, sizeof(text), 0, (struct sockaddr *)&from.addr, from.len) ==
		  sizeof(text));
}

static bool asked_more(void)
{
	char byte;

	return recv(server, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

/* Until no more are open, or only what is done with. */
static void run(void)
{
	uint64_t deadline = wire_now() + DEADLINE;

	while ((ask.open || ask.closing) && wire_now() < deadline) {
		size_t before = outcomes.done;

		ask_wait(&ask, at_once);
		cr_assert(outcomes.done - before <= ASK_TURN, "%zu at once",
			  outcomes.done - before);
		while (asked_more())
			answer_one();
	}
}

Test(bench_ask, a_turn_hears_some_of_what_is_there_and_the_next_ones_the_rest)
{
	open_ask(DEADLINE);
	begin(MANY);
	/* Each socket says that it can be written to. */
	ask_wait(&ask, at_once);
	for (int i = 0; i < ASK_TURN; i++)
		answer_one();
	cr_assert(!asked_more());
	run();
	cr_assert(outcomes.done == MANY && !outcomes.failed, "%zu, %zu failed", outcomes.done,
		  outcomes.failed);
	close_ask();
}

Test(bench_ask, what_waits_to_be_heard_is_lag)
{
	open_ask(DEADLINE);
	begin(1);
	ask_wait(&ask, at_once);
	answer_one();
	usleep(LATE_US);
	run();
	cr_assert(outcomes.done == 1 && outcomes.all[0].lag >= LATE_US, "%u", outcomes.all[0].lag);
	close_ask();
}

Test(bench_ask, what_is_done_with_is_closed_in_the_end_and_used_again)
{
	open_ask(DEADLINE);
	for (size_t round = 1; round <= 2; round++) {
		begin(ASK_TURN);
		run();
		cr_assert(outcomes.done == round * ASK_TURN && !outcomes.failed);
		cr_assert(!ask.closing && !ask.to_close && ask.spare_conns);
	}
	close_ask();
}

Test(bench_ask, timeouts_of_one_moment_are_met_some_at_a_time)
{
	open_ask(0);
	begin(MANY);
	for (size_t done = ASK_TURN; done < MANY; done += ASK_TURN) {
		ask_expire(&ask);
		cr_assert(outcomes.done == done && ask.overdue, "%zu", outcomes.done);
	}
	ask_expire(&ask);
	cr_assert(outcomes.done == MANY && outcomes.failed == MANY && !ask.overdue && !ask.open);
	close_ask();
}
