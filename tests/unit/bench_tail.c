// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What bench-tail makes of its rows: which count, how they are compared, what it says of promises.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/tail/claims.h"

static const char csv[] =
	CELLS_HEADER "\n"
		     "ipip,p2c,0,1,100,100,10,100,200,b1:0.25 b2:0.25 b3:0.25 b4:0.25\n"
		     "ipip,p2c,0,2,100,100,12,110,220,b1:0.25 b2:0.25 b3:0.25 b4:0.25\n"
		     "ipip,p2c,0,3,100,99,99,999,999,b1:0.25 b2:0.25 b3:0.25 b4:0.25\n"
		     "ipip,p2c,1,1,100,100,10,110,200,b1:0.01 b2:0.33 b3:0.33 b4:0.33\n"
		     "ipip,p2c,2,1,100,100,10,150,200,b1:0.01 b2:0.03 b3:0.48 b4:0.48\n"
		     "ipip,p2c-2,0,1,100,100,10,200,100,b1:0.25 b2:0.25 b3:0.25 b4:0.25\n"
		     "ipip,p2c-2,0,2,100,100,10,50,100,b1:0.25 b2:0.25 b3:0.25 b4:0.25\n"
		     "ipip,p2c-2,2,1,100,100,10,50,100,b1:0.08 b2:0.08 b3:0.42 b4:0.42\n"
		     "ipip,latency-aware,0,1,100,100,10,100,100,b1:0.25 b2:0.25 b3:0.25 b4:0.25\n"
		     "ipip,round-robin,0,1,100,100,10,150,190,b1:0.25 b2:0.25 b3:0.25 b4:0.25\n"
		     "ipip,round-robin,1,1,100,100,10,600,700,b1:0.25 b2:0.25 b3:0.25 b4:0.25\n"
		     "ipip,round-robin,2,1,100,100,10,600,700,b1:0.25 b2:0.25 b3:0.25 b4:0.25\n";
static const char stalls[] = "mode,policy,rep,chosen,last_ms,after_50ms\n"
			     "ipip,p2c,1,3,40.5,0\nipip,latency-aware,1,9,300.0,4\n";

static struct cells cells;

static bool read_text(const char *text)
{
	FILE *file = fmemopen((void *)text, strlen(text), "r");
	bool ok;

	cr_assert(file);
	ok = cells_read(&cells, file, "text");
	fclose(file);
	return ok;
}

static const struct cells_key well = {"ipip", "p2c", "0"}, two = {"ipip", "p2c-2", "0"};

Test(bench_tail, a_row_of_which_not_all_were_answered_counts_nowhere)
{
	cr_assert(read_text(csv));
	cr_assert(cells_us(&cells, well, CELLS_P99).n == 2);
	cr_assert(cells_median(cells_us(&cells, well, CELLS_P99)) == 105);
	cr_assert(!cells_row(&cells, well, 3));
	free(cells.rows);
}

Test(bench_tail, ratios_are_of_the_same_repetition)
{
	struct cells_values ratio;

	cr_assert(read_text(csv));
	ratio = cells_ratio(&cells, well, two, CELLS_P99);
	cr_assert(ratio.n == 2 && ratio.v[0] == 0.5 && ratio.v[1] == 2.2);
	ratio = cells_ratio(&cells, well, (struct cells_key){"ipip", "none", "0"}, CELLS_P99);
	cr_assert(!ratio.n && isnan(cells_median(ratio)));
	free(cells.rows);
}

Test(bench_tail, what_is_written_is_read_again)
{
	char text[512];
	FILE *file = fmemopen(text, sizeof(text), "w");
	struct cells_row row;

	cr_assert(read_text(csv));
	row = cells.rows[2];
	fprintf(file, CELLS_HEADER "\n");
	cells_write(&row, file);
	fclose(file);
	free(cells.rows);
	cr_assert(read_text(text));
	cr_assert(cells.count == 1 && !memcmp(&cells.rows[0], &row, sizeof(row)), "%s", text);
	free(cells.rows);
}

Test(bench_tail, what_is_no_row_is_refused)
{
	cr_assert(!read_text("mode,policy\n"));
	cr_assert(!read_text(CELLS_HEADER "\nipip,p2c,0,1,100,100,10,100\n"));
	cr_assert(!read_text(CELLS_HEADER "\nipip,p2c,0,1,1,1,1,1,1,b9:0.25\n"));
	cr_assert(!read_text(CELLS_HEADER "\nipip,p2c,0,1,1,1,1,1,1,nonsense\n"));
}

/* The line about it has this verdict. */
static void expect(const char *said, const char *what, const char *verdict)
{
	const char *line = strstr(said, what), *end;

	cr_assert(line, "nothing said of %s:\n%s", what, said);
	end = strchr(line, '\n');
	cr_assert(end - line > (long)strlen(verdict) &&
			  !strncmp(end - strlen(verdict), verdict, strlen(verdict)),
		  "%s: not \"%s\":\n%s", what, verdict, said);
}

Test(bench_tail, promises_are_held_against_their_limits)
{
	FILE *out, *in = fmemopen((void *)stalls, strlen(stalls), "r");
	char *said = NULL;
	size_t size;

	cr_assert(read_text(csv));
	out = open_memstream(&said, &size);
	claims_print(&cells, in, out);
	fclose(out);
	fclose(in);
	/* p2c-2's median is better than round-robin's, and p2c's may lie anywhere around it */
	expect(said, "p2c, all healthy: p99 over that of p2c-2", "| holds |");
	expect(said, "p2c, all healthy: p999 over that of p2c-2", "| **does not hold** |");
	expect(said, "p2c, 1 slow: p99 over its own", "| holds |");
	expect(said, "p2c, 1 slow: p99 over round-robin's", "| holds |");
	expect(said, "p2c, 1 slow: share", "| holds |");
	expect(said, "p2c, 2 slow: p99 over its own", "| **does not hold** |");
	expect(said, "p2c, 2 slow: p99 over round-robin's", "| **does not hold** |");
	expect(said, "p2c, 2 slow: share of a slow one", "| **does not hold** |");
	expect(said, "p2c: ms into a stall", "| holds |");
	expect(said, "latency-aware: ms into a stall", "| **does not hold** |");
	expect(said, "latency-aware, 1 slow: share", "| not measured | | | |");
	expect(said, "latency-aware, all healthy: p99 over that of p2c-2", "| holds |");
	expect(said, "p2c choices 2, 2 slow: share of both", "| holds |");
	free(said);
	free(cells.rows);
}
