// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The pool's text, and what is in it. Addresses are numbers here: IPv4 lies in ::ffff:0:0/96, so
 * bytes compare alike in both families, and a range never leaves its own.
 */
#include "pool.h"

#include <stdio.h>
#include <string.h>

#include "maps/ranges.h"
#include "maps/text.h"

#define PIECE_TEXT (2 * POISE_ADDR_TEXT) /* FIRST-LAST and NUL */

static struct kube_pool_range range_of_prefix(const struct poise_range *prefix)
{
	struct kube_pool_range r = {.first = prefix->addr, .last = prefix->addr};

	for (unsigned int bit = prefix->length; bit < RANGE_BITS; bit++)
		r.last.b[bit / 8] |= (__u8)(0x80 >> bit % 8);
	return r;
}

/* FIRST-LAST; the text is torn. */
static int parse_span(char *text, char *dash, struct kube_pool_range *r, struct poise_error *err)
{
	*dash = '\0';
	if (poise_parse_host(text, &r->first, err) || poise_parse_host(dash + 1, &r->last, err))
		return -1;
	if (poise_addr_is4(&r->first) != poise_addr_is4(&r->last))
		return poise_fail_text(err, POISE_E_BAD_VALUE, dash + 1,
				       "not of the family of %s, where its range begins", text);
	if (poise_addr_cmp(&r->first, &r->last) > 0)
		return poise_fail_text(err, POISE_E_BAD_VALUE, dash + 1,
				       "before %s, where its range begins", text);
	return 0;
}

static int parse_piece(char *text, struct kube_pool_range *r, struct poise_error *err)
{
	char *dash = strchr(text, '-');
	struct poise_range prefix;
	union poise_addr first;

	if (dash)
		return parse_span(text, dash, r, err);
	if (!strchr(text, '/')) {
		if (poise_parse_host(text, &first, err))
			return -1;
		*r = (struct kube_pool_range){first, first};
		return 0;
	}
	if (range_parse(text, &prefix, err))
		return -1;
	*r = range_of_prefix(&prefix);
	return 0;
}

static bool meets(const struct kube_pool_range *a, const struct kube_pool_range *b)
{
	return poise_addr_cmp(&a->first, &b->last) <= 0 && poise_addr_cmp(&b->first, &a->last) <= 0;
}

static int add(struct kube_pool *p, const char *text, const struct kube_pool_range *r,
	       struct poise_error *err)
{
	if (p->ranges == KUBE_POOL_RANGES)
		return poise_fail(err, POISE_E_FULL, "more than %d ranges", KUBE_POOL_RANGES);
	for (size_t k = 0; k < p->ranges; k++)
		if (meets(&p->range[k], r))
			return poise_fail_text(err, POISE_E_CONFLICT, text,
					       "has addresses that a range before it has");
	p->range[p->ranges++] = *r;
	return 0;
}

int kube_pool_parse(struct kube_pool *p, const char *text, struct poise_error *err)
{
	struct kube_pool got = {0};

	for (const char *at = text;; at++) {
		size_t length = strcspn(at, ",");
		char piece[PIECE_TEXT], torn[PIECE_TEXT];
		struct kube_pool_range r;

		if (length >= sizeof(piece))
			return poise_fail_text(err, POISE_E_BAD_VALUE, at,
					       "longer than any range of addresses");
		snprintf(piece, sizeof(piece), "%.*s", (int)length, at);
		memcpy(torn, piece, sizeof(torn));
		if (parse_piece(torn, &r, err) || add(&got, piece, &r, err))
			return -1;
		at += length;
		if (!*at)
			break;
	}
	*p = got;
	return 0;
}

bool kube_pool_has(const struct kube_pool *p, const union poise_addr *a)
{
	for (size_t k = 0; k < p->ranges; k++)
		if (poise_addr_cmp(&p->range[k].first, a) <= 0 &&
		    poise_addr_cmp(a, &p->range[k].last) <= 0)
			return true;
	return false;
}
