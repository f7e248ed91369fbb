// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lines into words; see split.h. */
#include "split.h"

#include <stdlib.h>
#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Takes one word at *in, writing it without quotes at *out (never beyond *in). */
static int take_word(char **in, char **out, struct poise_error *err)
{
	char quote = 0;

	for (; **in && (quote || !is_blank(**in)); (*in)++) {
		if (quote ? **in == quote : **in == '\'' || **in == '"') {
			quote = quote ? 0 : **in;
			continue;
		}
		if (**in == '\\' && quote != '\'' && (*in)[1])
			(*in)++;
		*(*out)++ = **in;
	}
	if (quote)
		return poise_fail(err, POISE_E_SYNTAX, "a %c is not closed", quote);
	return 0;
}

int split_words(char *line, char ***argv, struct poise_error *err)
{
	/* Words are separated by a blank at least, so there are no more than this. */
	char **list = calloc(strlen(line) / 2 + 2, sizeof(*list));
	char *in = line, *out = line;
	int n = 0;

	if (!list)
		abort();
	*argv = list;
	for (;;) {
		bool end;

		while (is_blank(*in))
			in++;
		if (!*in || *in == '#')
			break;
		list[n++] = out;
		if (take_word(&in, &out, err))
			return -1;
		end = !*in;
		*out++ = 0;
		if (end)
			break;
		in++;
	}
	list[n] = NULL;
	return n;
}
