// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Probes of type exec: what a command says, what it may do, and what becomes of it.
 */
#include <criterion/criterion.h>
#include <string.h>

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
	{"sleep 10", false, "exec: timed out after 400ms"},
	{"sh -c 'sleep 10 & sleep 10; true'", false, "exec: timed out after 400ms"},
	{"/nonexistent/poise", false, "exec 127: /nonexistent/poise: No such file or directory"},
	{"sh -c 'unended", false, "exec: Invalid argument"},
	{"", false, "exec: Invalid argument"},
};
#define EXEC_CASES (sizeof(exec_cases) / sizeof(exec_cases[0]))

Test(health_exec, exec)
{
	for (size_t n = 0; n < EXEC_CASES; n++) {
		struct poise_health_conf conf = {0};

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
		struct poise_health_conf conf = {.command = "sleep 0.25"};

		probing_ask(POISE_CHECK_EXEC, AF_INET, 80, &conf);
	}
	probing_run();
	for (size_t n = 0; n < 32; n++)
		probing_expect(n, true, "exec 0");
}
