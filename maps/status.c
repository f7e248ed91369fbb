// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "status.h"

#include <ctype.h>

#define STATUS_MIN 100
#define STATUS_MAX 599

/* A number of three digits at *at, which moves behind it; 0: none is there. */
static unsigned int number(const char **at)
{
	unsigned int n = 0;

	for (int digits = 0; digits < 3; digits++) {
		if (!isdigit((unsigned char)**at))
			return 0;
		n = n * 10 + (unsigned int)(*(*at)++ - '0');
	}
	return n;
}

/* The next range of a list; false if it is none. */
static bool range(const char **at, unsigned int *from, unsigned int *to)
{
	*from = *to = number(at);
	if (**at == '-') {
		(*at)++;
		*to = number(at);
	}
	return *from >= STATUS_MIN && *from <= *to && *to <= STATUS_MAX;
}

/* -1: no list; else whether it holds the status. */
static int search(const char *list, unsigned int status)
{
	unsigned int from, to;
	bool found = false;

	for (;; list++) {
		if (!range(&list, &from, &to))
			return -1;
		found |= status >= from && status <= to;
		if (*list != ',')
			return *list ? -1 : found;
	}
}

bool status_wanted(const char *list, unsigned int status)
{
	return search(list, status) == 1;
}

bool status_list_valid(const char *list)
{
	return search(list, 0) >= 0;
}
