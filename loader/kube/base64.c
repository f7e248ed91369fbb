// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base64.h"

#include <stdlib.h>
#include <string.h>

#include "../../maps/memory.h"

#define BITS_EACH 6 /* of a digit */
#define BITS_BYTE 8
#define GROUP	  4 /* digits that make whole bytes: three */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Bits that are left over at the end are none of a byte: they must be zero. */
static char *finish(char *out, size_t seen, size_t padding, unsigned int rest)
{
	static const size_t wanted[GROUP] = {0, 0, 2, 1}; /* padding, by digits in the group */
	size_t odd = seen % GROUP;

	if (odd != 1 && padding == wanted[odd] && !rest)
		return out;
	free(out);
	return NULL;
}

char *base64_decode(const char *text, size_t *length)
{
	char *out = memory_alloc(strlen(text) + 1);
	size_t seen = 0, padding = 0, have = 0;
	unsigned int bits = 0;

	*length = 0;
	for (; *text; text++) {
		const char *digit;

		if (strchr(" \t\r\n", *text))
			continue;
		if (*text == '=') {
			padding++;
			continue;
		}
		digit = strchr(digits, *text);
		if (!digit || padding) {
			free(out);
			return NULL;
		}
		bits = bits << BITS_EACH | (unsigned int)(digit - digits);
		seen++;
		have += BITS_EACH;
		if (have >= BITS_BYTE) {
			have -= BITS_BYTE;
			out[(*length)++] = (char)(bits >> have);
		}
		bits &= (1u << have) - 1;
	}
	return finish(out, seen, padding, bits);
}
