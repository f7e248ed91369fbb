// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From prefixes to bounds: the longest match for every address, worked out beforehand.
 *
 * Prefixes either lie one in the other or apart. In their order each comes after those it lies in,
 * so one walk with a stack of the prefixes that are open meets every address where the verdict may
 * change: a prefix begins, and says its own; it ends, and what it lies in says its own again.
 */
#include <stdlib.h>
#include <string.h>

#include "ranges.h"

/* Lengths 0 to 128, and below them what no prefix holds. */
#define OPEN_MOST (RANGE_BITS + 2)

struct walk {
	struct poise_bound *out;
	size_t n;
	bool deny; /* from the last bound on */
	bool first;
	struct {
		struct poise_bound last; /* address of the prefix */
		bool deny;
	} open[OPEN_MOST];
	size_t depth;
};

static struct poise_bound number(const union poise_addr *a)
{
	return (struct poise_bound){__builtin_bswap64(a->q[0]), __builtin_bswap64(a->q[1])};
}

static struct poise_bound last_of(const struct poise_range *r)
{
	struct poise_bound at = number(&r->addr);

	if (r->length < 64)
		at.high |= ~0ull >> r->length;
	if (r->length < RANGE_BITS)
		at.low |= r->length <= 64 ? ~0ull : ~0ull >> (r->length - 64);
	return at;
}

static bool below(const struct poise_bound *a, const struct poise_bound *b)
{
	return a->high != b->high ? a->high < b->high : a->low < b->low;
}

/* From this address on the verdict is `deny`. */
static void from_here(struct walk *w, struct poise_bound at, bool deny)
{
	if (!at.high && !at.low) {
		w->first = w->deny = deny;
		return;
	}
	/* what was said at this address before counts no more */
	if (w->n && !memcmp(&w->out[w->n - 1], &at, sizeof(at))) {
		w->n--;
		w->deny = !w->deny;
	}
	if (deny == w->deny)
		return;
	w->out[w->n++] = at;
	w->deny = deny;
}

static void close_one(struct walk *w)
{
	struct poise_bound after = w->open[--w->depth].last;

	if (!++after.low && !++after.high)
		return; /* the end of all addresses */
	from_here(w, after, w->open[w->depth - 1].deny);
}

static void open_one(struct walk *w, const struct poise_range *r)
{
	struct poise_bound at = number(&r->addr);

	while (w->depth > 1 && below(&w->open[w->depth - 1].last, &at))
		close_one(w);
	if (w->depth == OPEN_MOST)
		return; /* none that lie one in the other are so many */
	w->open[w->depth].last = last_of(r);
	w->open[w->depth++].deny = r->deny;
	from_here(w, at, r->deny);
}

static int by_place(const void *a, const void *b)
{
	return range_cmp(a, b);
}

/* IPv4 as a whole says what is said where no prefix is, unless the list has it. */
static size_t with_ipv4(struct poise_range *sorted, size_t n, bool otherwise)
{
	struct poise_range all = {
		.addr.b = {[10] = 0xff, [11] = 0xff},
		.length = RANGE_BITS_IPV4,
		.deny = otherwise,
	};

	for (size_t i = 0; i < n; i++)
		if (!range_cmp(&sorted[i], &all))
			return n;
	sorted[n] = all;
	return n + 1;
}

size_t ranges_bounds(const struct poise_range *range, size_t n, struct poise_bound *out, bool *deny)
{
	struct poise_range *sorted = malloc((n + 1) * sizeof(*sorted));
	struct walk w = {.out = out, .depth = 1};
	bool otherwise = false;

	if (!sorted)
		abort();
	for (size_t i = 0; i < n; i++) {
		sorted[i] = range[i];
		otherwise |= !range[i].deny;
	}
	n = with_ipv4(sorted, n, otherwise);
	qsort(sorted, n, sizeof(*sorted), by_place);
	w.first = w.deny = w.open[0].deny = otherwise;
	for (size_t i = 0; i < n; i++)
		open_one(&w, &sorted[i]);
	while (w.depth > 1)
		close_one(&w);
	free(sorted);
	*deny = w.first;
	return w.n;
}
