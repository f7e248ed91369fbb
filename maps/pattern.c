// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * By PCRE2, which counts as a step each time that it tries how an expression goes on, but not the
 * bytes that a repeated item swallows first. As each of these is then given back by a step unless
 * the search succeeds, steps are a bound of time all the same, while nothing keeps what it
 * swallowed for good: hence PCRE2_NO_AUTO_POSSESS, and what pattern_check refuses.
 */
#include "pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps are counted anew at each byte that a search begins at. Begun at the first byte alone, with
 * anything in front, it counts once. */
#define ANYWHERE "(?s:.*?)(?:%s)"
#define MEMORY	 16384 /* KiB for what is yet to be tried: some hundred bytes for each byte read */
#define WHY_TEXT 120

/* Bytes that one step may swallow by counts: about as many as by letters as they stand. */
#define COUNTED_MOST 128

static pcre2_code *compile(const char *pattern, uint32_t options, char *why, size_t *at)
{
	int error;
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
					 options | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C |
						 PCRE2_NO_AUTO_POSSESS,
					 &error, at, NULL);

	if (!code)
		pcre2_get_error_message(error, (PCRE2_UCHAR *)why, WHY_TEXT);
	return code;
}

static pcre2_code *compile_anywhere(const char *pattern, char *why, size_t *at)
{
	const size_t size = strlen(pattern) + sizeof(ANYWHERE);
	char *anywhere = malloc(size);
	pcre2_code *code;

	if (!anywhere)
		abort();
	snprintf(anywhere, size, ANYWHERE, pattern);
	code = compile(anywhere, PCRE2_ANCHORED, why, at);
	free(anywhere);
	return code;
}

/* A group that does more than to hold together, or to say how its letters count. Where blanks do
 * not count, what keeps may be hidden between them. */
static bool is_odd_group(const char *c)
{
	if (!strncmp(c, "(*", 2))
		return true;
	if (strncmp(c, "(?", 2) != 0)
		return false;
	c += 2;
	c += strspn(c, "ims-");
	return *c != ':' && *c != ')';
}

/* Such a group, or a repetition that gives nothing back. */
static bool keeps(const char *pattern)
{
	for (const char *c = pattern; *c; c++) {
		if (*c == '\\' && c[1])
			c++;
		else if (is_odd_group(c) || (strchr("*+?}", *c) && c[1] == '+'))
			return true;
	}
	return false;
}

/* How often something is said to be there at least, in all: that often it is swallowed without a
 * step, and not given back. */
static unsigned long counted(const char *pattern)
{
	unsigned long sum = 0;

	for (const char *c = pattern; *c; c++) {
		if (*c == '\\' && c[1])
			c++;
		else if (*c == '{')
			sum += strtoul(c + 1, NULL, 10);
	}
	return sum;
}

static bool refers_back(const pcre2_code *code)
{
	uint32_t most = 0;

	pcre2_pattern_info(code, PCRE2_INFO_BACKREFMAX, &most);
	return most > 0;
}

/* First by itself: what closes a bracket that it did not open would close ours. */
int pattern_check(const char *pattern, struct poise_error *err)
{
	pcre2_code *alone, *anywhere = NULL;
	char why[WHY_TEXT] = "";
	size_t at = 0;
	int rc = 0;

	alone = compile(pattern, 0, why, &at);
	if (alone && (keeps(pattern) || refers_back(alone)))
		rc = poise_fail_text(err, POISE_E_BAD_VALUE, pattern,
				     "it refers back, looks around or keeps what it has, which may "
				     "take for ever");
	else if (alone && counted(pattern) > COUNTED_MOST)
		rc = poise_fail_text(err, POISE_E_BAD_VALUE, pattern,
				     "its counts in braces are more than %d in all, which may take "
				     "long",
				     COUNTED_MOST);
	else if (alone)
		anywhere = compile_anywhere(pattern, why, &at);
	if (!rc && !anywhere)
		rc = poise_fail_text(err, POISE_E_BAD_VALUE, pattern, "%s", why);
	pcre2_code_free(alone);
	pcre2_code_free(anywhere);
	return rc;
}

static enum pattern_found search(const pcre2_code *code, const void *text, size_t length)
{
	pcre2_match_context *limits = pcre2_match_context_create(NULL);
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	int rc;

	if (!limits || !data)
		abort();
	pcre2_set_match_limit(limits, PATTERN_STEPS);
	pcre2_set_heap_limit(limits, MEMORY);
	rc = pcre2_match(code, text, length, 0, 0, data, limits);
	pcre2_match_data_free(data);
	pcre2_match_context_free(limits);
	/* 0: there are more groups than we have room for, and want. */
	if (rc >= 0)
		return PATTERN_PRESENT;
	return rc == PCRE2_ERROR_NOMATCH ? PATTERN_ABSENT : PATTERN_ENDLESS;
}

enum pattern_found pattern_find(const char *pattern, const void *text, size_t length)
{
	char why[WHY_TEXT];
	size_t at;
	pcre2_code *code = compile_anywhere(pattern, why, &at);
	enum pattern_found found = code ? search(code, text, length) : PATTERN_ABSENT;

	pcre2_code_free(code);
	return found;
}
