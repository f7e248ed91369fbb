// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What poise should do for a cluster: golden dumps for what the contract says line by line, and
 * that neither order nor history of the objects matters.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/golden.h"
#include "tests/support/world.h"

static char *dump_of(const struct golden *g, const struct kube_cache *c)
{
	struct kube_desired *d = kube_desired(c, &g->options, g->live);
	char *dump = golden_dump(d);

	kube_desired_free(d);
	return dump;
}

/* ---- golden dumps -----------------------------------------------------------------------------*/

static void check_golden(const struct golden *g)
{
	struct kube_cache *c = kube_cache_new(GOLDEN_NODE);
	char *dump;

	golden_list(g, c);
	dump = dump_of(g, c);
	if (getenv("POISE_GOLDEN"))
		golden_write(g, dump);
	else
		cr_expect_str_eq(dump, g->dump ? g->dump : "", "%s is\n%sand not\n%s", g->name,
				 dump, g->dump);
	free(dump);
	kube_cache_free(c);
}

Test(kube_desired, golden)
{
	char **names = golden_names();
	struct golden g;

	for (char **n = names; *n; n++) {
		golden_open(&g, *n);
		check_golden(&g);
		golden_close(&g);
	}
	golden_names_free(names);
}

/* ---- neither order nor history matters --------------------------------------------------------*/

#define EVENTS 1000

static const struct kube_options all_options = {.claim = "lo"};

static char *dump_afresh(void)
{
	struct kube_cache *c = world_fresh();
	struct kube_desired *d = kube_desired(c, &all_options, NULL);
	char *dump = golden_dump(d);

	kube_desired_free(d);
	kube_cache_free(c);
	return dump;
}

/* As poised keeps it up to date. Returns whether a refresh was enough. */
static bool follow(struct kube_desired **d, struct kube_cache *c)
{
	const char **name;
	bool enough = *d && kube_desired_refresh(*d, c, &all_options, &name) >= 0;

	if (enough) {
		free(name);
	} else {
		kube_desired_free(*d);
		*d = kube_desired(c, &all_options, NULL);
	}
	kube_cache_settle(c);
	return enough;
}

static void expect_as_fresh(const struct kube_desired *d, unsigned int event)
{
	char *is = golden_dump(d), *should = dump_afresh();

	cr_assert_str_eq(is, should, "after event %u:\n%s\nand afresh:\n%s", event, is, should);
	free(is);
	free(should);
}

Test(kube_desired, any_history)
{
	struct kube_cache *c = kube_cache_new(GOLDEN_NODE);
	unsigned int refreshed = 0, services = 0;
	struct kube_desired *d = NULL;

	world_begin(8);
	for (unsigned int event = 0; event < EVENTS; event++) {
		world_step(c, event);
		refreshed += follow(&d, c);
		if (event % WORLD_ROUND == WORLD_ROUND - 1)
			expect_as_fresh(d, event);
		services += (unsigned int)d->cfg->services;
	}
	cr_expect_gt(refreshed, EVENTS / 20, "only %u", refreshed);
	cr_expect_gt(services, 3 * EVENTS, "only %u", services);
	world_end();
	world_tell(c);
	follow(&d, c);
	cr_expect_eq(d->cfg->services + d->cfg->addresses + d->findings.n + d->healths, 0,
		     "nothing is left");
	kube_desired_free(d);
	kube_cache_free(c);
}
