// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Full pools: the refusal names what is short, how much of it there is and the limit to raise, and
 * nothing has changed. And what only seems full, because its last owner has just left, is waited
 * for.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/store.h"

#define SERVICES 12 /* store_tiny()'s limits */
#define BACKENDS 48
#define SLOTS	 1024

static void one(struct config *cfg, unsigned long argument)
{
	(void)argument;
	store_add_service(cfg, "one", 1, 0, 2)->conf.table_size = 61;
}

/* Refused with FULL, every word of `words` said, and nothing changed. */
static void refused(struct instance *i, store_edit edit, const char *const *words)
{
	char *before = store_config_text(i), *after, text[1024];
	void *image = store_image(i);
	struct poise_error err = {0};

	cr_assert_eq(store_try(i, edit, 0, &err), -1);
	cr_assert_eq(err.code, POISE_E_FULL, "%s", err.message);
	poise_error_text(&err, text, sizeof(text));
	for (; *words; words++)
		cr_assert(strstr(text, *words) || strstr(err.remedy, *words),
			  "no \"%s\" in: %s. %s", *words, text, err.remedy);
	after = store_config_text(i);
	cr_assert_str_eq(before, after);
	store_check(i, "after the refusal");
	free(before);
	free(after);
	free(image);
}

static void too_many_services(struct config *cfg, unsigned long argument)
{
	char name[16];

	(void)argument;
	for (unsigned int n = 0; n < SERVICES; n++) {
		snprintf(name, sizeof(name), "more%u", n);
		store_add_service(cfg, name, 10 + n, 0, 0);
	}
}

Test(store_full, services)
{
	const char *const words[] = {"13 services", "12", "limits: services", NULL};
	struct instance *i = store_tiny();

	store_change(i, one, 0);
	refused(i, too_many_services, words);
	instance_close(i);
}

static void too_many_backends(struct config *cfg, unsigned long argument)
{
	(void)argument;
	store_add_service(cfg, "wide", 20, 0, BACKENDS)->conf.table_size = 61;
}

Test(store_full, backends)
{
	const char *const words[] = {"50 backends", "48", "limits: backends", NULL};
	struct instance *i = store_tiny();

	store_change(i, one, 0);
	refused(i, too_many_backends, words);
	instance_close(i);
}

static void replace_all(struct config *cfg, unsigned long argument)
{
	(void)argument;
	config_service_del(cfg, cfg->service[0]);
	store_add_service(cfg, "other", 2, 100, 40)->conf.table_size = 61;
}

static void wide(struct config *cfg, unsigned long argument)
{
	(void)argument;
	store_add_service(cfg, "wide", 1, 0, 40)->conf.table_size = 61;
}

/* Who goes has its id until no packet means it: old and new must fit side by side. */
Test(store_full, backends_side_by_side)
{
	const char *const words[] = {"other", "32 more", "0 of 48", "in a change of its own", NULL};
	struct instance *i = store_tiny();

	store_change(i, wide, 0);
	refused(i, replace_all, words);
	instance_close(i);
}

static void too_large_a_table(struct config *cfg, unsigned long argument)
{
	(void)argument;
	store_add_service(cfg, "large", 20, 0, 2)->conf.table_size = SLOTS - 61;
}

Test(store_full, table_slots)
{
	const char *const words[] = {"large", "963", "962", "limits: table-slots", NULL};
	struct instance *i = store_tiny();

	store_change(i, one, 0);
	refused(i, too_large_a_table, words);
	instance_close(i);
}

static void too_many_listeners(struct config *cfg, unsigned long argument)
{
	static const char *const names[] = {"a", "b"};
	char listener[32];

	(void)argument;
	for (int s = 0; s < 2; s++) {
		struct config_service *svc =
			store_add_service(cfg, names[s], 20 + (unsigned int)s, 0, 0);

		for (int port = 1; port < POISE_LISTENERS_MAX; port++) {
			snprintf(listener, sizeof(listener), "192.0.9.%d:%d", s + 1, port);
			store_listen(cfg, svc, listener);
		}
	}
}

/* The limit counts, not the slots: there are more of those. */
Test(store_full, listeners)
{
	const char *const words[] = {"129 listeners", "64", "limits: listeners", NULL};
	struct instance *i = store_tiny();

	store_change(i, one, 0);
	refused(i, too_many_listeners, words);
	instance_close(i);
}

/* ---- what only seems full ---------------------------------------------------------------------*/

/* Most ids, slots and service ids go from one set of services to another, again and again. */
static void turn_over(struct config *cfg, unsigned long argument)
{
	char name[16];

	while (cfg->services)
		config_service_del(cfg, cfg->service[0]);
	for (unsigned int n = 0; n < 5; n++) {
		snprintf(name, sizeof(name), "r%lus%u", argument, n);
		store_add_service(cfg, name, (unsigned int)argument * 5 + n, 5 * n, 4)
			->conf.table_size = 97;
	}
}

Test(store_full, turned_over)
{
	struct instance *i = store_tiny(), *fresh;

	for (unsigned long round = 0; round < 20; round++) {
		store_change(i, turn_over, round);
		store_check(i, "after a round");
	}
	fresh = store_afresh(i);
	store_same(i, fresh, "after twenty rounds");
	instance_close(fresh);
	instance_close(i);
}

/* A service that was wide once does not keep its ids from others. */
static void narrow(struct config *cfg, unsigned long argument)
{
	struct config_service *svc = config_service_named(cfg, "wide");

	(void)argument;
	while (svc->members > 2)
		config_member_del(svc, &svc->member[2]);
}

static void another_wide(struct config *cfg, unsigned long argument)
{
	(void)argument;
	store_add_service(cfg, "other", 2, 100, 24)->conf.table_size = 61;
}

Test(store_full, extents_are_given_back)
{
	struct instance *i = store_tiny();

	store_change(i, wide, 0);
	store_change(i, narrow, 0);
	store_change(i, another_wide, 0);
	store_check(i, "at last");
	instance_close(i);
}
