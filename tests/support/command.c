// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Command lines run in this process; see command.h. */
#include "command.h"

#include <criterion/criterion.h>
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
		.nat_groups = 1,
		.nat_low = 1024,
		.nat_high = 65535,
	};

	memset(c, 0, sizeof(*c));
	c->cli.instance = instance_anonymous(&limits);
}

static void must(struct command *c, const char *line)
{
	cr_assert_eq(command(c, "%s", line), 0, "%s", c->err);
}

void command_start_web(struct command *c)
{
	command_start(c);
	must(c, "service add web 192.0.2.10:80 [2001:db8::10]:80 forward ipip track always");
	must(c, "backend add web 10.0.0.1 10.0.0.2 10.0.0.3 weight 2");
	must(c, "backend set web 10.0.0.3 name three");
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

char *command_saved(const struct command *c)
{
	struct config *cfg;
	char *text;

	cr_assert_eq(instance_load(c->cli.instance, &cfg, NULL), 0);
	text = config_save(cfg, 0);
	config_free(cfg);
	return text;
}

const struct config_member *command_member(const struct command *c, const char *text)
{
	static struct config *cfg;
	struct config_service *svc;

	config_free(cfg);
	cr_assert_eq(instance_load(c->cli.instance, &cfg, NULL), 0);
	svc = config_service_find(cfg, "web", NULL);
	return svc ? config_member_find(svc, text, NULL) : NULL;
}
