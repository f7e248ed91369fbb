// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What poise should do for a cluster: golden dumps for what the contract says line by line, and
 * that neither order nor history of the objects matters.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/text.h"
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

/* ---- bounds -----------------------------------------------------------------------------------*/

#define PORTS	  700
#define SLICES	  2 /* of a thousand endpoints: in all ports more than are looked at */
#define ENDPOINTS 1000

static struct json_object *port_of(int n, const char *more)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"name\":\"p%d\",\"port\":%d%s}", n, n, more);
	return json_tokener_parse(text);
}

static void tell(struct kube_cache *c, enum kube_kind kind, struct json_object *o)
{
	kube_cache_object(c, kind, o);
	json_object_put(o);
}

static struct json_object *wide_service(void)
{
	struct json_object *ports = json_object_new_array();
	struct json_object *o = json_tokener_parse(
		"{\"metadata\":{\"namespace\":\"a\",\"name\":\"wide\"},\"spec\":{\"type\":"
		"\"ClusterIP\",\"externalIPs\":[\"198.51.100.1\"],\"externalTrafficPolicy\":"
		"\"Local\"}}");

	for (int n = 1; n <= PORTS; n++)
		json_object_array_add(ports, port_of(n, ",\"targetPort\":8080"));
	json_object_object_add(json_object_object_get(o, "spec"), "ports", ports);
	return o;
}

static struct json_object *wide_slice(int slice)
{
	struct json_object *ports = json_object_new_array(), *list = json_object_new_array(), *o;
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"namespace\":\"a\",\"name\":\"wide-%d\",\"labels\":{"
		 "\"kubernetes.io/service-name\":\"wide\"}},\"addressType\":\"IPv4\"}",
		 slice);
	o = json_tokener_parse(text);
	for (int n = 1; n <= PORTS; n++)
		json_object_array_add(ports, port_of(n, ""));
	for (int n = 0; n < ENDPOINTS; n++) {
		snprintf(text, sizeof(text), "{\"addresses\":[\"10.%d.%d.%d\"]}", slice, n / 200,
			 n % 200 + 1);
		json_object_array_add(list, json_tokener_parse(text));
	}
	json_object_object_add(o, "ports", ports);
	json_object_object_add(o, "endpoints", list);
	return o;
}

/* A Service that is too much work is served in part, and says so. */
Test(kube_desired, work_for_one_service_is_bounded)
{
	static const struct kube_options options;
	struct kube_cache *c = kube_cache_new(GOLDEN_NODE);
	struct kube_desired *d;
	bool told = false;

	tell(c, KUBE_SERVICE, wide_service());
	for (int slice = 0; slice < SLICES; slice++)
		tell(c, KUBE_SLICE, wide_slice(slice));
	d = kube_desired(c, &options, NULL);
	for (size_t k = 0; k < d->findings.n; k++)
		told |= strstr(d->findings.finding[k].message, "endpoints together") != NULL;
	cr_expect(told);
	cr_expect_gt(d->cfg->services, PORTS / 2);
	cr_expect_lt(d->cfg->services, PORTS);
	kube_desired_free(d);
	kube_cache_free(c);
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

/* ---- external IPs -----------------------------------------------------------------------------*/

/* How many services that changed. */
static unsigned int applied(struct config *live, const struct kube_desired *d)
{
	struct config_summary sum = {0};
	struct poise_error err = {0};

	cr_assert_eq(config_apply_as(live, d->cfg, POISE_OWNER_KUBERNETES, CONFIG_APPLY_EMPTY, &sum,
				     &err),
		     0, "%s: %s", err.object, err.message);
	return sum.services_added + sum.services_changed;
}

/* Anybody may name any address there: no more of it than the Service's ports is taken. */
Test(kube_desired, of_external_ips_the_ports_alone)
{
	struct kube_cache *c = kube_cache_new(GOLDEN_NODE);
	struct config *live = config_new();
	char text[POISE_ADDR_TEXT];
	struct kube_desired *d;
	int external = 0;
	struct golden g;

	golden_open(&g, "claim");
	golden_list(&g, c);
	d = kube_desired(c, &g.options, NULL);
	cr_assert_eq(applied(live, d), 1);
	cr_assert_eq(applied(live, d), 0);
	for (int l = 0; l < (int)live->service[0]->conf.listeners; l++) {
		struct poise_listener_conf *at = &live->service[0]->conf.listener[l];

		poise_format_addr(&at->addr, text, sizeof(text));
		cr_expect_eq(at->alone, !strcmp(text, "198.51.100.7"), "%s", text);
		external += at->alone;
		at->alone = 0;
	}
	cr_expect_eq(external, 1);
	cr_expect_eq(applied(live, d), 1, "that is a change, too");
	config_free(live);
	kube_desired_free(d);
	kube_cache_free(c);
	golden_close(&g);
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
