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

/* ---- what need not be worked out anew ---------------------------------------------------------*/

static struct {
	struct golden g;
	struct kube_cache *c;
	struct kube_desired *d;
} one;

static void begin(const char *golden)
{
	golden_open(&one.g, golden);
	one.c = kube_cache_new(GOLDEN_NODE);
	golden_list(&one.g, one.c);
	one.d = kube_desired(one.c, &one.g.options, one.g.live);
	kube_cache_settle(one.c);
}

static void one_begin(void)
{
	begin("class-ours");
}

/* Three Services, of whom the second has not all of its backends, and the third none. */
static void short_begin(void)
{
	begin("limit-of-backends");
}

static void one_end(void)
{
	kube_desired_free(one.d);
	kube_cache_free(one.c);
	golden_close(&one.g);
}

/* Puts a text in place of another one in an object of the golden ones, and tells of it. */
static void change(size_t object, const char *from, const char *to)
{
	struct json_object *obj = json_object_array_get_idx(one.g.objects, object);
	char *text = strdup(json_object_to_json_string_ext(obj, JSON_C_TO_STRING_NOSLASHESCAPE));
	char *at = strstr(text, from), *changed;

	cr_assert_not_null(at, "no %s in %s", from, text);
	cr_assert_gt(asprintf(&changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)),
		     0);
	obj = json_tokener_parse(changed);
	cr_assert_not_null(obj, "%s", changed);
	kube_cache_object(one.c, (enum kube_kind)golden_kind(obj), obj);
	json_object_put(obj);
	free(changed);
	free(text);
}

/* How many poise services changed; -1: it was not enough. */
static int refreshed(void)
{
	const char **name;
	int n = kube_desired_refresh(one.d, one.c, &one.g.options, &name);
	char *is, *should;

	if (n == 1)
		cr_expect(strstr("default.web default.old", name[0]), "%s", name[0]);
	free(name);
	kube_cache_settle(one.c);
	if (n < 0)
		return n;
	is = golden_dump(one.d);
	should = dump_of(&one.g, one.c);
	cr_expect_str_eq(is, should);
	free(is);
	free(should);
	return n;
}

/* The objects: our Node, the Service, its slice. */
Test(kube_desired, what_concerns_nobody_else, .init = one_begin, .fini = one_end)
{
	cr_expect_eq(refreshed(), 0, "nothing changed");
	change(2, "\"ready\":true", "\"ready\":false");
	cr_expect_eq(refreshed(), 1);
	change(2, "\"10.1.1.1\"", "\"10.1.1.2\"");
	cr_expect_eq(refreshed(), 1);
	change(1, "\"uid\":", "\"annotations\": {\"poise.dev/policy\": \"p2c\"}, \"uid\":");
	cr_expect_eq(refreshed(), 1);
	change(1, "\"uid\":", "\"annotations\": {\"poise.dev/policy\": \"x\"}, \"uid\":");
	cr_expect_eq(refreshed(), 1);
	cr_expect_eq(one.d->findings.n, 1, "what is amiss is told of, too");
	change(1, "\"clusterIP\"", "\"status\"");
	cr_expect_eq(refreshed(), 0, "nothing that counts");
	cr_expect_eq(one.d->findings.n, 0);
}

Test(kube_desired, what_may_concern_others, .init = one_begin, .fini = one_end)
{
	static const struct {
		size_t object;
		const char *from, *to;
	} changes[] = {
		{0, "10.0.0.1", "10.0.0.2"},	 {1, "\"port\":80,", "\"port\":81,"},
		{1, "192.0.2.10", "192.0.2.11"}, {1, "\"TCP\"", "\"UDP\""},
		{1, "00:00:00Z", "00:00:01Z"},	 {1, "poise.dev/xdp", "poise.dev/other"},
		{1, "\"web\"", "\"other\""},
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		change(changes[i].object, changes[i].from, changes[i].to);
		cr_expect_eq(refreshed(), -1, "%s", changes[i].to);
	}
	kube_cache_deleted(one.c, KUBE_SERVICE, json_object_array_get_idx(one.g.objects, 1));
	cr_expect_eq(refreshed(), -1, "a Service that goes");
}

/* Our Node; the Services, each with its slice behind it. */
Test(kube_desired, where_somebody_went_short, .init = short_begin, .fini = one_end)
{
	change(2, "\"10.1.0.3\"", "\"10.1.0.4\"");
	cr_expect_eq(refreshed(), 1, "as many as before");
	change(2, "\"ready\":true", "\"ready\":false");
	cr_expect_eq(refreshed(), 1);
	change(2, "\"10.1.0.3\"", "\"10.1.0.2\"");
	cr_expect_eq(refreshed(), -1, "one less leaves room for another");
	change(4, "\"10.1.0.8\"", "\"10.1.0.9\"");
	cr_expect_eq(refreshed(), -1, "of one that has not all");
}
