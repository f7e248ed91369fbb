// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Probes of type exec: what a command says, what it may do, and what becomes of it.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/health/probe_priv.h"
#include "tests/support/probing.h"

TestSuite(health_exec, .init = probing_begin, .fini = probing_end, .timeout = PROBING_LONGEST);

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
	/* no UTF-8; a control character beyond ASCII; a letter */
	{"printf 'a\\377b\\302\\23331m\\303\\244'", true, "exec 0: a?b??31m\303\244"},
	{"sleep 10", false, "exec: timed out after 400ms"},
	{"sh -c 'sleep 10 & sleep 10; true'", false, "exec: timed out after 400ms"},
	{"sh -c 'yes | head -n 1000000; exit 4'", false, "exec 4: y"}, /* more than a pipe holds */
	{"yes", false, "exec: timed out after 400ms"},
	{"sh -c 'exec >&- 2>&-; sleep 0.05'", true, "exec 0"}, /* says that it will say nothing */
	{"sh -c 'kill -STOP $$'", false, "exec: timed out after 400ms"},
	{"sh -c 'trap \"\" TERM INT HUP; while :; do sleep 9; done'", false,
	 "exec: timed out after 400ms"},
	{"/nonexistent/poise", false, "exec 127: /nonexistent/poise: No such file or directory"},
	{"sh -c 'unended", false, "exec: Invalid argument"},
	{"", false, "exec: Invalid argument"},
};
#define EXEC_CASES (sizeof(exec_cases) / sizeof(exec_cases[0]))

Test(health_exec, exec)
{
	for (size_t n = 0; n < EXEC_CASES; n++) {
		struct poise_health_conf conf = {.timeout = probing_timeout(exec_cases[n].words)};

		strcpy(conf.command, exec_cases[n].command);
		probing_ask(POISE_CHECK_EXEC, AF_INET, 80, &conf);
	}
	probing_run();
	for (size_t n = 0; n < EXEC_CASES; n++)
		probing_expect(n, exec_cases[n].good, exec_cases[n].words);
}

/* Twice as many as may run at once, each longer than half its time-out: who waits has lost
 * nothing. */
Test(health_exec, commands_wait_for_their_turn)
{
	for (int n = 0; n < 32; n++) {
		struct poise_health_conf conf = {.command = "sleep 1.05", .timeout = 2000};

		probing_ask(POISE_CHECK_EXEC, AF_INET, 80, &conf);
	}
	probing_run();
	for (size_t n = 0; n < 32; n++)
		probing_expect(n, true, "exec 0");
}

static pid_t pid_said(size_t n)
{
	int pid = 0;

	cr_assert_eq(sscanf(probing_result(n)->words, "exec 0: %d", &pid), 1, "%s",
		     probing_result(n)->words);
	return pid;
}

/* Dead, whether or not whoever adopted it has reaped it. */
static bool is_gone(pid_t pid)
{
	char path[32], state = 'Z';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 'Z';
	fclose(f);
	return state == 'Z' || state == 'X';
}

/* What a command leaves behind: its group goes with it, at once; whoever left the group is nobody's
 * any more. Neither is waited for, though they hold the ends of its pipe. */
Test(health_exec, daemons_are_not_waited_for)
{
	struct poise_health_conf conf = {.command = "sh -c 'sleep 60 & echo $!'"};
	struct poise_health_conf away = {.command = "sh -c 'setsid sleep 60 & echo $!'"};
	size_t in_group = probing_ask(POISE_CHECK_EXEC, AF_INET, 80, &conf);
	size_t out_of_it = probing_ask(POISE_CHECK_EXEC, AF_INET, 80, &away);
	pid_t pid;

	probing_run();
	pid = pid_said(in_group);
	for (int tries = 0; !is_gone(pid) && tries < 1000; tries++)
		usleep(10000);
	cr_expect(is_gone(pid), "%d goes on", pid);
	cr_expect_eq(kill(pid_said(out_of_it), SIGKILL), 0);
}

/* ---- commands that the kernel does not end ----------------------------------------------------*/

static bool kept; /* the kernel keeps whoever was killed */

/* In place of the C library's. */
pid_t waitpid(pid_t pid, int *status, int options)
{
	if (kept && options & WNOHANG)
		return 0;
	return (pid_t)syscall(SYS_wait4, pid, status, options, NULL);
}

/* As many commands that are killed, and what is said of the last. */
static const char *kill_some(int count, const char *command, __u32 timeout)
{
	probing_forget();
	for (int n = 0; n < count; n++) {
		struct poise_health_conf conf = {.timeout = timeout};

		strcpy(conf.command, command);
		probing_ask(POISE_CHECK_EXEC, AF_INET, 80, &conf);
	}
	probing_run();
	return probing_result((size_t)count - 1)->words;
}

static const char *run_one(const char *command)
{
	return kill_some(1, command, PROBING_LONGEST * 1000);
}

/* All places are taken by those that do not end: after a while others get theirs, and say so. */
Test(health_exec, the_stuck_do_not_stop_the_others)
{
	int stuck = 0;

	kept = true;
	cr_expect_str_eq(kill_some(EXEC_MAX, "sleep 60", 50), "exec: timed out after 50ms");
	cr_expect_str_eq(run_one("echo fine"), "exec 0: fine");
	cr_expect_eq(sscanf(kill_some(1, "sleep 60", 50),
			    "exec (%d killed before do not end): timed out", &stuck),
		     1, "%s", probing_result(0)->words);
	cr_expect_geq(stuck, EXEC_MAX);
	kept = false;
	while (strstr(kill_some(1, "sleep 60", 50), "before"))
		;
	cr_expect_eq(probing_prober->stuck, 0);
}

/* But not without end, and not for ever. */
Test(health_exec, so_many_stuck_and_no_more)
{
	char words[PROBE_WORDS];

	snprintf(words, sizeof(words), "exec: %d killed commands do not end: no more are begun",
		 EXEC_STUCK);
	kept = true;
	for (int n = 0; n < 2 * EXEC_STUCK && probing_prober->stuck < EXEC_STUCK; n += EXEC_MAX)
		kill_some(EXEC_MAX, "sleep 60", 50);
	cr_assert_eq(probing_prober->stuck, EXEC_STUCK);
	cr_expect_str_eq(run_one("echo fine"), words);
	kept = false;
	while (strcmp(run_one("echo fine"), "exec 0: fine") != 0)
		;
}
