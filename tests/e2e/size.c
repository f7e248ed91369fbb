// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a full instance costs whoever changes it: 4,096 services with four backends each. CPU time
 * of the command and all it starts is measured, since the machine may have others to serve; the
 * least of several, since those cost caches too.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/resource.h>

#include "../support/host.h"

#define SERVICES  4096
#define BACKENDS  4
#define APPLY_MS  2000.0
#define CHANGE_MS 20.0
#define IDLE_MS	  5.0 /* of a command that does nothing, on the machine that these are for */
#define CHANGES	  40  /* the least of them: what the command costs, not what else ran */

static struct host h;

static void up(void)
{
	host_up(&h);
}

static void down(void)
{
	host_down(&h);
}

TestSuite(size, .init = up, .fini = down, .timeout = TEST_LONGEST);

static double milliseconds(const struct timeval *t)
{
	return (double)t->tv_sec * 1e3 + (double)t->tv_usec / 1e3;
}

/* CPU time of all commands so far. */
static double spent(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return milliseconds(&usage.ru_utime) + milliseconds(&usage.ru_stime);
}

static void write_file(void)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/full.yaml", h.dir);
	f = fopen(path, "w");
	cr_assert_not_null(f);
	fprintf(f, "services:\n");
	for (unsigned int s = 0; s < SERVICES; s++) {
		fprintf(f, "  - name: s%u\n    listen: \"10.9.%u.%u:80\"\n    forward: l2\n", s,
			s >> 8, s & 255);
		fprintf(f, "    backends:\n");
		for (unsigned int b = 0; b < BACKENDS; b++)
			fprintf(f, "      - { address: 10.%u.%u.%u }\n", 100 + b, s >> 8, s & 255);
	}
	fclose(f);
}

Test(size, a_full_instance_is_applied_and_changed_quickly)
{
	double before, apply, least = 1e9, idle = 1e9, slower;

	write_file();
	host_must(&h, "attach e0");
	before = spent();
	host_must(&h, "apply %s/full.yaml", h.dir);
	apply = spent() - before;
	for (int n = 1; n <= CHANGES; n++) {
		double took;

		before = spent();
		host_must(&h, "backend set s77 10.100.0.77 weight %d", n);
		took = spent() - before;
		least = took < least ? took : least;
		before = spent();
		host_must(&h, "version");
		took = spent() - before;
		idle = took < idle ? took : idle;
	}
	slower = idle > IDLE_MS ? idle / IDLE_MS : 1;
	fprintf(stderr, "%d services: apply %.0f ms, a change %.1f ms, nothing %.1f ms of CPU\n",
		SERVICES, apply, least, idle);
	cr_assert_leq(apply, APPLY_MS * slower);
	cr_assert_leq(least, CHANGE_MS * slower);
	host_must(&h, "show s77 --no-header --columns backend,weight");
	cr_assert_str_eq(h.out, "   10.100.0.77  40\n   10.101.0.77   1\n   10.102.0.77   1\n"
				"   10.103.0.77   1\n");
	host_must(&h, "map check");
}
