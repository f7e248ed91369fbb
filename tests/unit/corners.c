// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * docs/corners.md names the tests that keep each promise: they exist.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOCUMENT    "docs/corners.md"
#define TESTS_LEAST 100 /* a document that cannot be read names none */

/* The whole file, malloc'ed; NULL: there is none. */
static char *read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!f)
		return NULL;
	if (getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

/* Whatever its suite is called: that need not be the file's name. */
static bool exists(const char *file, const char *test)
{
	char path[128], name[128];
	bool found = false;
	char *text;

	snprintf(path, sizeof(path), "tests/%s.c", file);
	text = read_file(path);
	for (char *at = text ? strstr(text, "\nTest(") : NULL; at && !found;
	     at = strstr(at + 1, "\nTest("))
		found = sscanf(at, "\nTest(%*[a-z0-9_], %127[a-z0-9_]", name) == 1 &&
			!strcmp(name, test);
	free(text);
	return found;
}

Test(corners, tests_that_are_named_exist)
{
	char *text = read_file(DOCUMENT), file[64], test[96];
	int named = 0;

	cr_assert_not_null(text, "%s", DOCUMENT);
	for (const char *at = strchr(text, '`'); at; at = strchr(at + 1, '`')) {
		if (sscanf(at, "`%63[a-z0-9_/] %95[a-z0-9_]`", file, test) != 2 ||
		    !strchr(file, '/'))
			continue;
		named++;
		cr_expect(exists(file, test), "there is no test %s %s", file, test);
	}
	cr_expect_gt(named, TESTS_LEAST);
	free(text);
}
