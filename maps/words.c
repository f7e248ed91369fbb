// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Durations, sizes, numbers for humans, and the guess behind "did you mean".
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

struct unit {
	const char *name;
	__u64 value;
};

/* Largest first. Milliseconds. */
static const struct unit durations[] = {
	{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};

/* Largest first. Powers of 1024, as memory is. */
static const struct unit sizes[] = {
	{"T", 1ULL << 40}, {"G", 1ULL << 30}, {"M", 1ULL << 20}, {"k", 1ULL << 10}, {"", 1},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Reads digits; false if there is none or the number is over 64 bits. *end is what follows. */
static bool digits(const char *text, __u64 *value, const char **end)
{
	const char *c = text;

	*value = 0;
	for (; *c >= '0' && *c <= '9'; c++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (__u64)(*c - '0'), value))
			return false;
	*end = c;
	return c != text;
}

int poise_parse_number(const char *text, __u64 *value, struct poise_error *err)
{
	const char *end;
	__u64 got;

	if (!digits(text, &got, &end) || *end || (text[0] == '0' && text[1]))
		return poise_fail_text(err, POISE_E_BAD_VALUE, text, "not a whole number");
	*value = got;
	return 0;
}

int poise_parse_percent(const char *text, __u64 *value, struct poise_error *err)
{
	const char *end;
	__u64 got;

	if (!digits(text, &got, &end) || (text[0] == '0' && end > text + 1) ||
	    (strcmp(end, "%") != 0 && (got || *end)))
		return poise_fail_text(err, POISE_E_BAD_VALUE, text, "not a percentage like 10%%");
	*value = got;
	return 0;
}

int poise_parse_hundredths(const char *text, __u64 *value, struct poise_error *err)
{
	const char *end, *point;
	__u64 whole, part = 0;

	if (!digits(text, &whole, &end) || whole > POISE_HUNDREDTHS_MAX ||
	    (text[0] == '0' && end > text + 1))
		goto wrong;
	point = end;
	if (*point == '.' && (!digits(point + 1, &part, &end) || end - point > 3))
		goto wrong;
	if (*end)
		goto wrong;
	*value = whole * 100 + (end - point == 2 ? part * 10 : part);
	return 0;
wrong:
	return poise_fail_text(err, POISE_E_BAD_VALUE, text, "not a number like 2 or 0.25");
}

int poise_parse_duration(const char *text, __u64 *ms, struct poise_error *err)
{
	const char *at = text;
	__u64 sum = 0;
	size_t next = 0; /* the units still allowed: each at most once, larger ones first */

	if (!strcmp(text, "0")) {
		*ms = 0;
		return 0;
	}
	do {
		size_t letters, u;
		__u64 part;

		if (!digits(at, &part, &at))
			goto bad;
		if (!*at && at != text && next == 0) {
			poise_fail_text(err, POISE_E_BAD_VALUE, text, "a duration needs a unit");
			return poise_error_remedy(err, "write %ss for seconds, %sm for minutes",
						  text, text);
		}
		letters = strcspn(at, "0123456789");
		for (u = next; u < COUNT(durations); u++)
			if (strlen(durations[u].name) == letters &&
			    !strncmp(at, durations[u].name, letters))
				break;
		if (u == COUNT(durations) ||
		    __builtin_mul_overflow(part, durations[u].value, &part) ||
		    __builtin_add_overflow(sum, part, &sum))
			goto bad;
		next = u + 1;
		at += letters;
	} while (*at);
	*ms = sum;
	return 0;
bad:
	return poise_fail_text(err, POISE_E_BAD_VALUE, text,
			       "not a duration (500ms, 2s, 5m, 2h15m, 3d)");
}

char *poise_format_duration(__u64 ms, char *buf, size_t size)
{
	size_t used = 0;

	snprintf(buf, size, "0");
	for (size_t u = 0; u < COUNT(durations) && used < size; u++) {
		__u64 part = ms / durations[u].value;

		ms %= durations[u].value;
		if (part)
			used += (size_t)snprintf(buf + used, size - used, "%llu%s", part,
						 durations[u].name);
	}
	return buf;
}

int poise_parse_size(const char *text, __u64 *value, struct poise_error *err)
{
	const char *end;
	__u64 got;

	if (!digits(text, &got, &end) || (text[0] == '0' && text[1]))
		goto bad;
	for (size_t u = 0; u < COUNT(sizes); u++)
		if (!strcasecmp(end, sizes[u].name)) {
			if (__builtin_mul_overflow(got, sizes[u].value, &got))
				break;
			*value = got;
			return 0;
		}
bad:
	return poise_fail_text(err, POISE_E_BAD_VALUE, text, "not a size (4099, 64k, 4M, 1G)");
}

char *poise_format_size(__u64 value, char *buf, size_t size)
{
	size_t u = 0;

	while (value % sizes[u].value || value < sizes[u].value) {
		if (sizes[u].value == 1)
			break; /* 0 */
		u++;
	}
	snprintf(buf, size, "%llu%s", value / sizes[u].value, sizes[u].name);
	return buf;
}

char *poise_format_human(double value, char *buf, size_t size)
{
	static const char prefix[] = {'\0', 'k', 'M', 'G', 'T', 'P', 'E'};
	size_t p = 0;
	int places;

	/* 999.5 would print as 1000 of the smaller unit */
	while (fabs(value) >= 999.5 && p + 1 < sizeof(prefix)) {
		value /= 1000;
		p++;
	}
	/* Three digits at most, and no fraction on whole plain numbers */
	places = fabs(value) < 99.95 && (p || value != floor(value)) ? 1 : 0;
	if (prefix[p])
		snprintf(buf, size, "%.*f%c", places, value, prefix[p]);
	else
		snprintf(buf, size, "%.*f", places, value);
	return buf;
}

char *poise_format_age(__u64 seconds, char *buf, size_t size)
{
	__u64 days = seconds / 86400, hours = seconds / 3600 % 24, minutes = seconds / 60 % 60;

	if (days && hours)
		snprintf(buf, size, "%llud%lluh", days, hours);
	else if (days)
		snprintf(buf, size, "%llud", days);
	else if (hours && minutes)
		snprintf(buf, size, "%lluh%llum", hours, minutes);
	else if (hours)
		snprintf(buf, size, "%lluh", hours);
	else if (minutes)
		snprintf(buf, size, "%llum", minutes);
	else
		snprintf(buf, size, "%llus", seconds);
	return buf;
}

#define GUESS_MAX 40 /* longer texts are not misspelled words */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment: insertions, deletions, changes, and swaps of neighbours count 1. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[3][GUESS_MAX + 1];
	size_t la = strlen(a), lb = strlen(b);

	for (size_t j = 0; j <= lb; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t *now = row[i % 3];
		const size_t *above = row[(i + 2) % 3], *above2 = row[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			char x = (char)tolower((unsigned char)a[i - 1]);
			char y = (char)tolower((unsigned char)b[j - 1]);

			now[j] = least(least(now[j - 1], above[j]) + 1, above[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == (char)tolower((unsigned char)b[j - 2]) &&
			    y == (char)tolower((unsigned char)a[i - 2]))
				now[j] = least(now[j], above2[j - 2] + 1);
		}
	}
	return row[la % 3][lb];
}

const char *poise_closest(const char *text, const char *const *words, size_t n)
{
	const char *best = NULL;
	size_t length = strlen(text);
	size_t nearest = length / 3 + 2; /* as many slips as make it a slip of this word */

	if (!length || length > GUESS_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t d;

		if (strlen(words[i]) > GUESS_MAX)
			continue;
		d = edit_distance(text, words[i]);
		/* A word of which only the beginning was typed is near too */
		if (length >= 3 && !strncasecmp(text, words[i], length))
			d = 1;
		if (d < nearest && d < strlen(words[i])) {
			nearest = d;
			best = words[i];
		}
	}
	return best;
}
