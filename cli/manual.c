// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Manual pages from the tables; see manual.h. */
#include "manual.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define PATH_TEXT 512

/* Prose: a line that begins with . or ' would be a macro, and \ an escape. */
static void put_text(FILE *out, const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", out);
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", out);
		else
			fputc(*text, out);
		/* mdoc wants each sentence on a line of its own. */
		if (*text == '.' && text[1] == ' ') {
			fputc('\n', out);
			text++;
		}
	}
	fputc('\n', out);
}

/* Words behind a macro, each quoted so that none is taken for a macro or a delimiter. */
static void put_words(FILE *out, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, " ");

		if (len)
			fprintf(out, " \"\\&%.*s\"", (int)len, text);
		text += len;
		text += *text == ' ';
	}
}

static void put_option(FILE *out, const struct cli_option *o)
{
	fputs(".It", out);
	if (o->letter)
		fprintf(out, " Fl %c ,", o->letter);
	fprintf(out, " Fl Fl %s", o->name);
	if (o->arity == ARITY_NEED)
		fprintf(out, " Ar %s", o->argument);
	else if (o->arity == ARITY_MAY)
		fprintf(out, " Ns Op = Ns Ar %s", o->argument);
	fputc('\n', out);
	put_text(out, o->help);
}

static void put_options(FILE *out, unsigned int mask)
{
	fputs(".Bl -tag -width Ds\n", out);
	for (int i = 0; i < CLI_OPTION_COUNT; i++) {
		if (mask & 1u << i)
			put_option(out, &cli_options[i]);
	}
	fputs(".El\n", out);
}

static void put_keys(FILE *out, enum option_scope scope)
{
	fputs(".Bl -tag -width Ds\n", out);
	for (const struct option *o = option_first(scope); o; o = option_next(o)) {
		fprintf(out, ".It Cm %s", o->key);
		fputs(" No", out);
		put_words(out, o->argument);
		fputc('\n', out);
		put_text(out, o->help);
		if (!o->fallback)
			fputs("Must be said.\n", out);
		else if (*o->fallback)
			fprintf(out, "Default:\n.Cm %s .\n", o->fallback);
	}
	fputs(".El\n", out);
}

static void put_command(FILE *out, const struct cli_command *cmd)
{
	fprintf(out, ".It Nm poise Cm %s%s", cmd->name, *cmd->usage ? " No" : "");
	put_words(out, cmd->usage);
	fputc('\n', out);
	put_text(out, cmd->help);
	if (cmd->about)
		put_text(out, cmd->about);
	if (!cmd->options)
		return;
	fputs("Options:\n", out);
	for (int i = 0; i < CLI_OPTION_COUNT; i++) {
		if (cmd->options & 1u << i)
			fprintf(out, ".Fl Fl %s %s\n", cli_options[i].name,
				cmd->options >> (i + 1) ? "," : ".");
	}
}

/* Whether cmd is of the group: its first word; NULL every one. */
static bool in_group(const struct cli_command *cmd, const char *group)
{
	size_t len = group ? strlen(group) : 0;

	if (cmd->flags & CLI_HIDDEN)
		return false;
	return !group ||
	       (!strncmp(cmd->name, group, len) && (!cmd->name[len] || cmd->name[len] == ' '));
}

static void put_commands(FILE *out, const char *group)
{
	const char *section = NULL;

	for (size_t i = 0; i < cli_command_count; i++) {
		const struct cli_command *cmd = &cli_commands[i];

		if (!in_group(cmd, group))
			continue;
		if (!section || (!group && strcmp(section, cmd->section))) {
			fputs(section ? ".El\n" : "", out);
			if (!group)
				fprintf(out, ".Ss %s\n", cmd->section);
			fputs(".Bl -tag -width Ds\n", out);
		}
		section = cmd->section;
		put_command(out, cmd);
	}
	fputs(".El\n", out);
}

struct named {
	const char *name, *text;
};

static void put_named(FILE *out, const struct named *list, size_t n)
{
	fputs(".Bl -tag -width Ds\n", out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, ".It Cm %s\n", list[i].name);
		put_text(out, list[i].text);
	}
	fputs(".El\n", out);
}

bool manual_list(FILE *out, const char *name)
{
#define NAMED(sym, name, text) {name, text},
	static const struct named reasons[] = {POISE_REASONS(NAMED)};
	static const struct named events[] = {POISE_EVENTS(NAMED)};
#define NAMED_KIND(sym, name, bad, said) {name, said},
	static const struct named kinds[] = {POISE_EVENT_KINDS(NAMED_KIND)};
	static const struct {
		const char *name;
		enum option_scope scope;
	} scopes[] = {
		{"SERVICE-KEYS", OPTION_SERVICE},     {"BACKEND-KEYS", OPTION_BACKEND},
		{"INTERFACE-KEYS", OPTION_INTERFACE}, {"ADDRESS-KEYS", OPTION_ADDRESS},
		{"LIMIT-KEYS", OPTION_LIMIT},	      {"HEALTH-KEYS", OPTION_HEALTH},
	};

	for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++) {
		if (!strcmp(name, scopes[i].name)) {
			put_keys(out, scopes[i].scope);
			return true;
		}
	}
	if (!strcmp(name, "COMMANDS"))
		put_commands(out, NULL);
	else if (!strcmp(name, "OPTIONS"))
		put_options(out, (1u << CLI_OPTION_COUNT) - 1);
	else if (!strcmp(name, "REASONS"))
		put_named(out, reasons, sizeof(reasons) / sizeof(reasons[0]));
	else if (!strcmp(name, "EVENT-KINDS"))
		put_named(out, kinds, sizeof(kinds) / sizeof(kinds[0]));
	else if (!strcmp(name, "EVENTS"))
		put_named(out, events, sizeof(events) / sizeof(events[0]));
	else
		return false;
	return true;
}

static FILE *must_open(const char *path, const char *mode)
{
	FILE *f = fopen(path, mode);

	if (!f) {
		perror(path);
		exit(1);
	}
	return f;
}

static void must_close(FILE *f, const char *path)
{
	if (ferror(f) || fclose(f)) {
		perror(path);
		exit(1);
	}
}

void manual_template(const char *directory, const char *template)
{
	const char *slash = strrchr(template, '/'), *name = slash ? slash + 1 : template;
	char path[PATH_TEXT], *line = NULL;
	FILE *in = must_open(template, "r"), *out;
	size_t room = 0;

	snprintf(path, sizeof(path), "%s/%.*s", directory, (int)(strlen(name) - strlen(".in")),
		 name);
	out = must_open(path, "w");
	while (getline(&line, &room, in) >= 0) {
		size_t len = strcspn(line, "\n");

		line[len] = 0;
		if (len > 2 && line[0] == '@' && line[len - 1] == '@') {
			line[len - 1] = 0;
			if (manual_list(out, line + 1))
				continue;
			fprintf(stderr, "%s: no list %s\n", template, line + 1);
			exit(1);
		}
		fprintf(out, "%s\n", line);
	}
	free(line);
	must_close(in, template);
	must_close(out, path);
}

static unsigned int group_options(const char *group)
{
	unsigned int mask = CLI_OPTIONS_COMMON;

	for (size_t i = 0; i < cli_command_count; i++)
		mask |= in_group(&cli_commands[i], group) ? cli_commands[i].options : 0;
	return mask;
}

static int group_keys(const char *group)
{
	for (size_t i = 0; i < cli_command_count; i++) {
		if (in_group(&cli_commands[i], group) && cli_commands[i].keys != CLI_NO_KEYS)
			return cli_commands[i].keys;
	}
	return CLI_NO_KEYS;
}

static void group_page(const char *directory, const char *group, const char *about)
{
	char path[PATH_TEXT], title[32];
	int keys = group_keys(group);
	FILE *out;

	snprintf(path, sizeof(path), "%s/poise-%s.8", directory, group);
	snprintf(title, sizeof(title), "%s", group);
	for (char *p = title; *p; p++)
		*p = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
	out = must_open(path, "w");
	fprintf(out,
		".\\\" SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause\n"
		".Dd November 30, 2026\n.Dt POISE-%s 8\n.Os\n.Sh NAME\n.Nm poise-%s\n.Nd %s\n"
		".Sh DESCRIPTION\n",
		title, group, about);
	put_commands(out, group);
	if (keys != CLI_NO_KEYS) {
		fputs(".Sh KEYS\n", out);
		put_keys(out, (enum option_scope)keys);
	}
	fputs(".Sh OPTIONS\n", out);
	put_options(out, group_options(group));
	fputs(".Sh SEE ALSO\n.Xr poise.yaml 5 ,\n.Xr poise 8 ,\n.Xr poised 8\n", out);
	must_close(out, path);
}

void manual_groups(const char *directory)
{
	for (size_t i = 0; i < cli_command_count; i++) {
		char group[32], about[160];
		bool known = cli_commands[i].flags & CLI_HIDDEN;

		snprintf(group, sizeof(group), "%.*s", (int)strcspn(cli_commands[i].name, " "),
			 cli_commands[i].name);
		for (size_t k = 0; k < i && !known; k++)
			known = in_group(&cli_commands[k], group);
		if (known)
			continue;
		if (strchr(cli_commands[i].name, ' '))
			snprintf(about, sizeof(about), "the %s commands of poise", group);
		else
			snprintf(about, sizeof(about), "%.*s",
				 (int)strcspn(cli_commands[i].help, ".:;"), cli_commands[i].help);
		group_page(directory, group, about);
	}
}
