/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report CSV: what run measured, as Markdown. A path's cost is the CPU time that its cell
 * took, less the same of the path without a balancer in the same repetition, over the connections
 * or gigabytes. A cell in which a request failed or the generator was late counts for nothing, and
 * a peer with none left has no ratio.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sample.h"

#define CELLS_MAX 4096
#define REPS_MAX  64
#define PATHS_MAX 32
#define WORD	  24
#define SEED	  1
#define NO_PATH	  "direct"
#define BYTES	  1e6 /* of an answer */
#define TIMES	  5.0 /* HAProxy's cost of a connection is to be so many times that of mode l2 */

struct cell {
	char kind[WORD], path[WORD], is_void[WORD];
	unsigned int rep;
	double sent, warm_up, succeeded, warm_up_failed, p50, p99, connect, cpu;
};

/* Of one path. */
struct cost {
	const char *path;
	size_t n;			  /* repetitions that count */
	double median, p50, p99, connect; /* ms a unit; us */
	struct sample_range range;
};

static struct cell cells[CELLS_MAX];
static size_t cells_count;

static bool read_cells(const char *file)
{
	FILE *f = fopen(file, "re");
	char line[512];
	struct cell *c = cells;

	if (!f) {
		fprintf(stderr, "report: %s: %s\n", file, strerror(errno));
		return false;
	}
	while (cells_count < CELLS_MAX && fgets(line, sizeof(line), f))
		if (sscanf(line, "%23[^,],%23[^,],%u,%lf,%lf,%lf,%lf,%23[^,],%lf,%lf,%lf,%lf",
			   c->kind, c->path, &c->rep, &c->sent, &c->warm_up, &c->succeeded,
			   &c->warm_up_failed, c->is_void, &c->p50, &c->p99, &c->connect,
			   &c->cpu) == 12) {
			c++;
			cells_count++;
		}
	fclose(f);
	return true;
}

static bool counts(const struct cell *c)
{
	return strcmp(c->is_void, "true") != 0 && c->sent == c->succeeded && !c->warm_up_failed;
}

static const struct cell *find(const char *kind, const char *path, unsigned int rep)
{
	for (size_t i = 0; i < cells_count; i++)
		if (!strcmp(cells[i].kind, kind) && !strcmp(cells[i].path, path) &&
		    cells[i].rep == rep && counts(&cells[i]))
			return &cells[i];
	return NULL;
}

/* ms of CPU a unit. */
static struct cost cost_of(const char *kind, const char *path)
{
	double ms[REPS_MAX], p50[REPS_MAX], p99[REPS_MAX], connect[REPS_MAX];
	bool bytes = !strcmp(kind, "bytes");
	struct cost cost = {.path = path};

	for (unsigned int rep = 1; rep <= REPS_MAX; rep++) {
		const struct cell *with = find(kind, path, rep),
				  *without = find(kind, NO_PATH, rep);
		double units;

		if (!with || !without)
			continue;
		units = (with->sent + with->warm_up) * (bytes ? BYTES / 1e9 : 1);
		p50[cost.n] = with->p50;
		p99[cost.n] = with->p99;
		connect[cost.n] = with->connect;
		ms[cost.n++] = (with->cpu - without->cpu) / units;
	}
	cost.range = sample_bootstrap(ms, cost.n, SEED);
	cost.median = sample_median(ms, cost.n);
	cost.p50 = sample_median(p50, cost.n);
	cost.p99 = sample_median(p99, cost.n);
	cost.connect = sample_median(connect, cost.n);
	return cost;
}

static size_t paths_of(const char *kind, struct cost out[PATHS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < cells_count; i++) {
		bool known = strcmp(cells[i].kind, kind) != 0;

		for (size_t k = 0; k < n; k++)
			known |= !strcmp(out[k].path, cells[i].path);
		if (!known && n < PATHS_MAX)
			out[n++].path = cells[i].path;
	}
	for (size_t k = 0; k < n; k++)
		out[k] = cost_of(kind, out[k].path);
	return n;
}

static void print_table(const char *kind, const struct cost *cost, size_t n)
{
	bool bytes = !strcmp(kind, "bytes");
	double scale = bytes ? 1 : 1e3;

	printf("| %s by way of | %s | 95 %% | connected in ms, p50 | answered in ms, p50 | "
	       "p99 | repetitions |\n|---|--:|---|--:|--:|--:|--:|\n",
	       kind, bytes ? "CPU ms a gigabyte" : "CPU us a connection");
	for (size_t k = 0; k < n; k++) {
		if (!cost[k].n)
			printf("| %s | void | | | | | 0 |\n", cost[k].path);
		else
			printf("| %s | %.1f | %.1f to %.1f | ", cost[k].path,
			       scale * cost[k].median, scale * cost[k].range.low,
			       scale * cost[k].range.high);
		if (cost[k].n && cost[k].connect > 0)
			printf("%.2f", cost[k].connect / 1e3);
		if (cost[k].n)
			printf(" | %.2f | %.2f | %zu |\n", cost[k].p50 / 1e3, cost[k].p99 / 1e3,
			       cost[k].n);
	}
	printf("\n");
}

/* The cheapest of those whose names begin so. */
static const struct cost *best(const struct cost *cost, size_t n, const char *name)
{
	const struct cost *found = NULL;

	for (size_t k = 0; k < n; k++)
		if (cost[k].n && !strncmp(cost[k].path, name, strlen(name)) &&
		    (!found || cost[k].median < found->median))
			found = &cost[k];
	return found;
}

/* What a peer costs over what poise does: by medians, and by the ends of both ranges that speak
 * against the peer's being dearer. */
static void print_ratio(const struct cost *peer, const struct cost *poise, double least)
{
	bool told = peer->range.low > 0; /* it costs anything at all */
	double sure = !told		      ? 0
		      : poise->range.high > 0 ? peer->range.low / poise->range.high
					      : INFINITY;

	printf("- %s", peer->path);
	if (!told)
		printf(" cannot be told from no balancer on this machine, at this load");
	else if (poise->median > 0)
		printf(" costs %.1f times what mode %s does, at least %.1f times",
		       peer->median / poise->median, poise->path, sure);
	else
		printf(" costs more than mode %s, which cannot be told from no balancer here; at "
		       "least %.1f times",
		       poise->path, sure);
	if (least > 0)
		printf("; to be at least %.0f: %s", least,
		       sure >= least ? "reached"
		       : told && peer->median >= least * poise->median
			       ? "reached by the medians only"
			       : "**not reached**");
	printf("\n");
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = {"connections", "bytes"};
	static const char *const peers[] = {"nft", "haproxy", "nginx"};

	if (argc != 2) {
		fprintf(stderr, "usage: report CSV\n");
		return 2;
	}
	if (!read_cells(argv[1]))
		return 1;
	for (size_t i = 0; i < 2; i++) {
		struct cost cost[PATHS_MAX];
		size_t n = paths_of(kinds[i], cost);
		const struct cost *l2 = best(cost, n, "l2");

		print_table(kinds[i], cost, n);
		for (size_t p = 0; l2 && p < 3; p++) {
			const struct cost *peer = best(cost, n, peers[p]);

			if (peer)
				print_ratio(peer, l2, i == 0 && p == 1 ? TIMES : 0);
		}
		printf("\n");
	}
	return 0;
}
