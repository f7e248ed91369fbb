// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise help [COMMAND]: an overview, or everything one command takes. Generated from the tables of
 * commands, options and keys; so is the manual (docs/man.c).
 */
#include <string.h>

#include "cli.h"

#define OPTION_COLUMN 28 /* widest: "    --columns A,B" and keys with their argument */

static void print_option(FILE *out, const struct cli_option *o)
{
	char text[64];

	snprintf(text, sizeof(text), "%c%c%s --%s%s%s%s", o->letter ? '-' : ' ',
		 o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name,
		 o->arity == ARITY_MAY ? "[=" : (o->arity == ARITY_NEED ? " " : ""),
		 o->argument ? o->argument : "", o->arity == ARITY_MAY ? "]" : "");
	fprintf(out, "  %-*s %s\n", OPTION_COLUMN, text, o->help);
}

static void print_options(FILE *out, unsigned int mask)
{
	for (int i = 0; i < CLI_OPTION_COUNT; i++) {
		if (mask & 1u << i)
			print_option(out, &cli_options[i]);
	}
}

static void print_keys(FILE *out, int scope)
{
	fprintf(out, "\nKEYs (default)\n");
	for (size_t i = 0; i < poise_options_count; i++) {
		const struct option *o = &poise_options[i];
		char text[96];

		if ((int)o->scope != scope)
			continue;
		snprintf(text, sizeof(text), "%s %s", o->key, o->argument);
		fprintf(out, "  %-*s %s (%s)\n", OPTION_COLUMN, text, o->help,
			*o->fallback ? o->fallback : "none");
	}
}

static bool is_below(const struct cli_command *cmd, const char *group)
{
	size_t len = strlen(group);

	return !strncmp(cmd->name, group, len) && cmd->name[len] == ' ';
}

static void print_line(FILE *out, const struct cli_command *cmd)
{
	fprintf(out, "  poise %s%s%s\n      %s\n", cmd->name, *cmd->usage ? " " : "", cmd->usage,
		cmd->help);
}

/* `flows client` beside `flows`. */
static void print_below(FILE *out, const char *name)
{
	bool any = false;

	for (size_t i = 0; i < cli_command_count; i++) {
		if (!is_below(&cli_commands[i], name))
			continue;
		if (!any)
			fprintf(out, "\nSee also\n");
		any = true;
		print_line(out, &cli_commands[i]);
	}
}

static void print_command(FILE *out, const struct cli_command *cmd)
{
	fprintf(out, "usage: poise %s%s%s\n\n%s\n", cmd->name, *cmd->usage ? " " : "", cmd->usage,
		cmd->help);
	if (cmd->about)
		fprintf(out, "%s\n", cmd->about);
	if (cmd->keys != CLI_NO_KEYS)
		print_keys(out, cmd->keys);
	fprintf(out, "\nOptions\n");
	print_options(out, cmd->options | CLI_OPTIONS_COMMON);
	print_below(out, cmd->name);
}

/* The lines of every command, or of those that begin with the word group. */
static size_t print_lines(FILE *out, const char *group)
{
	const char *section = NULL;
	size_t n = 0;

	for (size_t i = 0; i < cli_command_count; i++) {
		const struct cli_command *cmd = &cli_commands[i];

		if (cmd->flags & CLI_HIDDEN || (group && !is_below(cmd, group)))
			continue;
		if (!group && (!section || strcmp(section, cmd->section)))
			fprintf(out, "\n%s\n", cmd->section);
		section = cmd->section;
		print_line(out, cmd);
		n++;
	}
	return n;
}

static void print_overview(FILE *out)
{
	fprintf(out, "poise %s: an in-kernel layer-4 load balancer\n", POISE_VERSION);
	print_lines(out, NULL);
	fprintf(out, "\nOptions of every command, anywhere on the line\n");
	print_options(out, CLI_OPTIONS_COMMON);
	fprintf(out, "\nExit status: 0 done, 1 failed and nothing changed, 2 usage, 3 done but the "
		     "answer is no.\n\"poise help COMMAND\" says more.\n");
}

/* `help service`: a first word that only has sub-commands. */
static const char *group_of(const struct cli *c)
{
	const char *word = args_peek(&c->args);
	bool group = false;

	if (!word || args_left(&c->args) > 1)
		return NULL;
	for (size_t i = 0; i < cli_command_count; i++) {
		if (!strcmp(cli_commands[i].name, word))
			return NULL;
		group |= is_below(&cli_commands[i], word);
	}
	return group ? word : NULL;
}

int cmd_help(struct cli *c)
{
	const char *group = group_of(c);
	const struct cli_command *cmd;

	if (!args_left(&c->args)) {
		print_overview(c->out);
		return CLI_OK;
	}
	if (group && print_lines(c->out, group)) {
		fprintf(c->out, "\n\"poise help %s COMMAND\" says more.\n", group);
		return CLI_OK;
	}
	cmd = cli_find(&c->args, c->abbreviate, &c->error);
	if (!cmd)
		return -1;
	print_command(c->out, cmd);
	return CLI_OK;
}
