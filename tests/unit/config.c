// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A configuration in memory: its order, its finders, what may be added, what is valid as a whole.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/config.h"
#include "maps/option.h"
#include "maps/text.h"

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

static const char *said(const struct poise_error *err)
{
	static char text[1024];

	return poise_error_text(err, text, sizeof(text));
}

static struct config_service *add(const char *name)
{
	struct config_service *svc = config_service_add(cfg, name, POISE_OWNER_HAND, NULL);

	cr_assert_not_null(svc, "%s", name);
	svc->conf.forward = POISE_L2;
	return svc;
}

static int listen_on(struct config_service *svc, const char *text, struct poise_error *err)
{
	struct poise_listener_conf l;

	cr_assert_eq(poise_parse_listener(text, &l, NULL), 0, "%s", text);
	return config_listen(cfg, svc, &l, err);
}

static struct config_member *member(struct config_service *svc, const char *text,
				    struct poise_error *err)
{
	union poise_addr addr;
	__u16 port;

	cr_assert_eq(poise_parse_endpoint(text, &addr, &port, NULL), 0, "%s", text);
	return config_member_add(svc, &addr, port, err);
}

static struct config_member *found(struct config_service *svc, const char *text)
{
	struct config_member *m = config_member_find(svc, text, NULL);

	cr_assert_not_null(m, "%s", text);
	return m;
}

Test(config, services_stand_in_order_of_their_names)
{
	static const char *const names[] = {"mail", "web", "dns", "a", "www", "z", "b"};
	static const char *const sorted[] = {"a", "b", "dns", "mail", "web", "www", "z"};

	for (size_t i = 0; i < COUNT(names); i++)
		add(names[i]);
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
	struct config_service *svc = add("web");
	char text[POISE_ENDPOINT_TEXT];

	for (size_t i = 0; i < COUNT(in); i++)
		cr_assert_not_null(member(svc, in[i], NULL));
	for (size_t i = 0; i < COUNT(out); i++) {
		struct poise_member_conf *conf = &svc->member[i].conf;

		cr_expect_str_eq(poise_format_endpoint(&conf->addr, conf->port, text, sizeof(text)),
				 out[i]);
		cr_expect_eq(config_member_at(svc, &conf->addr, conf->port), &svc->member[i]);
	}
}

Test(config, a_service_is_found_by_name_or_listener)
{
	struct config_service *web = add("web");
	struct poise_error err = {0};

	add("mail");
	listen_on(web, "192.0.2.10:80", NULL);
	listen_on(web, "[2001:db8::10]:443/udp", NULL);
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

	add("web");
	cr_assert_null(config_service_add(cfg, "web", POISE_OWNER_HAND, &err));
	cr_assert_str_eq(said(&err), "service \"web\": there is a service of this name already");
	cr_assert_eq(err.code, POISE_E_EXISTS);
	cr_assert_null(config_service_add(cfg, "10.0.0.1", POISE_OWNER_HAND, &err));
	cr_assert_str_eq(said(&err), "service 10.0.0.1: reads like an address: no name");
	cr_assert_eq(cfg->services, 1);
}

Test(config, renaming_keeps_all_but_the_name)
{
	struct config_service *svc = add("web");
	struct poise_error err = {0};

	add("mail");
	listen_on(svc, "192.0.2.10:80", NULL);
	cr_assert_eq(config_service_rename(cfg, svc, "mail", &err), -1);
	cr_assert_eq(config_service_rename(cfg, svc, "a", NULL), 0);
	cr_assert_eq(cfg->service[0], svc);
	cr_assert_null(config_service_named(cfg, "web"));
	cr_assert_eq(config_service_find(cfg, "192.0.2.10:80", NULL), svc);
}

Test(config, a_listener_belongs_to_one_service)
{
	struct config_service *web = add("web"), *www = add("www");
	struct poise_listener_conf l;
	struct poise_error err = {0};

	cr_assert_eq(listen_on(web, "192.0.2.10:80", NULL), 0);
	cr_assert_eq(listen_on(web, "192.0.2.10:80", &err), -1);
	cr_expect_str_eq(said(&err),
			 "service \"web\": listener 192.0.2.10:80: listens there already");
	cr_assert_eq(listen_on(www, "192.0.2.10:80", &err), -1);
	cr_expect_str_eq(said(&err),
			 "service \"www\": listener 192.0.2.10:80: belongs to service \"web\"");
	cr_expect_eq(err.code, POISE_E_EXISTS);
	/* another protocol or port is another listener */
	cr_expect_eq(listen_on(www, "192.0.2.10:80/udp", NULL), 0);
	cr_expect_eq(listen_on(www, "192.0.2.10:0", NULL), 0);
	/* let go of, it may be taken; with its service gone, too */
	poise_parse_listener("192.0.2.10:80", &l, NULL);
	cr_assert_eq(config_unlisten(www, &l, &err), -1);
	cr_expect_str_eq(said(&err),
			 "service \"www\": listener 192.0.2.10:80: does not listen there");
	cr_assert_eq(config_unlisten(web, &l, NULL), 0);
	cr_assert_eq(listen_on(www, "192.0.2.10:80", NULL), 0);
	cr_assert_eq(listen_on(web, "192.0.2.10:80", NULL), -1);
	config_service_del(cfg, www);
	cr_assert_eq(listen_on(web, "192.0.2.10:80", NULL), 0);
}

Test(config, a_service_has_64_listeners_in_order)
{
	struct config_service *svc = add("web");
	struct poise_error err = {0};
	char text[POISE_ENDPOINT_TEXT];

	for (int i = POISE_LISTENERS_MAX; i > 0; i--) {
		snprintf(text, sizeof(text), "192.0.2.%d:80", i);
		cr_assert_eq(listen_on(svc, text, NULL), 0);
	}
	for (int i = 0; i < POISE_LISTENERS_MAX; i++)
		cr_expect_eq(svc->conf.listener[i].addr.b[15], i + 1);
	cr_assert_eq(listen_on(svc, "192.0.2.200:80", &err), -1);
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
		struct config_service *svc = add(text);

		snprintf(text, sizeof(text), "10.0.%d.%d:80", i / 250, i % 250 + 1);
		cr_assert_eq(listen_on(svc, text, NULL), 0);
	}
	cr_assert_eq(listen_on(cfg->service[0], "10.0.7.250:80", NULL), -1);
	cr_assert_eq(listen_on(cfg->service[0], "10.0.8.1:80", NULL), 0);
	cr_assert_eq(listen_on(cfg->service[1], "10.0.8.1:80", NULL), -1);
}

Test(config, members_are_found_by_address_or_name)
{
	struct config_service *svc = add("web");
	struct poise_error err = {0};

	member(svc, "10.0.0.1", NULL);
	member(svc, "10.0.0.2:80", NULL);
	member(svc, "10.0.0.3:80", NULL);
	member(svc, "10.0.0.3:81", NULL);
	snprintf(found(svc, "10.0.0.1")->conf.name, POISE_NAME_MAX, "one");
	cr_expect_eq(found(svc, "one"), found(svc, "10.0.0.1"));
	cr_expect_eq(ntohs(found(svc, "10.0.0.2")->conf.port), 80);
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
	struct config_service *svc = add("web");
	struct config_member *m = member(svc, "10.0.0.1", NULL);
	struct poise_error err = {0};

	cr_assert_null(member(svc, "10.0.0.1", &err));
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
	m = member(svc, "10.0.0.1", NULL);
	cr_assert_not_null(m);
	cr_expect_eq(m->id, 7);
	cr_expect_eq(m->conf.weight, 1);
	cr_expect_eq(m->conf.deadline, 0);
	cr_expect_not(config_member_leaving(m));
	cr_expect_eq(svc->members, 1);
	/* one that nobody ever saw need not leave */
	config_member_leave(svc, member(svc, "10.0.0.2", NULL), NOW);
	cr_expect_eq(svc->members, 1);
}

Test(config, draining_has_an_end)
{
	struct config_service *svc = add("web");
	struct config_member *m = member(svc, "10.0.0.1", NULL);

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
	struct config_service *svc = add("web");
	char text[POISE_ENDPOINT_TEXT];

	for (size_t i = 0; i < COUNT(sizes); i++) {
		while (svc->members < sizes[i].members) {
			snprintf(text, sizeof(text), "10.0.1.%zu", svc->members + 1);
			member(svc, text, NULL);
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
	struct config_service *svc = add("web");
	struct config *twin;

	listen_on(svc, "192.0.2.10:80", NULL);
	member(svc, "10.0.0.1", NULL);
	twin = config_clone(cfg);
	member(twin->service[0], "10.0.0.2", NULL);
	twin->service[0]->conf.policy = POISE_SOURCE_HASH;
	cr_expect_eq(config_service_add(twin, "z", POISE_OWNER_HAND, NULL), twin->service[1]);
	cr_expect_eq(cfg->services, 1);
	cr_expect_eq(svc->members, 1);
	cr_expect_eq(svc->conf.policy, POISE_MAGLEV);
	config_free(twin);
}

/* ---- what is valid as a whole -----------------------------------------------------------------*/

static void expect_fault(enum poise_code code, const char *text)
{
	struct poise_error err = {.line = 99, .file = "stale"};

	cr_assert_eq(config_validate(cfg, &err), -1, "should be: %s", text);
	cr_expect_eq(err.code, code);
	cr_expect_str_eq(said(&err), text);
}

static void expect_valid(void)
{
	struct poise_error err = {0};

	cr_assert_eq(config_validate(cfg, &err), 0, "%s", said(&err));
}

static struct config_service *valid_service(void)
{
	struct config_service *svc = add("web");

	listen_on(svc, "192.0.2.10:80", NULL);
	member(svc, "10.0.0.1", NULL);
	expect_valid();
	return svc;
}

Test(config, an_empty_configuration_is_valid)
{
	expect_valid();
}

Test(config, all_backends_are_translated_or_none)
{
	struct config_service *svc = valid_service();

	found(svc, "10.0.0.1")->conf.forward = POISE_NAT;
	found(svc, "10.0.0.1")->conf.forward_set = 1;
	expect_fault(POISE_E_CONFLICT, "service \"web\": backend 10.0.0.1: forward nat beside the "
				       "service's forward l2");
	svc->conf.forward = POISE_NAT;
	expect_valid();
	svc->conf.track = POISE_TRACK_OFF;
	expect_fault(POISE_E_CONFLICT,
		     "service \"web\": track off: forward nat goes by the records of flows");
}

Test(config, local_backends)
{
	struct config_service *svc = valid_service();

	found(svc, "10.0.0.1")->conf.forward = POISE_LOCAL;
	found(svc, "10.0.0.1")->conf.forward_set = 1;
	expect_fault(POISE_E_CONFLICT,
		     "service \"web\": backend 10.0.0.1: forward local beside the "
		     "service's forward l2");
	svc->conf.forward = POISE_NAT;
	expect_valid();
	listen_on(svc, "[2001:db8::80]:80", NULL);
	expect_fault(POISE_E_CONFLICT,
		     "service \"web\": backend 10.0.0.1: not of the family of listener "
		     "[2001:db8::80]:80, and forward local keeps the client's address");
	found(svc, "10.0.0.1")->conf.forward = POISE_NAT;
	expect_valid();
}

Test(config, translating_takes_ports)
{
	struct config_service *svc = valid_service();

	svc->conf.forward = POISE_NAT;
	cfg->has_limits = true;
	option_defaults(OPTION_LIMIT, &cfg->limits);
	expect_valid();
	cfg->limits.nat_groups = 0;
	expect_fault(POISE_E_FULL,
		     "service \"web\": forward nat, and this instance has no ports for it");
	cfg->limits.nat_groups = 1;
	cfg->limits.nat_low = 2000;
	cfg->limits.nat_high = 1999;
	expect_fault(POISE_E_CONFLICT, "limits: nat-port-low 2000 is above nat-port-high 1999");
	cfg->limits.nat_low = 61440;
	cfg->limits.nat_high = 65535;
	expect_fault(POISE_E_CONFLICT,
		     "limits: nat-port-low 61440 leaves none: health checks are sent "
		     "from ports 61440 to 65535");
}

Test(config, a_service_needs_a_listener)
{
	add("web");
	expect_fault(POISE_E_BAD_VALUE, "service \"web\": has no listener");
}

Test(config, ports_are_the_listeners)
{
	struct config_service *svc = valid_service();

	member(svc, "10.0.0.2:80", NULL);
	expect_valid();
	listen_on(svc, "192.0.2.10:443", NULL);
	expect_fault(POISE_E_CONFLICT,
		     "service \"web\": backend 10.0.0.2:80: port 80 is not that of listener "
		     "192.0.2.10:443, and forward l2 changes no ports");
	svc->conf.forward = POISE_NAT;
	expect_valid();
	svc->conf.forward = POISE_IPIP;
	expect_fault(POISE_E_CONFLICT,
		     "service \"web\": backend 10.0.0.2:80: port 80 is not that of listener "
		     "192.0.2.10:443, and forward ipip changes no ports");
}

Test(config, families_may_differ)
{
	struct config_service *svc = valid_service();

	member(svc, "2001:db8::1", NULL);
	listen_on(svc, "[2001:db8::10]:80", NULL);
	expect_valid();
	svc->conf.forward = POISE_IPIP;
	expect_valid();
}

Test(config, a_backend_is_not_its_own_service)
{
	struct config_service *svc = valid_service();

	member(svc, "192.0.2.10", NULL);
	expect_fault(POISE_E_CONFLICT, "service \"web\": backend 192.0.2.10: the service itself "
				       "listens there (192.0.2.10:80): packets would loop");
}

Test(config, loopback_is_not_over_a_network)
{
	struct config_service *svc = valid_service();

	member(svc, "::1", NULL);
	expect_fault(POISE_E_CONFLICT, "service \"web\": backend ::1: a loopback address is not "
				       "reached over a network");
	config_member_del(svc, found(svc, "::1"));
	member(svc, "127.0.0.9", NULL);
	expect_fault(POISE_E_CONFLICT, "service \"web\": backend 127.0.0.9: a loopback address is "
				       "not reached over a network");
}

Test(config, a_table_has_a_slot_for_each)
{
	struct config_service *svc = valid_service();
	char text[POISE_ENDPOINT_TEXT];

	svc->conf.table_size = 64;
	while (svc->members < 64) {
		snprintf(text, sizeof(text), "10.0.1.%zu", svc->members);
		member(svc, text, NULL);
	}
	expect_valid();
	member(svc, "10.0.2.1", NULL);
	expect_fault(POISE_E_CONFLICT,
		     "service \"web\": table-size 64 is less than its 65 backends");
}

Test(config, names_of_backends_are_unique)
{
	struct config_service *svc = valid_service();

	member(svc, "10.0.0.2", NULL);
	snprintf(found(svc, "10.0.0.1")->conf.name, POISE_NAME_MAX, "one");
	snprintf(found(svc, "10.0.0.2")->conf.name, POISE_NAME_MAX, "one");
	expect_fault(POISE_E_EXISTS,
		     "service \"web\": backend 10.0.0.2: backend 10.0.0.1 is named \"one\" too");
	/* the name of one that leaves is free */
	found(svc, "10.0.0.1")->id = 3;
	config_member_leave(svc, found(svc, "10.0.0.1"), NOW);
	expect_valid();
	cr_expect_eq(found(svc, "one"), found(svc, "10.0.0.2"));
}

/* Whoever built it without config_listen is caught too. */
Test(config, listeners_are_unique)
{
	struct config_service *svc = valid_service(), *twin = add("www");

	twin->conf.listener[0] = svc->conf.listener[0];
	twin->conf.listeners = 1;
	expect_fault(POISE_E_EXISTS,
		     "service \"www\": listener 192.0.2.10:80: belongs to service \"web\"");
}

Test(config, limits_count_when_there_are_any)
{
	struct config_service *svc = valid_service();

	member(svc, "10.0.0.2", NULL);
	listen_on(svc, "192.0.2.11:80", NULL);
	cfg->limits = (struct config_limits){.services = 1,
					     .backends = 2,
					     .listeners = 2,
					     .table_slots = 8192,
					     .flow_slots = 1024,
					     .paths = 1};
	cfg->has_limits = true;
	expect_valid();
	cfg->limits.table_slots = 4098;
	expect_fault(POISE_E_FULL, "4099 table-slots, and this instance has room for 4098");
	cfg->limits.listeners = 1;
	expect_fault(POISE_E_FULL, "2 listeners, and this instance has room for 1");
	cfg->limits.backends = 1;
	expect_fault(POISE_E_FULL, "2 backends, and this instance has room for 1");
	cfg->limits.services = 0;
	expect_fault(POISE_E_FULL, "1 services, and this instance has room for 0");
	cfg->has_limits = false;
	expect_valid();
}
