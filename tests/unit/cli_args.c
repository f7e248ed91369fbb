// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The command line: options anywhere, prefixes, quoting in batches, tables' widths. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "../../cli/args.h"
#include "../../cli/cli.h"
#include "../../cli/tabular.h"
#include "../../maps/option.h"
#include "../../maps/split.h"

#define PARSE(a, err, abbreviate, ...)                                                             \
	args_parse(a, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),                      \
		   (const char *const[]){__VA_ARGS__}, abbreviate, err)

Test(args, options_stand_anywhere_and_words_keep_their_order)
{
	struct cli_args a;
	struct poise_error err = {0};

	cr_assert_eq(PARSE(&a, &err, false, "-j", "backend", "--wait=5s", "drain", "web", "--pin",
			   "/x", "10.0.0.1"),
		     0);
	cr_assert_eq(a.words, 4);
	cr_assert_str_eq(a.word[0], "backend");
	cr_assert_str_eq(a.word[3], "10.0.0.1");
	cr_assert(a.set[OPT_JSON] && a.set[OPT_WAIT] && a.set[OPT_PIN] && !a.set[OPT_QUIET]);
	cr_assert_str_eq(a.value[OPT_WAIT], "5s");
	cr_assert_str_eq(a.value[OPT_PIN], "/x");
	args_free(&a);
}

Test(args, an_optional_value_is_the_next_word_only_if_it_is_a_duration)
{
	struct cli_args a;

	cr_assert_eq(PARSE(&a, NULL, false, "show", "--watch", "500ms", "web"), 0);
	cr_assert_str_eq(a.value[OPT_WATCH], "500ms");
	cr_assert_eq(a.words, 2);
	args_free(&a);
	cr_assert_eq(PARSE(&a, NULL, false, "show", "--watch", "web"), 0);
	cr_assert_null(a.value[OPT_WATCH]);
	cr_assert_eq(a.words, 2);
	args_free(&a);
}

Test(args, after_two_dashes_all_are_words_and_one_dash_is_a_word)
{
	struct cli_args a;

	cr_assert_eq(PARSE(&a, NULL, false, "batch", "-", "--", "--json"), 0);
	cr_assert_eq(a.words, 3);
	cr_assert_str_eq(a.word[1], "-");
	cr_assert_str_eq(a.word[2], "--json");
	cr_assert_not(a.set[OPT_JSON]);
	args_free(&a);
}

Test(args, a_negative_number_is_a_word)
{
	struct cli_args a;

	cr_assert_eq(PARSE(&a, NULL, false, "backend", "set", "web", "b1", "weight", "-1", "-j"),
		     0);
	cr_assert_eq(a.words, 6);
	cr_assert_str_eq(a.word[5], "-1");
	cr_assert(a.set[OPT_JSON]);
	args_free(&a);
}

Test(args, wrong_options_are_usage_errors_that_quote_them)
{
	struct cli_args a;
	struct poise_error err = {0};

	cr_assert_eq(PARSE(&a, &err, false, "--jsn"), -1);
	cr_assert_eq(err.code, POISE_E_USAGE);
	cr_assert_str_eq(err.message, "unknown option \"jsn\"");
	cr_assert_str_eq(err.remedy, "did you mean \"json\"?");
	args_free(&a);
	cr_assert_eq(PARSE(&a, &err, false, "-x"), -1);
	cr_assert(strstr(err.message, "-x"));
	args_free(&a);
	cr_assert_eq(PARSE(&a, &err, false, "--pin"), -1);
	cr_assert_str_eq(err.message, "--pin needs DIR");
	args_free(&a);
	cr_assert_eq(PARSE(&a, &err, false, "--json=yes"), -1);
	cr_assert_str_eq(err.message, "--json takes no value");
	args_free(&a);
}

Test(args, prefixes_only_where_they_are_allowed_and_not_ambiguous)
{
	static const char *const words[] = {"save", "service", "show", "stats", "status"};
	struct poise_error err = {0};

	cr_assert_eq(args_match("command", "sh", words, 5, true, &err), 2);
	cr_assert_eq(args_match("command", "show", words, 5, false, &err), 2);
	cr_assert_eq(args_match("command", "sh", words, 5, false, &err), -1);
	cr_assert_str_eq(err.remedy, "did you mean \"show\"?");
	cr_assert_eq(args_match("command", "sta", words, 5, true, &err), -1);
	cr_assert_str_eq(err.message, "command \"sta\" is ambiguous: stats, status");
	cr_assert_eq(args_match("command", "", words, 5, true, &err), -1);
	cr_assert_eq(args_match("command", "stat", words, 5, false, &err), -1);
	cr_assert_eq(args_match("command", "frobnicate", words, 5, false, &err), -1);
	cr_assert_str_eq(err.remedy, "one of save, service, show, stats, status");
}

/* Whoever reads "one of" takes it for all that there are. */
Test(args, no_word_is_left_out_where_all_are_told)
{
	const char *keys[256];
	struct poise_error err = {0};
	size_t n = 0;

	for (size_t k = 0; k < poise_options_count && n < 256; k++)
		if (poise_options[k].scope == OPTION_SERVICE)
			keys[n++] = poise_options[k].key;
	cr_assert_eq(args_match("key", "banana", keys, n, false, &err), -1);
	for (size_t k = 0; k < n; k++)
		cr_expect(strstr(err.remedy, keys[k]), "%s is missing", keys[k]);
}

Test(args, commands_of_later_versions_do_not_exist)
{
	static const char *const later[] = {"health",  "address", "explain", "doctor",
					    "history", "undo",	  "confirm", "import"};

	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
		struct poise_error err = {0};
		struct cli_args a;

		cr_assert_eq(args_parse(&a, 1, &later[i], false, NULL), 0);
		cr_assert_null(cli_find(&a, false, &err), "%s", later[i]);
		cr_assert_eq(poise_code_status(err.code), CLI_USAGE);
		args_free(&a);
	}
}

Test(args, every_command_is_found_by_its_own_name)
{
	for (size_t i = 0; i < cli_command_count; i++) {
		char copy[64], *rest;
		const char *argv[2] = {NULL, NULL};
		struct cli_args a;

		if (cli_commands[i].flags & CLI_HIDDEN)
			continue;
		snprintf(copy, sizeof(copy), "%s", cli_commands[i].name);
		argv[0] = strtok_r(copy, " ", &rest);
		argv[1] = strtok_r(NULL, " ", &rest);
		cr_assert_eq(args_parse(&a, argv[1] ? 2 : 1, argv, false, NULL), 0);
		cr_assert_eq(cli_find(&a, false, NULL), &cli_commands[i], "%s",
			     cli_commands[i].name);
		cr_assert_eq(args_left(&a), 0);
		args_free(&a);
	}
}

/* ---- lines of a batch ---------------------------------------------------------------------*/

struct line {
	const char *text;
	int n; /* words, or -1 */
	const char *word[4];
};

Test(words, lines_split_as_a_shell_would)
{
	static const struct line lines[] = {
		{"", 0, {0}},
		{"  \t\n", 0, {0}},
		{"# all of it", 0, {0}},
		{"a b\tc\n", 3, {"a", "b", "c"}},
		{"a#b #c d", 1, {"a#b"}},
		{"'a b' \"c d\"e", 2, {"a b", "c de"}},
		{"a\\ b \\# \"\\\"\"", 3, {"a b", "#", "\""}},
		{"'' x", 2, {"", "x"}},
		{"'a\\b'", 1, {"a\\b"}},
		{"a 'b", -1, {0}},
		{"\"", -1, {0}},
		{"x\\", 1, {"x\\"}},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct poise_error err = {0};
		char *copy = strdup(lines[i].text), **argv;

		cr_assert_eq(split_words(copy, &argv, &err), lines[i].n, "%s", lines[i].text);
		for (int k = 0; k < lines[i].n; k++)
			cr_assert_str_eq(argv[k], lines[i].word[k], "%s", lines[i].text);
		if (lines[i].n < 0)
			cr_assert_eq(err.code, POISE_E_SYNTAX);
		else
			cr_assert_null(argv[lines[i].n]);
		free(argv);
		free(copy);
	}
}

/* ---- tables -------------------------------------------------------------------------------*/

Test(table, widths_are_what_a_terminal_shows)
{
	cr_assert_eq(text_width("web"), 3);
	cr_assert_eq(text_width("größe"), 5);
	cr_assert_eq(text_width("負荷"), 4);
	cr_assert_eq(text_width("e\xcc\x81"), 1); /* e and a combining acute */
	cr_assert_eq(text_width("\xff\xfe"), 2);  /* no UTF-8 at all */
	cr_assert_eq(text_width("\xe8"), 1);	  /* cut off */
}

Test(table, columns_line_up_and_lines_end_without_blanks)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct table t;

	table_start(&t);
	table_right(&t, 0, 1);
	table_row(&t, 0, (const char *const[]){"größe", "1", "x"}, 3);
	table_row(&t, 0, (const char *const[]){"a", "200", NULL}, 3);
	table_indent(&t, 1, 3);
	table_row(&t, 1, (const char *const[]){"another group", "1"}, 2);
	table_print(&t, out, false);
	fclose(out);
	cr_assert_str_eq(text, "größe    1  x\n"
			       "a      200\n"
			       "   another group  1\n");
	free(text);
}

Test(table, colour_takes_no_width)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct table t;

	table_start(&t);
	table_row(&t, 0, (const char *const[]){"up", "x"}, 2);
	table_colour(&t, 0, COLOUR_GOOD);
	table_row(&t, 0, (const char *const[]){"down", "x"}, 2);
	table_print(&t, out, true);
	fclose(out);
	cr_assert_str_eq(text, "\033[32mup\033[0m    x\ndown  x\n");
	free(text);
}
