// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reading and writing options by the table in options.c. An option is a field at an offset; its
 * type says how wide it is and how its text is read. Nothing here knows a single option by name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"
#include "option_own.h"
#include "text.h"

#define KEYS_MAX   48  /* keys of one scope, or words of one enum: more than there are */
#define WORDS_TEXT 160 /* all words of the longest enum, with commas */

static void *field(const struct option *o, void *obj)
{
	return (char *)obj + o->offset;
}

static const void *field_const(const struct option *o, const void *obj)
{
	return (const char *)obj + o->offset;
}

/* Whether a value is set on the object itself: always, but for overrides that were not said. */
static bool is_set(const struct option *o, const void *obj)
{
	return !o->set_offset || ((const __u8 *)obj)[o->set_offset];
}

static size_t width(const struct option *o)
{
	switch (o->type) {
	case OPTION_ENUM:
	case OPTION_BOOL:
	case OPTION_PERCENT:
	case OPTION_U8: return sizeof(__u8);
	case OPTION_HUNDREDTHS:
	case OPTION_PART:
	case OPTION_U16: return sizeof(__u16);
	case OPTION_ADDRS: return POISE_SOURCES * sizeof(union poise_addr);
	case OPTION_NAME: return POISE_NAME_MAX;
	case OPTION_RANGES: return sizeof(struct ranges);
	case OPTION_STRING: return o->max + 1;
	case OPTION_OWN: return POISE_CHECK_OWN;
	default: return sizeof(__u32);
	}
}

__u64 option_number(const struct option *o, const void *obj)
{
	const void *at = field_const(o, obj);

	switch (width(o)) {
	case sizeof(__u8): return *(const __u8 *)at;
	case sizeof(__u16): return *(const __u16 *)at;
	case sizeof(__u32): return *(const __u32 *)at;
	default: return 0;
	}
}

static void put_number(const struct option *o, void *obj, __u64 value)
{
	void *at = field(o, obj);

	switch (width(o)) {
	case sizeof(__u8): *(__u8 *)at = (__u8)value; break;
	case sizeof(__u16): *(__u16 *)at = (__u16)value; break;
	default: *(__u32 *)at = (__u32)value; break;
	}
}

const char *option_scope_word(enum option_scope scope)
{
	static const char *const words[OPTION_SCOPES] = {"service", "backend", "interface",
							 "address", "health",  "limits"};

	return scope < OPTION_SCOPES ? words[scope] : "?";
}

const struct option *option_next(const struct option *o)
{
	for (const struct option *n = o + 1; n < poise_options + poise_options_count; n++)
		if (n->scope == o->scope)
			return n;
	return NULL;
}

const struct option *option_first(enum option_scope scope)
{
	if (poise_options[0].scope == scope)
		return &poise_options[0];
	for (size_t i = 1; i < poise_options_count; i++)
		if (poise_options[i].scope == scope)
			return &poise_options[i];
	return NULL;
}

const struct option *option_find(enum option_scope scope, const char *key)
{
	const struct option *o = option_first(scope);

	/* Most differ in their first letter: a call less. */
	while (o && (o->key[0] != key[0] || strcmp(o->key, key)))
		o = option_next(o);
	return o;
}

int option_unknown(enum option_scope scope, const char *key, const char *const *more, size_t n,
		   struct poise_error *err)
{
	static const char *const later[] = {"hash"};
	const char *keys[KEYS_MAX], *near;
	size_t count = 0;

	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		if (scope <= OPTION_BACKEND && !strcmp(key, later[i]))
			return poise_fail_text(err, POISE_E_UNSUPPORTED, key,
					       "not in this version");
	for (size_t i = 0; i < n && count < KEYS_MAX; i++)
		keys[count++] = more[i];
	for (const struct option *o = option_first(scope); o && count < KEYS_MAX;
	     o = option_next(o))
		keys[count++] = o->key;
	near = poise_closest(key, keys, count);
	poise_fail_text(err, POISE_E_UNKNOWN_KEY, key, "no such %s key", option_scope_word(scope));
	return near ? poise_error_remedy(err, "did you mean %s?", near) : -1;
}

const struct option *option_need(enum option_scope scope, const char *key, struct poise_error *err)
{
	const struct option *o = option_find(scope, key);

	if (!o)
		option_unknown(scope, key, NULL, 0, err);
	return o;
}

const char *option_word(const struct option *o, int value)
{
	for (const struct option_word *w = o->words; w && w->word; w++)
		if (w->value == value && !w->alias)
			return w->word;
	return "?";
}

/* The words that can be chosen, with commas. */
static char *choices(const struct option *o, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (const struct option_word *w = o->words; w->word && used < size; w++)
		if (!w->alias)
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
						 w->word);
	return buf;
}

static int set_enum(const struct option *o, void *obj, const char *text, struct poise_error *err)
{
	const char *words[KEYS_MAX], *near;
	char list[WORDS_TEXT];
	size_t n = 0;

	for (const struct option_word *w = o->words; w->word; w++) {
		if (n < KEYS_MAX)
			words[n++] = w->word;
		if (strcmp(w->word, text))
			continue;
		put_number(o, obj, (__u64)w->value);
		return 0;
	}
	poise_fail_text(err, POISE_E_BAD_VALUE, text, "not one of: %s",
			choices(o, list, sizeof(list)));
	near = poise_closest(text, words, n);
	return near ? poise_error_remedy(err, "did you mean %s?", near) : -1;
}

static int set_bool(const struct option *o, void *obj, const char *text, struct poise_error *err)
{
	static const char *const no[] = {"no", "false", "off"}, *const yes[] = {"yes", "true",
										"on"};

	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		if (strcmp(text, no[i]) && strcmp(text, yes[i]))
			continue;
		put_number(o, obj, !strcmp(text, yes[i]));
		return 0;
	}
	return poise_fail_text(err, POISE_E_BAD_VALUE, text, "not yes or no");
}

static char *format_number(const struct option *o, __u64 value, char *buf, size_t size)
{
	switch (o->type) {
	case OPTION_DURATION: return poise_format_duration(value, buf, size);
	case OPTION_SIZE: return poise_format_size(value, buf, size);
	case OPTION_PERCENT: snprintf(buf, size, "%llu%%", value); return buf;
	case OPTION_PART:
		snprintf(buf, size, "%llu%s", value & ~(__u64)POISE_PART_PERCENT,
			 value & POISE_PART_PERCENT ? "%" : "");
		return buf;
	case OPTION_HUNDREDTHS: snprintf(buf, size, "%g", (double)value / 1e2); return buf;
	default: snprintf(buf, size, "%llu", value); return buf;
	}
}

static int set_number(const struct option *o, void *obj, const char *text, struct poise_error *err)
{
	char low[POISE_WORD_TEXT], high[POISE_WORD_TEXT];
	__u64 value;
	int failed;

	if (o->type == OPTION_DURATION)
		failed = poise_parse_duration(text, &value, err);
	else if (o->type == OPTION_SIZE || o->type == OPTION_TABLE_SIZE)
		failed = poise_parse_size(text, &value, err);
	else if (o->type == OPTION_PERCENT)
		failed = poise_parse_percent(text, &value, err);
	else if (o->type == OPTION_HUNDREDTHS)
		failed = poise_parse_hundredths(text, &value, err);
	else
		failed = poise_parse_number(text, &value, err);
	if (failed)
		return -1;
	if (value < o->min || value > o->max)
		return poise_fail_text(err, POISE_E_BAD_VALUE, text, "out of range: %s to %s",
				       format_number(o, o->min, low, sizeof(low)),
				       format_number(o, o->max, high, sizeof(high)));
	if (o->step && value % o->step)
		return poise_fail_text(err, POISE_E_BAD_VALUE, text, "not a multiple of %s",
				       format_number(o, o->step, low, sizeof(low)));
	put_number(o, obj, value);
	return 0;
}

static int parse_addr(const struct option *o, const char *text, union poise_addr *addr,
		      struct poise_error *err)
{
	if (poise_parse_host(text, addr, err))
		return -1;
	if (poise_addr_is4(addr) != (o->min == 4))
		return poise_fail_text(err, POISE_E_BAD_VALUE, text, "not an IPv%llu address",
				       o->min);
	return 0;
}

/* Adds one to those that there are. */
static int add_addr(const struct option *o, union poise_addr *list, size_t *n, const char *text,
		    struct poise_error *err)
{
	union poise_addr addr;

	if (parse_addr(o, text, &addr, err))
		return -1;
	for (size_t k = 0; k < *n; k++)
		if (!memcmp(&list[k], &addr, sizeof(addr)))
			return poise_fail_text(err, POISE_E_BAD_VALUE, text, "is there twice");
	if (*n == POISE_SOURCES)
		return poise_fail_text(err, POISE_E_BAD_VALUE, text,
				       "one too many: at most %d addresses", POISE_SOURCES);
	list[(*n)++] = addr;
	return 0;
}

static int set_addrs(const struct option *o, void *obj, const char *text, struct poise_error *err)
{
	union poise_addr list[POISE_SOURCES] = {0};
	char one[POISE_ADDR_TEXT];
	size_t n = 0;

	for (const char *at = text;; at++) {
		size_t length = strcspn(at, ",");

		/* longer than any address: what is left of it is none either */
		snprintf(one, sizeof(one), "%.*s", (int)length, at);
		if (add_addr(o, list, &n, one, err))
			return -1;
		at += length;
		if (!*at)
			break;
	}
	memcpy(field(o, obj), list, sizeof(list));
	return 0;
}

static void format_addrs(const union poise_addr *list, char *buf, size_t size)
{
	char text[POISE_ADDR_TEXT];
	size_t used = 0;

	for (size_t k = 0; k < POISE_SOURCES && !poise_addr_is_zero(&list[k]) && used < size; k++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", k ? "," : "",
					 poise_format_addr(&list[k], text, sizeof(text)));
}

static int set_name(const struct option *o, void *obj, const char *text, struct poise_error *err)
{
	if (*text && poise_check_name(text, err))
		return -1;
	memset(field(o, obj), 0, POISE_NAME_MAX);
	memcpy(field(o, obj), text, strlen(text));
	return 0;
}

static int set_string(const struct option *o, void *obj, const char *text, struct poise_error *err)
{
	size_t length = strlen(text);

	if (length > o->max)
		return poise_fail(err, POISE_E_BAD_VALUE, "%zu bytes, at most %llu", length,
				  o->max);
	if (!poise_is_printable(text))
		return poise_fail(err, POISE_E_BAD_VALUE,
				  "a control character, or no UTF-8; write it as \\xHH");
	memset(field(o, obj), 0, width(o));
	memcpy(field(o, obj), text, length);
	return 0;
}

static int set_part(const struct option *o, void *obj, const char *text, struct poise_error *err)
{
	__u64 value;

	if (!strchr(text, '%'))
		return set_number(o, obj, text, err);
	if (poise_parse_percent(text, &value, err))
		return -1;
	if (!value || value > 100)
		return poise_fail_text(err, POISE_E_BAD_VALUE, text, "out of range: 1%% to 100%%");
	put_number(o, obj, value | POISE_PART_PERCENT);
	return 0;
}

static int set_value(const struct option *o, void *obj, const char *text, struct poise_error *err)
{
	switch (o->type) {
	case OPTION_ENUM: return set_enum(o, obj, text, err);
	case OPTION_BOOL: return set_bool(o, obj, text, err);
	case OPTION_ADDRS: return set_addrs(o, obj, text, err);
	case OPTION_NAME: return set_name(o, obj, text, err);
	case OPTION_RANGES: return ranges_set(option_list(o, obj), text, err);
	case OPTION_PART: return set_part(o, obj, text, err);
	case OPTION_STRING: return set_string(o, obj, text, err);
	case OPTION_OWN: return option_own_set(o, field(o, obj), text, err);
	default: return set_number(o, obj, text, err);
	}
}

/* Options whose zero is the absence of a value, which `auto`, `none` or the empty name say by
 * default. */
static bool zero_is_none(const struct option *o)
{
	return (o->zero && !o->set_offset) || o->type == OPTION_ADDRS || o->type == OPTION_NAME ||
	       o->type == OPTION_TABLE_SIZE || o->type == OPTION_RANGES ||
	       (o->type == OPTION_STRING && !*o->fallback);
}

static void reset(const struct option *o, void *obj)
{
	if (o->type == OPTION_OWN) {
		option_own_set(o, field(o, obj), NULL, NULL);
		return;
	}
	memset(field(o, obj), 0, width(o));
	if (o->set_offset)
		((__u8 *)obj)[o->set_offset] = 0;
	else if (o->ones && !strcmp(o->fallback, o->ones))
		put_number(o, obj, ~0ull);
	else if (!zero_is_none(o))
		set_value(o, obj, o->fallback, NULL);
}

int option_put(const struct option *o, void *obj, const char *text, struct poise_error *err)
{
	if (!strcmp(text, "default") || (zero_is_none(o) && !strcmp(text, o->fallback))) {
		if (o->type == OPTION_RANGES)
			ranges_free(option_list(o, obj));
		reset(o, obj);
		return 0;
	}
	if (o->zero && !strcmp(text, o->zero))
		put_number(o, obj, 0);
	else if (o->ones && !strcmp(text, o->ones))
		put_number(o, obj, ~0ull);
	else if (set_value(o, obj, text, err))
		return -1;
	if (o->set_offset)
		((__u8 *)obj)[o->set_offset] = 1;
	return 0;
}

int option_set(const struct option *o, void *obj, const char *text, struct poise_error *err)
{
	return option_put(o, obj, text, err) ? poise_error_of(err, o->key) : 0;
}

static bool is_ones(const struct option *o, __u64 value)
{
	return value == ~0ull >> (64 - 8 * width(o));
}

char *option_format(const struct option *o, const void *obj, char *buf, size_t size)
{
	const void *at = field_const(o, obj);
	__u64 value = option_number(o, obj);

	if (!is_set(o, obj))
		snprintf(buf, size, "default");
	else if (o->type == OPTION_OWN)
		option_own_format(o, at, buf, size);
	else if (o->type == OPTION_ENUM)
		snprintf(buf, size, "%s", option_word(o, (int)value));
	else if (o->type == OPTION_BOOL)
		snprintf(buf, size, "%s", value ? "yes" : "no");
	else if (o->type == OPTION_NAME)
		snprintf(buf, size, "%.*s", POISE_NAME_MAX - 1, (const char *)at);
	else if (o->type == OPTION_STRING)
		snprintf(buf, size, "%.*s", (int)o->max, (const char *)at);
	else if (o->type == OPTION_ADDRS && !poise_addr_is_zero(at))
		format_addrs(at, buf, size);
	else if (o->type == OPTION_RANGES)
		ranges_format(at, buf, size);
	else if (o->type == OPTION_ADDRS || (o->type == OPTION_TABLE_SIZE && !value))
		snprintf(buf, size, "%s", o->fallback);
	else if (o->zero && !value)
		snprintf(buf, size, "%s", o->zero);
	else if (o->ones && is_ones(o, value))
		snprintf(buf, size, "%s", o->ones);
	else
		format_number(o, value, buf, size);
	return buf;
}

bool option_equal(const struct option *o, const void *a, const void *b)
{
	if (is_set(o, a) != is_set(o, b))
		return false;
	if (!is_set(o, a))
		return true;
	if (o->type == OPTION_NAME)
		return !strncmp(field_const(o, a), field_const(o, b), POISE_NAME_MAX);
	if (o->type == OPTION_STRING)
		return !strncmp(field_const(o, a), field_const(o, b), o->max + 1);
	if (o->type == OPTION_RANGES)
		return ranges_equal(field_const(o, a), field_const(o, b));
	if (o->type == OPTION_OWN)
		return option_own_equal(o, field_const(o, a), field_const(o, b));
	return !memcmp(field_const(o, a), field_const(o, b), width(o));
}

void option_copy(const struct option *o, void *to, const void *from)
{
	if (o->type == OPTION_RANGES)
		ranges_copy(option_list(o, to), field_const(o, from));
	else
		memcpy(field(o, to), field_const(o, from), width(o));
	if (o->set_offset)
		((__u8 *)to)[o->set_offset] = ((const __u8 *)from)[o->set_offset];
}

bool option_is_default(const struct option *o, const void *obj)
{
	char text[OPTION_TEXT];

	if (o->set_offset)
		return !is_set(o, obj);
	return !strcmp(option_format(o, obj, text, sizeof(text)), o->fallback);
}

void option_defaults(enum option_scope scope, void *obj)
{
	for (const struct option *o = option_first(scope); o; o = option_next(o))
		reset(o, obj);
}
