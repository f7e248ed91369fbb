// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The load generator and its server against each other, without a balancer: what is slow looks
 * slow, what fails is counted, and both agree. Times are only ever compared with what a server
 * slept.
 */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/lab.h"

#define ECHOD  "10.0.0.1:7000"
#define ECHOD6 "[2001:db8:5::1]:7000"

TestSuite(load, .timeout = TEST_LONGEST);

static struct lab lab;

static void setup(void)
{
	lab_up(&lab, "--backends 1");
}

static void teardown(void)
{
	lab_down(&lab);
}

/* A load from c1 to echo; what its JSON says. */
static __attribute__((format(printf, 2, 3))) struct json_object *load(int want, const char *fmt,
								      ...)
{
	struct json_object *said;
	char options[512];
	const char *out;
	va_list ap;
	int status;

	va_start(ap, fmt);
	vsnprintf(options, sizeof(options), fmt, ap);
	va_end(ap);
	status = lab_run(&lab, "c1", &out, "load %s --json - 2>/dev/null", options);
	cr_assert(status == want, "load %s: status %d, not %d: %s", options, status, want, out);
	said = json_tokener_parse(out);
	cr_assert(said, "not JSON: %s", out);
	return said;
}

/* A number of it, by a path of at most two keys; -1: not there. */
static int64_t number(struct json_object *said, const char *key, const char *below)
{
	struct json_object *at = NULL;

	if (!json_object_object_get_ex(said, key, &at) ||
	    (below && !json_object_object_get_ex(at, below, &at)))
		return -1;
	return json_object_get_int64(at);
}

static void all_answered(struct json_object *said, int64_t count)
{
	cr_assert(number(said, "sent", NULL) == count && number(said, "succeeded", NULL) == count &&
			  number(said, "served_by", "b1") == count,
		  "%s", json_object_to_json_string(said));
	json_object_put(said);
}

Test(load, every_kind_is_answered_whatever_its_size, .init = setup, .fini = teardown)
{
	static const char *const kinds[] = {"tcp", "kept", "udp", "tcp:2,kept:1,udp:1"};

	lab_serve(&lab, "b1", "echod b1 " ECHOD " " ECHOD6);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		all_answered(load(0, "%s " ECHOD " --clients 8 --rate 1000 --count 200 --poisson",
				  kinds[k]),
			     200);
	all_answered(load(0, "tcp:1,kept:1,udp:1 " ECHOD6 " --clients 3 --count 30"), 30);
	all_answered(load(0, "tcp " ECHOD " --count 20 --question 200000 --answer 300000"), 20);
	all_answered(load(0, "kept " ECHOD " --count 20 --question 200000 --answer 300000"), 20);
	all_answered(load(0, "udp " ECHOD " --count 20 --question 60000 --answer 40"), 20);
}

Test(load, kept_connections_are_as_many_as_clients, .init = setup, .fini = teardown)
{
	struct json_object *said;

	lab_serve(&lab, "b1", "echod b1 " ECHOD " --delay 1ms");
	said = load(0, "kept " ECHOD " --clients 5 --rate 1000 --count 300");
	cr_assert(number(said, "connect_us", "count") == 5);
	all_answered(said, 300);
	said = load(0, "tcp " ECHOD " --clients 5 --rate 1000 --count 300");
	cr_assert(number(said, "connect_us", "count") == 300);
	all_answered(said, 300);
}

/* Who closes first rests in TIME_WAIT. A server closes with its last byte, but the client that has
 * it may end before it hears of that. */
Test(load, the_server_closes_first_or_the_client_if_told, .init = setup, .fini = teardown)
{
	static const char rests[] = "ss -Htn state time-wait | wc -l";

	lab_serve(&lab, "b1", "echod b1 " ECHOD);
	all_answered(load(0, "tcp " ECHOD " --rate 1000 --count 40 --client-closes"), 40);
	lab_until(&lab, "c1", LAB_SOON, "test $(%s) = 40", rests);
	lab_must(&lab, "b1", "test $(%s) = 0", rests);
	all_answered(load(0, "tcp " ECHOD " --rate 100 --count 40"), 40);
	lab_until(&lab, "b1", LAB_SOON, "test $(%s) -gt 20", rests);
}

/* The server's side of the connections says where they came from. */
Test(load, clients_ask_from_the_addresses_they_are_given, .init = setup, .fini = teardown)
{
	pid_t client;

	lab_must(&lab, "c1", "ip address add 198.51.100.11/24 dev eth0");
	lab_serve(&lab, "b1", "echod b1 " ECHOD);
	client = lab_start(&lab, "c1",
			   "load kept " ECHOD " --clients 6 --rate 100 --from "
			   "198.51.100.1:0,198.51.100.11:0");
	lab_until(&lab, "b1", LAB_SOON, "test $(ss -Htn dst 198.51.100.1 | wc -l) = 3");
	lab_until(&lab, "b1", LAB_SOON, "test $(ss -Htn dst 198.51.100.11 | wc -l) = 3");
	lab_stop(client, SIGTERM);
}

/* The one that waits is the request, not the schedule: it counts from when it was due. */
Test(load, a_stall_shows_in_every_request_due_meanwhile, .init = setup, .fini = teardown)
{
	static const char *const kinds[] = {"tcp", "kept", "udp"};

	lab_serve(&lab, "b1", "echod b1 " ECHOD " --stall 300ms/600ms");
	for (int k = 0; k < 3; k++) {
		struct json_object *said =
			load(0, "%s " ECHOD " --rate 300 --seconds 1.2", kinds[k]);

		/* half of them are due in a stall, and wait 150 ms on average */
		cr_assert(number(said, "total_us", "p90") >= 200000, "%s",
			  json_object_to_json_string(said));
		cr_assert(number(said, "total_us", "max") >= 280000);
		all_answered(said, 360);
	}
}

Test(load, a_slow_question_holds_up_no_other_and_the_server_says_how_long, .init = setup,
     .fini = teardown)
{
	struct json_object *said, *server;
	const char *line;
	int64_t took;
	pid_t pid;

	pid = lab_serve(&lab, "b1", "echod b1 " ECHOD " --delay 50ms");
	/* one after the other they would take 20 s */
	said = load(0, "tcp " ECHOD " --rate 400 --count 400 --timeout 10");
	cr_assert(number(said, "total_us", "p50") >= 50000);
	cr_assert(number(said, "total_us", "p50") < 5000000);
	lab_stop(pid, SIGTERM);
	lab_host(&line, "tail -n 1 %s.b1.0", lab.log);
	server = json_tokener_parse(line);
	cr_assert(server);
	took = number(server, "service_us", "p50");
	cr_assert(took >= 50000 && took <= number(said, "total_us", "p50"), "%ld", (long)took);
	cr_assert(number(server, "answered", NULL) == 400);
	json_object_put(server);
	all_answered(said, 400);
}

Test(load, what_fails_is_counted_by_what_went_wrong, .init = setup, .fini = teardown)
{
	struct json_object *said;

	lab_serve(&lab, "b1", "echod b1 " ECHOD " --group 3");
	lab_serve(&lab, "b1", "echod b1 10.0.0.1:7001 --delay 5s");
	said = load(1, "tcp " ECHOD " --count 10 --group 4");
	cr_assert(number(said, "failed", "misdirected") == 10);
	cr_assert(number(said, "clients_served", NULL) == 0);
	said = load(1, "kept 10.0.0.1:7001 --count 10 --rate 1000 --timeout 1 --clients 10");
	cr_assert(number(said, "failed", "no-answer") == 10, "%s",
		  json_object_to_json_string(said));
	said = load(1, "tcp 10.0.0.1:7002 --count 10");
	cr_assert(number(said, "failed", "refused") == 10);
	said = load(1, "udp 10.0.0.1:7002 --count 3"); /* the kernel answers six at once */
	cr_assert(number(said, "failed", "refused") == 3);
	said = load(1, "tcp 198.51.100.99:7000 --count 3 --rate 1000 --timeout 0.2");
	cr_assert(number(said, "failed", "no-connection") == 3);
	said = load(1, "tcp " ECHOD " --count 3 --from 203.0.113.1:0");
	cr_assert(number(said, "failed", "out-of-ports") == 3);
	/* the generator itself is always some microseconds late, and what is void goes no further
	 */
	said = load(3, "tcp " ECHOD " --group 3 --count 100000 --rate 1000 --lag-limit 1us");
	cr_assert(number(said, "succeeded", NULL) < 100000 && number(said, "void", NULL) == 1);
	lab_must(&lab, "c1", "load tcp; test $? = 2");
	lab_must(&lab, "c1", "load icmp " ECHOD "; test $? = 2");
	lab_must(&lab, "c1", "load udp " ECHOD " --question 900000; test $? = 2");
}

/* A kept connection that breaks fails what is under way; the next request opens another. */
Test(load, kept_connections_come_back, .init = setup, .fini = teardown)
{
	pid_t server = lab_serve(&lab, "b1", "echod b1 " ECHOD " --delay 20ms"), client;

	client = lab_start(&lab, "c1", "load kept " ECHOD " --clients 4 --rate 200 --log /run/log");
	lab_until(&lab, "c1", LAB_SOON, "test -s /run/log");
	lab_stop(server, SIGKILL);
	lab_serve(&lab, "b1", "echod b1 " ECHOD);
	/* more answers over connections of their own than there are clients */
	lab_until(&lab, "c1", LAB_SOON,
		  "test $(awk '$2 > 0 && $5 == \"b1\"' /run/log | wc -l) -gt 4");
	lab_stop(client, SIGTERM);
}
