// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Source ranges in a configuration: in files, through save and apply, in an instance's pool, and
 * what is refused.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/option.h"
#include "tests/support/parsed.h"
#include "tests/support/store.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define WEB "services:\n  - name: web\n    forward: l2\n    listen: 192.0.2.1:80\n"

/* ---- files ------------------------------------------------------------------------------------*/

/* Each way to write them, and the one in which they are saved. */
Test(ranges_config, forms)
{
	static const struct {
		const char *in, *out;
	} form[] = {
		{WEB "    allow: [ 10.0.0.0/8, \"2001:db8::/32\", 192.0.2.7 ]\n",
		 "    allow: [ 10.0.0.0/8, 192.0.2.7/32, \"2001:db8::/32\" ]\n"},
		{WEB "    allow:\n      - 10.0.0.0/8\n      - 2001:db8::/32\n",
		 "    allow: [ 10.0.0.0/8, \"2001:db8::/32\" ]\n"},
		{WEB "    deny: 10.0.0.0/8,10.0.0.0/16\n",
		 "    deny: [ 10.0.0.0/8, 10.0.0.0/16 ]\n"},
		{WEB "    allow: 10.0.0.0/8\n    deny: 10.1.0.0/16\n",
		 "    allow: [ 10.0.0.0/8 ]\n    deny: [ 10.1.0.0/16 ]\n"},
		{"defaults: { deny: 10.0.0.0/8 }\n" WEB, "    deny: [ 10.0.0.0/8 ]\n"},
		{"defaults: { deny: 10.0.0.0/8 }\n" WEB "    deny: []\n", ""},
		{"defaults: { deny: 10.0.0.0/8 }\n" WEB "    deny: none\n", ""},
		{WEB "    allow: default\n", ""},
	};

	for (size_t n = 0; n < COUNT(form); n++) {
		struct config *cfg = parsed(form[n].in), *again;
		char *saved = config_save(cfg, 0), *twice;

		cr_expect(*form[n].out ? strstr(saved, form[n].out) != NULL
				       : !strstr(saved, "allow") && !strstr(saved, "deny"),
			  "%s gives\n%s", form[n].in, saved);
		again = parsed(saved);
		twice = config_save(again, 0);
		cr_expect_str_eq(saved, twice);
		free(saved);
		free(twice);
		config_free(cfg);
		config_free(again);
	}
}

/* Such as save --all writes, all defaults said. */
Test(ranges_config, an_empty_list_is_written_as_one)
{
	struct config *cfg = parsed(WEB), *again;
	char *saved = config_save(cfg, CONFIG_SAVE_ALL);

	cr_expect(strstr(saved, "    allow: []\n    deny: []\n"), "%s", saved);
	again = parsed(saved);
	cr_expect_eq(config_diff(cfg, again, NULL, NULL), 0);
	free(saved);
	config_free(cfg);
	config_free(again);
}

Test(ranges_config, what_a_file_may_not_say)
{
	static const struct {
		const char *in, *error;
	} bad[] = {
		{WEB "    allow:\n      - 10.0.0.0/8\n      - 10.0.0.1/8\n",
		 "service \"web\": allow 10.0.0.1/8: has bits set behind its first 8: not a prefix "
		 "(f.yaml:7)"},
		{WEB "    allow: [ 10.0.0.0/8, 10.0.0.0/8 ]\n",
		 "service \"web\": allow 10.0.0.0/8: is in the list twice (f.yaml:5)"},
		{WEB "    deny: [ [ 10.0.0.0/8 ] ]\n",
		 "service \"web\": deny: must be a value, not a list (f.yaml:5)"},
		{WEB "    deny: { 10.0.0.0/8: yes }\n",
		 "service \"web\": deny: must be a value, not a mapping (f.yaml:5)"},
		{WEB "    deny:\n", "service \"web\": deny: has no value (f.yaml:5)"},
		{WEB "    allow: 10.0.0.0/8\n    deny: 10.0.0.0/8\n",
		 "service \"web\": prefix 10.0.0.0/8: is in allow and in deny (f.yaml:2)"},
		{"defaults: { allow: moon }\n" WEB,
		 "defaults: allow moon: not an IPv4 or IPv6 prefix (192.0.2.0/24, 2001:db8::/32) "
		 "(f.yaml:1)"},
	};

	for (size_t n = 0; n < COUNT(bad); n++) {
		struct poise_error err = {0};

		cr_expect_null(config_parse("f.yaml", bad[n].in, strlen(bad[n].in), &err), "%s",
			       bad[n].in);
		cr_expect_str_eq(said(&err), bad[n].error);
	}
}

Test(ranges_config, apply_changes_them_and_nothing_else)
{
	struct config *live = parsed(WEB "    allow: 10.0.0.0/8\n    idle: 1h\n");
	struct config *file = parsed(WEB "    allow: 10.0.0.0/8,192.0.2.0/24\n    idle: 1h\n");
	struct config *clone = config_clone(live);
	struct config_summary sum;
	struct poise_error err = {0};

	cr_assert_eq(config_apply(live, file, 0, &sum, &err), 0, "%s", said(&err));
	cr_expect_eq(sum.services_changed, 1);
	cr_assert_eq(config_apply(live, file, 0, &sum, &err), 0);
	cr_expect_eq(sum.services_changed, 0);
	cr_expect_eq(live->service[0]->allow.n, 2);
	cr_expect_eq(clone->service[0]->allow.n, 1, "a copy of its own");
	config_free(live);
	config_free(file);
	config_free(clone);
}

/* ---- limits -----------------------------------------------------------------------------------*/

static void fill(struct ranges *list, unsigned int n, unsigned int net)
{
	char text[RANGE_TEXT];

	ranges_free(list);
	for (unsigned int k = 0; k < n; k++) {
		snprintf(text, sizeof(text), "10.%u.%u.0/24", net, k);
		cr_assert_eq(ranges_add(list, text, NULL), 0);
	}
}

Test(ranges_config, a_service_has_so_many)
{
	struct config *cfg = parsed(WEB);
	struct poise_error err = {0};

	fill(&cfg->service[0]->allow, POISE_RANGES_MAX / 2, 1);
	fill(&cfg->service[0]->deny, POISE_RANGES_MAX / 2, 2);
	cr_expect_eq(config_validate(cfg, &err), 0, "%s", said(&err));
	fill(&cfg->service[0]->deny, POISE_RANGES_MAX / 2 + 1, 2);
	cr_expect_eq(config_validate(cfg, &err), -1);
	cr_expect_str_eq(said(&err), "service \"web\": 257 prefixes in allow and deny: a service "
				     "has at most 256 (f.yaml:2)");
	config_free(cfg);
}

static void edit_fill(struct config *cfg, unsigned long argument)
{
	if (!cfg->services) {
		store_add_service(cfg, "a", 1, 0, 1)->conf.table_size = 61;
		store_add_service(cfg, "b", 2, 1, 1)->conf.table_size = 61;
	}
	for (size_t s = 0; s < cfg->services; s++) {
		fill(&cfg->service[s]->allow, (unsigned int)argument % 100, (unsigned int)s);
		fill(&cfg->service[s]->deny, (unsigned int)argument / 100, 9);
	}
}

/* All that the limit allows may change at once, again and again: the old beside the new. */
Test(ranges_config, an_instance_full_of_them_can_be_changed)
{
	struct instance *i = store_tiny();
	struct poise_error err = {0};
	struct config *cfg;

	for (int k = 0; k < 50; k++) {
		/* 7 and 1, then 5 and 3, of each of two services: the limit is 16 */
		store_change(i, edit_fill, k % 2 ? 107 : 305);
		store_check(i, "full");
	}
	cr_assert_eq(instance_load(i, &cfg, &err), 0);
	cr_expect_eq(cfg->service[1]->allow.n, 7);
	cr_expect_eq(cfg->service[1]->deny.n, 1);
	config_free(cfg);
	cr_expect_eq(store_try(i, edit_fill, 207, &err), -1);
	cr_expect_str_eq(said(&err), "18 source-ranges, and this instance has room for 16");
	instance_close(i);
}

static void edit_other(struct config *cfg, unsigned long argument)
{
	cfg->service[0]->conf.idle = 1000 * (__u32)argument;
}

/* What does not change stays where it is, and a run that is no longer named goes back. */
Test(ranges_config, runs_stay_and_come_back)
{
	struct instance *i = store_tiny();
	__u32 at, bounds_at;

	store_change(i, edit_fill, 305);
	at = i->services[1].rec[i->services[1].active & 1].bounds_at;
	cr_assert_gt(at, 0);
	for (unsigned long k = 1; k < 20; k++) {
		store_change(i, edit_other, k);
		bounds_at = i->services[1].rec[i->services[1].active & 1].bounds_at;
		cr_assert_eq(bounds_at, at);
	}
	for (int k = 0; k < 500; k++)
		store_change(i, edit_fill, k % 2 ? 107 : 305);
	store_change(i, edit_fill, 0);
	cr_expect_eq(i->services[1].rec[i->services[1].active & 1].flags & POISE_S_RANGES, 0);
	store_check(i, "none");
	instance_close(i);
}

/* ---- damage -----------------------------------------------------------------------------------*/

Test(ranges_config, a_flipped_bit_is_not_taken_for_a_prefix)
{
	struct instance *i = store_tiny();
	struct poise_error err = {0};
	struct config *cfg;
	__u32 at;

	store_change(i, edit_fill, 305);
	at = i->services[1].rec[i->services[1].active & 1].bounds_at / 2;
	i->range_conf[at].addr.b[13] ^= 4;
	cr_expect_eq(instance_load(i, &cfg, &err), -1);
	cr_expect_eq(err.code, POISE_E_CORRUPT);
	cr_expect_gt(instance_check(i, NULL, NULL, &err), 0);
	i->range_conf[at].addr.b[13] ^= 4;
	store_check(i, "mended");
	instance_close(i);
}
