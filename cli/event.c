// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* An event as a line and as JSON, and the one that a command is; see event.h. */
#include "event.h"

#include <string.h>

#include "../maps/events.h"
#include "transact.h"

void event_print(struct cli *c, const struct poise_event *e)
{
	char when[EVENTS_TIME], text[EVENTS_TEXT];

	fprintf(c->out, "%s %s\n", events_time(e->at, when), events_words(e, text, sizeof(text)));
}

static void add_user(struct json_object *o, const struct poise_event *e)
{
	if (e->kind != POISE_EVENT_CHANGE && e->kind != POISE_EVENT_ATTACHED &&
	    e->kind != POISE_EVENT_DETACHED)
		return;
	json_add_u64(o, "uid", e->uid);
	if (e->kind == POISE_EVENT_CHANGE)
		json_add_known(o, "owner", cli_owner(e->owner));
}

struct json_object *event_json(const struct poise_event *e)
{
	struct json_object *o = json_object_new_object();
	char when[EVENTS_TIME], text[EVENTS_TEXT];

	json_add_known(o, "event", events_name(e->kind));
	json_add_u64(o, "number", e->number);
	json_add_known(o, "at", events_time(e->at, when));
	json_add_u64(o, "generation", e->generation);
	json_add_known(o, "service", e->service);
	if (e->object[0])
		json_add_known(o, events_object_word(e->kind), e->object);
	if (e->kind == POISE_EVENT_RUNG || e->kind == POISE_EVENT_RUNG_WORSE) {
		json_add_known(o, "rung", ladder_rung_word(e->rung));
		json_add_known(o, "rung_before", ladder_rung_word(e->rung_was));
	}
	add_user(o, e);
	json_add_known(o, e->kind == POISE_EVENT_CHANGE ? "command" : "reason", e->words);
	json_add_known(o, "text", events_words(e, text, sizeof(text)));
	return o;
}

/* ---- a command --------------------------------------------------------------------------------*/

/* Adds a word, in quotes if it would be several. What has no room is left out. */
static void add_word(char *buf, size_t size, const char *before, const char *word)
{
	size_t used = strlen(buf);
	const char *quote = !*word || strpbrk(word, " \t") ? "\"" : "";

	snprintf(buf + used, size - used, "%s%s%s%s%s", used ? " " : "", before, quote, word,
		 quote);
}

void cli_tell_change(struct cli *c)
{
	char command[POISE_EVENT_WORDS] = "";
	bool file = !strcmp(c->command->name, "apply");

	for (size_t w = 0; w < c->args.words; w++)
		add_word(command, sizeof(command), "", c->args.word[w]);
	for (int o = 0; o < CLI_OPTION_COUNT; o++)
		if (c->args.set[o] && (c->command->options & 1u << o))
			add_word(command, sizeof(command), "--", cli_options[o].name);
	events_change(c->instance, file ? POISE_OWNER_FILE : POISE_OWNER_HAND, command);
}
