// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Building and printing errors. An error grows from the inside out: the function that finds the
 * fault says why, each caller on the way up adds what it was about, the command prints it once.
 * All texts are cut to their buffers rather than refused: half a message beats none.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

#define QUOTED_TEXT 96 /* bytes of offending text worth showing */

static const struct {
	const char *word;
	int status;
} codes[] = {[POISE_E_NONE] = {"none", 0},
#define POISE_CODE_ROW(sym, word, status) [POISE_E_##sym] = {word, status},
	     POISE_CODES(POISE_CODE_ROW)};

const char *poise_code_word(enum poise_code code)
{
	return (size_t)code < sizeof(codes) / sizeof(codes[0]) ? codes[code].word : "unknown";
}

int poise_code_status(enum poise_code code)
{
	return (size_t)code < sizeof(codes) / sizeof(codes[0]) ? codes[code].status : 1;
}

static void fail_va(struct poise_error *err, enum poise_code code, const char *fmt, va_list ap)
{
	err->code = code;
	err->object[0] = '\0';
	err->remedy[0] = '\0';
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
}

int poise_fail(struct poise_error *err, enum poise_code code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	fail_va(err, code, fmt, ap);
	va_end(ap);
	return -1;
}

int poise_fail_text(struct poise_error *err, enum poise_code code, const char *text,
		    const char *fmt, ...)
{
	char quoted[QUOTED_TEXT];
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	fail_va(err, code, fmt, ap);
	va_end(ap);
	snprintf(err->object, sizeof(err->object), "%s", poise_quote(text, quoted, sizeof(quoted)));
	return -1;
}

int poise_fail_errno(struct poise_error *err, const char *fmt, ...)
{
	int saved = errno;
	enum poise_code code = POISE_E_SYSTEM;
	size_t used;
	va_list ap;

	if (!err)
		return -1;
	if (saved == EPERM || saved == EACCES)
		code = POISE_E_PERMISSION;
	va_start(ap, fmt);
	fail_va(err, code, fmt, ap);
	va_end(ap);
	used = strlen(err->message);
	snprintf(err->message + used, sizeof(err->message) - used, ": %s", strerror(saved));
	errno = saved;
	return -1;
}

/* Puts prefix and glue in front of the object; what does not fit is cut from the object's end. */
static void prefix_object(struct poise_error *err, const char *prefix, const char *glue)
{
	size_t size = sizeof(err->object);
	size_t head = strnlen(prefix, size / 2);
	size_t join = err->object[0] ? strlen(glue) : 0;

	memmove(err->object + head + join, err->object, size - head - join);
	memcpy(err->object, prefix, head);
	memcpy(err->object + head, glue, join);
	err->object[size - 1] = '\0';
}

int poise_error_about(struct poise_error *err, const char *fmt, ...)
{
	char what[sizeof(err->object)];
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	prefix_object(err, what, ": ");
	return -1;
}

int poise_error_of(struct poise_error *err, const char *what)
{
	if (err)
		prefix_object(err, what, " ");
	return -1;
}

int poise_error_remedy(struct poise_error *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	vsnprintf(err->remedy, sizeof(err->remedy), fmt, ap);
	va_end(ap);
	return -1;
}

char *poise_error_text(const struct poise_error *err, char *buf, size_t size)
{
	const char *glue = err->object[0] ? ": " : "";

	if (err->file[0] && err->line)
		snprintf(buf, size, "%s%s%s (%s:%d)", err->object, glue, err->message, err->file,
			 err->line);
	else if (err->file[0])
		snprintf(buf, size, "%s%s%s (%s)", err->object, glue, err->message, err->file);
	else
		snprintf(buf, size, "%s%s%s", err->object, glue, err->message);
	return buf;
}

/* Bytes of the UTF-8 character at s, 0 if there is no valid and printable one. */
static size_t utf8_length(const unsigned char *s)
{
	static const struct {
		unsigned char mask, lead;
		unsigned int least; /* smaller code points have a shorter form */
	} form[] = {{0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

	if (s[0] < 0x80)
		return s[0] >= ' ' && s[0] != 0x7f;
	for (size_t f = 0; f < sizeof(form) / sizeof(form[0]); f++) {
		unsigned int c = s[0] & ~form[f].mask;

		if ((s[0] & form[f].mask) != form[f].lead)
			continue;
		for (size_t i = 1; i <= f + 1; i++) {
			if ((s[i] & 0xc0) != 0x80)
				return 0;
			c = c << 6 | (s[i] & 0x3f);
		}
		/* U+0080..9F are control characters, U+D800..DFFF surrogates */
		if (c < form[f].least || c < 0xa0 || (c >> 11) == 0x1b || c > 0x10ffff)
			return 0;
		return f + 2;
	}
	return 0;
}

bool poise_is_printable(const char *text)
{
	size_t length = 1;

	while (*text && length) {
		length = utf8_length((const unsigned char *)text);
		text += length;
	}
	return length;
}

char *poise_printable(char *text)
{
	for (char *c = text; *c;) {
		size_t length = utf8_length((const unsigned char *)c);

		if (!length)
			*c = '?';
		c += length ? length : 1;
	}
	return text;
}

static bool plain_word(const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c <= ' ' || *c >= 0x7f || *c == '"' || *c == '\\')
			return false;
	return text[0] != '\0';
}

char *poise_quote(const char *text, char *buf, size_t size)
{
	const size_t tail = sizeof("...\"");
	size_t n = 0;

	if (plain_word(text) && strlen(text) < size) {
		snprintf(buf, size, "%s", text);
		return buf;
	}
	buf[n++] = '"';
	while (*text) {
		size_t length = utf8_length((const unsigned char *)text);

		if (n + 4 + tail > size) {
			n += (size_t)snprintf(buf + n, size - n, "...");
			break;
		}
		if (*text == '"' || *text == '\\')
			buf[n++] = '\\';
		if (length) {
			memcpy(buf + n, text, length);
			n += length;
			text += length;
		} else {
			n += (size_t)snprintf(buf + n, size - n, "\\x%02x", (unsigned char)*text++);
		}
	}
	snprintf(buf + n, size - n, "\"");
	return buf;
}
