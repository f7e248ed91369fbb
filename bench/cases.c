// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cases -l|-1|-c|-t [-r ROUNDS] [-p CPUS] [PATTERN...]: the cases of the suites (case.h): listed,
 * each run once, counted, or timed. PATTERN is a shell pattern of suite/case; one of several must
 * fit.
 *
 * -c runs each as often as is counted. Under callgrind each case is a dump of its own by its name;
 * the program that counts itself (inside.h) prints "case,operations,helpers,lookups,lines,bytes",
 * and the other one what a dump is to be divided by: "case,operations,band". bench/quick puts them
 * together.
 *
 * -t prints "case,ns,low,high,all_ns,all_low,all_high,ratio,samples": see times.h.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include "case.h"
#include "inside.h"
#include "times.h"

struct options {
	char what;
	struct times_how times;
	char *const *patterns; /* none: all */
};

static void complain(const struct bench_case *c, const struct poise_error *err)
{
	char text[1024];

	fprintf(stderr, "bench: %s: %s\n", c->name, poise_error_text(err, text, sizeof(text)));
}

/* What sets up and the first operations are left out: caches of the CPU and of libraries warm up,
 * flows begin. */
static int once(const struct bench_case *c, bool counted)
{
	struct poise_error err = {0};
	unsigned int times = counted ? c->times : 1;
	unsigned long failed;

	if (c->kind->open(c, 1, &err)) {
		complain(c, &err);
		return -1;
	}
	if (counted) {
		if (c->kind->reset)
			c->kind->reset(0);
		c->kind->run(0, times);
	}
	if (c->kind->reset)
		c->kind->reset(0);
	inside_count_from_here();
	if (counted)
		CALLGRIND_ZERO_STATS;
	c->kind->run(0, times);
	if (counted)
		CALLGRIND_DUMP_STATS_AT(c->name);
	failed = c->kind->failed ? c->kind->failed() : 0;
	c->kind->close();
	if (failed) {
		fprintf(stderr, "bench: %s: %lu operations did not do what they should\n", c->name,
			failed);
		return -1;
	}
	return 0;
}

static int count(const struct bench_case *c)
{
	struct inside_counts n;
	double of = (double)c->times * c->per;

	if (inside_counts_itself() && c->flags & CASE_OUTSIDE)
		return 0;
	if (once(c, true))
		return -1;
	if (!inside_counts_itself()) {
		printf("%s,%.0f,%g\n", c->name, of, c->band);
		return 0;
	}
	n = inside_counted();
	printf("%s,%.0f,%.2f,%.2f,%.2f,", c->name, of, (double)n.helpers / of,
	       (double)n.lookups / of, (double)n.lines / of);
	if (c->bytes)
		printf("%u", c->bytes);
	puts("");
	return 0;
}

static int all(const struct cases *cases, const struct options *o)
{
	int rc = 0;

	for (size_t n = 0; n < cases->count; n++) {
		const struct bench_case *c = &cases->list[n];

		if (o->what == 'c' && c->flags & CASE_TIMED)
			continue;
		if (o->what == 'l')
			puts(c->name);
		else if (o->what == '1')
			rc |= once(c, false);
		else
			rc |= count(c);
		fflush(stdout);
	}
	return rc;
}

static bool fits(const char *name, char *const *patterns)
{
	for (char *const *p = patterns; *p; p++)
		if (!fnmatch(*p, name, 0))
			return true;
	return !*patterns;
}

/* Only those that are wanted. */
static void choose(struct cases *cases, char *const *patterns)
{
	size_t kept = 0;

	for (size_t n = 0; n < cases->count; n++)
		if (fits(cases->list[n].name, patterns))
			cases->list[kept++] = cases->list[n];
	cases->count = kept;
}

static int parse(int argc, char **argv, struct options *o)
{
	int c;

	*o = (struct options){.times = {.rounds = TIMES_ROUNDS, .cpus = times_cpus()}};
	while ((c = getopt(argc, argv, "l1ctr:p:")) != -1) {
		if (c == 'r')
			o->times.rounds = (unsigned int)strtoul(optarg, NULL, 10);
		else if (c == 'p')
			o->times.cpus = (unsigned int)strtoul(optarg, NULL, 10);
		else if (c == '?')
			return -1;
		else
			o->what = (char)c;
	}
	o->patterns = argv + optind;
	return o->what && o->times.rounds && o->times.cpus ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct cases cases = {0};
	struct options o;
	int rc;

	if (parse(argc, argv, &o)) {
		fprintf(stderr, "usage: %s -l|-1|-c|-t [-r ROUNDS] [-p CPUS] [PATTERN...]\n",
			argv[0]);
		return 2;
	}
	suite_packet(&cases);
	suite_parse(&cases);
	suite_choose(&cases);
	suite_flow(&cases);
	suite_tables(&cases);
	suite_forward(&cases);
	suite_daemon(&cases);
	choose(&cases, o.patterns);
	if (!cases.count) {
		fprintf(stderr, "bench: no case is named so (%s -l lists them)\n", argv[0]);
		return 2;
	}
	rc = o.what == 't' ? times_all(&cases, &o.times) : all(&cases, &o);
	free(cases.list);
	return rc ? 1 : 0;
}
