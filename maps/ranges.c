// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Lists of prefixes: from text, to text, kept in order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_priv.h"
#include "ranges.h"
#include "sorted.h"
#include "text.h"

#define LENGTH_DIGITS 3
#define RANGES_NONE   "none"
#define MORE_TEXT     24 /* " and 4294967295 more" */

/* ---- one prefix -------------------------------------------------------------------------------*/

/* The prefix without the bits behind it; returns whether there were any. */
static bool clear_host(union poise_addr *addr, unsigned int length)
{
	bool any = false;

	for (unsigned int byte = 0; byte < sizeof(addr->b); byte++) {
		unsigned int kept = length > 8 * byte ? length - 8 * byte : 0;
		__u8 mask = kept >= 8 ? 0xff : (__u8)(0xff00 >> kept);

		any |= addr->b[byte] & (__u8)~mask;
		addr->b[byte] &= mask;
	}
	return any;
}

/* Digits without a sign or leading zeros, at most `most`; -1: not that. */
static int parse_length(const char *text, int most)
{
	size_t digits = strspn(text, "0123456789");
	int length;

	if (!digits || digits > LENGTH_DIGITS || text[digits] || (text[0] == '0' && digits > 1))
		return -1;
	length = atoi(text);
	return length <= most ? length : -1;
}

/* The prefix that the address lies in; *bits: it has some set behind. */
static int parse(const char *text, struct poise_range *range, bool *bits, struct poise_error *err)
{
	const char *slash = strchr(text, '/');
	size_t before = slash ? (size_t)(slash - text) : strlen(text);
	char addr[POISE_ADDR_TEXT + 1];
	struct poise_range got = {0};
	int length, most;

	/* what is too long for an address stays so */
	snprintf(addr, sizeof(addr), "%.*s", (int)(before < sizeof(addr) ? before : sizeof(addr)),
		 text);
	if (poise_parse_addr(addr, &got.addr, NULL))
		return poise_fail_text(err, POISE_E_BAD_VALUE, text,
				       "not an IPv4 or IPv6 prefix (192.0.2.0/24, 2001:db8::/32)");
	most = poise_addr_is4(&got.addr) ? RANGE_BITS - RANGE_BITS_IPV4 : RANGE_BITS;
	length = slash ? parse_length(slash + 1, most) : most;
	if (length < 0)
		return poise_fail_text(err, POISE_E_BAD_VALUE, text,
				       "the length of a prefix is 0 to %d", most);
	got.length = (__u8)(RANGE_BITS - most + length);
	*bits = clear_host(&got.addr, got.length);
	*range = got;
	return 0;
}

int range_parse(const char *text, struct poise_range *range, struct poise_error *err)
{
	struct poise_range got;
	char meant[RANGE_TEXT];
	bool bits = false;

	if (parse(text, &got, &bits, err))
		return -1;
	if (bits) {
		poise_fail_text(err, POISE_E_BAD_VALUE, text,
				"has bits set behind its first %d: not a prefix",
				got.length - (poise_addr_is4(&got.addr) ? RANGE_BITS_IPV4 : 0));
		return poise_error_remedy(err, "%s is the prefix it lies in",
					  range_format(&got, meant, sizeof(meant)));
	}
	*range = got;
	return 0;
}

int range_parse_within(const char *text, struct poise_range *range, struct poise_error *err)
{
	bool bits;

	return parse(text, range, &bits, err);
}

char *range_format(const struct poise_range *range, char *buf, size_t size)
{
	bool four = poise_addr_is4(&range->addr);
	char addr[POISE_ADDR_TEXT];

	snprintf(buf, size, "%s/%d", poise_format_addr(&range->addr, addr, sizeof(addr)),
		 range->length - (four ? RANGE_BITS_IPV4 : 0));
	return buf;
}

int range_cmp(const struct poise_range *a, const struct poise_range *b)
{
	int order = poise_addr_cmp(&a->addr, &b->addr);

	return order ? order : a->length - b->length;
}

/* ---- lists ------------------------------------------------------------------------------------*/

static int by_range(const void *range, const void *entry)
{
	return range_cmp(range, entry);
}

/* Where the prefix is or would be; *found tells which. */
static size_t locate(const struct ranges *list, const struct poise_range *range, bool *found)
{
	return sorted_find(range, list->range, list->n, sizeof(*list->range), by_range, found);
}

int ranges_add(struct ranges *list, const char *text, struct poise_error *err)
{
	size_t at, room = list->n; /* by one at a time: most services have few, or none */
	struct poise_range new;
	bool found;

	if (range_parse(text, &new, err))
		return -1;
	at = locate(list, &new, &found);
	if (found)
		return poise_fail_text(err, POISE_E_EXISTS, text, "is in the list twice");
	if (list->n == POISE_RANGES_MAX)
		return poise_fail(err, POISE_E_FULL, "more than %d prefixes, the most of a service",
				  POISE_RANGES_MAX);
	list->range = sorted_open(list->range, at, &list->n, &room, sizeof(*list->range));
	list->range[at] = new;
	return 0;
}

int ranges_set(struct ranges *list, const char *text, struct poise_error *err)
{
	char *words = memory_alloc(strlen(text) + 1), *rest = words, *word;
	struct ranges new = {0};
	int failed = 0;

	memcpy(words, text, strlen(text) + 1);
	while (!failed && (word = strsep(&rest, ",")))
		failed = ranges_add(&new, word, err);
	free(words);
	if (failed) {
		ranges_free(&new);
		return -1;
	}
	ranges_free(list);
	*list = new;
	return 0;
}

void ranges_free(struct ranges *list)
{
	free(list->range);
	*list = (struct ranges){0};
}

void ranges_copy(struct ranges *to, const struct ranges *from)
{
	struct poise_range *range = NULL;

	if (from->n) {
		range = memory_realloc(NULL, from->n * sizeof(*range));
		memcpy(range, from->range, from->n * sizeof(*range));
	}
	free(to->range);
	*to = (struct ranges){range, from->n};
}

bool ranges_equal(const struct ranges *a, const struct ranges *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (range_cmp(&a->range[i], &b->range[i]))
			return false;
	return true;
}

bool ranges_has(const struct ranges *list, const struct poise_range *range)
{
	bool found;

	locate(list, range, &found);
	return found;
}

const struct poise_range *ranges_common(const struct ranges *a, const struct ranges *b)
{
	for (size_t i = 0; i < a->n; i++)
		if (ranges_has(b, &a->range[i]))
			return &a->range[i];
	return NULL;
}

char *ranges_format(const struct ranges *list, char *buf, size_t size)
{
	char one[RANGE_TEXT];
	size_t used = 0;

	snprintf(buf, size, "%s", list->n ? "" : RANGES_NONE);
	for (size_t i = 0; i < list->n; i++) {
		size_t more = i + 1 < list->n ? MORE_TEXT : 1;

		range_format(&list->range[i], one, sizeof(one));
		if (used + strlen(one) + 1 + more > size) {
			snprintf(buf + used, size - used, "%s%zu more", i ? " and " : "",
				 list->n - i);
			break;
		}
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? "," : "", one);
	}
	return buf;
}
