// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "pairs.h"

#include <string.h>

/* Behind the text at `at`, with its NUL; the field's end if there is none. */
static size_t behind(const char *field, size_t size, size_t at)
{
	at += strnlen(field + at, size - at) + 1;
	return at < size ? at : size;
}

static size_t behind_pair(const char *field, size_t size, size_t at)
{
	return behind(field, size, behind(field, size, at));
}

/* Where the first pair is whose key is not before `key`; else where zeros begin. */
static size_t place(const char *field, size_t size, const char *key)
{
	size_t at = 0;

	while (at < size && field[at] && strncmp(field + at, key, size - at) < 0)
		at = behind_pair(field, size, at);
	return at;
}

/* The bytes of the pair at `at` if it is this key's; else 0. */
static size_t length_at(const char *field, size_t size, size_t at, const char *key)
{
	if (at >= size || strncmp(field + at, key, size - at))
		return 0;
	return behind_pair(field, size, at) - at;
}

const char *pairs_find(const char *field, size_t size, const char *key)
{
	size_t at = place(field, size, key);

	return length_at(field, size, at, key) ? field + behind(field, size, at) : NULL;
}

static size_t used(const char *field, size_t size)
{
	size_t at = 0;

	while (at < size && field[at])
		at = behind_pair(field, size, at);
	return at;
}

bool pairs_put(char *field, size_t size, const char *key, const char *value)
{
	const size_t name = strlen(key) + 1, end = used(field, size);
	const size_t at = place(field, size, key), old = length_at(field, size, at, key);
	const size_t new = value ? name + strlen(value) + 1 : 0;

	/* A zero ends the last. */
	if (end - old + new >= size)
		return false;
	memmove(field + at + new, field + at + old, end - at - old);
	if (new) {
		memcpy(field + at, key, name);
		memcpy(field + at + name, value, new - name);
	}
	if (new < old)
		memset(field + end - old + new, 0, old - new);
	return true;
}
