// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Command lines run in this process; see command.h. */
#include "command.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../cli/transact.h"
#include "../../maps/split.h"

void command_start(struct command *c)
{
	static const struct config_limits limits = {
		.services = 16,
		.backends = 256,
		.listeners = 128,
		.flow_slots = 4096,
		.table_slots = 262144,
		.paths = 16,
	};

	memset(c, 0, sizeof(*c));
	c->cli.instance = instance_anonymous(&limits);
}

void command_stop(struct command *c)
{
	cli_close(&c->cli);
	free(c->out);
	free(c->err);
}

int command(struct command *c, const char *fmt, ...)
{
	struct cli *cli = &c->cli;
	size_t out_size, err_size;
	char line[2048], **argv;
	va_list ap;
	int argc;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	argc = split_words(line, &argv, NULL);
	if (argc < 0)
		abort();
	free(c->out);
	free(c->err);
	cli->out = open_memstream(&c->out, &out_size);
	cli->err = open_memstream(&c->err, &err_size);
	memset(&cli->error, 0, sizeof(cli->error));
	c->status = cli_main(cli, argc, (const char *const *)argv);
	fclose(cli->out);
	fclose(cli->err);
	free(argv);
	instance_unlock(cli->instance);
	return c->status;
}
