// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Several commands as one transaction: all of them are done, or none is and the line is named. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/command.h"

static struct command c;

static void start(void)
{
	command_start_web(&c);
}

static void stop(void)
{
	command_stop(&c);
}

TestSuite(cli_batch, .init = start, .fini = stop);

static const char *file(const char *content)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/poise-cli-%d.txt", getpid());
	f = fopen(path, "w");
	cr_assert_not_null(f);
	fputs(content, f);
	fclose(f);
	return path;
}

Test(cli_batch, a_batch_is_one_transaction)
{
	__u64 before = c.cli.instance->meta->committed;
	const char *path = file("# a rolling change\n"
				"poise service add dns 192.0.2.53:53/udp forward l2\n"
				"\n"
				"backend add dns 10.0.1.1 10.0.1.2\n"
				"backend set web three weight 9; # not a comment sign behind ;\n");

	cr_assert_eq(command(&c, "batch %s", path), 1, "9; is no weight");
	path = file("# a rolling change\n"
		    "poise service add dns 192.0.2.53:53/udp forward l2\n"
		    "\n"
		    "backend add dns 10.0.1.1 10.0.1.2   # two of them\n"
		    "backend set web 'three' weight 9\n");
	cr_assert_eq(command(&c, "batch %s", path), 0, "%s", c.err);
	cr_assert(!strncmp(c.out, "3 commands done as one: ", 24), "%s", c.out);
	cr_assert_eq(c.cli.instance->meta->committed, before + 1);
	cr_assert_eq(command_member(&c, "three")->conf.weight, 9);
	unlink(path);
}

struct bad_batch {
	const char *content;
	int status;
	const char *error; /* with %s for the file */
};

Test(cli_batch, a_batch_with_a_mistake_changes_nothing_and_names_the_line)
{
	static const struct bad_batch bad[] = {
		{"service add dns 192.0.2.53:53 forward l2\nbackend add dns 10.0.0.300\n", 1,
		 "poise: service \"dns\": backend 10.0.0.300: not an IPv4 or IPv6 address (%s:2)"},
		{"service add dns 192.0.2.53:53 forward l2\n\n\nfrob\n", 2,
		 "poise: unknown command \"frob\" (%s:4)"},
		{"service add dns 192.0.2.53:53 forward l2\nshow\n", 2,
		 "poise: show cannot stand in a batch (%s:2)"},
		{"service add dns 192.0.2.53:53 forward l2\nbatch x\n", 2,
		 "poise: batch cannot stand in a batch (%s:2)"},
		{"service add 'dns 192.0.2.53:53\n", 1, "poise: a ' is not closed (%s:1)"},
		{"backend drain web three --wait\n", 2,
		 "poise: backend drain: --wait cannot stand in a batch"},
		{"backend drain web three --json\n", 2,
		 "poise: backend drain: --json is not an option of this command"},
		{"ser add dns 192.0.2.53:53 forward l2\n", 2,
		 "poise: unknown command \"ser\" (%s:1)"},
		/* only the whole is valid or not */
		{"\nservice add dns 192.0.2.53:53 track off policy p2c\n", 1,
		 "poise: service \"dns\": track off: no hash finds the backend that policy p2c has "
		 "chosen again (%s:2)"},
		{"service set web quic yes\nbackend set web three server-id 9\n"
		 "backend add web 10.0.0.9 server-id 9\n",
		 1,
		 "poise: service \"web\": backend 10.0.0.9: backend 10.0.0.3 has server-id 9 too "
		 "(%s:3)"},
	};
	char *before = command_saved(&c);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *path = file(bad[i].content);
		char expected[512], *after;

		snprintf(expected, sizeof(expected), bad[i].error, path);
		cr_assert_eq(command(&c, "batch %s", path), bad[i].status, "%s: %d: %s",
			     bad[i].content, c.status, c.err);
		cr_assert(!strncmp(c.err, expected, strlen(expected)), "%s: %s", expected, c.err);
		after = command_saved(&c);
		cr_assert_str_eq(after, before, "%s", bad[i].content);
		free(after);
		unlink(path);
	}
	free(before);
}
