// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What Kubernetes wants, in the kernel's maps: golden dumps as they are decoded from there, each
 * applied to what the one before left; and after any history what packets see is what it would be
 * had it never been otherwise.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/attach/attach.h"
#include "maps/clock.h"
#include "tests/support/golden.h"
#include "tests/support/longest.h"
#include "tests/support/store.h"
#include "tests/support/world.h"

#define EVENTS 1000
#define WEEKS  (30ull * 86400 * 1000000000) /* ns: whoever is leaving is gone by then */

static char name[32];
static struct instance_where where = {.name = name};
static struct instance *instance;

static void make(void)
{
	struct config *cfg = config_new();
	struct poise_error err = {0};
	bool created;

	snprintf(name, sizeof(name), "t-kube-%d", (int)getpid());
	cfg->has_limits = true;
	cfg->has_hash_key = true; /* as an anonymous one, which it is compared with, has it */
	cfg->hash_key[0] = 0x0f1e2d3c4b5a6978;
	cfg->hash_key[1] = 0x8796a5b4c3d2e1f0;
	cfg->limits.services = 256;
	cfg->limits.backends = 2048;
	cfg->limits.listeners = 1024;
	cfg->limits.flow_slots = 4096;
	cfg->limits.table_slots = 2 << 20;
	cfg->limits.ranges = 256;
	cfg->limits.nat_groups = 1;
	cr_assert_eq(attach_load(&instance, &where, cfg, &created, &err), 0, "%s: %s", err.object,
		     err.message);
	cr_assert(created);
	config_free(cfg);
}

static void unmake(void)
{
	struct poise_error err = {0};

	if (!instance)
		return;
	instance_close(instance);
	instance = NULL;
	cr_assert_eq(attach_reset(&where, &err), 0, "%s", err.message);
}

TestSuite(kube, .init = make, .fini = unmake, .timeout = TEST_LONGEST);

static void must(int rc, const struct poise_error *err)
{
	cr_assert_geq(rc, 0, "%s: %s", err->object, err->message);
}

/* As poised does it: the difference, in one transaction. */
static void apply(const struct config *wanted)
{
	struct poise_error err = {0};
	struct config *live;

	must(instance_lock(instance, &err), &err);
	must(instance_load(instance, &live, &err), &err);
	must(config_apply_as(live, wanted, POISE_OWNER_KUBERNETES, CONFIG_APPLY_EMPTY, NULL, &err),
	     &err);
	must(instance_commit(instance, live, NULL, &err), &err);
	instance_unlock(instance);
	config_free(live);
}

/* Time passes: who was leaving is gone, and its id is free. */
static void later(void)
{
	struct poise_error err = {0};

	must(instance_lock(instance, &err), &err);
	must(instance_tick(instance, clock_realtime() + WEEKS, &err), &err);
	must(instance_sweep(instance, &err), &err);
	instance_unlock(instance);
}

static char *decoded(void)
{
	struct poise_error err = {0};
	struct config *cfg;
	char *text;

	must(instance_load(instance, &cfg, &err), &err);
	text = golden_config(cfg);
	config_free(cfg);
	return text;
}

static void check(const struct golden *g)
{
	struct kube_cache *c = kube_cache_new(GOLDEN_NODE);
	struct kube_desired *d;
	char *is;

	golden_list(g, c);
	d = kube_desired(c, &g->options, NULL);
	apply(d->cfg);
	is = decoded();
	cr_expect(g->dump && !strncmp(g->dump, is, strlen(is)) && strchr("#", g->dump[strlen(is)]),
		  "%s in the maps is\n%sand not\n%s", g->name, is, g->dump);
	store_check(instance, g->name);
	later();
	free(is);
	kube_desired_free(d);
	kube_cache_free(c);
}

Test(kube, golden)
{
	char **names = golden_names();
	struct config *nothing = config_new();
	struct golden g;
	char *text;

	for (char **n = names; *n; n++) {
		golden_open(&g, *n);
		if (!g.live) /* what others have is not here */
			check(&g);
		golden_close(&g);
	}
	golden_names_free(names);
	apply(nothing);
	later();
	text = decoded();
	cr_expect_str_eq(text, "");
	store_check(instance, "at last");
	free(text);
	config_free(nothing);
}

Test(kube, any_history)
{
	const struct kube_options options = {.claim = "lo"};
	struct kube_cache *c = kube_cache_new(GOLDEN_NODE);
	struct instance *fresh;

	world_begin(9);
	for (unsigned int event = 0; event < EVENTS; event++) {
		struct kube_desired *d;

		world_step(c, event);
		d = kube_desired(c, &options, NULL);
		apply(d->cfg);
		kube_cache_settle(c);
		kube_desired_free(d);
		if (event % WORLD_ROUND != WORLD_ROUND - 1)
			continue;
		later();
		store_check(instance, "on the way");
	}
	fresh = store_afresh(instance);
	store_same(instance, fresh, "after all that");
	instance_close(fresh);
	world_end();
	kube_cache_free(c);
}
