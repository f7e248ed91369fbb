// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise batch FILE|-: commands, one a line, as one transaction. Each line runs the very function
 * that the command line runs, on one config in memory; all are committed together or none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transact.h"
#include "../maps/split.h"

static int fail_at(struct cli *c, const char *file, int line)
{
	snprintf(c->error.file, sizeof(c->error.file), "%s", file);
	c->error.line = line;
	return -1;
}

/* One command; its words belong to the line. "poise" may stand in front: lines can be pasted. */
static int run_line(struct cli *c, int argc, char **argv)
{
	const struct cli_command *batch = c->command;
	struct cli_args outer = c->args;
	int status = -1;

	if (argc && !strcmp(argv[0], "poise")) {
		argc--;
		argv++;
	}
	if (args_parse(&c->args, argc, (const char *const *)argv, false, &c->error))
		goto out;
	c->command = cli_find(&c->args, false, &c->error);
	if (!c->command)
		goto out;
	if (!(c->command->flags & CLI_CHANGE)) {
		poise_fail(&c->error, POISE_E_USAGE, "%s cannot stand in a batch",
			   c->command->name);
		poise_error_remedy(&c->error, "only changes of services and backends can");
		goto out;
	}
	if (!cli_check_options(c))
		status = c->command->run(c);
out:
	args_free(&c->args);
	c->args = outer;
	c->command = batch;
	return status;
}

int cli_batch(struct cli *c, FILE *in, const char *file)
{
	char *text = NULL;
	size_t size = 0;
	int line = 0, commands = 0, status = 0;

	c->batch = true;
	while (!status && getline(&text, &size, in) >= 0) {
		char **argv;
		int argc = split_words(text, &argv, &c->error);

		c->line = ++line;
		if (argc < 0)
			status = -1;
		else if (argc > 0)
			status = run_line(c, argc, argv);
		commands += argc > 0;
		free(argv);
	}
	c->batch = false;
	c->line = 0;
	free(text);
	if (status)
		return fail_at(c, file, line);
	return ferror(in) ? poise_fail_errno(&c->error, "cannot read %s", file) : commands;
}

int cmd_batch(struct cli *c)
{
	const char *path = cli_need(c, "FILE");
	FILE *in;
	int n;

	if (!path || cli_no_more(c))
		return -1;
	in = strcmp(path, "-") ? fopen(path, "re") : stdin;
	if (!in)
		return poise_fail_errno(&c->error, "cannot read %s", path);
	path = strcmp(path, "-") ? path : "standard input";
	n = cli_begin(c) ? 0 : -1;
	if (!n) {
		snprintf(c->config->file, sizeof(c->config->file), "%s", path);
		n = cli_batch(c, in, path);
	}
	if (in != stdin)
		fclose(in);
	if (n < 0)
		return -1;
	cli_note_files(c, NULL);
	if (cli_commit(c))
		return -1;
	cli_say(c,
		"%d command%s done as one: %u service%s, %u backend%s, %u address%s written; %llu "
		"recorded flow%s their backend.",
		n, n == 1 ? "" : "s", c->change.services, c->change.services == 1 ? "" : "s",
		c->change.members, c->change.members == 1 ? "" : "s", c->change.addresses,
		c->change.addresses == 1 ? "" : "es", c->change.flows,
		c->change.flows == 1 ? " loses" : "s lose");
	cli_print_change(c);
	return CLI_OK;
}
