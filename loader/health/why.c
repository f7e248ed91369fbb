// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Why there is no answer by clients' way. When half of the time is over the backend is asked the
 * same by the same way, but without making the packet as large as the path takes, and directly, at
 * its own address. What answers where the probe did not says what is wrong. A backend that answers
 * is never asked twice.
 */
#include <stdlib.h>

#include "probe_priv.h"

struct why {
	struct probe *small, *direct; /* NULL: they have ended */
	bool small_good, direct_good;
};

static void on_small(void *ctx, const struct probe_result *result)
{
	struct why *w = ctx;

	w->small = NULL;
	w->small_good = result->good && result->by_path;
}

static void on_direct(void *ctx, const struct probe_result *result)
{
	struct why *w = ctx;

	w->direct = NULL;
	w->direct_good = result->good;
}

bool why_ask(struct probe *p)
{
	struct probe_want small = p->want, direct = p->want;
	struct why *w;

	if (!p->want.by_path || p->why)
		return false;
	w = calloc(1, sizeof(*w));
	if (!w)
		abort();
	p->why = w;
	if (!p->entry || p->want.no_why)
		return true;
	small.small = small.no_why = true;
	direct.by_path = false;
	w->small = probe_start(p->prober, &small, on_small, w);
	w->direct = probe_start(p->prober, &direct, on_direct, w);
	return true;
}

static bool encapsulates(const struct probe *p)
{
	return p->prober->instance->members[p->want.member].mode != POISE_L2;
}

const char *why_words(const struct probe *p)
{
	const struct why *w = p->why;

	if (!w || !p->entry || p->want.no_why)
		return "";
	if (w->small_good)
		return " at full size, small packets pass: MTU too small";
	if (!prober_has_hop(p->prober, p->want.member))
		return ": no next hop";
	if (!w->direct_good)
		return "";
	return encapsulates(p) ? "; direct answers: decapsulator or virtual address missing?"
			       : "; direct answers: virtual address missing?";
}

void why_end(struct probe *p)
{
	struct why *w = p->why;

	if (!w)
		return;
	if (w->small)
		probe_cancel(w->small);
	if (w->direct)
		probe_cancel(w->direct);
	free(w);
	p->why = NULL;
}
