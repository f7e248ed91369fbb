/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two balancers with one configuration choose alike, whatever way they came to it: so that a flow
 * which the network moves from one to the other keeps its backend.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/lab.h"

#define KEY "0f1e2d3c4b5a69788796a5b4c3d2e1f0"

#define TRANSFERS 4
#define BYTES	  20000000 /* some 14,000 packets up each */

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

TestSuite(balancers, .timeout = TEST_LONGEST);

Test(balancers, with_different_histories_have_equal_tables)
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

/* The router stops sending to lb1 in the midst of transfers, as when it dies or is drained. */
Test(balancers, take_each_others_connections_over)
{
	pid_t first, second, up[TRANSFERS];
	const char *out;

	lab_up(&lab, "--balancers 2 --backends 4");
	for (int n = 1; n <= 4; n++) {
		char node[16];

		snprintf(node, sizeof(node), "b%d", n);
		lab_serve(&lab, node, "serve %s 192.0.2.10:9000", node);
	}
	first = balancer("lb1");
	second = balancer("lb2");
	for (int n = 1; n <= 2; n++) {
		char node[16];

		snprintf(node, sizeof(node), "lb%d", n);
		lab_must(&lab, node, "poise attach eth0");
		lab_must(&lab, node, "poise service add web 192.0.2.10:9000 forward l2");
		lab_must(&lab, node, "poise backend add web 10.0.0.%d 10.0.0.%d 10.0.0.3 10.0.0.4",
			 n, 3 - n);
		lab_until(&lab, node, LAB_SOON, "poise status");
	}
	lab_must(&lab, "router", "ip route replace 192.0.2.0/24 via 10.0.0.101");
	for (int i = 0; i < TRANSFERS; i++)
		up[i] = lab_start(&lab, "c1", "bulk 192.0.2.10:9000 %d", BYTES);
	/* Some of it has come through lb1, then all goes to lb2. */
	lab_until(&lab, "lb1", LAB_SOON,
		  "poise stats web --exact | awk '/packets/ { exit $2 < 8000 }'");
	lab_must(&lab, "router", "ip route replace 192.0.2.0/24 via 10.0.0.102");
	for (int i = 0; i < TRANSFERS; i++)
		lab_wait(up[i]);
	lab_host(&out, "grep -c equal %s.c1", lab.log);
	cr_assert_eq(atoi(out), 2 * TRANSFERS, "%s", (lab_host(&out, "cat %s.c1", lab.log), out));
	lab_must(&lab, "lb2", "poise stats web --exact | awk '/packets/ { exit $2 < 1000 }'");
	lab_stop(first, SIGTERM);
	lab_stop(second, SIGTERM);
	lab_down(&lab);
}
