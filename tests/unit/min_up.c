// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The minimum of a service: when it is below and when it is back, in every case; who serves then;
 * that its addresses are not announced; and that what was known is kept.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/derive.h"
#include "maps/events.h"
#include "maps/option.h"
#include "tests/support/store.h"

#define MOST	5 /* backends */
#define TABLE	61
#define NEXTHOP 0x0200000000aaull /* of any neighbour */

/* ---- below and back ---------------------------------------------------------------------------*/

static struct ladder ladder_of(const struct poise_service_conf *conf, __u32 up, __u32 down,
			       bool was_below)
{
	struct poise_member_conf m = {.r.state = POISE_REC_USED, .weight = 1};
	struct ladder l;

	ladder_begin(&l, conf, was_below ? POISE_STANDS_BELOW : 0);
	for (__u32 n = 0; n < up + down; n++) {
		m.health = n < up ? POISE_HEALTH_UP : POISE_HEALTH_DOWN;
		ladder_count(&l, &m);
	}
	return l;
}

/* As the manual has it: below with fewer than min; back with min and the margin, or with all. */
static bool should_be_below(__u32 up, __u32 all, __u32 min, __u32 margin, bool was_below)
{
	if (up < min)
		return true;
	if (!min || !was_below)
		return false;
	return up < min + margin && up < all;
}

Test(min_up, the_whole_table)
{
	unsigned int cases = 0;

	for (__u32 all = 0; all <= MOST; all++)
		for (__u32 up = 0; up <= all; up++)
			for (__u32 n = 0; n < (MOST + 2) * (MOST + 2) * 2; n++) {
				__u32 min = n % (MOST + 2), margin = n / 2 % (MOST + 2);
				bool was = n & 1, is;
				struct poise_service_conf conf = {.min_up = (__u16)min,
								  .min_up_margin = (__u16)margin};
				struct ladder l = ladder_of(&conf, up, all - up, was);

				is = ladder_below(&l);
				cr_assert_eq(is, should_be_below(up, all, min, margin, was),
					     "%u of %u up, min %u, margin %u, %s", up, all, min,
					     margin, was ? "below" : "not below");
				l = ladder_of(&conf, up, all - up, is);
				cr_assert_eq(ladder_below(&l), is, "asked with its own answer");
				cases++;
			}
	cr_assert_gt(cases, 2000);
}

/* A part of those that could be up, rounded up. */
Test(min_up, in_percent)
{
	static const struct {
		__u32 up, all, percent;
		bool below;
	} cases[] = {
		{1, 3, 33, false},  {1, 3, 34, true},  {2, 3, 67, true},
		{2, 3, 66, false},  {0, 3, 1, true},   {1, 3, 1, false},
		{3, 3, 100, false}, {2, 3, 100, true}, {0, 0, 50, false},
	};

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct poise_service_conf conf = {
			.min_up = (__u16)(cases[n].percent | POISE_PART_PERCENT)};
		struct ladder l = ladder_of(&conf, cases[n].up, cases[n].all - cases[n].up, false);

		cr_expect_eq(ladder_below(&l), cases[n].below, "%u of %u, %u%%", cases[n].up,
			     cases[n].all, cases[n].percent);
	}
}

/* ---- a service --------------------------------------------------------------------------------*/

/* Four backends and, if it is said, a fifth that is sorry. */
static void add_web(struct config *cfg, unsigned long sorry)
{
	struct config_service *svc = store_add_service(cfg, "web", 1, 1, 4 + (unsigned int)sorry);

	svc->conf.table_size = TABLE;
	svc->conf.health.type = POISE_CHECK_TCP;
	svc->conf.min_up = 2;
	svc->conf.min_up_margin = 1;
	for (size_t m = 0; m < svc->members; m++)
		svc->member[m].conf.health = POISE_HEALTH_UP;
	if (sorry)
		svc->member[4].conf.sorry = 1;
}

static void set_up(struct config *cfg, unsigned long up)
{
	struct config_service *svc = config_service_named(cfg, "web");

	for (size_t m = 0; m < 4; m++)
		svc->member[m].conf.health = m < up ? POISE_HEALTH_UP : POISE_HEALTH_DOWN;
}

static const struct poise_service_rec *rec(const struct instance *i)
{
	return &i->services[1].rec[i->services[1].active & 1];
}

static bool serves(const struct instance *i, __u32 ordinal)
{
	const struct poise_service_rec *r = rec(i);

	for (__u32 s = 0; s < r->table_size; s++)
		if (POISE_ENTRY_CURRENT(i->table[r->table_at + s]) == ordinal)
			return true;
	return false;
}

/* One after the other. */
static const struct {
	unsigned long up;
	bool below;
	const char *told; /* of the minimum */
} steps[] = {
	{4, false, ""},
	{2, false, ""},
	{1, true, "service-below-minimum"},
	{2, true, ""}, /* not more by the margin */
	{3, false, "service-at-minimum"},
	{2, false, ""},
	{0, true, "service-below-minimum"},
	{4, false, "service-at-minimum"},
};

static void told(const struct instance *i, struct events_reader *r, char *names, size_t size)
{
	struct poise_event e;

	names[0] = '\0';
	while (events_next(r, i, &e))
		if (strstr(events_name(e.kind), "minimum"))
			snprintf(names, size, "%s", events_name(e.kind));
}

static void check_steps(unsigned long sorry)
{
	struct instance *i = store_tiny();
	struct events_reader r;
	char names[64];

	store_change(i, add_web, sorry);
	events_open(&r, i, false);
	for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
		store_change(i, set_up, steps[s].up);
		store_check(i, "as derived");
		told(i, &r, names, sizeof(names));
		cr_expect_str_eq(names, steps[s].told, "step %zu: %s", s, names);
		cr_expect_eq(rec(i)->standing & POISE_STANDS_BELOW ? 1 : 0, steps[s].below,
			     "step %zu", s);
		if (!sorry)
			continue;
		cr_expect_eq(rec(i)->rung, steps[s].below ? POISE_RANK_SORRY : POISE_RANK_UP,
			     "step %zu: rung %u", s, rec(i)->rung);
		cr_expect_eq(serves(i, 4), steps[s].below, "step %zu", s);
		cr_expect_eq(serves(i, 0), !steps[s].below, "step %zu", s);
	}
	instance_close(i);
}

Test(min_up, both_edges_are_told)
{
	check_steps(0);
}

static void set_minimum(struct config *cfg, unsigned long min)
{
	struct config_service *svc = config_service_named(cfg, "web");

	svc->conf.min_up = (__u16)min;
	svc->conf.min_up_margin = 0;
}

/* A minimum that is lowered may be met then; one that is taken away is not. */
Test(min_up, a_minimum_that_goes_is_not_met)
{
	static const struct {
		unsigned long up, min;
		const char *told;
	} cases[] = {
		{0, 1, ""},
		{0, 0, "service-without-minimum"},
		{1, 0, "service-without-minimum"},
		{1, 1, "service-at-minimum"},
	};

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct instance *i = store_tiny();
		struct events_reader r;
		char names[64];

		store_change(i, add_web, 0);
		store_change(i, set_up, cases[n].up);
		cr_assert(rec(i)->standing & POISE_STANDS_BELOW);
		events_open(&r, i, false);
		store_change(i, set_minimum, cases[n].min);
		told(i, &r, names, sizeof(names));
		cr_expect_str_eq(names, cases[n].told, "%lu up, minimum %lu: %s", cases[n].up,
				 cases[n].min, names);
		instance_close(i);
	}
}

Test(min_up, the_sorry_ones_serve_below_it)
{
	check_steps(1);
}

/* Without sorry ones it keeps serving with what is up, but is not there for who asks whether it
 * can be served. */
Test(min_up, below_it_is_not_usable)
{
	struct instance *i = store_tiny();
	struct config *cfg;

	store_change(i, add_web, 0);
	for (__u32 m = 0; m < 4; m++)
		instance_set_nexthop(i, (__u16)(rec(i)->extent[0].first + m), NEXTHOP);
	cr_assert_eq(instance_load(i, &cfg, NULL), 0);
	cr_assert(instance_usable(i, cfg->service[0]));
	store_change(i, set_up, 1);
	cr_assert(serves(i, 0));
	cr_assert(!instance_usable(i, cfg->service[0]));
	cr_assert(instance_below(i, cfg->service[0]));
	store_change(i, set_up, 3);
	cr_assert(instance_usable(i, cfg->service[0]));
	config_free(cfg);
	instance_close(i);
}

/* Whoever is up keeps what it has while the sorry ones serve. */
Test(min_up, flows_of_those_that_are_up_go_on)
{
	struct instance *i = store_tiny();
	__u32 live;

	store_change(i, add_web, 1);
	store_change(i, set_up, 1);
	live = i->members[rec(i)->extent[0].first].live;
	cr_assert_eq(live, POISE_RANK_UP | POISE_L_HIT_TCP | POISE_L_HIT_UDP, "0x%x", live);
	instance_close(i);
}

Test(min_up, as_it_is_typed)
{
	static const struct {
		const char *text, *shown;
	} values[] = {{"2", "2"},	   {"50%", "50%"}, {"100%", "100%"}, {"none", "none"},
		      {"default", "none"}, {"0", NULL},	   {"0%", NULL},     {"101%", NULL},
		      {"-1", NULL},	   {"some", NULL}, {"32768", NULL},  {"%", NULL}};
	const struct option *o = option_find(OPTION_SERVICE, "min-up");
	struct config_service svc = {0};
	char text[OPTION_TEXT];

	cr_assert_not_null(o);
	for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
		int refused = option_set(o, &svc, values[v].text, NULL);

		cr_expect_eq(refused != 0, !values[v].shown, "%s", values[v].text);
		if (!refused)
			cr_expect_str_eq(option_format(o, &svc, text, sizeof(text)),
					 values[v].shown, "%s", values[v].text);
	}
}
