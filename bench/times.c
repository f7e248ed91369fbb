// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "times.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/run.h"
#include "maps/memory.h"
#include "sample.h"

#define ROUNDS_MAX  255
#define GOAL_NS	    2e6 /* that a round should take of a case: thousands of the clock's own cost */
#define TIMES_MAX   (1u << 20)
#define SEED	    1
#define CLOCK_LOOKS 1000

/* What the rounds said of a case, ns an operation. */
struct timed {
	unsigned int times; /* operations a round, from the first */
	double one[ROUNDS_MAX], all[ROUNDS_MAX];
};

unsigned int times_cpus(void)
{
	return (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* What looking at the clock costs, which is not the operations'. */
static double clock_cost;

static double clock_ns(void)
{
	double least = 0;
	struct timespec from, to;

	for (int k = 0; !least || k < CLOCK_LOOKS; k++) {
		double ns;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
		ns = (double)(to.tv_nsec - from.tv_nsec);
		if (ns > 0 && (!least || ns < least))
			least = ns;
	}
	return least;
}

/* CPU time that one CPU's operations took, in ns, without the resets between. */
static double timed_run(const struct bench_case *c, unsigned int cpu, unsigned int times)
{
	struct timespec from, to;
	double ns = 0;

	while (times) {
		unsigned int some = c->at_most && times > c->at_most ? c->at_most : times;

		if (c->kind->reset)
			c->kind->reset(cpu);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		c->kind->run(cpu, some);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
		ns += (double)(to.tv_sec - from.tv_sec) * 1e9 +
		      (double)(to.tv_nsec - from.tv_nsec) - clock_cost;
		times -= some;
	}
	return ns;
}

struct lane {
	const struct bench_case *c;
	unsigned int cpu, times;
	pthread_barrier_t *together;
	double ns;
};

static void *run_lane(void *argument)
{
	struct lane *l = argument;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(l->cpu, &set);
	sched_setaffinity(0, sizeof(set), &set); /* fewer CPUs than asked for share them */
	run_set_cpu(l->cpu);
	timed_run(l->c, l->cpu, l->times / 8 + 1); /* warm */
	pthread_barrier_wait(l->together);
	l->ns = timed_run(l->c, l->cpu, l->times);
	return NULL;
}

/* The mean of `cpus` who begin at once. */
static double together(const struct bench_case *c, unsigned int cpus, unsigned int times)
{
	struct lane *lane = memory_alloc(cpus * sizeof(*lane));
	pthread_t *thread = memory_alloc(cpus * sizeof(*thread));
	pthread_barrier_t barrier;
	double ns = 0;

	pthread_barrier_init(&barrier, NULL, cpus);
	for (unsigned int cpu = 0; cpu < cpus; cpu++) {
		lane[cpu] = (struct lane){c, cpu, times, &barrier, 0};
		if (pthread_create(&thread[cpu], NULL, run_lane, &lane[cpu]))
			abort(); /* those who wait at the barrier would wait for good */
	}
	for (unsigned int cpu = 0; cpu < cpus; cpu++) {
		pthread_join(thread[cpu], NULL);
		ns += lane[cpu].ns;
	}
	pthread_barrier_destroy(&barrier);
	free(thread);
	free(lane);
	return ns / cpus;
}

/* As many operations as make GOAL_NS, from a few. */
static unsigned int enough(const struct bench_case *c)
{
	unsigned int times = 1;
	double ns = timed_run(c, 0, times);

	while (ns < GOAL_NS / 8 && times < TIMES_MAX) {
		times *= 8;
		ns = timed_run(c, 0, times);
	}
	ns = GOAL_NS / (ns / times);
	return ns < 1 ? 1 : ns > TIMES_MAX ? TIMES_MAX : (unsigned int)ns;
}

static int round_of(const struct bench_case *c, const struct times_how *how, unsigned int round,
		    struct timed *t)
{
	bool alone = c->flags & CASE_ALONE || how->cpus < 2;
	struct poise_error err = {0};
	char text[1024];
	unsigned long failed;

	if (c->kind->open(c, alone ? 1 : how->cpus, &err)) {
		fprintf(stderr, "bench: %s: %s\n", c->name,
			poise_error_text(&err, text, sizeof(text)));
		return -1;
	}
	if (!round)
		t->times = enough(c);
	timed_run(c, 0, t->times / 8 + 1); /* warm */
	t->one[round] = timed_run(c, 0, t->times) / t->times / c->per;
	if (!alone)
		t->all[round] = together(c, how->cpus, t->times) / t->times / c->per;
	failed = c->kind->failed ? c->kind->failed() : 0;
	c->kind->close();
	if (failed)
		fprintf(stderr, "bench: %s: %lu operations did not do what they should\n", c->name,
			failed);
	return failed ? -1 : 0;
}

static double print_median(const double *ns, unsigned int rounds)
{
	double sorted[ROUNDS_MAX], median;
	struct sample_range range = sample_bootstrap(ns, rounds, SEED);

	memcpy(sorted, ns, rounds * sizeof(*ns));
	median = sample_median(sorted, rounds);
	printf(",%.4g,%.4g,%.4g", median, range.low, range.high);
	return median;
}

static void print_case(const struct bench_case *c, const struct times_how *how,
		       const struct timed *t)
{
	bool alone = c->flags & CASE_ALONE || how->cpus < 2;
	double one, all;

	printf("%s", c->name);
	one = print_median(t->one, how->rounds);
	if (alone) {
		printf(",,,,");
	} else {
		all = print_median(t->all, how->rounds);
		printf(",%.3f", all / one);
	}
	for (unsigned int r = 0; r < how->rounds; r++)
		printf("%c%.4g", r ? ' ' : ',', t->one[r]);
	for (unsigned int r = 0; r < how->rounds && !alone; r++)
		printf("%s%.4g", r ? " " : " | ", t->all[r]);
	puts("");
}

int times_all(const struct cases *cases, const struct times_how *wanted)
{
	struct times_how how = *wanted;
	struct timed *timed = memory_alloc(cases->count * sizeof(*timed));
	int rc = 0;

	clock_cost = clock_ns();
	if (how.rounds > ROUNDS_MAX)
		how.rounds = ROUNDS_MAX;
	for (unsigned int r = 0; r < how.rounds && !rc; r++) {
		fprintf(stderr, "bench: round %u of %u\n", r + 1, how.rounds);
		for (size_t n = 0; n < cases->count && !rc; n++)
			rc = round_of(&cases->list[n], &how, r, &timed[n]);
	}
	if (!rc) {
		puts("case,ns,low,high,all_ns,all_low,all_high,ratio,samples");
		for (size_t n = 0; n < cases->count; n++)
			print_case(&cases->list[n], &how, &timed[n]);
	}
	free(timed);
	return rc;
}
