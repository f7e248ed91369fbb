// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Taking a command line apart. Options are recognised before the command is known, so that they
 * may stand anywhere; whether the command takes them is asked afterwards (dispatch.c).
 */
#include "args.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../maps/text.h"

const struct cli_option cli_options[CLI_OPTION_COUNT] = {
#define CLI_OPTION_LINE(sym, name, letter, arity, argument, help)                                  \
	[OPT_##sym] = {name, letter, ARITY_##arity, argument, help},
	CLI_OPTIONS(CLI_OPTION_LINE)};

#define LIST_TEXT 960 /* bytes of words in a message: all keys of a service, and a third more */

/* The words that begin with prefix, with commas, each once; those that do not fit are left out. */
static char *list_words(const char *prefix, const char *const *word, size_t n, char buf[LIST_TEXT])
{
	size_t used = 0;

	buf[0] = 0;
	for (size_t i = 0; i < n; i++) {
		bool again = strncmp(word[i], prefix, strlen(prefix)) != 0;

		for (size_t k = 0; k < i && !again; k++)
			again = !strcmp(word[k], word[i]);
		if (!again && used + strlen(word[i]) + 3 < LIST_TEXT)
			used += (size_t)snprintf(buf + used, LIST_TEXT - used, "%s%s",
						 used ? ", " : "", word[i]);
	}
	return buf;
}

int args_match(const char *what, const char *text, const char *const *word, size_t n,
	       bool abbreviate, struct poise_error *err)
{
	char list[LIST_TEXT];
	const char *near;
	int found = -1, count = 0;

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(word[i], text))
			return (int)i;
		if (*text && !strncmp(word[i], text, strlen(text))) {
			found = (int)i;
			count++;
		}
	}
	if (abbreviate && count == 1)
		return found;
	if (abbreviate && count > 1)
		return poise_fail(err, POISE_E_USAGE, "%s \"%s\" is ambiguous: %s", what, text,
				  list_words(text, word, n, list));
	near = count == 1 ? word[found] : poise_closest(text, word, n);
	poise_fail(err, POISE_E_USAGE, "unknown %s \"%s\"", what, text);
	if (near)
		return poise_error_remedy(err, "did you mean \"%s\"?", near);
	return poise_error_remedy(err, "one of %s", list_words("", word, n, list));
}

static bool reads_as_duration(const char *text)
{
	__u64 ms;

	return text && !poise_parse_duration(text, &ms, NULL);
}

static int long_option(struct cli_args *a, const char *text, const char *following, int *taken,
		       bool abbreviate, struct poise_error *err)
{
	const char *names[CLI_OPTION_COUNT];
	const char *equals = strchr(text, '=');
	char name[32];
	size_t len = equals ? (size_t)(equals - text) : strlen(text);
	int id;

	if (len >= sizeof(name))
		len = sizeof(name) - 1;
	memcpy(name, text, len);
	name[len] = 0;
	for (int i = 0; i < CLI_OPTION_COUNT; i++)
		names[i] = cli_options[i].name;
	id = args_match("option", name, names, CLI_OPTION_COUNT, abbreviate, err);
	if (id < 0)
		return -1;
	a->set[id] = true;
	a->value[id] = equals ? equals + 1 : NULL;
	if (equals && cli_options[id].arity == ARITY_NONE)
		return poise_fail(err, POISE_E_USAGE, "--%s takes no value", cli_options[id].name);
	if (!equals && (cli_options[id].arity == ARITY_NEED ||
			(cli_options[id].arity == ARITY_MAY && reads_as_duration(following)))) {
		if (!following)
			return poise_fail(err, POISE_E_USAGE, "--%s needs %s", cli_options[id].name,
					  cli_options[id].argument);
		a->value[id] = following;
		*taken = 1;
	}
	return 0;
}

/* Letters take no arguments, so they may stand together: -jq. */
static int letters(struct cli_args *a, const char *text, struct poise_error *err)
{
	for (const char *p = text; *p; p++) {
		int id = 0;

		while (id < CLI_OPTION_COUNT && cli_options[id].letter != *p)
			id++;
		if (id == CLI_OPTION_COUNT)
			return poise_fail(err, POISE_E_USAGE, "unknown option \"-%c\"", *p);
		a->set[id] = true;
	}
	return 0;
}

/* Letters, or a negative number, which is refused where it is a value. */
static bool is_word(const char *text)
{
	return text[0] != '-' || !text[1] || isdigit((unsigned char)text[1]);
}

int args_parse(struct cli_args *a, int argc, const char *const *argv, bool abbreviate,
	       struct poise_error *err)
{
	bool words_only = false;

	memset(a, 0, sizeof(*a));
	a->word = calloc((size_t)argc + 1, sizeof(*a->word));
	if (!a->word)
		abort();
	for (int i = 0; i < argc; i++) {
		const char *text = argv[i];
		int taken = 0;

		if (words_only || is_word(text)) {
			a->word[a->words++] = text;
		} else if (!strcmp(text, "--")) {
			words_only = true;
		} else if (text[1] == '-') {
			if (long_option(a, text + 2, i + 1 < argc ? argv[i + 1] : NULL, &taken,
					abbreviate, err))
				return -1;
			i += taken;
		} else if (letters(a, text + 1, err)) {
			return -1;
		}
	}
	return 0;
}

void args_free(struct cli_args *a)
{
	free(a->word);
	a->word = NULL;
	a->words = 0;
}

const char *args_peek(const struct cli_args *a)
{
	return a->next < a->words ? a->word[a->next] : NULL;
}

const char *args_take(struct cli_args *a)
{
	return a->next < a->words ? a->word[a->next++] : NULL;
}

size_t args_left(const struct cli_args *a)
{
	return a->words - a->next;
}
