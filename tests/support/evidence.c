/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "evidence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#define LABS_MAX 4

static struct lab looked_at[LABS_MAX]; /* without a name: none */
static bool told; /* once is enough: what fails after that, fails because of it */

void evidence_begin(const struct lab *l)
{
	for (int k = 0; k < LABS_MAX; k++)
		if (!looked_at[k].name[0]) {
			looked_at[k] = *l;
			return;
		}
}

void evidence_end(const struct lab *l)
{
	for (int k = 0; k < LABS_MAX; k++)
		if (!strcmp(looked_at[k].name, l->name))
			looked_at[k].name[0] = '\0';
}

/* By a shell of its own: what lab_run printed last is still to be compared with something. */
static void tell(const struct lab *l)
{
	static const char script[] =
		"exec >&2; export POISE_BUILD=$(realpath ${B:-build}); uptime; "
		"for log in %s.lb*; do [ ! -e $log ] || { echo \"-- $log\"; tail -n 60 $log; }; "
		"done; for n in 1 2; do timeout 30 tests/lab/lab exec --name %s lb$n sh -c 'echo "
		"\"-- lb'$n'\"; poise show; poise status; poise events | tail -n 40' 2>&1 | "
		"grep -v '^lab: '; done";
	char command[1024];

	snprintf(command, sizeof(command), script, l->log, l->name);
	if (system(command) < 0)
		perror("sh");
}

/* Every assertion of Criterion's goes through this one (ld --wrap). */
void __real_criterion_send_assert(struct criterion_assert_stats *stats);
void __wrap_criterion_send_assert(struct criterion_assert_stats *stats);

void __wrap_criterion_send_assert(struct criterion_assert_stats *stats)
{
	__real_criterion_send_assert(stats);
	if (stats->passed || told)
		return;
	told = true;
	for (int k = 0; k < LABS_MAX; k++)
		if (looked_at[k].name[0])
			tell(&looked_at[k]);
}
