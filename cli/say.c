// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a command says when it is done, and when it fails: for people, and with --json for programs.
 */
#include <json-c/json.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "json.h"

void cli_say(struct cli *c, const char *fmt, ...)
{
	va_list ap;

	free(c->sentence);
	va_start(ap, fmt);
	if (vasprintf(&c->sentence, fmt, ap) < 0)
		abort();
	va_end(ap);
}

void cli_note(struct cli *c, const char *fmt, ...)
{
	va_list ap;

	if (c->notes == CLI_NOTES)
		return;
	va_start(ap, fmt);
	if (vasprintf(&c->note[c->notes++], fmt, ap) < 0)
		abort();
	va_end(ap);
}

struct json_object *json_change(const struct cli *c)
{
	struct json_object *o = json_answer(c), *next = json_object_new_array();

	if (c->sentence)
		json_object_object_add(o, "done", json_object_new_string(c->sentence));
	for (size_t i = 0; i < c->notes; i++)
		json_object_array_add(next, json_object_new_string(c->note[i]));
	json_object_object_add(o, "notes", next);
	return o;
}

void cli_print_change(struct cli *c)
{
	if (c->quiet) {
		/* that it is done, the exit status says */
	} else if (c->json) {
		json_print(c, json_change(c));
	} else {
		if (c->sentence)
			fprintf(c->out, "%s\n", c->sentence);
		for (size_t i = 0; i < c->notes; i++)
			fprintf(c->out, "  %s\n", c->note[i]);
	}
	cli_forget(c);
}

void cli_forget(struct cli *c)
{
	free(c->sentence);
	c->sentence = NULL;
	while (c->notes)
		free(c->note[--c->notes]);
}

static void print_error_json(FILE *out, const struct poise_error *err)
{
	struct json_object *o = json_object_new_object(), *e = json_object_new_object();

	json_object_object_add(e, "code", json_object_new_string(poise_code_word(err->code)));
	json_object_object_add(e, "message", json_object_new_string(err->message));
	json_add_known(e, "object", err->object);
	json_add_known(e, "file", err->file);
	if (err->line)
		json_object_object_add(e, "line", json_object_new_int(err->line));
	json_add_known(e, "remedy", err->remedy);
	json_object_object_add(o, "error", e);
	fprintf(out, "%s\n", json_object_to_json_string_ext(o, JSON_FLAGS));
	json_object_put(o);
}

void cli_print_error(const struct cli *c)
{
	char text[sizeof(struct poise_error)];

	if (c->json) {
		print_error_json(c->err, &c->error);
		return;
	}
	fprintf(c->err, "poise: %s\n", poise_error_text(&c->error, text, sizeof(text)));
	if (c->error.remedy[0])
		fprintf(c->err, "       %s\n", c->error.remedy);
}
