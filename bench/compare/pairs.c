/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "pairs.h"

#include <math.h>
#include <stdlib.h>

#include "bench/sample.h"

#define TAIL 0.025 /* beyond each end of a 95 % range */

void pairs_add(struct pairs *p, double baseline, double candidate)
{
	if (p->n == PAIRS_MOST)
		return;
	p->baseline[p->n] = baseline;
	p->candidate[p->n++] = candidate;
}

/* How many of n sorted values lie beyond the range on each side: the most for which that many or
 * fewer of n coins fall on one side with a probability below TAIL. */
static size_t beyond(size_t n)
{
	double term = pow(0.5, (double)n), sum = term;
	size_t k = 0;

	while (sum <= TAIL && k < n) {
		k++;
		term *= (double)(n - k + 1) / (double)k;
		sum += term;
	}
	return k ? k - 1 : 0;
}

struct pairs_change pairs_change(const struct pairs *p)
{
	struct pairs_change c = {NAN, NAN, NAN, NAN, NAN};
	double baseline[PAIRS_MOST], candidate[PAIRS_MOST], change[PAIRS_MOST];

	if (!p->n)
		return c;
	for (size_t i = 0; i < p->n; i++) {
		baseline[i] = p->baseline[i];
		candidate[i] = p->candidate[i];
		/* none of both is no change */
		change[i] = candidate[i] == baseline[i] ? 0 : candidate[i] / baseline[i] - 1;
	}
	c.baseline = sample_median(baseline, p->n);
	c.candidate = sample_median(candidate, p->n);
	c.change = sample_median(change, p->n); /* sorts them */
	c.low = change[beyond(p->n)];
	c.high = change[p->n - 1 - beyond(p->n)];
	return c;
}

bool pairs_narrow(const struct pairs_change *c)
{
	return c->high - c->low <= PAIRS_NARROW;
}

enum pairs_call pairs_call(const struct pairs_change *c)
{
	if (c->low > PAIRS_CALL)
		return PAIRS_SLOWER;
	return c->high < -PAIRS_CALL ? PAIRS_FASTER : PAIRS_SAME;
}

bool pairs_within(const struct pairs_change *c, double most)
{
	return c->high <= most;
}

bool pairs_improved(const struct pairs_change *c, double most)
{
	return c->change <= most && c->high < 0;
}
