/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two balancers with one configuration choose alike, whatever way they came to it: so that a flow
 * which the network moves from one to the other keeps its backend.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/lab.h"

#define KEY "0f1e2d3c4b5a69788796a5b4c3d2e1f0"

static struct lab lab;

/* Both are told one key; without, each draws its own. */
static pid_t balancer(const char *node)
{
	lab_must(&lab, node, "echo 'hash-key: " KEY "' >/run/poise.yaml");
	return lab_poised(&lab, node, "--config /run/poise.yaml");
}

/* Which backend each slot leads a new flow to. The base beside it is where flows were before, which
 * is history and may differ. */
static void table(const char *node, char **copy)
{
	free(*copy);
	*copy = strdup(lab_must(&lab, node, "poise map show table web | sed 's/ base.*//'"));
	cr_assert(strlen(*copy) > 1000, "%s: no table: %s", node, *copy);
}

static void tables_equal(const char *when)
{
	char *one = NULL, *two = NULL;

	table("lb1", &one);
	table("lb2", &two);
	cr_assert(!strcmp(one, two), "tables differ %s", when);
	free(one);
	free(two);
}

/* The same members at last, by different ways. */
static void build_histories(void)
{
	lab_must(&lab, "lb1", "poise service add other 192.0.2.99:80 forward l2");
	lab_must(&lab, "lb1", "poise backend add other 10.0.0.9");
	lab_must(&lab, "lb1", "poise service add web 192.0.2.10:80 forward l2");
	lab_must(&lab, "lb1", "poise backend add web 10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4");
	lab_must(&lab, "lb1", "poise backend set web 10.0.0.2 weight 3");

	lab_must(&lab, "lb2", "poise service add web 192.0.2.10:80 forward l2");
	lab_must(&lab, "lb2", "poise backend add web 10.0.0.4 10.0.0.8 10.0.0.7 weight 2");
	lab_must(&lab, "lb2", "poise backend add web 10.0.0.2 weight 3");
	lab_must(&lab, "lb2", "poise backend del web 10.0.0.8 --now");
	lab_must(&lab, "lb2", "poise backend add web 10.0.0.3");
	lab_must(&lab, "lb2", "poise backend set web 10.0.0.4 weight 1");
	lab_must(&lab, "lb2", "poise backend add web 10.0.0.1");
	lab_must(&lab, "lb2", "poise backend del web 10.0.0.7 --now");
}

Test(balancers, with_different_histories_have_equal_tables, .timeout = 120)
{
	pid_t first, second;
	char *before = NULL, *after = NULL;

	lab_up(&lab, "--balancers 2 --backends 4");
	first = balancer("lb1");
	second = balancer("lb2");
	lab_must(&lab, "lb1", "poise attach eth0");
	lab_must(&lab, "lb2", "poise attach eth0");
	build_histories();
	tables_equal("after different histories");

	table("lb2", &before);
	lab_stop(second, SIGKILL);
	second = balancer("lb2");
	table("lb2", &after);
	cr_assert_str_eq(before, after, "a restart changed the table");

	/* And from then on, the restarted one included. */
	lab_must(&lab, "lb1", "poise backend del web 10.0.0.3 --now");
	lab_must(&lab, "lb2", "poise backend del web 10.0.0.3 --now");
	tables_equal("after one backend less");
	lab_must(&lab, "lb1", "poise map check");
	lab_must(&lab, "lb2", "poise map check");
	free(before);
	free(after);
	lab_stop(first, SIGTERM);
	lab_stop(second, SIGTERM);
	lab_down(&lab);
}
