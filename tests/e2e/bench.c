// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The benches with real clients, each once and small: that they run, and say what they measured. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/tail/cells.h"
#include "tests/support/lab.h"

TestSuite(bench, .timeout = 120);

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

	status = lab_host(&said,
			  "MODES=ipip POLICIES='round-robin p2c-2' SCENARIOS=1 REPS=1 RATE=400 "
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

/* A promise that nobody can keep: the ramp ends by itself, and says that it is not kept. */
Test(bench, capacity_ends_where_clients_are_not_served, .init = setup, .fini = teardown)
{
	const char *said;
	int status;

	status = lab_host(&said,
			  "MODES=ipip RAMP=12,100 WINDOW=1 THINK=100 SLO_P99=1us LAG=60s OUT=%s "
			  "bench/capacity/run",
			  out);
	cr_assert(status == 0, "%s", said);
	cr_assert(strstr(said, "ipip: **none were served**: not even 12 clients"), "%s", said);
	/* answered, all of them, and yet */
	status = lab_host(&said, "grep -c '^ipip,12,0,unserved,120,120,0,' %s/capacity.csv", out);
	cr_assert(status == 0 && !strcmp(said, "2\n"), "%s", said);
}
