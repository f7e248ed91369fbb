// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Everything poise prints with --json is as docs/schema.json says, and nothing is left unsaid. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../maps/instance.h"
#include "../../maps/option.h"
#include "../support/host.h"
#include "../support/schema.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct host h;
static struct schema schema;

static void up(void)
{
	host_up(&h);
	schema_read(&schema);
}

static void down(void)
{
	schema_free(&schema);
	host_down(&h);
}

TestSuite(schema, .init = up, .fini = down, .timeout = TEST_LONGEST);

static void site(void)
{
	host_must(&h, "attach e0");
	host_must(&h, "service add web 192.0.2.10:80 '[2001:db8::10]:80' forward l2 track always");
	host_must(&h, "backend add web 10.0.0.1 10.0.0.2 weight 2");
	host_must(&h, "service add dns 192.0.2.53:53/udp '192.0.2.53:*' policy source-hash "
		      "forward ipip source 10.0.0.254 udp 30s table-size 65537 entropy yes");
	host_must(&h, "backend add dns 10.0.0.4 weight 0 name four");
	host_must(&h, "backend add dns 10.0.0.77 forward l2 admin disabled");
	host_must(&h, "service add any 192.0.2.20:443");
	host_must(&h, "backend add any 10.0.0.5:8443");
	host_must(&h, "backend drain web 10.0.0.2");
	host_must(&h, "health set web http path /healthz timeout 50ms fast-interval 50ms");
	host_must(&h, "address claim 192.0.2.10 lo withdraw-grace 500ms");
	host_must(&h, "address claim 192.0.2.99 lo"); /* no service: withdrawn */
}

static void expect_line_fits(const char *definition, const char *command, const char *line)
{
	struct json_object *o = json_tokener_parse(line);

	cr_assert_not_null(o, "%s: no JSON: %s", command, line);
	cr_expect(schema_fits(&schema, definition, o), "%s: %s in %s", command, schema.fault, line);
	json_object_put(o);
}

/* Every line of a text is an object that fits. */
static void expect_fits(const char *definition, const char *command, const char *text)
{
	cr_assert(*text, "%s printed nothing", command);
	while (*text) {
		size_t length = strcspn(text, "\n");
		char *line = strndup(text, length);

		cr_assert_not_null(line);
		expect_line_fits(definition, command, line);
		free(line);
		text += length + (text[length] == '\n');
	}
}

Test(schema, what_is_looked_at)
{
	static const struct {
		const char *command, *definition;
		int status;
	} looks[] = {
		{"status", "status", 3}, /* poised does not run */
		{"show", "show", 0},
		{"show web", "show", 0},
		{"stats", "stats", 0},
		{"stats web 10.0.0.1", "stats", 0},
		{"events", "events_list", 0},
		{"events web last 3", "events_list", 0},
		{"flows", "flows", 0},
		{"flows --count", "flows_count", 0},
		{"flows client 198.51.100.1 web", "flows_client", 0},
		{"flows drop web", "flows_drop", 0},
		{"map resize flows 64k", "map_resize", 0},
		{"service list", "service_list", 0},
		{"address list", "address_list", 0},
		{"health test web 10.0.0.1", "health_test", 3},
		{"map list", "map_list", 0},
		{"map show members 1", "map_show", 0},
		{"map show meta --raw", "map_show", 0},
		{"map show table web", "map_show_table", 0},
		{"map check", "map_check", 0},
		{"decap show", "decap_show", 0},
		{"save", "save", 0},
		{"save --all", "save", 0},
		{"version", "version", 0},
	};

	site();
	for (size_t i = 0; i < COUNT(looks); i++) {
		cr_assert_eq(host_poise(&h, "%s --json", looks[i].command), looks[i].status,
			     "%s: %s", looks[i].command, h.err);
		expect_fits(looks[i].definition, looks[i].command, h.out);
	}
}

Test(schema, what_is_changed)
{
	static const char *const changes[] = {
		"service set web idle 1h",	"backend set web 10.0.0.1 weight 3",
		"backend disable web 10.0.0.2", "service rename dns names",
		"backend del names four --now", "service del names --now",
	};

	site();
	for (size_t i = 0; i < COUNT(changes); i++) {
		cr_assert_eq(host_poise(&h, "%s --json", changes[i]), 0, "%s: %s", changes[i],
			     h.err);
		expect_fits("change", changes[i], h.out);
	}
}

Test(schema, files)
{
	site();
	host_must(&h, "save");
	host_file(&h, "saved.yaml", h.out);
	cr_assert_eq(host_poise(&h, "diff %s/saved.yaml --json", h.dir), 0, "%s", h.err);
	expect_fits("difference", "diff", h.out);
	host_file(&h, "other.yaml",
		  "services:\n  - { name: other, listen: 192.0.2.9:9, "
		  "forward: l2, backends: [ 10.0.0.9 ] }\n");
	cr_assert_eq(host_poise(&h, "diff %s/other.yaml --json", h.dir), 3, "%s", h.err);
	expect_fits("difference", "diff", h.out);
	cr_assert_eq(host_poise(&h, "apply %s/other.yaml --dry-run --json", h.dir), 0, "%s", h.err);
	expect_fits("difference", "apply --dry-run", h.out);
	cr_assert_eq(host_poise(&h, "apply %s/other.yaml --json", h.dir), 0, "%s", h.err);
	expect_fits("change", "apply", h.out);
}

Test(schema, errors)
{
	static const struct {
		const char *command;
		int status;
	} errors[] = {
		{"show nobody", 1},	{"service add", 2},
		{"nonsense", 2},	{"service set web idle 5", 1},
		{"apply /no/such", 1},	{"service set web polcy mh", 2},
		{"attach nodevice", 1}, {"map show nomap", 2},
	};

	site();
	for (size_t i = 0; i < COUNT(errors); i++) {
		int status = host_poise(&h, "%s --json", errors[i].command);

		cr_expect_eq(status, errors[i].status, "%s: %d: %s", errors[i].command, status,
			     h.err);
		cr_expect_str_empty(h.out, "%s", errors[i].command);
		expect_fits("error", errors[i].command, h.err);
	}
	host_file(&h, "bad.yaml", "services:\n  - { name: web, listen: 192.0.2.1 }\n");
	cr_assert_eq(host_poise(&h, "apply %s/bad.yaml --json", h.dir), 1);
	expect_fits("error", "apply", h.err);
	cr_expect(strstr(h.err, "\"line\":2"), "%s", h.err);
}

/* A judge that lets everything pass is none. */
Test(schema, faults_are_found)
{
	static const struct {
		const char *text, *fault;
	} faults[] = {
		{"{\"used\":1}", "usage: lacks limit"},
		{"{\"used\":1,\"limit\":2,\"left\":1}", "usage: has what the schema lacks: left"},
		{"{\"used\":-1,\"limit\":2}", "usage.used: is out of range: -1"},
		{"{\"used\":\"1\",\"limit\":2}", "usage.used: is of another type: \"1\""},
		{"[]", "usage: is of another type: [ ]"},
	};
	struct json_object *word = json_object_new_string("nobody");

	for (size_t i = 0; i < COUNT(faults); i++) {
		struct json_object *o = json_tokener_parse(faults[i].text);

		cr_expect_not(schema_fits(&schema, "usage", o));
		cr_expect_str_eq(schema.fault, faults[i].fault);
		json_object_put(o);
	}
	cr_expect_not(schema_fits(&schema, "owner", word));
	cr_expect_str_eq(schema.fault, "owner: is not among its words: \"nobody\"");
	json_object_put(word);
}

/* The words of the file with _ for -, seconds named in durations; table-size is two fields. */
Test(schema, every_option_is_in_it)
{
	for (size_t i = 0; i < poise_options_count; i++) {
		const struct option *o = &poise_options[i];
		enum option_type type;
		char key[64];

		if (o->scope > OPTION_BACKEND)
			continue;
		type = o->type == OPTION_OWN ? option_owned(o)->type : o->type;
		snprintf(key, sizeof(key), "%s%s", o->key,
			 type == OPTION_DURATION  ? "_seconds"
			 : type == OPTION_PERCENT ? "_ratio"
						  : "");
		for (char *c = key; *c; c++)
			*c = *c == '-' ? '_' : *c;
		cr_expect_not_null(schema_property(&schema, option_scope_word(o->scope), key), "%s",
				   key);
	}
}
