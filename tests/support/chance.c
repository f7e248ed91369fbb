// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <math.h>

#include "chance.h"

#define TERMS	1000000 /* more than any sum here takes */
#define EPSILON 1e-15

/* The regularized incomplete gamma functions (Abramowitz and Stegun, 6.5): P by its series, good
 * below a + 1, Q by its continued fraction (6.5.31) above. */
static double gamma_below(double a, double x)
{
	double term = 1 / a, sum = term;

	for (int n = 1; n < TERMS && term > sum * EPSILON; n++) {
		term *= x / (a + n);
		sum += term;
	}
	return sum * exp(a * log(x) - x - lgamma(a));
}

static double gamma_above(double a, double x)
{
	double value = x + 1 - a, c = 1e300, d = 1 / value, step;

	value = d;
	for (int n = 1; n < TERMS; n++) {
		double top = n * (a - n), bottom = x + 2 * n + 1 - a;

		d = 1 / (bottom + top * d);
		c = bottom + top / c;
		step = c * d;
		value *= step;
		if (fabs(step - 1) < EPSILON)
			break;
	}
	return value * exp(a * log(x) - x - lgamma(a));
}

double chance_of(const __u64 *count, const double *share, size_t n)
{
	double sum = 0, squares = 0, a, x;
	size_t kinds = 0;

	for (size_t k = 0; k < n; k++)
		sum += (double)count[k];
	for (size_t k = 0; k < n; k++) {
		double want = sum * share[k], off = (double)count[k] - want;

		if (share[k] > 0) {
			squares += off * off / want;
			kinds++;
		} else if (count[k]) {
			return 0;
		}
	}
	if (kinds < 2 || squares <= 0)
		return 1;
	a = (double)(kinds - 1) / 2;
	x = squares / 2;
	return x < a + 1 ? 1 - gamma_below(a, x) : gamma_above(a, x);
}
