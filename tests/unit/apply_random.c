// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Random configurations: saved, read and applied they are the same, and any file onto any of them
 * gives what the file says.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/option.h"
#include "maps/text.h"
#include "tests/support/applying.h"

static __u64 state;

static unsigned int draw(unsigned int below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned int)(state >> 16) % below;
}

/* A few prefixes of few that there are; one may be there twice, which changes nothing. */
static void draw_ranges(char *text, size_t size)
{
	size_t used = 0;

	for (unsigned int n = draw(6) + 1; n; n--)
		used += (size_t)snprintf(text + used, size - used,
					 draw(2) ? "%s10.%u.0.0/16" : "%s2001:db8:%x::/48",
					 used ? "," : "", draw(200));
}

/* Now and then one twice, which is none of them. */
static void draw_addrs(const struct option *o, char *text, size_t size)
{
	size_t used = 0;

	for (unsigned int n = draw(POISE_SOURCES) + 1; n; n--)
		used += (size_t)snprintf(text + used, size - used,
					 o->min == 4 ? "%s198.51.100.%u" : "%s2001:db8:5::%x",
					 used ? "," : "", draw(250) + 1);
}

static void draw_option(const struct option *o, void *obj)
{
	char text[256];

	if (draw(3))
		return;
	switch (o->type) {
	case OPTION_ENUM: {
		const struct option_word *w = o->words;

		for (unsigned int skip = draw(16); skip; skip--)
			w = w[1].word ? w + 1 : o->words;
		option_set(o, obj, w->word, NULL);
		return;
	}
	case OPTION_BOOL: option_set(o, obj, draw(2) ? "yes" : "no", NULL); return;
	case OPTION_DURATION: snprintf(text, sizeof(text), "%us", draw(7200) + 1); break;
	case OPTION_PERCENT: snprintf(text, sizeof(text), "%u%%", draw(120)); break;
	case OPTION_HUNDREDTHS: snprintf(text, sizeof(text), "%u.%02u", draw(12), draw(100)); break;
	case OPTION_ADDRS: draw_addrs(o, text, sizeof(text)); break;
	case OPTION_NAME: snprintf(text, sizeof(text), "n%u-%u", draw(1000000), draw(1000)); break;
	case OPTION_RANGES: draw_ranges(text, sizeof(text)); break;
	default: snprintf(text, sizeof(text), "%u", draw(200000)); break;
	}
	option_set(o, obj, text, NULL); /* out of range now and then: stays as it was */
}

static void draw_service(struct config *cfg, unsigned int n)
{
	char text[64];
	struct config_service *svc;

	snprintf(text, sizeof(text), "%s%u", draw(2) ? "s" : "7", n);
	svc = config_service_add(cfg, text, draw(2) ? POISE_OWNER_FILE : POISE_OWNER_HAND, NULL);
	for (const struct option *o = option_first(OPTION_SERVICE); o; o = option_next(o))
		draw_option(o, &svc->conf);
	for (unsigned int i = draw(4) + 1; i; i--) {
		struct poise_listener_conf l;

		snprintf(text, sizeof(text), draw(2) ? "192.0.2.%u:%u%s" : "[2001:db8::%x]:%u%s",
			 draw(250) + 1, draw(65536), draw(2) ? "/udp" : "");
		cr_assert_eq(poise_parse_listener(text, &l, NULL), 0);
		config_listen(cfg, svc, &l, NULL); /* taken now and then */
	}
	for (unsigned int i = draw(8); i; i--) {
		struct config_member *m;
		union poise_addr addr;
		__u16 port;

		snprintf(text, sizeof(text), draw(2) ? "10.0.0.%u" : "2001:db8:1::%x",
			 draw(250) + 1);
		cr_assert_eq(poise_parse_endpoint(text, &addr, &port, NULL), 0);
		m = config_member_add(svc, &addr, port, NULL);
		for (const struct option *o = option_first(OPTION_BACKEND); m && o;
		     o = option_next(o))
			draw_option(o, &m->conf);
	}
}

static struct config *draw_config(void)
{
	struct config *cfg = config_new();

	do {
		config_free(cfg);
		cfg = config_new();
		for (const struct option *o = option_first(OPTION_LIMIT); o; o = option_next(o))
			draw_option(o, &cfg->limits);
		for (unsigned int n = draw(6); n; n--)
			draw_service(cfg, n);
	} while (config_validate(cfg, NULL));
	cfg->has_limits = true;
	cfg->has_hash_key = draw(2);
	cfg->hash_key[0] = draw(1000);
	if (config_validate(cfg, NULL))
		cfg->has_limits = false; /* too small for it */
	applying_ids(cfg);
	return cfg;
}

Test(apply_random, save_and_apply_lose_nothing)
{
	state = 0x1234567;
	for (int round = 0; round < 3000; round++) {
		struct config *live = draw_config(), *fresh = config_new(), *file;
		char *first = config_save(live, 0), *second;
		struct config_summary sum;
		struct poise_error err = {0};

		file = config_parse("f.yaml", first, strlen(first), &err);
		cr_assert_not_null(file, "%s in:\n%s", said(&err), first);
		/* into a fresh instance, which takes its limits from the file as well */
		fresh->has_limits = file->has_limits;
		fresh->limits = file->limits;
		cr_assert_eq(config_apply(fresh, file, 0, NULL, &err), 0, "%s", said(&err));
		second = config_save(fresh, 0);
		cr_assert_str_eq(first, second);
		/* onto itself: nothing */
		cr_assert_eq(config_apply(live, file, 0, &sum, &err), 0, "%s", said(&err));
		applying_counts(sum, 0, 0, 0, 0, 0, 0);
		cr_assert_eq(config_diff(live, fresh, NULL, NULL), 0);
		free(first);
		free(second);
		config_free(file);
		config_free(fresh);
		config_free(live);
	}
}

/* From anywhere to anywhere: what the file says is what there is, but for what others own. */
Test(apply_random, any_file_onto_any_configuration)
{
	state = 0x7654321;
	for (int round = 0; round < 3000; round++) {
		struct config *live = draw_config(), *want = draw_config(), *file;
		struct poise_error err = {0};
		char *text = config_save(want, 0);

		live->has_limits = false;
		live->has_hash_key = false;
		file = config_parse("f.yaml", text, strlen(text), &err);
		cr_assert_not_null(file, "%s", said(&err));
		for (size_t i = live->services; i-- > 0;)
			live->service[i]->conf.r.owner = POISE_OWNER_FILE;
		for (size_t i = 0; i < live->services; i++)
			for (size_t m = 0; m < live->service[i]->members; m++) {
				live->service[i]->member[m].conf.r.owner = POISE_OWNER_FILE;
				live->service[i]->member[m].conf.admin = POISE_ENABLED;
			}
		for (size_t i = 0; i < live->services; i++)
			for (size_t l = 0; l < live->service[i]->conf.listeners; l++)
				live->service[i]->conf.listener[l].owner = POISE_OWNER_FILE;
		cr_assert_eq(config_apply(live, file, CONFIG_APPLY_EMPTY, NULL, &err), 0, "%s",
			     said(&err));
		cr_assert_eq(config_diff(live, file, NULL, NULL), 0);
		free(text);
		config_free(file);
		config_free(want);
		config_free(live);
	}
}
