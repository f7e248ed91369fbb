// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the command `poise` prints: text and JSON of every look, each field in the manual of them;
 * to a terminal what a terminal needs, and what shells complete.
 */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/host.h"

static struct host h;

static void up(void)
{
	host_up(&h);
}

static void down(void)
{
	host_down(&h);
}

TestSuite(cli_output, .init = up, .fini = down, .timeout = TEST_LONGEST);

Test(cli_output, every_look_has_text_and_one_json_object)
{
	static const char *const looks[] = {
		"status",
		"show",
		"show web",
		"stats",
		"stats web",
		"stats web 10.0.0.1",
		"flows",
		"flows web",
		"flows --count",
		"flows client 198.51.100.1",
		"service list",
		"map list",
		"map show members 1",
		"map show services",
		"map show meta --raw",
		"map check",
		"decap show",
		"version",
	};

	host_web(&h);
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		enum json_tokener_error err;
		struct json_object *o;
		int expected = strcmp(looks[i], "status") ? 0 : 3; /* poised does not run */

		cr_assert_eq(host_poise(&h, "%s", looks[i]), expected, "%s: %s", looks[i], h.err);
		cr_assert_str_empty(h.err, "%s: %s", looks[i], h.err);
		cr_assert(*h.out, "%s", looks[i]);
		cr_assert_eq(host_poise(&h, "%s --json", looks[i]), expected, "%s: %s", looks[i],
			     h.err);
		o = json_tokener_parse_verbose(h.out, &err);
		cr_assert_eq(err, json_tokener_success, "%s: %s", looks[i], h.out);
		cr_assert_eq(json_object_get_type(o), json_type_object, "%s", looks[i]);
		cr_assert(json_object_object_get_ex(o, "poise", NULL), "%s: %s", looks[i], h.out);
		cr_assert_eq(strchr(h.out, '\n'), h.out + strlen(h.out) - 1, "%s: one line",
			     looks[i]);
		json_object_put(o);
	}
}

/* Every field of o, and of what is in it, in the document as `field`. Names that are data (reasons
 * of drops) are in the manual. */
static void documented(struct json_object *o, const char *text)
{
	char quoted[80];

	if (json_object_is_type(o, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(o); i++)
			documented(json_object_array_get_idx(o, i), text);
		return;
	}
	if (!json_object_is_type(o, json_type_object))
		return;
	json_object_object_foreach(o, key, value)
	{
		snprintf(quoted, sizeof(quoted), "`%s`", key);
		cr_assert(strstr(text, quoted), "docs/json.md has no %s", quoted);
		if (strcmp(key, "drops") && strcmp(key, "events"))
			documented(value, text);
	}
}

Test(cli_output, every_field_of_json_is_documented)
{
	static const char *const commands[] = {
		"status",
		"show",
		"stats",
		"flows",
		"flows --count",
		"flows client 198.51.100.1",
		"flows drop web",
		"service list",
		"map list",
		"map show members",
		"map show members 1 --raw",
		"map show table web",
		"map check",
		"save",
		"decap show",
		"decap check",
		"version",
		"service set web idle 1h",
		"diff $D/empty.yaml",
		"backend add web 10.0.0.300 2>&1",
	};
	static char text[65536];
	FILE *f = fopen("docs/json.md", "r");

	cr_assert_not_null(f, "run from the top of the source tree");
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	host_web(&h);
	host_must(&h, "decap attach p0 192.0.2.10");
	host_file(&h, "empty.yaml", "services: []\n");
	setenv("D", h.dir, 1);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct json_object *o;

		host_poise(&h, "--json %s", commands[i]);
		o = json_tokener_parse(h.out);
		cr_assert_not_null(o, "%s: %s%s", commands[i], h.out, h.err);
		documented(o, text);
		json_object_put(o);
	}
}

/* What a command that goes on has printed once there are so many lines with these words. */
static void watch(const char *command, const char *words, int lines)
{
	host_run(&h,
		 "%s > %s/seen & pid=$!; until test $(grep -c '%s' %s/seen) -ge %d; "
		 "do sleep 0.05; done; kill $pid; wait $pid; cat %s/seen",
		 command, h.dir, words, h.dir, lines, h.dir);
}

Test(cli_output, watch_paints_in_place_on_a_terminal_and_lines_elsewhere)
{
	host_web(&h);
	watch("poise --instance $I show --watch=200ms", " SERVICE ", 2);
	cr_assert_not(strchr(h.out, '\033'), "%s", h.out);
	watch("poise --instance $I show --watch 200ms --json", "^{.*}$", 2);
	strchr(h.out, '\n')[1] = '\0';
	cr_assert(json_tokener_parse(h.out), "%s", h.out);
	watch("TERM=xterm script -qefc 'stty rows 4 cols 30; "
	      "poise --instance $I show --watch=200ms' /dev/null",
	      "SERVICE", 2);
	cr_assert(strstr(h.out, "\033[H"), "%s", h.out);
	cr_assert(strstr(h.out, "\033[2m"), "headings are faint on a terminal: %s", h.out);
	cr_assert_not(strstr(h.out, "POLICY"), "cut at the window's edge: %s", h.out);
	cr_assert_not(strstr(h.out, "10.0.0.1"), "cut at the window's end: %s", h.out);
}

Test(cli_output, colour_only_on_a_terminal_and_without_no_color)
{
	host_web(&h);
	host_must(&h, "show");
	cr_assert_not(strchr(h.out, '\033'));
	host_run(&h, "script -qec 'poise --instance $I show' /dev/null");
	cr_assert(strstr(h.out, "\033[32mup unchecked\033[0m"), "%s", h.out);
	host_run(&h, "NO_COLOR=1 script -qec 'poise --instance $I show' /dev/null");
	cr_assert_not(strchr(h.out, '\033'), "%s", h.out);
	/* and so are short words */
	host_run(&h, "script -qec 'poise --instance $I back s web 10.0.0.1 wei 4' /dev/null");
	cr_assert_eq(h.status, 0, "%s", h.out);
	cr_assert_eq(host_poise(&h, "back s web 10.0.0.1 wei 4"), 2);
}

Test(cli_output, output_that_cannot_be_written_is_a_failure)
{
	host_web(&h);
	cr_assert_eq(host_poise(&h, "show > /dev/full"), 1);
	cr_assert(strstr(h.err, "standard output"), "%s", h.err);
	cr_assert_eq(host_poise(&h, "show --json > /dev/full"), 1, "flushed before the end");
	cr_assert_eq(host_poise(&h, "service set web idle 1h > /dev/full"), 3,
		     "1: nothing changed");
	cr_assert(strstr(h.err, "the change is done"), "%s", h.err);
}

Test(cli_output, bash_completes_from_the_instance)
{
	host_web(&h);
	host_run(&h, "source <(poise completion bash); COMP_LINE='poise --instance '$I' show '; "
		     "COMP_POINT=${#COMP_LINE}; _poise; echo ${COMPREPLY[*]}; "
		     "COMP_LINE='poise --instance '$I' backend drain web 10.0.0'; "
		     "COMP_POINT=${#COMP_LINE}; _poise; echo ${COMPREPLY[*]}; "
		     "COMP_LINE='poise service add x 1.2.3.4:80 forward '; "
		     "COMP_POINT=${#COMP_LINE}; _poise; echo ${COMPREPLY[*]}");
	cr_assert_str_eq(h.out, "web\n10.0.0.1 10.0.0.2 10.0.0.3\nnat l2 ipip gue local default\n",
			 "%s", h.err);
	for (int i = 0; i < 2; i++) {
		const char *shell = i ? "fish" : "zsh";

		host_must(&h, "completion %s > %s/c", shell, h.dir);
		if (host_run(&h, "command -v %s", shell) == 0)
			cr_assert_eq(host_run(&h, "%s -n %s/c", shell, h.dir), 0, "%s: %s", shell,
				     h.err);
		if (!h.status && !i) {
			host_run(&h,
				 "zsh -fc 'compdef() {}; _describe() { print -r -- ${(P)2} }; "
				 "source %s/c; words=(poise service add x 1.2.3.4:80 forward ip); "
				 "CURRENT=$#words; _poise'",
				 h.dir);
			cr_assert_str_eq(h.out, "ipip:\n", "%s", h.err);
		} else if (!h.status) {
			host_run(&h,
				 "fish -c 'source %s/c; complete -C \"poise service add x "
				 "1.2.3.4:80 forward ip\"'",
				 h.dir);
			cr_assert_str_eq(h.out, "ipip\n", "%s", h.err);
		}
	}
}

Test(cli_output, manual_pages_are_well_formed)
{
	if (host_run(&h, "command -v mandoc"))
		cr_skip_test("mandoc is not installed");
	host_run(&h, "mandoc -Tlint -Wwarning ${B:-build}/man/*.[58]");
	cr_assert_eq(h.status, 0, "%s%s", h.out, h.err);
	cr_assert_str_empty(h.out);
}
