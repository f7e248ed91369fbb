// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Files of great size: of thousands of services, and those that are too large in some way. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/parsed.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct config *parse_stream(FILE *f, char **text, size_t *length, struct poise_error *err)
{
	fclose(f);
	return config_parse("web.yaml", *text, *length, err);
}

Test(yaml_size, too_large_in_every_way)
{
	static const struct {
		const char *head, *unit, *error;
		unsigned int times;
	} huge[] = {
		{"# ", "aaaaaaaaaaaaaaaa", "larger than 32 MiB (web.yaml)", 2100000},
		{"services: [ &a x,", "*a ,", "far too large (web.yaml:1)", 4200000},
		{"", "[", "nested too deep (web.yaml:1)", 5000000},
	};

	for (size_t i = 0; i < COUNT(huge); i++) {
		struct poise_error err = {0};
		size_t length;
		char *text;
		FILE *f = open_memstream(&text, &length);

		fputs(huge[i].head, f);
		for (unsigned int n = 0; n < huge[i].times; n++)
			fputs(huge[i].unit, f);
		cr_expect_null(parse_stream(f, &text, &length, &err));
		cr_expect_str_eq(said(&err), huge[i].error);
		free(text);
	}
}

Test(yaml_size, a_mapping_of_too_many_keys)
{
	struct poise_error err = {0};
	size_t length;
	char *text;
	FILE *f = open_memstream(&text, &length);

	for (int i = 0; i < 129; i++)
		fprintf(f, "k%d: 1\n", i);
	cr_expect_null(parse_stream(f, &text, &length, &err));
	cr_expect_str_eq(said(&err), "a mapping with far too many keys (web.yaml:129)");
	free(text);
}

/* An alias costs a few bytes and repeats a whole list. */
Test(yaml_size, repeated_lists_come_to_an_end)
{
	struct poise_error err = {0};
	size_t length;
	char *text;
	FILE *f = open_memstream(&text, &length);

	fputs("defaults: { forward: l2 }\nservices:\n", f);
	for (int i = 0; i < 5000; i++) {
		fprintf(f, "  - name: s%d\n    listen: 192.0.%d.%d:80\n", i, i / 200, i % 200 + 1);
		if (i) {
			fputs("    backends: *pool\n", f);
			continue;
		}
		fputs("    backends: &pool\n", f);
		for (int b = 0; b < 1000; b++)
			fprintf(f, "      - 10.1.%d.%d\n", b / 200, b % 200 + 1);
	}
	cr_expect_null(parse_stream(f, &text, &length, &err));
	cr_expect_str_eq(said(&err),
			 "service \"s65\": more than 65535 backends in the file (web.yaml:541)");
	free(text);
}

Test(yaml_size, thousands_of_services)
{
	struct poise_error err = {0};
	struct config *cfg;
	char *text, *saved;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	fputs("services:\n", f);
	for (int i = 1000; i < 5096; i++) {
		fprintf(f, "  - name: s%d\n    listen:\n      - \"192.0.%d.%d:80\"\n", i, i / 200,
			i % 200 + 1);
		fputs("    policy: maglev\n    forward: l2\n    table-size: auto\n    backends:\n",
		      f);
		for (int b = 1; b <= 4; b++)
			fprintf(f, "      - { address: 10.1.0.%d, weight: %d }\n", b, b + 1);
	}
	cfg = parse_stream(f, &text, &length, &err);
	cr_assert_not_null(cfg, "%s", said(&err));
	cr_expect_eq(cfg->services, 4096);
	saved = config_save(cfg, 0);
	cr_expect_str_eq(saved, text);
	free(saved);
	free(text);
	config_free(cfg);
}
