// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a configuration must be as a whole: each fault that takes two values to be one. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "maps/option.h"
#include "maps/text.h"
#include "tests/support/parts.h"

#define NOW 1000000000000ULL

static struct config *cfg;

static void setup(void)
{
	cfg = config_new();
}

static void teardown(void)
{
	config_free(cfg);
}

TestSuite(config_valid, .init = setup, .fini = teardown);

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
	struct config_service *svc = part_service(cfg, "web");

	part_listen(cfg, svc, "192.0.2.10:80", NULL);
	part_member(svc, "10.0.0.1", NULL);
	expect_valid();
	return svc;
}

Test(config_valid, an_empty_configuration_is_valid)
{
	expect_valid();
}

Test(config_valid, all_backends_are_translated_or_none)
{
	struct config_service *svc = valid_service();

	part_found(svc, "10.0.0.1")->conf.forward = POISE_NAT;
	part_found(svc, "10.0.0.1")->conf.forward_set = 1;
	expect_fault(POISE_E_CONFLICT, "service \"web\": backend 10.0.0.1: forward nat beside the "
				       "service's forward l2");
	svc->conf.forward = POISE_NAT;
	expect_valid();
	svc->conf.track = POISE_TRACK_OFF;
	expect_fault(POISE_E_CONFLICT,
		     "service \"web\": track off: forward nat goes by the records of flows");
}

Test(config_valid, local_backends)
{
	struct config_service *svc = valid_service();

	part_found(svc, "10.0.0.1")->conf.forward = POISE_LOCAL;
	part_found(svc, "10.0.0.1")->conf.forward_set = 1;
	expect_fault(POISE_E_CONFLICT,
		     "service \"web\": backend 10.0.0.1: forward local beside the "
		     "service's forward l2");
	svc->conf.forward = POISE_NAT;
	expect_valid();
	part_listen(cfg, svc, "[2001:db8::80]:80", NULL);
	expect_fault(POISE_E_CONFLICT,
		     "service \"web\": backend 10.0.0.1: not of the family of listener "
		     "[2001:db8::80]:80, and forward local keeps the client's address");
	part_found(svc, "10.0.0.1")->conf.forward = POISE_NAT;
	expect_valid();
}

Test(config_valid, translating_takes_ports)
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

Test(config_valid, a_service_needs_a_listener)
{
	part_service(cfg, "web");
	expect_fault(POISE_E_BAD_VALUE, "service \"web\": has no listener");
}

Test(config_valid, ports_are_the_listeners)
{
	struct config_service *svc = valid_service();

	part_member(svc, "10.0.0.2:80", NULL);
	expect_valid();
	part_listen(cfg, svc, "192.0.2.10:443", NULL);
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

Test(config_valid, families_may_differ)
{
	struct config_service *svc = valid_service();

	part_member(svc, "2001:db8::1", NULL);
	part_listen(cfg, svc, "[2001:db8::10]:80", NULL);
	expect_valid();
	svc->conf.forward = POISE_IPIP;
	expect_valid();
}

Test(config_valid, a_backend_is_not_its_own_service)
{
	struct config_service *svc = valid_service();

	part_member(svc, "192.0.2.10", NULL);
	expect_fault(POISE_E_CONFLICT, "service \"web\": backend 192.0.2.10: the service itself "
				       "listens there (192.0.2.10:80): packets would loop");
}

Test(config_valid, loopback_is_not_over_a_network)
{
	struct config_service *svc = valid_service();

	part_member(svc, "::1", NULL);
	expect_fault(POISE_E_CONFLICT, "service \"web\": backend ::1: a loopback address is not "
				       "reached over a network");
	config_member_del(svc, part_found(svc, "::1"));
	part_member(svc, "127.0.0.9", NULL);
	expect_fault(POISE_E_CONFLICT, "service \"web\": backend 127.0.0.9: a loopback address is "
				       "not reached over a network");
}

Test(config_valid, a_table_has_a_slot_for_each)
{
	struct config_service *svc = valid_service();
	char text[POISE_ENDPOINT_TEXT];

	svc->conf.table_size = 64;
	while (svc->members < 64) {
		snprintf(text, sizeof(text), "10.0.1.%zu", svc->members);
		part_member(svc, text, NULL);
	}
	expect_valid();
	part_member(svc, "10.0.2.1", NULL);
	expect_fault(POISE_E_CONFLICT,
		     "service \"web\": table-size 64 is less than its 65 backends");
}

Test(config_valid, names_of_backends_are_unique)
{
	struct config_service *svc = valid_service();

	part_member(svc, "10.0.0.2", NULL);
	snprintf(part_found(svc, "10.0.0.1")->conf.name, POISE_NAME_MAX, "one");
	snprintf(part_found(svc, "10.0.0.2")->conf.name, POISE_NAME_MAX, "one");
	expect_fault(POISE_E_EXISTS,
		     "service \"web\": backend 10.0.0.2: backend 10.0.0.1 is named \"one\" too");
	/* the name of one that leaves is free */
	part_found(svc, "10.0.0.1")->id = 3;
	config_member_leave(svc, part_found(svc, "10.0.0.1"), NOW);
	expect_valid();
	cr_expect_eq(part_found(svc, "one"), part_found(svc, "10.0.0.2"));
}

/* Whoever built it without config_listen is caught too. */
Test(config_valid, listeners_are_unique)
{
	struct config_service *svc = valid_service(), *twin = part_service(cfg, "www");

	twin->conf.listener[0] = svc->conf.listener[0];
	twin->conf.listeners = 1;
	expect_fault(POISE_E_EXISTS,
		     "service \"www\": listener 192.0.2.10:80: belongs to service \"web\"");
}

Test(config_valid, limits_count_when_there_are_any)
{
	struct config_service *svc = valid_service();

	part_member(svc, "10.0.0.2", NULL);
	part_listen(cfg, svc, "192.0.2.11:80", NULL);
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
