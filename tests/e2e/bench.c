// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The benches with real clients, each once and small: that they run, and say what they measured. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/tail/cells.h"
#include "tests/support/lab.h"

TestSuite(bench, .timeout = TEST_LONGEST);

static char out[64];

static void setup(void)
{
	if (geteuid())
		cr_skip_test("needs root: it makes network namespaces");
	snprintf(out, sizeof(out), "/tmp/poise-test.%d", getpid());
}

static void teardown(void)
{
	lab_host(NULL, "rm -rf %s", out);
}

/* A generator that is late voids nothing here: this machine may be busy. */
Test(bench, tail_has_a_row_for_each_policy_and_the_slow_one_shows, .init = setup, .fini = teardown)
{
	const struct cells_key blind = {"ipip", "round-robin", "1"}, p2c = {"ipip", "p2c-2", "1"};
	const struct cells_row *row;
	struct cells cells;
	char path[96];
	const char *said;
	FILE *csv;
	int status;

	status = lab_host(
		&said,
		"ALONE=0 MODES=ipip POLICIES='round-robin p2c-2' SCENARIOS=1 REPS=1 RATE=400 "
		"SECONDS_PER_CELL=1 LAG=60s OUT=%s bench/tail/run",
		out);
	cr_assert(status == 0, "%s", said);
	cr_assert(strstr(said, "### 1 slow of 4 (+5 ms), ipip"), "%s", said);
	snprintf(path, sizeof(path), "%s/tail.csv", out);
	csv = fopen(path, "re");
	cr_assert(csv && cells_read(&cells, csv, path));
	fclose(csv);
	cr_assert(cells_row(&cells, p2c, 1), "%s", said);
	row = cells_row(&cells, blind, 1);
	cr_assert(row && row->sent == 400, "%s", said);
	/* each CPU deals in turn: the share is right but for what is left of a round */
	cr_assert(row->share[0] > 0.23 && row->share[0] < 0.27, "%g", row->share[0]);
	cr_assert(row->us[CELLS_P99] >= 5000, "%g", row->us[CELLS_P99]);
}

/* A standby that says what it is told to, NS a packet, in the words of the real one. */
static void write_standby(const char *name, const char *ns)
{
	const char *said;
	int status;

	status = lab_host(
		&said,
		"mkdir -p %s && printf '%%s\\n' '#!/bin/sh' 'echo ready' 'while read -r "
		"what row; do case $what in rows) echo one two;; warm) echo ok;; run) echo "
		"%s;; esac; done' >%s/%s && chmod +x %s/%s",
		out, ns, out, name, out, name);
	cr_assert(status == 0, "%s", said);
}

Test(bench, compare_says_which_is_slower_and_by_its_exit_status_that_it_may_not_be, .init = setup,
     .fini = teardown)
{
	const char *said;
	int status;

	write_standby("a", "100");
	write_standby("b", "103");
	write_standby("c", "void");
	status = lab_host(&said, "build/bench/compare/compare %s/a %s/a 2>&1", out, out);
	cr_assert(status == 0 && strstr(said, "PASSED: 2 of 2 metrics"), "%s", said);
	status = lab_host(&said, "build/bench/compare/compare -l 1%% %s/a %s/b 2>&1", out, out);
	cr_assert(status == 3 && strstr(said, "NOT passed, slower"), "%s", said);
	status = lab_host(&said, "build/bench/compare/compare -r 'ns<=-2%%' %s/b %s/a 2>&1", out,
			  out);
	cr_assert(status == 0 && strstr(said, "reached, faster"), "%s", said);
	status = lab_host(&said, "build/bench/compare/compare -r 'ns<=-5%%' %s/b %s/a 2>&1", out,
			  out);
	cr_assert(status == 3 && strstr(said, "NOT reached, faster"), "%s", said);
	status = lab_host(&said, "build/bench/compare/compare -g one %s/a %s/c 2>&1", out, out);
	cr_assert(status == 3 && strstr(said, "0 of 1 metrics as required") && strstr(said, "void"),
		  "%s", said);
	status = lab_host(&said, "build/bench/compare/compare %s/a /bin/false 2>&1", out);
	cr_assert(status == 1, "%s", said);
	status = lab_host(
		&said,
		"printf 'x.instructions 10\n' >%s/x && printf 'x.instructions 11\n' >%s/y && "
		"build/bench/compare/compare -c %s/x,%s/y %s/a %s/a 2>&1",
		out, out, out, out, out, out);
	cr_assert(status == 3 && strstr(said, "x.instructions"), "%s", said);
}

/* Every packet of every mode comes back; how fast is the machine's affair. */
Test(bench, chain_puts_packets_through_each_mode_and_none_is_lost, .init = setup, .fini = teardown)
{
	const char *said;
	int status;

	status = lab_host(
		&said, "ROUNDS=2 PACKETS=4096 PEERS=0 PROFILE=0 OUT=%s bench/chain/run 2>&1", out);
	cr_assert(status == 0, "%s", said);
	cr_assert(strstr(said, "| no-op | ") && strstr(said, "| 1.000 | 1.000 to 1.000 |"), "%s",
		  said);
	cr_assert(!strstr(said, "void"), "%s", said);
	status =
		lab_host(&said, "grep -cE '^(no-op|l2|ipip|nat|gue),[12],[0-9]' %s/chain.csv", out);
	cr_assert(status == 0 && !strcmp(said, "10\n"), "%s", said);
}

/* Two repetitions of three paths: what costs what is known, and a peer that errs has no ratio. */
Test(bench, peers_are_compared_by_what_they_cost_and_one_that_errs_is_not, .init = setup,
     .fini = teardown)
{
	const char *said;
	int status;

	status = lab_host(
		&said,
		"mkdir -p %s && for rep in 1 2; do for c in direct,100,400 l2,100,410 "
		"haproxy-1,100,500 haproxy-2,100,490 nginx-1,99,405; do echo $c | sed "
		"\"s/\\(.*\\),\\(.*\\),/connections,\\1,$rep,100,100,\\2,0,false,200,300,100,/\"; "
		"done; done >%s/peers.csv; build/bench/peers/report %s/peers.csv",
		out, out, out);
	cr_assert(status == 0, "%s", said);
	/* 10 ms and 90 of 200 connections */
	cr_assert(strstr(said, "| l2 | 50.0 | 50.0 to 50.0 | 0.10 | 0.20 | 0.30 | 2 |"), "%s",
		  said);
	cr_assert(strstr(said, "- haproxy-2 costs 9.0 times what mode l2 does, at least 9.0 times; "
			       "to be at least 5: reached"),
		  "%s", said);
	cr_assert(strstr(said, "| nginx-1 | void |") && !strstr(said, "- nginx"), "%s", said);
}

/* Of the results that there are, without measuring any. */
Test(bench, report_is_written_of_what_there_is_and_quoted_between_the_marks, .init = setup,
     .fini = teardown)
{
	const char *said;
	int status;

	status =
		lab_host(&said,
			 "mkdir %s && printf 'above\\n<!-- from BENCHMARKS.md -->\\nold\\n<!-- end "
			 "-->\\nbelow\\n' >%s/README && STEPS= REPORT=%s/REPORT README=%s/README "
			 "bench/report/run 2>&1 && cat %s/README",
			 out, out, out, out, out);
	cr_assert(status == 0, "%s", said);
	cr_assert(strstr(said, "above\n<!-- from BENCHMARKS.md") && strstr(said, "-->\nbelow\n") &&
			  strstr(said, "| `v4-established-1` | ") && !strstr(said, "old"),
		  "%s", said);
	status = lab_host(&said, "grep -c '^## ' %s/REPORT", out);
	cr_assert(status == 0 && !strcmp(said, "13\n"), "%s", said);
}

/* A promise that nobody can keep: the ramp ends by itself, and says that it is not kept. */
Test(bench, capacity_ends_where_clients_are_not_served, .init = setup, .fini = teardown)
{
	const char *said;
	int status;

	status = lab_host(
		&said,
		"ALONE=0 MODES=ipip RAMP=12,100 WINDOW=1 THINK=100 SLO_P99=1us LAG=60s OUT=%s "
		"bench/capacity/run",
		out);
	cr_assert(status == 0, "%s", said);
	cr_assert(strstr(said, "ipip: **none were served**: not even 12 clients"), "%s", said);
	/* answered, all of them, and yet: once, once more, and under the profile */
	status = lab_host(&said, "grep -c '^ipip,12,0,unserved,120,120,0,' %s/capacity.csv", out);
	cr_assert(status == 0 && !strcmp(said, "3\n"), "%s", said);
}

/* No generator is never a microsecond late. */
Test(bench, capacity_says_so_where_the_generator_is_the_limit, .init = setup, .fini = teardown)
{
	const char *said;
	int status;

	status =
		lab_host(&said,
			 "ALONE=0 MODES=ipip RAMP=12,100 WINDOW=1 THINK=100 LAG=1us TRIES=2 OUT=%s "
			 "bench/capacity/run",
			 out);
	cr_assert(status == 0, "%s", said);
	cr_assert(strstr(said, "ipip: **not known**: the generator, not the balancer, is the limit "
			       "at 120 requests a second: with 12 clients it was late in each of 2 "
			       "tries"),
		  "%s", said);
	cr_assert(strstr(said, "The limit is the generator: it was late"), "%s", said);
	status = lab_host(&said, "grep -c '^ipip,12,.*,void,' %s/capacity.csv", out);
	cr_assert(status == 0 && !strcmp(said, "3\n"), "%s", said);
}

/* Two sleepers: one that may run anywhere, one that who is apart has as a child meanwhile. */
Test(bench, what_else_runs_leaves_a_cpu_for_as_long_as_it_is_measured_by, .init = setup)
{
	const char *said;
	int status;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		cr_skip_test("one CPU: nothing can leave it");
	status = lab_host(&said, "bash tests/e2e/others.sh");
	cr_assert(status == 0, "%s", said);
}
