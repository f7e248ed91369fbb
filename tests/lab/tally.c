/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tally.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned int slot_of(uint64_t us)
{
	unsigned int shift = 0, slot;

	while (us >> shift >= 2 * TALLY_STEPS)
		shift++;
	slot = shift * TALLY_STEPS + (us >> shift);
	return slot < TALLY_SLOTS ? slot : TALLY_SLOTS - 1;
}

/* The largest value of a slot. */
static uint64_t top_of(unsigned int slot)
{
	unsigned int shift = slot < 2 * TALLY_STEPS ? 0 : slot / TALLY_STEPS - 1;

	return ((uint64_t)(slot - shift * TALLY_STEPS + 1) << shift) - 1;
}

static void count_backend(struct tally *t, const char *name)
{
	unsigned int i = 0;

	while (i < t->backends && strcmp(t->backend[i].name, name))
		i++;
	if (i == TALLY_BACKENDS)
		return;
	if (i == t->backends)
		snprintf(t->backend[t->backends++].name, TALLY_NAME, "%s", name);
	t->backend[i].count++;
}

void tally_add(struct tally *t, const struct tally_result *r)
{
	t->done++;
	if (r->error)
		t->failed++;
	else
		count_backend(t, r->backend);
	if (r->total > t->longest)
		t->longest = r->total;
	t->histogram[slot_of(r->total)]++;
	if (t->log)
		fprintf(t->log, "%.3f %lu %lu %d %s %s\n", (t->begun + r->due) / 1e6,
			(unsigned long)r->connect, (unsigned long)r->total, r->status,
			r->error ? "-" : r->backend, r->error ?: "-");
}

double tally_percentile(const struct tally *t, double percent)
{
	unsigned long want = t->done * percent / 100, seen = 0;
	unsigned int slot = 0;

	while (slot < TALLY_SLOTS - 1 && (seen += t->histogram[slot]) <= want)
		slot++;
	return (top_of(slot) < t->longest ? top_of(slot) : t->longest) / 1e3;
}

void tally_status(struct tally *t, bool over)
{
	char line[128];
	int len;

	if (t->log)
		fflush(t->log);
	if (t->status_fd < 0)
		return;
	/* Padded to one length, so that one write replaces the line before it. */
	len = snprintf(line, sizeof(line), "sent %lu failed %lu p99 %.1f ms%s", t->sent, t->failed,
		       tally_percentile(t, 99), over ? " (over)" : "");
	memset(line + len, ' ', sizeof(line) - len);
	line[sizeof(line) - 1] = '\n';
	if (pwrite(t->status_fd, line, sizeof(line), 0) < 0)
		t->status_fd = -1;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct tally_backend *)a)->name,
		      ((const struct tally_backend *)b)->name);
}

void tally_summary(struct tally *t, FILE *out)
{
	qsort(t->backend, t->backends, sizeof(t->backend[0]), by_name);
	fprintf(out, "%lu requests, %lu failed, p50 %.1f ms, p99 %.1f ms, longest %.1f ms\n",
		t->done, t->failed, tally_percentile(t, 50), tally_percentile(t, 99),
		t->longest / 1e3);
	for (unsigned int i = 0; i < t->backends; i++)
		fprintf(out, "%-12s %8lu  %4.1f %%\n", t->backend[i].name, t->backend[i].count,
			100.0 * t->backend[i].count / t->done);
}
