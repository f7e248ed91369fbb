// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A configuration in memory: its order, its finders, what may be added. What is valid as a whole:
 * config_valid.c.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/text.h"
#include "tests/support/parts.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NOW	 1000000000000ULL

static struct config *cfg;

static void setup(void)
{
	cfg = config_new();
}

static void teardown(void)
{
	config_free(cfg);
}

TestSuite(config, .init = setup, .fini = teardown);

Test(config, services_stand_in_order_of_their_names)
{
	static const char *const names[] = {"mail", "web", "dns", "a", "www", "z", "b"};
	static const char *const sorted[] = {"a", "b", "dns", "mail", "web", "www", "z"};

	for (size_t i = 0; i < COUNT(names); i++)
		part_service(cfg, names[i]);
	cr_assert_eq(cfg->services, COUNT(sorted));
	for (size_t i = 0; i < COUNT(sorted); i++) {
		cr_expect_str_eq(cfg->service[i]->conf.name, sorted[i]);
		cr_expect_eq(config_service_named(cfg, sorted[i]), cfg->service[i]);
	}
	config_service_del(cfg, config_service_named(cfg, "dns"));
	cr_assert_null(config_service_named(cfg, "dns"));
	cr_assert_eq(cfg->services, COUNT(sorted) - 1);
}

Test(config, members_stand_in_order_of_address_and_port)
{
	static const char *const in[] = {"10.0.0.10", "2001:db8::1", "10.0.0.9:8080", "10.0.0.9:80",
					 "10.0.0.9",  "192.0.2.1",   "10.0.0.1"};
	static const char *const out[] = {"10.0.0.1",  "10.0.0.9",  "10.0.0.9:80", "10.0.0.9:8080",
					  "10.0.0.10", "192.0.2.1", "2001:db8::1"};
	struct config_service *svc = part_service(cfg, "web");
	char text[POISE_ENDPOINT_TEXT];

	for (size_t i = 0; i < COUNT(in); i++)
		cr_assert_not_null(part_member(svc, in[i], NULL));
	for (size_t i = 0; i < COUNT(out); i++) {
		struct poise_member_conf *conf = &svc->member[i].conf;

		cr_expect_str_eq(poise_format_endpoint(&conf->addr, conf->port, text, sizeof(text)),
				 out[i]);
		cr_expect_eq(config_member_at(svc, &conf->addr, conf->port), &svc->member[i]);
	}
}

Test(config, a_service_is_found_by_name_or_listener)
{
	struct config_service *web = part_service(cfg, "web");
	struct poise_error err = {0};

	part_service(cfg, "mail");
	part_listen(cfg, web, "192.0.2.10:80", NULL);
	part_listen(cfg, web, "[2001:db8::10]:443/udp", NULL);
	cr_expect_eq(config_service_find(cfg, "web", NULL), web);
	cr_expect_eq(config_service_find(cfg, "192.0.2.10:80/tcp", NULL), web);
	cr_expect_eq(config_service_find(cfg, "[2001:db8:0::10]:443/udp", NULL), web);
	cr_expect_null(config_service_find(cfg, "192.0.2.10:80/udp", &err));
	cr_expect_str_eq(said(&err), "no service listens on 192.0.2.10:80/udp");
	cr_expect_null(config_service_find(cfg, "wbe", &err));
	cr_expect_str_eq(said(&err), "service wbe: no such service");
	cr_expect_str_eq(err.remedy, "did you mean web?");
	cr_expect_eq(err.code, POISE_E_NOT_FOUND);
}

Test(config, a_name_is_taken_once)
{
	struct poise_error err = {0};

	part_service(cfg, "web");
	cr_assert_null(config_service_add(cfg, "web", POISE_OWNER_HAND, &err));
	cr_assert_str_eq(said(&err), "service \"web\": there is a service of this name already");
	cr_assert_eq(err.code, POISE_E_EXISTS);
	cr_assert_null(config_service_add(cfg, "10.0.0.1", POISE_OWNER_HAND, &err));
	cr_assert_str_eq(said(&err), "service 10.0.0.1: reads like an address: no name");
	cr_assert_eq(cfg->services, 1);
}

Test(config, renaming_keeps_all_but_the_name)
{
	struct config_service *svc = part_service(cfg, "web");
	struct poise_error err = {0};

	part_service(cfg, "mail");
	part_listen(cfg, svc, "192.0.2.10:80", NULL);
	cr_assert_eq(config_service_rename(cfg, svc, "mail", &err), -1);
	cr_assert_eq(config_service_rename(cfg, svc, "a", NULL), 0);
	cr_assert_eq(cfg->service[0], svc);
	cr_assert_null(config_service_named(cfg, "web"));
	cr_assert_eq(config_service_find(cfg, "192.0.2.10:80", NULL), svc);
}

Test(config, a_listener_belongs_to_one_service)
{
	struct config_service *web = part_service(cfg, "web"), *www = part_service(cfg, "www");
	struct poise_listener_conf l;
	struct poise_error err = {0};

	cr_assert_eq(part_listen(cfg, web, "192.0.2.10:80", NULL), 0);
	cr_assert_eq(part_listen(cfg, web, "192.0.2.10:80", &err), -1);
	cr_expect_str_eq(said(&err),
			 "service \"web\": listener 192.0.2.10:80: listens there already");
	cr_assert_eq(part_listen(cfg, www, "192.0.2.10:80", &err), -1);
	cr_expect_str_eq(said(&err),
			 "service \"www\": listener 192.0.2.10:80: belongs to service \"web\"");
	cr_expect_eq(err.code, POISE_E_EXISTS);
	/* another protocol or port is another listener */
	cr_expect_eq(part_listen(cfg, www, "192.0.2.10:80/udp", NULL), 0);
	cr_expect_eq(part_listen(cfg, www, "192.0.2.10:0", NULL), 0);
	/* let go of, it may be taken; with its service gone, too */
	poise_parse_listener("192.0.2.10:80", &l, NULL);
	cr_assert_eq(config_unlisten(www, &l, &err), -1);
	cr_expect_str_eq(said(&err),
			 "service \"www\": listener 192.0.2.10:80: does not listen there");
	cr_assert_eq(config_unlisten(web, &l, NULL), 0);
	cr_assert_eq(part_listen(cfg, www, "192.0.2.10:80", NULL), 0);
	cr_assert_eq(part_listen(cfg, web, "192.0.2.10:80", NULL), -1);
	config_service_del(cfg, www);
	cr_assert_eq(part_listen(cfg, web, "192.0.2.10:80", NULL), 0);
}

Test(config, a_service_has_64_listeners_in_order)
{
	struct config_service *svc = part_service(cfg, "web");
	struct poise_error err = {0};
	char text[POISE_ENDPOINT_TEXT];

	for (int i = POISE_LISTENERS_MAX; i > 0; i--) {
		snprintf(text, sizeof(text), "192.0.2.%d:80", i);
		cr_assert_eq(part_listen(cfg, svc, text, NULL), 0);
	}
	for (int i = 0; i < POISE_LISTENERS_MAX; i++)
		cr_expect_eq(svc->conf.listener[i].addr.b[15], i + 1);
	cr_assert_eq(part_listen(cfg, svc, "192.0.2.200:80", &err), -1);
	cr_assert_str_eq(said(&err),
			 "service \"web\": listener 192.0.2.200:80: a service has at most "
			 "64 listeners");
	cr_assert_eq(err.code, POISE_E_FULL);
}

Test(config, many_listeners_are_still_told_apart)
{
	char text[POISE_ENDPOINT_TEXT];

	for (int i = 0; i < 2000; i++) {
		snprintf(text, sizeof(text), "s%d", i);
		struct config_service *svc = part_service(cfg, text);

		snprintf(text, sizeof(text), "10.0.%d.%d:80", i / 250, i % 250 + 1);
		cr_assert_eq(part_listen(cfg, svc, text, NULL), 0);
	}
	cr_assert_eq(part_listen(cfg, cfg->service[0], "10.0.7.250:80", NULL), -1);
	cr_assert_eq(part_listen(cfg, cfg->service[0], "10.0.8.1:80", NULL), 0);
	cr_assert_eq(part_listen(cfg, cfg->service[1], "10.0.8.1:80", NULL), -1);
}

Test(config, members_are_found_by_address_or_name)
{
	struct config_service *svc = part_service(cfg, "web");
	struct poise_error err = {0};

	part_member(svc, "10.0.0.1", NULL);
	part_member(svc, "10.0.0.2:80", NULL);
	part_member(svc, "10.0.0.3:80", NULL);
	part_member(svc, "10.0.0.3:81", NULL);
	snprintf(part_found(svc, "10.0.0.1")->conf.name, POISE_NAME_MAX, "one");
	cr_expect_eq(part_found(svc, "one"), part_found(svc, "10.0.0.1"));
	cr_expect_eq(ntohs(part_found(svc, "10.0.0.2")->conf.port), 80);
	cr_expect_null(config_member_find(svc, "10.0.0.3", &err));
	cr_expect_str_eq(said(&err),
			 "service \"web\": backend 10.0.0.3: several backends have this "
			 "address: say the port too");
	cr_expect_null(config_member_find(svc, "10.0.0.1:80", &err));
	cr_expect_str_eq(said(&err), "service \"web\": backend 10.0.0.1:80: no such backend");
	cr_expect_null(config_member_find(svc, "two", &err));
	cr_expect_str_eq(said(&err), "service \"web\": backend two: no such backend");
	cr_expect_null(config_member_find(svc, "10.0.0.300", &err));
	cr_expect_str_eq(said(&err),
			 "service \"web\": backend 10.0.0.300: not an IPv4 or IPv6 address");
	cr_expect_null(config_member_find(svc, "", &err));
}

Test(config, a_member_leaves_and_comes_back)
{
	struct config_service *svc = part_service(cfg, "web");
	struct config_member *m = part_member(svc, "10.0.0.1", NULL);
	struct poise_error err = {0};

	cr_assert_null(part_member(svc, "10.0.0.1", &err));
	cr_expect_str_eq(said(&err),
			 "service \"web\": backend 10.0.0.1: is a backend of the service already");
	m->id = 7;
	m->conf.weight = 5;
	svc->conf.drain_timeout = 60000;
	config_member_leave(svc, m, NOW);
	cr_expect(config_member_leaving(m));
	cr_expect_eq(m->conf.deadline, NOW + 60000000000ULL);
	cr_expect_eq(config_members_in(svc), 0);
	config_member_leave(svc, m, NOW + 1); /* its time is not prolonged */
	cr_expect_eq(m->conf.deadline, NOW + 60000000000ULL);
	m = part_member(svc, "10.0.0.1", NULL);
	cr_assert_not_null(m);
	cr_expect_eq(m->id, 7);
	cr_expect_eq(m->conf.weight, 1);
	cr_expect_eq(m->conf.deadline, 0);
	cr_expect_not(config_member_leaving(m));
	cr_expect_eq(svc->members, 1);
	/* one that nobody ever saw need not leave */
	config_member_leave(svc, part_member(svc, "10.0.0.2", NULL), NOW);
	cr_expect_eq(svc->members, 1);
}

Test(config, draining_has_an_end)
{
	struct config_service *svc = part_service(cfg, "web");
	struct config_member *m = part_member(svc, "10.0.0.1", NULL);

	config_member_admin(svc, m, POISE_DRAINING, 0, NOW);
	cr_expect_eq(m->conf.deadline, NOW + 300000000000ULL);
	cr_expect_eq(m->conf.since, NOW);
	config_member_admin(svc, m, POISE_DRAINING, 1000, NOW + 5);
	cr_expect_eq(m->conf.deadline, NOW + 5 + 1000000000ULL);
	cr_expect_eq(m->conf.since, NOW, "it has been draining since");
	config_member_admin(svc, m, POISE_ENABLED, 0, NOW + 9);
	cr_expect_eq(m->conf.deadline, 0);
	cr_expect_eq(m->conf.since, NOW + 9);
}

Test(config, auto_table_sizes)
{
	static const struct {
		size_t members;
		__u32 slots;
	} sizes[] = {{0, 4099},	  {1, 4099},   {6, 4099},    {7, 16381},
		     {25, 16381}, {26, 65537}, {102, 65537}, {103, 131071}};
	struct config_service *svc = part_service(cfg, "web");
	char text[POISE_ENDPOINT_TEXT];

	for (size_t i = 0; i < COUNT(sizes); i++) {
		while (svc->members < sizes[i].members) {
			snprintf(text, sizeof(text), "10.0.1.%zu", svc->members + 1);
			part_member(svc, text, NULL);
		}
		cr_expect_eq(config_table_size(svc), sizes[i].slots, "%zu", sizes[i].members);
	}
	/* leaving members do not count: history must not show in the table */
	svc->member[0].id = 1;
	config_member_leave(svc, &svc->member[0], NOW);
	cr_expect_eq(config_table_size(svc), 65537);
	svc->conf.table_size = 777;
	cr_expect_eq(config_table_size(svc), 777);
}

Test(config, a_clone_shares_nothing)
{
	struct config_service *svc = part_service(cfg, "web");
	struct config *twin;

	part_listen(cfg, svc, "192.0.2.10:80", NULL);
	part_member(svc, "10.0.0.1", NULL);
	twin = config_clone(cfg);
	part_member(twin->service[0], "10.0.0.2", NULL);
	twin->service[0]->conf.policy = POISE_SOURCE_HASH;
	cr_expect_eq(config_service_add(twin, "z", POISE_OWNER_HAND, NULL), twin->service[1]);
	cr_expect_eq(cfg->services, 1);
	cr_expect_eq(svc->members, 1);
	cr_expect_eq(svc->conf.policy, POISE_MAGLEV);
	config_free(twin);
}
