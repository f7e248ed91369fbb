// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One table behind help, manual, completion, save and JSON: whatever is in the table of keys, of
 * options, of commands, of drop reasons must be in all of them.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "../../cli/manual.h"
#include "../support/command.h"

static struct command c;

static void start(void)
{
	command_start(&c);
}

static void stop(void)
{
	command_stop(&c);
}

TestSuite(tables, .init = start, .fini = stop);

/* A command that takes keys of the scope, as one asks help for it. */
static const char *command_of(enum option_scope scope)
{
	for (size_t i = 0; i < cli_command_count; i++) {
		if (cli_commands[i].keys == (int)scope)
			return cli_commands[i].name;
	}
	return NULL;
}

/* True if text has key as a word of its own. */
static bool has_word(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *p = text; (p = strstr(p, key)); p += len) {
		bool begins = p == text || !strchr("abcdefghijklmnopqrstuvwxyz0123456789-", p[-1]);
		bool ends = !p[len] || !strchr("abcdefghijklmnopqrstuvwxyz0123456789-", p[len]);

		if (begins && ends)
			return true;
	}
	return false;
}

static char *manual_list_text(const char *name)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert(manual_list(out, name), "%s", name);
	fclose(out);
	return text;
}

static const char *const scope_list[] = {
	[OPTION_SERVICE] = "SERVICE-KEYS",     [OPTION_BACKEND] = "BACKEND-KEYS",
	[OPTION_INTERFACE] = "INTERFACE-KEYS", [OPTION_ADDRESS] = "ADDRESS-KEYS",
	[OPTION_LIMIT] = "LIMIT-KEYS",	       [OPTION_HEALTH] = "HEALTH-KEYS",
};

Test(tables, every_key_is_in_the_manual)
{
	for (size_t i = 0; i < poise_options_count; i++) {
		const struct option *o = &poise_options[i];
		char *text = manual_list_text(scope_list[o->scope]);

		cr_assert(has_word(text, o->key), "%s", o->key);
		cr_assert(strstr(text, o->help) || strchr(o->help, '.') != strrchr(o->help, '.'),
			  "%s", o->key);
		free(text);
	}
}

Test(tables, every_key_of_a_command_is_in_its_help)
{
	for (size_t i = 0; i < poise_options_count; i++) {
		const struct option *o = &poise_options[i];
		const char *name = command_of(o->scope);

		if (o->scope == OPTION_LIMIT)
			continue; /* only in the file */
		cr_assert_not_null(name);
		cr_assert_eq(command(&c, "help %s", name), 0, "%s", c.err);
		cr_assert(has_word(c.out, o->key), "%s: %s", name, o->key);
		cr_assert(strstr(c.out, o->help), "%s: %s", name, o->key);
	}
}

Test(tables, every_key_completes)
{
	static const char *const line[] = {
		[OPTION_SERVICE] = "complete -- service add web 192.0.2.1:80 %s",
		[OPTION_BACKEND] = "complete -- backend set web 10.0.0.1 %s",
		[OPTION_INTERFACE] = "complete -- attach eth0 %s",
		[OPTION_ADDRESS] = "complete -- address set 192.0.2.1 %s",
		[OPTION_HEALTH] = "complete -- health set web http %s",
	};

	for (size_t i = 0; i < poise_options_count; i++) {
		const struct option *o = &poise_options[i];
		char expected[64], typed[128], prefix[3];

		if (o->scope == OPTION_LIMIT)
			continue;
		snprintf(prefix, sizeof(prefix), "%s", o->key);
		snprintf(typed, sizeof(typed), line[o->scope], prefix);
		snprintf(expected, sizeof(expected), "%s\t", o->key);
		cr_assert_eq(command(&c, "%s", typed), 0, "%s", c.err);
		cr_assert(strstr(c.out, expected), "%s: %s", typed, c.out);
	}
}

/* A name of a JSON field for the key: as it is with _ for -, or with its unit behind. */
static bool has_field(struct json_object *o, const char *key)
{
	char name[64], *end;

	snprintf(name, sizeof(name), "%s", key);
	for (char *p = name; *p; p++)
		*p = *p == '-' ? '_' : *p;
	if (json_object_object_get_ex(o, name, NULL))
		return true;
	end = name + strlen(name);
	strcpy(end, "_seconds");
	if (json_object_object_get_ex(o, name, NULL))
		return true;
	strcpy(end, "_ratio");
	return json_object_object_get_ex(o, name, NULL);
}

Test(tables, no_limit_is_no_number)
{
	cr_assert_eq(command(&c, "service add web 192.0.2.1:80 forward l2"), 0, "%s", c.err);
	cr_assert_eq(command(&c, "backend add web 10.0.0.1"), 0, "%s", c.err);
	cr_assert_eq(command(&c, "show --json"), 0, "%s", c.err);
	cr_assert(!strstr(c.out, "\"max_conns\"") && !strstr(c.out, "\"rate\""), "%s", c.out);
	cr_assert_eq(command(&c, "service set web max-conns 7 rate 9"), 0, "%s", c.err);
	cr_assert_eq(command(&c, "backend set web 10.0.0.1 max-conns 5"), 0, "%s", c.err);
	cr_assert_eq(command(&c, "show --json"), 0, "%s", c.err);
	cr_assert(strstr(c.out, "\"max_conns\":7") && strstr(c.out, "\"max_conns\":5") &&
			  strstr(c.out, "\"rate\":9"),
		  "%s", c.out);
}

Test(tables, every_key_is_in_json_and_in_save_all)
{
	struct json_object *answer, *list, *service, *backend, *more, *address, *health;

	/* who has no limit has no field */
	cr_assert_eq(command(&c, "service add web 192.0.2.1:80 forward l2 notify true rate 10 "
				 "max-conns 10 min-up 2"),
		     0, "%s", c.err);
	cr_assert_eq(command(&c, "backend add web 10.0.0.1 name one"), 0, "%s", c.err);
	cr_assert_eq(command(&c, "health set web http"), 0, "%s", c.err);
	cr_assert_eq(command(&c, "address set 192.0.2.1 ping no"), 0, "%s", c.err);
	cr_assert_eq(command(&c, "address list --json"), 0, "%s", c.err);
	more = json_tokener_parse(c.out);
	cr_assert(json_object_object_get_ex(more, "addresses", &list));
	address = json_object_array_get_idx(list, 0);
	cr_assert_eq(command(&c, "show --json"), 0, "%s", c.err);
	answer = json_tokener_parse(c.out);
	cr_assert(json_object_object_get_ex(answer, "services", &list));
	service = json_object_array_get_idx(list, 0);
	cr_assert(json_object_object_get_ex(service, "health", &health));
	cr_assert(json_object_object_get_ex(service, "backends", &list));
	backend = json_object_array_get_idx(list, 0);
	for (size_t i = 0; i < poise_options_count; i++) {
		const struct option *o = &poise_options[i];

		if (o->scope == OPTION_SERVICE)
			cr_assert(has_field(service, o->key), "%s: %s", o->key, c.out);
		if (o->scope == OPTION_BACKEND && o->type != OPTION_OWN)
			cr_assert(has_field(backend, o->key), "%s: %s", o->key, c.out);
		if (o->scope == OPTION_ADDRESS)
			cr_assert(has_field(address, o->key), "%s", o->key);
		/* What is not set is absent. */
		if (o->scope == OPTION_HEALTH && *o->fallback && strcmp(o->fallback, "auto") != 0)
			cr_assert(has_field(health, o->key), "%s", o->key);
	}
	json_object_put(answer);
	json_object_put(more);
	c.cli.config->has_limits = true;
	{
		char *text = config_save(c.cli.config, CONFIG_SAVE_ALL);

		for (size_t i = 0; i < poise_options_count; i++) {
			if (poise_options[i].scope != OPTION_INTERFACE)
				cr_assert(has_word(text, poise_options[i].key), "%s:\n%s",
					  poise_options[i].key, text);
		}
		free(text);
	}
}

/* A value other than its default for a key of a check. */
static const char *some_value(const struct option *o)
{
	switch (o->type) {
	case OPTION_ENUM: return o->words[1].word;
	case OPTION_BOOL: return "no";
	case OPTION_DURATION: return "700ms";
	case OPTION_STRING: return !strcmp(o->key, "path") ? "/own" : "404";
	default: return "7";
	}
}

Test(tables, a_backends_own_keys_are_in_json_when_set)
{
	struct json_object *answer, *list, *backend;

	cr_assert_eq(command(&c, "service add web 192.0.2.1:80 forward l2"), 0, "%s", c.err);
	cr_assert_eq(command(&c, "health off web"), 0, "%s", c.err);
	cr_assert_eq(command(&c, "backend add web 10.0.0.1"), 0, "%s", c.err);
	for (const struct option *o = option_first(OPTION_BACKEND); o; o = option_next(o)) {
		if (o->type != OPTION_OWN)
			continue;
		for (int set = 1; set >= 0; set--) {
			cr_assert_eq(command(&c, "backend set web 10.0.0.1 %s %s", o->key,
					     set ? some_value(option_owned(o)) : "default"),
				     0, "%s", c.err);
			cr_assert_eq(command(&c, "show --json"), 0, "%s", c.err);
			answer = json_tokener_parse(c.out);
			cr_assert(json_object_object_get_ex(answer, "services", &list));
			cr_assert(json_object_object_get_ex(json_object_array_get_idx(list, 0),
							    "backends", &list));
			backend = json_object_array_get_idx(list, 0);
			cr_expect_eq(has_field(backend, o->key), set, "%s: %s", o->key, c.out);
			json_object_put(answer);
		}
	}
}

Test(tables, every_option_is_in_help_manual_and_completion)
{
	char *manual = manual_list_text("OPTIONS");

	for (size_t i = 0; i < cli_command_count; i++) {
		const struct cli_command *cmd = &cli_commands[i];

		if (cmd->flags & CLI_HIDDEN)
			continue;
		for (int k = 0; k < CLI_OPTION_COUNT; k++) {
			char text[40];

			if (!((cmd->options | CLI_OPTIONS_COMMON) & 1u << k))
				continue;
			snprintf(text, sizeof(text), "--%s", cli_options[k].name);
			cr_assert_eq(command(&c, "help %s", cmd->name), 0, "%s", c.err);
			cr_assert(strstr(c.out, text), "help %s: %s", cmd->name, text);
			cr_assert_eq(command(&c, "complete -- %s --", cmd->name), 0);
			cr_assert(strstr(c.out, text), "complete %s: %s", cmd->name, text);
			cr_assert(has_word(manual, cli_options[k].name), "manual: %s", text);
		}
	}
	free(manual);
}

Test(tables, every_command_is_in_help_manual_and_completion)
{
	char *manual = manual_list_text("COMMANDS");

	for (size_t i = 0; i < cli_command_count; i++) {
		const struct cli_command *cmd = &cli_commands[i];
		const char *space = strchr(cmd->name, ' ');
		char expected[64];

		if (cmd->flags & CLI_HIDDEN)
			continue;
		cr_assert(strstr(manual, cmd->name), "%s", cmd->name);
		snprintf(expected, sizeof(expected), "  poise %s%s%s\n", cmd->name,
			 *cmd->usage ? " " : "", cmd->usage);
		cr_assert_eq(command(&c, "help"), 0);
		cr_assert(strstr(c.out, expected), "%s", expected);
		if (space)
			command(&c, "complete -- %.*s ''", (int)(space - cmd->name), cmd->name);
		else
			command(&c, "complete -- ''");
		snprintf(expected, sizeof(expected), "%s\t", space ? space + 1 : cmd->name);
		cr_assert(strstr(c.out, expected), "%s: %s", cmd->name, c.out);
	}
	free(manual);
}

Test(tables, every_drop_reason_is_in_the_manual_with_its_sentence)
{
	char *reasons = manual_list_text("REASONS"), *events = manual_list_text("EVENTS");

#define HAS_REASON(sym, name, text) cr_assert(strstr(reasons, name) && strstr(reasons, text));
#define HAS_EVENT(sym, name, text)  cr_assert(strstr(events, name) && strstr(events, text));
	POISE_REASONS(HAS_REASON)
	POISE_EVENTS(HAS_EVENT)
	free(reasons);
	free(events);
}

/* The templates name every list, so that nothing above is true of lists nobody prints. */
Test(tables, the_pages_have_every_list)
{
	static const char *const lists[] = {"@COMMANDS@",     "@OPTIONS@",	  "@SERVICE-KEYS@",
					    "@BACKEND-KEYS@", "@INTERFACE-KEYS@", "@ADDRESS-KEYS@",
					    "@REASONS@",      "@EVENTS@"};
	char text[32768];
	FILE *f = fopen("docs/man/poise.8.in", "r");
	size_t n;

	cr_assert_not_null(f, "run from the top of the source tree");
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	fclose(f);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		cr_assert(strstr(text, lists[i]), "%s", lists[i]);
}
