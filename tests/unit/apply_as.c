// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What Kubernetes wants, applied to what is live: it has what it owns, and nothing of the file's or
 * a hand's; also of one service alone.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "maps/instance.h"
#include "tests/support/parsed.h"

#define WEB                                                                                        \
	"  - { name: web, forward: l2, listen: \"192.0.2.1:80\", backends: [ 10.0.0.1, 10.0.0.2 "  \
	"] }\n"
#define MAIL "  - { name: mail, forward: l2, listen: \"192.0.2.2:25\", backends: [ 10.0.1.1 ] }\n"

static int apply_as(enum poise_owner owner, struct config *live, const char *text,
		    struct config_summary *sum, struct poise_error *err)
{
	struct config *want = parsed(text);
	int rc = config_apply_as(live, want, (__u8)owner, CONFIG_APPLY_EMPTY, sum, err);

	config_free(want);
	return rc;
}

static struct config *live_from(enum poise_owner owner, const char *text)
{
	struct config *live = config_new();

	cr_assert_eq(apply_as(owner, live, text, NULL, NULL), 0);
	return live;
}

Test(apply_as, all_of_it_is_the_owners)
{
	struct config *live = live_from(POISE_OWNER_KUBERNETES, "services:\n" WEB);
	const struct config_service *web = config_service_named(live, "web");

	cr_assert_eq(web->conf.r.owner, POISE_OWNER_KUBERNETES);
	cr_assert_eq(web->conf.listener[0].owner, POISE_OWNER_KUBERNETES);
	cr_assert_eq(web->member[0].conf.r.owner, POISE_OWNER_KUBERNETES);
	config_free(live);
}

Test(apply_as, each_has_its_own)
{
	struct config *live = live_from(POISE_OWNER_FILE, "services:\n" WEB);
	struct config_summary sum;

	cr_assert_eq(apply_as(POISE_OWNER_KUBERNETES, live, "services:\n" MAIL, &sum, NULL), 0);
	cr_assert_eq(sum.services_added, 1);
	cr_assert_eq(sum.services_removed, 0);
	cr_assert_eq(apply_as(POISE_OWNER_KUBERNETES, live, "", &sum, NULL), 0);
	cr_assert_eq(sum.services_removed, 1);
	cr_assert(config_service_named(live, "web"));
	cr_assert_not(config_service_named(live, "mail"));
	config_free(live);
}

static void expect_conflict(enum poise_owner has, enum poise_owner wants, const char *why)
{
	struct config *live = live_from(has, "services:\n" WEB);
	struct poise_error err = {0};

	cr_expect_eq(apply_as(wants, live, "services:\n" WEB, NULL, &err), -1);
	cr_expect_eq(err.code, POISE_E_CONFLICT);
	cr_expect_str_eq(err.message, why);
	cr_expect_eq(config_service_named(live, "web")->conf.r.owner, has);
	config_free(live);
}

Test(apply_as, nothing_is_taken_over)
{
	expect_conflict(POISE_OWNER_FILE, POISE_OWNER_KUBERNETES, "is not kept by Kubernetes");
	expect_conflict(POISE_OWNER_HAND, POISE_OWNER_KUBERNETES, "is not kept by Kubernetes");
	expect_conflict(POISE_OWNER_KUBERNETES, POISE_OWNER_FILE, "is kept by Kubernetes");
}

#define BOTH                                                                                       \
	"  - { name: web.a, forward: l2, listen: \"192.0.2.1:80\", backends: [ 10.0.0.1 ] }\n"     \
	"  - { name: web.b, forward: l2, listen: \"192.0.2.1:81\", backends: [ 10.0.0.1 ] }\n"

/* Its name is made by us, of what a Service says. Others' names are what people chose. */
Test(apply_as, whoever_listens_there_is_the_same_by_another_name)
{
	static const enum poise_owner owners[] = {POISE_OWNER_KUBERNETES, POISE_OWNER_FILE};

	for (size_t o = 0; o < 2; o++) {
		struct config *live = live_from(owners[o], "services:\n" WEB);
		bool same = owners[o] == POISE_OWNER_KUBERNETES;
		struct config_summary sum;

		live->service[0]->id = 7;
		live->service[0]->member[0].id = 9;
		live->service[0]->member[1].id = 10;
		cr_assert_eq(apply_as(owners[o], live, "services:\n" BOTH, &sum, NULL), 0);
		cr_expect_eq(config_service_named(live, "web.a")->id, same ? 7 : 0);
		cr_expect_eq(config_service_named(live, "web.a")->member[0].id, same ? 9 : 0);
		cr_expect_eq(config_service_named(live, "web.b")->id, 0);
		cr_expect_eq(config_service_named(live, "web"), NULL);
		cr_expect_eq(sum.services_removed, !same);
		cr_expect_eq(sum.services_changed, same);
		cr_expect_eq(sum.services_added, 2 - same);
		cr_expect_eq(sum.backends_removed, 2 - same, "%u", sum.backends_removed);
		config_free(live);
	}
}

#define DNS "  - { name: dns, forward: l2, listen: \"192.0.2.3:53\", backends: [ 10.0.2.1 ] }\n"

static size_t members_of(const struct config *cfg, const char *service)
{
	return config_members_in(config_service_named(cfg, service));
}

/* As the thread that follows the API server does after a change of some services' backends. */
Test(apply_as, some_services_beside_others)
{
	static const char *const names[] = {"web", "mail"}, *const unknown[] = {"web", "nobody"};
	struct config_limits limits = {.services = 4,
				       .backends = 32,
				       .listeners = 8,
				       .flow_slots = 64,
				       .table_slots = 65536,
				       .paths = 4};
	struct instance *i = instance_anonymous(&limits);
	struct poise_error err = {0};
	struct config *live, *want;

	cr_assert_eq(instance_lock(i, &err), 0);
	cr_assert_eq(instance_load(i, &live, &err), 0);
	cr_assert_eq(apply_as(POISE_OWNER_KUBERNETES, live, "services:\n" WEB MAIL DNS, NULL, &err),
		     0);
	cr_assert_eq(instance_commit(i, live, NULL, &err), 0, "%s", err.message);
	config_free(live);

	want = parsed(
		"services:\n"
		"  - { name: web, forward: l2, listen: \"192.0.2.1:80\", backends: [ 10.0.0.3 ] }\n"
		"  - { name: mail, forward: l2, listen: \"192.0.2.2:25\", backends: [ 10.0.1.1, "
		"10.0.1.2 ] }\n");
	cr_assert_eq(instance_load_services(i, names, 2, &live, &err), 0);
	cr_assert(live->part);
	cr_assert_eq(live->services, 2);
	cr_assert_eq(
		config_apply_as(live, want, POISE_OWNER_KUBERNETES, CONFIG_APPLY_EMPTY, NULL, &err),
		0);
	cr_assert_eq(instance_commit(i, live, NULL, &err), 0, "%s", err.message);
	config_free(want);
	config_free(live);

	cr_assert_eq(instance_load(i, &live, &err), 0);
	cr_assert_eq(live->services, 3);
	cr_assert_eq(members_of(live, "web"), 1);
	cr_assert_eq(members_of(live, "mail"), 2);
	cr_assert_eq(members_of(live, "dns"), 1);
	config_free(live);
	cr_assert_eq(instance_load_services(i, unknown, 2, &live, &err), 0);
	cr_assert_not(live->part, "one is not there: all");
	config_free(live);
	cr_assert_eq(instance_check(i, NULL, NULL, &err), 0, "maps are as they should be");
	instance_unlock(i);
	instance_close(i);
}
