// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What flows tell of backends; see passive.h. */
#include "passive.h"

#include <stdlib.h>

#include "maps/clock.h"

#define UNFINISHED_WINDOWS 2 /* an answer may take long */

/* Of which flows a fault is, and by which they are known to be good, or bad. */
static const struct fault {
	enum poise_signal of, by;
	bool good;
	__u8 least; /* percent: fewer are no fault, however few others have */
} faults[POISE_FAULTS] = {
	[POISE_FAULT_UNANSWERED] = {POISE_BEGUN, POISE_ANSWERED, true, 50},
	[POISE_FAULT_UNFINISHED] = {POISE_ANSWERED, POISE_FINISHED, true, 80},
	[POISE_FAULT_REFUSED] = {POISE_ANSWERED, POISE_REFUSED, false, 50},
};

static __u32 seen(const struct passive_member *m, enum poise_signal signal)
{
	return m->now[signal] - m->before[signal];
}

static int by_size(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The lower one: of two, who is like the better one is as it should be. */
static __u64 median_of(__u64 *value, size_t n)
{
	qsort(value, n, sizeof(*value), by_size);
	return n ? value[(n - 1) / 2] : 0;
}

/* Flows that end in a window may have begun before it. */
static void measure(const struct fault *f, struct passive_member *m)
{
	__u32 by = seen(m, f->by);

	m->sick = false;
	m->flows = seen(m, f->of);
	m->measured = m->counts && m->flows >= PASSIVE_LEAST;
	if (by > m->flows)
		by = m->flows;
	if (m->measured)
		m->bad = (__u8)((f->good ? m->flows - by : by) * 100ull / m->flows);
}

bool passive_judge(enum poise_fault fault, struct passive_member *m, size_t n, __u8 *median)
{
	__u64 *share = calloc(n + 1, sizeof(*share));
	size_t measured = 0, counted = 0;
	__u64 flows = 0;

	if (!share)
		abort();
	for (size_t k = 0; k < n; k++) {
		measure(&faults[fault], &m[k]);
		counted += m[k].counts;
		flows += m[k].counts ? m[k].flows : 0;
		if (m[k].measured)
			share[measured++] = m[k].bad;
	}
	*median = (__u8)median_of(share, measured);
	free(share);
	if (measured < 2 || 2 * measured < counted)
		return false;
	if (measured < counted && flows < 2ull * PASSIVE_LEAST * counted)
		return false;
	for (size_t k = 0; k < n; k++)
		m[k].sick = m[k].measured && m[k].bad >= faults[fault].least &&
			    m[k].bad >= *median + PASSIVE_MARGIN;
	return true;
}

/* How long the pool's flows last, in ms. */
static __u64 lasting(const struct passive_member *m, size_t n, __u64 age)
{
	__u64 *ms = calloc(n + 1, sizeof(*ms)), result;
	size_t measured = 0;

	if (!ms)
		abort();
	for (size_t k = 0; k < n; k++) {
		__u32 flows = seen(&m[k], POISE_ANSWERED);

		if (m[k].counts && flows >= PASSIVE_LEAST)
			ms[measured++] = m[k].live * age / flows;
	}
	result = median_of(ms, measured);
	free(ms);
	return result;
}

__u64 passive_window(enum poise_fault fault, __u32 window, const struct passive_member *m, size_t n,
		     __u64 age)
{
	__u64 least = (__u64)window * UNFINISHED_WINDOWS, last;

	if (fault != POISE_FAULT_UNFINISHED)
		return window;
	if (age < least)
		return least;
	last = PASSIVE_LASTING * lasting(m, n, age);
	return last > least ? last : least;
}

long passive_room(const struct poise_service_conf *conf, const struct passive_pool *p)
{
	long all = p->up + p->ejected;
	long room = (conf->max_ejected ? all * conf->max_ejected / 100 : all / 3) - p->ejected;

	if (room > p->up - p->enough)
		room = p->up - p->enough;
	if (room <= 0 || room < p->reached)
		return room;
	return p->reached ? p->reached - 1 : 0;
}

__u32 passive_time(const struct poise_service_conf *conf, const struct poise_member_conf *m,
		   __u64 now)
{
	__u64 quiet = (__u64)PASSIVE_QUIET * conf->eject_time * NS_PER_MS;
	__u64 time = 2ull * m->eject_time;

	if (!m->eject_time || (now > m->eject_until && now - m->eject_until >= quiet))
		return conf->eject_time;
	return time < conf->eject_max ? (__u32)time : conf->eject_max;
}
