// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A file applied to what is live: what comes, changes, leaves and stays, and that a refusal changes
 * nothing. Whose it is: apply_owners.c; what nobody thought of: apply_random.c.
 */
#include <criterion/criterion.h>

#include "tests/support/applying.h"

Test(apply, twice_is_once)
{
	struct config *live = config_new();

	applying_counts(applying(live, WEB MAIL, 0), 2, 0, 0, 3, 0, 0);
	applying_counts(applying(live, WEB MAIL, 0), 0, 0, 0, 0, 0, 0);
	cr_expect_eq(applying_member(live, "web", "10.0.0.2")->conf.weight, 2);
	cr_expect_eq(config_service_named(live, "web")->conf.r.owner, POISE_OWNER_FILE);
	cr_expect_gt(config_service_named(live, "web")->conf.created, 0);
	config_free(live);
}

Test(apply, a_member_missing_from_the_file_leaves)
{
	struct config *live = applying_live(WEB);
	struct config_member *m;

	applying_counts(applying(live,
				 "services:\n  - name: web\n    forward: l2\n"
				 "    listen: [ \"192.0.2.1:80\" ]\n    backends: [ 10.0.0.2 ]\n",
				 0),
			0, 0, 0, 0, 1, 1);
	m = applying_member(live, "web", "10.0.0.1");
	cr_expect(config_member_leaving(m));
	cr_expect_eq(m->id, 1);
	cr_expect_eq(m->conf.deadline, m->conf.since + 300000000000ULL);
	cr_expect_eq(applying_member(live, "web", "10.0.0.2")->conf.weight, 1,
		     "a key no longer said");
	/* nothing more to do about it, and it comes back with its id */
	applying_counts(applying(live, WEB, 0), 0, 0, 0, 1, 1, 0);
	m = applying_member(live, "web", "10.0.0.1");
	cr_expect_not(config_member_leaving(m));
	cr_expect_eq(m->id, 1);
	cr_expect_eq(m->conf.deadline, 0);
	config_free(live);
}

Test(apply, what_stays_keeps_its_id_health_and_history)
{
	struct config *live = applying_live(WEB);
	struct config_member *m = applying_member(live, "web", "10.0.0.2");

	m->conf.health = POISE_HEALTH_DOWN;
	m->conf.since = 42;
	config_service_named(live, "web")->conf.base_size = 4099;
	applying(live,
		 "services:\n  - { name: web, forward: l2, policy: sh, listen: \"192.0.2.1:80\", "
		 "backends: [ { address: 10.0.0.2, weight: 9 }, 10.0.0.0 ] }\n",
		 0);
	m = applying_member(live, "web", "10.0.0.2");
	cr_expect_eq(m->id, 2);
	cr_expect_eq(m->conf.health, POISE_HEALTH_DOWN);
	cr_expect_eq(m->conf.since, 42);
	cr_expect_eq(m->conf.weight, 9);
	cr_expect_eq(config_service_named(live, "web")->id, 1);
	cr_expect_eq(config_service_named(live, "web")->conf.base_size, 4099);
	cr_expect_eq(config_service_named(live, "web")->conf.policy, POISE_SOURCE_HASH);
	config_free(live);
}

Test(apply, services_come_change_and_go)
{
	struct config *live = applying_live(WEB MAIL);

	applying_counts(
		applying(
			live,
			"services:\n"
			"  - { name: www, forward: l2, listen: \"192.0.2.1:80\" }\n"
			"  - { name: mail, forward: ipip, listen: [ 192.0.2.2:25, 192.0.2.2:587 ], "
			"backends: [ 10.0.1.1 ] }\n",
			0),
		1, 1, 1, 0, 0, 2);
	cr_expect_null(config_service_named(live, "web"));
	cr_expect_not_null(config_service_named(live, "www"), "it has the listener of web");
	cr_expect_eq(config_service_named(live, "mail")->conf.listeners, 2);
	config_free(live);
}

Test(apply, listeners_may_change_places)
{
	struct config *live = applying_live(WEB MAIL);

	applying_counts(applying(live,
				 "services:\n"
				 "  - { name: web, forward: l2, listen: \"192.0.2.2:25\", "
				 "backends: [ 10.0.0.1, { address: 10.0.0.2, weight: 2 } ] }\n"
				 "  - { name: mail, forward: ipip, listen: \"192.0.2.1:80\", "
				 "backends: [ 10.0.1.1 ] }\n",
				 0),
			0, 2, 0, 0, 0, 0);
	cr_expect_str_eq(config_service_find(live, "192.0.2.1:80", NULL)->conf.name, "mail");
	cr_expect_str_eq(config_service_find(live, "192.0.2.2:25", NULL)->conf.name, "web");
	config_free(live);
}

Test(apply, merging_removes_nothing)
{
	struct config *live = applying_live(WEB);

	applying_counts(
		applying(live,
			 "services:\n  - name: web\n    forward: l2\n"
			 "    listen: [ \"192.0.2.9:80\" ]\n    backends: [ 10.0.0.3 ]\n" MAIL,
			 CONFIG_APPLY_MERGE),
		1, 1, 0, 2, 0, 0);
	cr_expect_eq(config_service_named(live, "web")->conf.listeners, 2);
	cr_expect_eq(config_members_in(config_service_named(live, "web")), 3);
	applying_counts(applying(live, "", CONFIG_APPLY_MERGE), 0, 0, 0, 0, 0, 0);
	config_free(live);
}

Test(apply, limits_of_the_instance)
{
	struct config *live = config_new();

	live->has_limits = true;
	live->limits.backends = 2;
	applying_refused(live, WEB MAIL, "3 backends, and this instance has room for 2 (f.yaml)");
	applying_counts(applying(live, WEB, 0), 1, 0, 0, 2, 0, 0);
	/* a file's limits do not count once there are maps */
	applying_refused(live, "limits: { backends: 9 }\n" WEB MAIL,
			 "3 backends, and this instance has room for 2 (f.yaml)");
	config_free(live);
}

Test(apply, a_file_of_nothing)
{
	struct config *live = applying_live(WEB);
	struct config *file = parsed("");

	applying_refused(live, "", "lists no service: applying it would remove 1 (f.yaml)");
	applying_counts(applying(live, "", CONFIG_APPLY_EMPTY), 0, 0, 1, 0, 0, 2);
	/* nothing to lose: fine */
	cr_expect_eq(config_apply(live, file, 0, NULL, NULL), 0);
	config_free(file);
	config_free(live);
}

/* ---- admin, keys, interfaces ------------------------------------------------------------------*/

Test(apply, admin_is_left_alone_unless_said)
{
	struct config *live = applying_live(WEB);

	applying_member(live, "web", "10.0.0.1")->conf.admin = POISE_DISABLED;
	applying_counts(applying(live, WEB, 0), 0, 0, 0, 0, 0, 0);
	cr_expect_eq(applying_member(live, "web", "10.0.0.1")->conf.admin, POISE_DISABLED);
	applying_counts(
		applying(live,
			 "services:\n  - { name: web, forward: l2, listen: \"192.0.2.1:80\", "
			 "backends: [ { address: 10.0.0.1, admin: enabled }, "
			 "{ address: 10.0.0.2, weight: 2, admin: draining } ] }\n",
			 0),
		0, 0, 0, 0, 2, 0);
	cr_expect_eq(applying_member(live, "web", "10.0.0.1")->conf.admin, POISE_ENABLED);
	cr_expect_eq(applying_member(live, "web", "10.0.0.2")->conf.admin, POISE_DRAINING);
	cr_expect_gt(applying_member(live, "web", "10.0.0.2")->conf.deadline, 0);
	config_free(live);
}

Test(apply, the_hash_key_is_the_instances)
{
	struct config *live = applying_live("hash-key: 00000000000000000000000000000001\n" WEB);

	cr_expect(live->has_hash_key);
	cr_expect_eq(live->hash_key[1], 1);
	applying_counts(applying(live, WEB, 0), 0, 0, 0, 0, 0, 0);
	cr_expect_eq(live->hash_key[1], 1);
	applying_refused(live, "hash-key: 00000000000000000000000000000002\n" WEB,
			 "hash-key is not the one this instance was created with (f.yaml)");
	config_free(live);
}

Test(apply, interfaces)
{
	struct config *live = applying_live("interfaces: [ eth0, eth1 ]\n" WEB);

	applying(live, WEB, 0);
	cr_expect_eq(live->interfaces, 2, "a file that says nothing about them");
	applying(live, "interfaces: [ { device: eth1, mode: native }, eth2 ]\n",
		 CONFIG_APPLY_MERGE);
	cr_expect_eq(live->interfaces, 3);
	cr_expect_eq(live->interface[1].mode, ATTACH_NATIVE);
	applying(live, "interfaces: [ eth2 ]\n" WEB, 0);
	cr_assert_eq(live->interfaces, 1);
	cr_expect_str_eq(live->interface[0].device, "eth2");
	config_free(live);
}
