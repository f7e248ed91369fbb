/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "addresses.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/text.h"

#define ROOM 1024
#define TEXT 512

static union poise_addr list[ROOM];
static size_t used;

const union poise_addr *addresses(const char *text, size_t *n)
{
	const union poise_addr *first = &list[used];
	char copy[TEXT], *at, *word;

	cr_assert_lt(strlen(text), sizeof(copy));
	snprintf(copy, sizeof(copy), "%s", text);
	for (*n = 0, word = strtok_r(copy, " ", &at); word; word = strtok_r(NULL, " ", &at), ++*n) {
		cr_assert_lt(used, ROOM);
		cr_assert_eq(poise_parse_addr(word, &list[used++], NULL), 0, "%s", word);
	}
	return first;
}
