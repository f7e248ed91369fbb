// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The load generator's parts without a network: when requests are due, how long a server takes,
 * what an answer is taken for, whom a promise was kept to.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/load/answer.h"
#include "bench/load/duration.h"
#include "bench/load/report.h"
#include "bench/load/schedule.h"
#include "bench/load/service.h"

#define MS  1000000ull
#define SEC 1000000000ull

/* ---- the schedule -----------------------------------------------------------------------------*/

Test(bench_load, a_uniform_schedule_keeps_its_rate_and_clients_take_turns)
{
	struct schedule s;

	cr_assert(schedule_open(&s, 7, 3000, false, 1));
	for (uint32_t k = 0; k < 100000; k++) {
		uint64_t want = (uint64_t)llrint(k * 1e9 / 3000);

		cr_assert(schedule_due(&s) == want, "request %u is due at %lu, not %lu", k,
			  (unsigned long)schedule_due(&s), (unsigned long)want);
		cr_assert(schedule_take(&s) == k % 7, "request %u is another's", k);
	}
	schedule_close(&s);
}

Test(bench_load, poisson_gaps_are_exponential_and_the_same_from_the_same_seed)
{
	enum { N = 50000 };
	struct schedule s, same, other;
	uint64_t last = 0, longer = 0, differ = 0, of_client[3] = {};

	cr_assert(schedule_open(&s, 3, 1000, true, 5));
	cr_assert(schedule_open(&same, 3, 1000, true, 5));
	cr_assert(schedule_open(&other, 3, 1000, true, 6));
	for (int k = 0; k < N; k++) {
		uint64_t due = schedule_due(&s);

		cr_assert(due >= last, "time goes back");
		longer += due - last > MS; /* than the mean */
		last = due;
		cr_assert(schedule_due(&same) == due);
		differ += schedule_due(&other) != due;
		of_client[schedule_take(&s)]++;
		schedule_take(&same);
		schedule_take(&other);
	}
	/* each bound is five deviations: a gap is longer than the mean in 1/e of all */
	cr_assert(fabs((double)last / N / MS - 1) < 5 / sqrt(N));
	cr_assert(fabs((double)longer / N - exp(-1)) < 5 * sqrt(0.37 * 0.63 / N));
	for (int c = 0; c < 3; c++)
		cr_assert(fabs((double)of_client[c] - N / 3.0) < 5 * sqrt(N / 3.0));
	cr_assert(differ > N / 2);
	schedule_close(&s);
	schedule_close(&same);
	schedule_close(&other);
}

/* ---- a server's time --------------------------------------------------------------------------*/

Test(bench_load, a_delay_is_each_questions_own)
{
	struct service s = {.delay = 5 * MS, .speed = 1};

	cr_assert(service_take(&s, 100) == 100 + 5 * MS);
	cr_assert(service_take(&s, 101) == 101 + 5 * MS);
}

Test(bench_load, workers_take_one_question_each_and_half_the_speed_is_twice_as_long)
{
	struct service s = {.work = 2 * MS, .delay = 1, .speed = 0.5, .workers = 2};

	cr_assert(service_take(&s, 0) == 4 * MS + 1);
	cr_assert(service_take(&s, 10) == 4 * MS + 11);
	/* both are busy: it waits for the first of them, then for the second */
	cr_assert(service_take(&s, 20) == 8 * MS + 1);
	cr_assert(service_take(&s, 30) == 8 * MS + 11);
	cr_assert(service_take(&s, SEC) == SEC + 4 * MS + 1);
}

Test(bench_load, a_stall_ends_its_period)
{
	struct service s = {.stall = SEC / 2, .stall_period = 5 * SEC, .speed = 1}, none = {};

	cr_assert(service_stalls_until(&s, 0) == 0);
	cr_assert(service_stalls_until(&s, 45 * SEC / 10 - 1) == 0);
	cr_assert(service_stalls_until(&s, 45 * SEC / 10) == 5 * SEC);
	cr_assert(service_stalls_until(&s, 5 * SEC - 1) == 5 * SEC);
	cr_assert(service_stalls_until(&s, 5 * SEC) == 0);
	cr_assert(service_stalls_until(&s, 97 * SEC / 10) == 10 * SEC);
	cr_assert(service_stalls_until(&none, 97 * SEC / 10) == 0);
}

/* ---- answers ----------------------------------------------------------------------------------*/

static const struct wire asked = {
	.magic = WIRE_MAGIC, .question_bytes = 100, .answer_bytes = 60, .group = 3, .id = 9};

static struct answer answered(const char *name, struct wire wire, size_t bytes)
{
	struct answer a = {.got = strlen(name) + bytes};

	strcpy(a.head, name);
	memcpy(a.head + strlen(name), &wire, sizeof(wire));
	return a;
}

Test(bench_load, an_answer_is_whole_right_and_from_somebody)
{
	struct answer a = answered("b1 ", asked, 60);
	const char *who = NULL;

	cr_assert(answer_is_whole(&a, &asked));
	cr_assert(answer_wire(&a, &asked, &who) == FAULT_NONE);
	cr_assert_str_eq(who, "b1");
	a = answered("b1 ", asked, 59);
	cr_assert(!answer_is_whole(&a, &asked));
	a = answered("b1 ", asked, 61);
	cr_assert(answer_wire(&a, &asked, &who) == FAULT_WRONG_ANSWER, "it is too long");
	a = answered(" ", asked, 60);
	cr_assert(answer_wire(&a, &asked, &who) == FAULT_WRONG_ANSWER, "nobody's");
	a = answered("a-name-longer-than-any-server-may-have ", asked, 60);
	cr_assert(answer_is_whole(&a, &asked), "more would not help");
	cr_assert(answer_wire(&a, &asked, &who) == FAULT_WRONG_ANSWER);
}

Test(bench_load, an_answer_to_another_question_or_of_another_group_is_not_taken)
{
	struct wire wire = asked;
	struct answer a;
	const char *who = NULL;

	wire.id++;
	a = answered("b1 ", wire, 60);
	cr_assert(answer_wire(&a, &asked, &who) == FAULT_WRONG_ANSWER);
	wire = asked;
	wire.group = 4;
	a = answered("b2 ", wire, 60);
	cr_assert(answer_wire(&a, &asked, &who) == FAULT_MISDIRECTED);
	cr_assert_str_eq(who, "b2");
}

Test(bench_load, http_answers_name_the_server_in_their_first_word)
{
	static const struct {
		const char *text;
		enum fault fault;
		int status;
	} rows[] = {
		{"HTTP/1.1 200 OK\r\nX: y\r\n\r\nb1\n", FAULT_NONE, 200},
		{"HTTP/1.1 200 OK\r\n\r\n", FAULT_NO_NAME, 200},
		{"HTTP/1.1 503 No\r\n\r\nb1\n", FAULT_STATUS, 503},
		{"HTTP/1.1 200 OK\r\nX: y", FAULT_CUT_SHORT, 200},
		{"220 mail\r\n", FAULT_CUT_SHORT, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct answer a = {.got = strlen(rows[i].text)};
		const char *who = NULL;
		int status = 0;
		enum fault fault;

		strcpy(a.head, rows[i].text);
		fault = answer_http(&a, &who, &status);
		cr_assert(fault == rows[i].fault && status == rows[i].status, "%s: %s, %d",
			  rows[i].text, fault_word(fault), status);
		cr_assert(fault != FAULT_NONE || !strcmp(who, "b1"));
	}
}

/* ---- whom a promise was kept to ---------------------------------------------------------------*/

static struct outcomes outcomes = {.status_fd = -1};

static void add(uint32_t client, uint32_t connect, uint32_t total, enum fault fault, int times)
{
	struct outcome one = {
		.client = client, .connect = connect, .total = total, .fault = (uint8_t)fault};

	while (times-- > 0) {
		cr_assert(outcomes_expect(&outcomes, 0));
		outcomes_add(&outcomes, one, 0, fault == FAULT_NONE ? "b1" : NULL);
	}
}

Test(bench_load, each_client_is_judged_by_its_own_figures)
{
	const struct report_promise promise = {.failures = 0.01, .p99 = 5000};
	struct report_clients c;

	cr_assert(outcomes_open(&outcomes, 10));
	add(0, 100, 4000, FAULT_NONE, 200); /* served: its slow ones are not more than one in 100 */
	add(0, 100, 9000, FAULT_NONE, 2);
	add(1, 100, 4000, FAULT_NONE, 95); /* too many slow ones, though few of all */
	add(1, 100, 9000, FAULT_NONE, 5);
	add(2, 100, 4000, FAULT_NONE, 95); /* too many failed */
	add(2, 0, 0, FAULT_RESET, 5);
	add(3, 6000, 6000, FAULT_NONE, 1); /* too slow to connect */
	add(4, 0, 5000, FAULT_NONE, 1);	   /* served, without a connection */
	add(5, 100, 4000, FAULT_NONE, 1000);
	add(5, 100, 100, FAULT_MISDIRECTED, 1); /* not forgiven */
	add(6, 0, 0, FAULT_NO_ANSWER, 1);
	c = report_clients(&outcomes, 9, &promise);
	cr_assert(c.judged == 7 && c.served == 2, "%u of %u", c.served, c.judged);
	cr_assert(c.worst_p99 == 9000);
	outcomes_close(&outcomes);
}

Test(bench_load, figures_are_of_what_was_answered_and_of_no_warm_up)
{
	struct outcome late = {.total = 70000, .lag = 3};
	struct report_times total;

	outcomes.warm_up = 1000;
	cr_assert(outcomes_open(&outcomes, 10));
	cr_assert(outcomes_expect(&outcomes, 999));
	outcomes_add(&outcomes, late, 999, "b1");
	outcomes.warm_up = 0;
	add(0, 0, 10, FAULT_NONE, 3);
	add(0, 0, 90000, FAULT_NO_ANSWER, 1);
	total = report_total(&outcomes);
	cr_assert(total.n == 3 && total.max == 10);
	cr_assert(outcomes.sent == 4 && outcomes.failed == 1 && outcomes.served[0] == 3);
	cr_assert(outcomes.warm_sent == 1 && !outcomes.warm_failed);
	cr_assert(report_lag(&outcomes).n == 4);
	outcomes_close(&outcomes);
}

Test(bench_load, durations_have_units)
{
	const char *end;
	uint64_t ns;

	cr_assert(duration_parse("5ms", "", &ns, NULL) && ns == 5 * MS);
	cr_assert(duration_parse("0.3", "", &ns, NULL) && ns == 300 * MS);
	cr_assert(duration_parse("1.5s", "", &ns, NULL) && ns == 1500 * MS);
	cr_assert(duration_parse("500ms/5s", "/", &ns, &end) && ns == 500 * MS && *end == '/');
	cr_assert(!duration_parse("500ms/5s", "", &ns, NULL));
	cr_assert(!duration_parse("5m", "", &ns, NULL));
	cr_assert(!duration_parse("-5s", "", &ns, NULL));
	cr_assert(!duration_parse("ms", "", &ns, NULL));
}
