// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Bytes that a configuration file can hold as text. */
#include <string.h>

#include "probe_priv.h"

static int hex(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* The byte of an escape, whose end is *at; anything unknown stands for itself. */
static char escape(const char **at)
{
	const char *c = *at;
	int high, low;

	*at = c + 1;
	switch (*c) {
	case 'r': return '\r';
	case 'n': return '\n';
	case 't': return '\t';
	case '0': return '\0';
	case 'x':
		high = hex(c[1]);
		low = high < 0 ? -1 : hex(c[2]);
		if (low < 0)
			return 'x';
		*at = c + 3;
		return (char)(high * 16 + low);
	default: return *c;
	}
}

size_t probe_unescape(const char *text, void *out, size_t size)
{
	char *to = out;
	size_t used = 0;

	while (*text && used < size) {
		char c = *text++;

		to[used++] = c == '\\' && *text ? escape(&text) : c;
	}
	return used;
}
