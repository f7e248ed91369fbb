// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From a line to a command: finds it in the table, refuses what it does not take, runs it, and
 * turns its answer into an exit status.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "transact.h"

#define NAME_WORD 32 /* bytes of a command word; the longest is "completion" */

/* The n-th word (0, 1) of a command's name into buf; false if it has none. */
static bool name_word(const struct cli_command *cmd, int n, char buf[NAME_WORD])
{
	const char *p = cmd->name, *space = strchr(p, ' ');

	if (n && !space)
		return false;
	if (n)
		snprintf(buf, NAME_WORD, "%s", space + 1);
	else
		snprintf(buf, NAME_WORD, "%.*s", space ? (int)(space - p) : (int)strlen(p), p);
	return true;
}

/* The word at place n of every command (of group, if n is 1), each once, in words[]. */
static size_t candidates(int n, const char *group, char words[][NAME_WORD], const char **list)
{
	size_t count = 0;

	for (size_t i = 0; i < cli_command_count; i++) {
		char first[NAME_WORD], word[NAME_WORD];
		bool known = false;

		name_word(&cli_commands[i], 0, first);
		if ((cli_commands[i].flags & CLI_HIDDEN) || (n && strcmp(first, group)) ||
		    !name_word(&cli_commands[i], n, word))
			continue;
		for (size_t j = 0; j < count && !known; j++)
			known = !strcmp(words[j], word);
		if (known)
			continue;
		memcpy(words[count], word, NAME_WORD);
		list[count] = words[count];
		count++;
	}
	return count;
}

static const struct cli_command *named(const char *first, const char *second)
{
	for (size_t i = 0; i < cli_command_count; i++) {
		char a[NAME_WORD], b[NAME_WORD];
		bool two = name_word(&cli_commands[i], 1, b);

		name_word(&cli_commands[i], 0, a);
		if (!strcmp(a, first) && two == !!second && (!second || !strcmp(b, second)))
			return &cli_commands[i];
	}
	return NULL;
}

static int fail_group(const char *group, const char *const *list, size_t n, struct poise_error *err)
{
	char all[192] = "";
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", i ? "|" : "",
					 list[i]);
	poise_fail(err, POISE_E_USAGE, "%s: what to do is missing", group);
	return poise_error_remedy(err, "usage: poise %s %s ...", group, all);
}

const struct cli_command *cli_find(struct cli_args *a, bool abbreviate, struct poise_error *err)
{
	char(*words)[NAME_WORD] = calloc(cli_command_count, NAME_WORD);
	const char **list = calloc(cli_command_count, sizeof(*list));
	const struct cli_command *cmd = NULL;
	const char *text = args_take(a);
	char first[NAME_WORD];
	size_t n;
	int k;

	if (!words || !list)
		abort();
	cmd = text ? named(text, NULL) : NULL;
	if (cmd && (cmd->flags & CLI_HIDDEN))
		goto out;
	cmd = NULL;
	n = candidates(0, NULL, words, list);
	k = args_match("command", text ? text : "", list, n, abbreviate, err);
	if (k < 0)
		goto out;
	memcpy(first, list[k], NAME_WORD);
	cmd = named(first, NULL);
	n = candidates(1, first, words, list);
	text = args_peek(a);
	if (!n)
		goto out;
	if (!text && !cmd) {
		fail_group(first, list, n, err);
		goto out;
	}
	/* `flows drop` beside `flows SERVICE`: only the whole word is the command. */
	k = text ? args_match("command", text, list, n, abbreviate && !cmd, cmd ? NULL : err) : -1;
	if (k >= 0) {
		args_take(a);
		cmd = named(first, list[k]);
	} else if (!cmd) {
		poise_error_about(err, "%s", first);
	}
out:
	free(list);
	free(words);
	return cmd;
}

int cli_usage(struct cli *c, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	poise_fail(&c->error, POISE_E_USAGE, "%s: %s", c->command->name, text);
	return poise_error_remedy(&c->error, "usage: poise %s%s%s", c->command->name,
				  *c->command->usage ? " " : "", c->command->usage);
}

const char *cli_need(struct cli *c, const char *what)
{
	const char *word = args_take(&c->args);

	if (!word)
		cli_usage(c, "%s is missing", what);
	return word;
}

int cli_no_more(struct cli *c)
{
	const char *word = args_peek(&c->args);

	return word ? cli_usage(c, "\"%s\" is one word too many", word) : 0;
}

int cli_check_options(struct cli *c)
{
	/* What the batch itself was told holds for all its lines. */
	unsigned int taken = c->command->options | (c->batch ? 0 : CLI_OPTIONS_COMMON);

	for (int i = 0; i < CLI_OPTION_COUNT; i++) {
		if (c->args.set[i] && !(taken & 1u << i))
			return cli_usage(c, "--%s is not an option of this command",
					 cli_options[i].name);
	}
	return 0;
}

/* The options that every command takes; also when a later word is wrong, so that the error is
 * printed in the form that was asked for. */
static void common_options(struct cli *c)
{
	const struct cli_args *a = &c->args;

	c->json = a->set[OPT_JSON];
	c->quiet = a->set[OPT_QUIET];
	c->exact = a->set[OPT_EXACT];
	if (a->set[OPT_INSTANCE])
		c->where.name = a->value[OPT_INSTANCE];
	if (a->set[OPT_PIN])
		c->where.root = a->value[OPT_PIN];
}

/* It becomes a directory's name. */
static int check_instance(struct cli *c)
{
	if (!c->where.name || !poise_check_name(c->where.name, &c->error))
		return 0;
	return poise_error_about(&c->error, "--instance");
}

static int run(struct cli *c, int argc, const char *const *argv)
{
	int parsed = args_parse(&c->args, argc, argv, c->abbreviate, &c->error);

	common_options(c);
	if (parsed || check_instance(c))
		return -1;
	if (!c->args.words) {
		c->command = named("help", NULL);
		c->out = c->args.set[OPT_HELP] ? c->out : c->err;
		return cmd_help(c) || !c->args.set[OPT_HELP] ? CLI_USAGE : CLI_OK;
	}
	if (c->args.set[OPT_HELP]) {
		c->command = named("help", NULL);
		return cmd_help(c);
	}
	c->command = cli_find(&c->args, c->abbreviate, &c->error);
	if (!c->command)
		return -1;
	if (cli_check_options(c))
		return -1;
	return c->command->run(c);
}

int cli_main(struct cli *c, int argc, const char *const *argv)
{
	int status = run(c, argc, argv);

	if (status < 0) {
		cli_print_error(c);
		status = poise_code_status(c->error.code);
	}
	args_free(&c->args);
	cli_forget(c);
	return status;
}
