// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What poised tells of the cluster that it follows, and what status makes of it.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/status.h"
#include "maps/clock.h"
#include "maps/instance.h"
#include "tests/support/longest.h"

static struct instance *i;
static struct cli c;
static struct status s;

static void up(void)
{
	struct config_limits limits = {
		.services = 1, .backends = 1, .listeners = 1, .flow_slots = 8, .table_slots = 64};

	i = instance_anonymous(&limits);
	c.instance = i;
	memset(&s, 0, sizeof(s));
	s.daemon = true;
}

static void down(void)
{
	instance_close(i);
}

TestSuite(cluster, .init = up, .fini = down, .timeout = TEST_LONGEST);

static struct poise_cluster known(enum poise_cluster_state state)
{
	return (struct poise_cluster){
		.state = state,
		.since = clock_realtime() - 90 * NS_PER_S,
		.services = 3,
		.slices = 4,
		.endpoints = 5,
		.server = "https://10.0.0.1:6443",
		.node = "node-1",
	};
}

static void tell(struct poise_cluster now)
{
	instance_set_cluster(i, &now);
	status_cluster(&c, &s);
}

Test(cluster, none)
{
	status_cluster(&c, &s);
	cr_assert_eq(s.cluster.state, POISE_CLUSTER_NONE);
	cr_assert_eq(s.problems.n + s.notes.n, 0);
}

Test(cluster, followed)
{
	char text[512];
	struct json_object *o;

	tell(known(POISE_CLUSTER_FOLLOWED));
	cr_assert_eq(s.problems.n + s.notes.n, 0);
	status_cluster_text(&s, text, sizeof(text));
	cr_assert_str_eq(text, "followed for 1m, 3 services, 5 endpoints in 4 slices, node node-1, "
			       "https://10.0.0.1:6443");
	o = status_cluster_json(&s);
	cr_assert(strstr(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN),
			 "\"state\":\"followed\""));
	json_object_put(o);
}

Test(cluster, outage)
{
	struct poise_cluster now = known(POISE_CLUSTER_OUTAGE);

	snprintf(now.error, sizeof(now.error), "refused");
	tell(now);
	cr_assert_eq(s.problems.n, 1);
	cr_assert_str_eq(s.problems.text[0], "the Kubernetes API server has not been heard for 1m; "
					     "what was known is served: refused");
}

Test(cluster, findings)
{
	struct poise_cluster now = known(POISE_CLUSTER_FOLLOWED);

	now.findings = 2;
	snprintf(now.finding, sizeof(now.finding), "Service default/web: no port");
	tell(now);
	cr_assert_eq(s.notes.n, 1);
	cr_assert(strstr(s.notes.text[0], "Service default/web: no port (and more"));
}

Test(cluster, told_by_nobody_is_nothing)
{
	s.daemon = false;
	tell(known(POISE_CLUSTER_OUTAGE));
	cr_assert_eq(s.cluster.state, POISE_CLUSTER_NONE);
	cr_assert_eq(s.problems.n, 0, "that poised does not run is told elsewhere");
}

/* Texts that fill their places, or were written by a poised that is no more. */
Test(cluster, texts_end)
{
	struct poise_cluster now = known(POISE_CLUSTER_OUTAGE);

	memset(now.server, 'x', sizeof(now.server));
	memset(now.error, 'x', sizeof(now.error));
	tell(now);
	cr_assert_eq(strlen(s.cluster.server), sizeof(s.cluster.server) - 1);
	cr_assert_eq(strlen(s.cluster.error), sizeof(s.cluster.error) - 1);
}
