// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Commands told of events: what they are told, as whom they run, how many at once, and what becomes
 * of those that last, fail, or find the queue full.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/notify.h"
#include "tests/support/longest.h"

#define TRIES 2000 /* of 5 ms: a busy machine */

static struct notify n;
static char dir[] = "/tmp/poise-notify-XXXXXX";

static void up(void)
{
	cr_assert(mkdtemp(dir));
	snprintf(n.instance, sizeof(n.instance), "one");
}

static void down(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	cr_assert_eq(system(command), 0); /* NOLINT(cert-env33-c): a path of ours */
}

TestSuite(notify, .init = up, .fini = down, .timeout = TEST_LONGEST);

static struct poise_event event(void)
{
	struct poise_event e = {
		.number = 7, .at = 1500000000, .generation = 3, .kind = POISE_EVENT_DOWN};

	snprintf(e.service, sizeof(e.service), "web");
	snprintf(e.object, sizeof(e.object), "10.0.0.1");
	snprintf(e.words, sizeof(e.words), "connect: refused; $(reboot)");
	return e;
}

static const char *path(const char *name)
{
	static char buf[128];

	snprintf(buf, sizeof(buf), "%s/%s", dir, name);
	return buf;
}

static bool exists(const char *name)
{
	struct stat st;

	return !stat(path(name), &st);
}

static unsigned int running(void)
{
	unsigned int count = 0;

	for (int k = 0; k < NOTIFY_RUNNING; k++)
		count += n.running[k].pid != 0;
	return count;
}

/* Until nothing runs or waits. */
static void run_all(void)
{
	for (int tries = 0; n.count || running(); tries++) {
		cr_assert_lt(tries, TRIES, "%u wait, %u run", n.count, running());
		notify_tick(&n);
		usleep(5000);
	}
}

static void put(const char *fmt)
{
	struct poise_event e = event();
	char command[POISE_NOTIFY];

	snprintf(command, sizeof(command), fmt,
		 dir); /* NOLINT(clang-diagnostic-format-nonliteral) */
	notify_put(&n, command, &e);
}

static void read_file(const char *name, char *text, size_t size)
{
	FILE *in = fopen(path(name), "re");

	cr_assert_not_null(in, "no %s", name);
	text[fread(text, 1, size - 1, in)] = '\0';
	fclose(in);
}

static void expect(const char *text, const char *line)
{
	cr_expect(strstr(text, line), "no %s in\n%s", line, text);
}

Test(notify, it_is_told_what_happened)
{
	char text[4096];

	put("sh -c 'env > %s/env'");
	run_all();
	read_file("env", text, sizeof(text));
	expect(text, "POISE_EVENT=backend-down\n");
	expect(text, "POISE_STATE=down\n");
	expect(text, "POISE_INSTANCE=one\n");
	expect(text, "POISE_SERVICE=web\n");
	expect(text, "POISE_BACKEND=10.0.0.1\n");
	expect(text, "POISE_REASON=connect: refused; $(reboot)\n");
	expect(text, "POISE_NUMBER=7\n");
	expect(text, "POISE_AT=1970-01-01T00:00:01.500Z\n");
	expect(text, "POISE_TEXT=service \"web\": backend 10.0.0.1 is down: connect: refused; "
		     "$(reboot)\n");
	cr_expect_null(strstr(text, "HOME="), "our own environment is not its business");
	cr_expect_null(strstr(text, "POISE_ADDRESS="), "%s", text);
}

Test(notify, it_has_no_privileges_and_no_descriptors)
{
	int open_here = dup(STDERR_FILENO);
	char text[4096];

	cr_assert_geq(open_here, 3);
	put("sh -c 'grep -E \"CapEff|CapPrm|CapInh|NoNewPrivs\" /proc/self/status > %s/status'");
	put("sh -c 'ls /proc/$$/fd > /dev/null; readlink /proc/$$/fd/* > %1$s/fds'");
	run_all();
	read_file("status", text, sizeof(text));
	expect(text, "CapInh:\t0000000000000000\n");
	expect(text, "CapPrm:\t0000000000000000\n");
	expect(text, "CapEff:\t0000000000000000\n");
	expect(text, "NoNewPrivs:\t1\n");
	read_file("fds", text, sizeof(text));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		cr_expect(!strcmp(line, "/dev/null") || strstr(line, "/fds"), "%s", line);
	close(open_here);
}

Test(notify, so_many_at_once_and_the_others_in_order)
{
	for (int k = 0; k < NOTIFY_RUNNING; k++)
		put("sh -c 'until test -e %1$s/go; do sleep 0.01; done'");
	put("touch %s/fifth");
	for (int k = 0; k < 20; k++) {
		notify_tick(&n);
		usleep(5000);
	}
	cr_assert_eq(running(), NOTIFY_RUNNING);
	cr_assert_eq(n.count, 1);
	cr_assert(!exists("fifth"));
	fclose(fopen(path("go"), "we"));
	run_all();
	cr_assert(exists("fifth"));
}

/* The clock is moved, not waited for. What it started goes too. */
Test(notify, one_that_lasts_is_killed_with_all_it_started)
{
	char text[32];
	pid_t child;

	put("sh -c 'sleep 1000 & echo $! > %1$s/child; mv %1$s/child %1$s/pid; wait'");
	for (int tries = 0; !exists("pid"); tries++) {
		cr_assert_lt(tries, TRIES);
		notify_tick(&n);
		usleep(5000);
	}
	n.running[0].until = 1;
	run_all();
	read_file("pid", text, sizeof(text));
	child = (pid_t)atoi(text); /* NOLINT(cert-err34-c): ours */
	for (int tries = 0; !kill(child, 0); tries++) {
		cr_assert_lt(tries, TRIES, "process %d is left", child);
		usleep(5000);
	}
}

Test(notify, what_cannot_be_run_holds_up_nobody)
{
	put("%s/nothing-there");
	put("false");
	put("touch %s/done");
	run_all();
	cr_assert(exists("done"));
}

Test(notify, a_full_queue_tells_how_many_it_lost)
{
	for (int k = 0; k < NOTIFY_QUEUE + 3; k++)
		put("true");
	cr_assert_eq(n.count, NOTIFY_QUEUE);
	cr_assert_eq(n.lost, 3);
	n.first = NOTIFY_QUEUE - 2;
	n.count = 0;
	put("touch %s/last");
	put("touch %s/of-the-round");
	put("touch %s/first");
	run_all();
	cr_assert(exists("last") && exists("of-the-round") && exists("first"));
	cr_assert_eq(n.lost, 0, "it was told");
}

/* At the end those that wait are run, those that last are not waited for. */
Test(notify, the_last_words)
{
	put("sleep 1000");
	put("touch %s/stopped");
	notify_close(&n);
	cr_assert(exists("stopped"));
}
