// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Files applied to what is live; see applying.h. */
#include "applying.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

void applying_ids(struct config *cfg)
{
	__u16 service = 1, member = 1;

	for (size_t s = 0; s < cfg->services; s++) {
		cfg->service[s]->id = service++;
		for (size_t m = 0; m < cfg->service[s]->members; m++)
			cfg->service[s]->member[m].id = member++;
	}
}

struct config *applying_live(const char *text)
{
	struct config *live = config_new(), *file = parsed(text);

	cr_assert_eq(config_apply(live, file, 0, NULL, NULL), 0);
	config_free(file);
	applying_ids(live);
	return live;
}

struct config_summary applying(struct config *live, const char *text, unsigned int flags)
{
	struct config *file = parsed(text);
	struct config_summary sum = {0};
	struct poise_error err = {0};

	cr_assert_eq(config_apply(live, file, flags, &sum, &err), 0, "%s", said(&err));
	config_free(file);
	return sum;
}

void applying_counts(struct config_summary got, unsigned int s_added, unsigned int s_changed,
		     unsigned int s_removed, unsigned int b_added, unsigned int b_changed,
		     unsigned int b_removed)
{
	static const char form[] = "services +%u ~%u -%u, backends +%u ~%u -%u";
	char is[128], should[128];

	snprintf(is, sizeof(is), form, got.services_added, got.services_changed,
		 got.services_removed, got.backends_added, got.backends_changed,
		 got.backends_removed);
	snprintf(should, sizeof(should), form, s_added, s_changed, s_removed, b_added, b_changed,
		 b_removed);
	cr_expect_str_eq(is, should);
}

void applying_refused(struct config *live, const char *text, const char *error)
{
	char *before = config_save(live, CONFIG_SAVE_ALL), *after;
	struct config *file = parsed(text);
	struct poise_error err = {0};

	cr_assert_eq(config_apply(live, file, 0, NULL, &err), -1, "should be: %s", error);
	cr_expect_str_eq(said(&err), error);
	after = config_save(live, CONFIG_SAVE_ALL);
	cr_expect_str_eq(before, after);
	config_free(file);
	free(before);
	free(after);
}

struct config_member *applying_member(struct config *cfg, const char *service, const char *text)
{
	struct config_member *m =
		config_member_find(config_service_named(cfg, service), text, NULL);

	cr_assert_not_null(m, "%s %s", service, text);
	return m;
}
