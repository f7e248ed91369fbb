/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The demo says what its client's log says: all went well, or what did not. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/lab.h"

TestSuite(demo, .timeout = TEST_LONGEST);

/* Its exit status; *last is its last line, *all everything. */
static int demo(const char *options, const char **all, const char **last)
{
	const char *newline;
	int status;

	if (geteuid())
		cr_skip_test("needs root: it makes network namespaces");
	status = lab_host(all, "tests/lab/demo %s </dev/null", options);
	cr_assert(**all, "no output");
	*(char *)(*all + strlen(*all) - 1) = '\0';
	newline = strrchr(*all, '\n');
	cr_assert(newline, "%s", *all);
	*last = newline + 1;
	return status;
}

Test(demo, ends_with_no_failed_request)
{
	const char *all, *last, *count;
	int status = demo("", &all, &last);

	cr_assert(status == 0, "%s", all);
	count = strstr(last, "demo: ");
	cr_assert(count && strtoul(count + strlen("demo: "), NULL, 10) > 1000, "%s", last);
	cr_assert(strstr(last, "requests, 0 failed"), "%s", last);
	cr_assert(strstr(all, "(web.yaml:7)"), "the bad line is not named:\n%s", all);
}

Test(demo, with_a_misconfigured_backend_says_what_failed)
{
	const char *all, *last;
	int status = demo("--misconfigure", &all, &last);

	cr_assert(status == 1, "status %d\n%s", status, all);
	cr_assert(strstr(last, " failed") && !strstr(last, " 0 failed"), "%s", last);
	cr_assert(strstr(all, "no-connection"), "%s", all);
}
