// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the listeners' hash says of addresses: by protocol, and what else their packets get. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/hosts.h"
#include "maps/listener.h"
#include "maps/text.h"
#include "tests/support/store.h"

#define ADDR   "192.0.2.1" /* of the service "web" of store_add_service(..., 1, ...) */
#define OTHER  "192.0.2.99"
#define NOBODY 0xff /* no entry */

static union poise_addr address(const char *text)
{
	union poise_addr addr;

	cr_assert_eq(poise_parse_host(text, &addr, NULL), 0, "%s", text);
	return addr;
}

/* The flags of an address's entry, which must be as the records ask for. */
static __u8 flags_of(struct instance *i, const char *text)
{
	union poise_addr addr = address(text);
	struct poise_listener_conf key = hosts_address(&addr);
	const struct poise_listener *e = listener_find(i, &key);

	store_check(i, text);
	return e ? e->flags : NOBODY;
}

static __u32 service_of(struct instance *i, const char *text)
{
	union poise_addr addr = address(text);
	struct poise_listener_conf key = hosts_address(&addr);

	return listener_find(i, &key)->service;
}

static void web(struct config *cfg, unsigned long argument)
{
	(void)argument;
	store_add_service(cfg, "web", 1, 0, 2)->conf.table_size = 64;
}

/* Every listener of the service is noted so. */
static void own(struct config *cfg, unsigned long argument)
{
	struct poise_service_conf *conf = &config_service_named(cfg, "web")->conf;

	for (int l = 0; l < conf->listeners; l++)
		conf->listener[l].own = (__u8)argument;
}

/* Of its addresses the service means those ports alone. */
static void alone(struct config *cfg, unsigned long argument)
{
	struct poise_service_conf *conf = &config_service_named(cfg, "web")->conf;

	for (int l = 0; l < conf->listeners; l++)
		conf->listener[l].alone = (__u8)argument;
}

struct said {
	const char *addr, *device;
	__u8 ping, other_ports, put, own;
};

static void say(struct config *cfg, unsigned long argument)
{
	const struct said *s = (const struct said *)argument;
	union poise_addr addr = address(s->addr);
	struct config_address *a = config_address_add(cfg, &addr, NULL);

	cr_assert(a && !config_address_device(a, s->device, NULL));
	a->conf.ping = s->ping;
	a->conf.other_ports = s->other_ports;
	a->conf.put = s->put;
	a->conf.own = s->own;
}

static void disable_all(struct config *cfg, unsigned long argument)
{
	struct config_service *svc = config_service_named(cfg, "web");

	for (size_t m = 0; m < svc->members; m++)
		svc->member[m].conf.admin = argument ? POISE_DISABLED : POISE_ENABLED;
}

static void gone(struct config *cfg, unsigned long argument)
{
	(void)argument;
	config_service_del(cfg, config_service_named(cfg, "web"));
}

static struct instance *begin(void)
{
	struct instance *i = store_tiny();

	store_change(i, web, 0);
	return i;
}

/* Only what is known not to be the host's own is answered for. */
Test(hosts, the_hosts_own_are_the_kernels)
{
	struct instance *i = begin();

	cr_expect_eq(flags_of(i, ADDR), NOBODY);
	store_change(i, own, POISE_OWN_NOT);
	cr_expect_eq(flags_of(i, ADDR), POISE_A_ECHO | POISE_A_REFUSE);
	cr_expect_eq(i->meta->answering, 1);
	cr_expect_eq(i->meta->refusing, 1);
	store_change(i, own, POISE_OWN_HOST);
	cr_expect_eq(flags_of(i, ADDR), NOBODY);
	cr_expect_eq(i->meta->answering + i->meta->refusing, 0);
	instance_close(i);
}

static void back(struct config *cfg, unsigned long argument)
{
	config_service_named(cfg, "web")->conf.listener[0].back = (__u8)argument;
}

/* Where nobody means more than a port, all else is left to the host, unless it would loop, or
 * somebody says what is to become of it. */
Test(hosts, ports_alone)
{
	static const struct said said = {.addr = ADDR, .device = "", .own = POISE_OWN_NOT};
	struct instance *i = begin();

	store_change(i, own, POISE_OWN_NOT);
	store_change(i, alone, true);
	cr_expect_eq(flags_of(i, ADDR), NOBODY);
	cr_expect_eq(i->meta->answering + i->meta->refusing, 0);
	store_change(i, back, POISE_BACK_GOES);
	cr_expect_eq(flags_of(i, ADDR), POISE_A_ECHO | POISE_A_REFUSE);
	store_change(i, back, POISE_BACK_NOT);
	cr_expect_eq(flags_of(i, ADDR), NOBODY);
	store_change(i, alone, false);
	cr_expect_eq(flags_of(i, ADDR), POISE_A_ECHO | POISE_A_REFUSE);
	store_change(i, alone, true);
	store_change(i, say, (unsigned long)&said);
	cr_expect_eq(flags_of(i, ADDR), POISE_A_ECHO | POISE_A_REFUSE);
	instance_close(i);
}

/* The keys of an address, for one that is routed here and one that is claimed. */
Test(hosts, keys_become_flags)
{
	static const struct {
		struct said said;
		__u8 flags;
	} cases[] = {
		{{ADDR, "", POISE_PING_YES, POISE_OTHER_PASS, 0, 0}, POISE_A_ECHO},
		{{ADDR, "", POISE_PING_NO, POISE_OTHER_REFUSE, 0, 0}, POISE_A_REFUSE},
		{{ADDR, "", POISE_PING_NO, POISE_OTHER_PASS, 0, 0}, 0},
		{{ADDR, "", POISE_PING_USABLE, POISE_OTHER_PASS, 0, 0},
		 POISE_A_ECHO | POISE_A_USABLE},
		{{ADDR, "lo", POISE_PING_YES, POISE_OTHER_REFUSE, POISE_PUT_MARKED, POISE_OWN_NOT},
		 POISE_A_ECHO | POISE_A_REFUSE | POISE_A_PLACED},
		{{ADDR, "lo", POISE_PING_YES, POISE_OTHER_REFUSE, POISE_PUT_FOREIGN,
		  POISE_OWN_HOST},
		 NOBODY},
	};
	struct instance *i = begin();

	store_change(i, own, POISE_OWN_NOT);
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		store_change(i, say, (unsigned long)&cases[c].said);
		cr_expect_eq(flags_of(i, ADDR), cases[c].flags, "case %zu: %#x", c,
			     flags_of(i, ADDR));
	}
	instance_close(i);
}

Test(hosts, usable_follows_the_backends)
{
	static const struct said usable = {.addr = ADDR, .device = "", .ping = POISE_PING_USABLE};
	struct instance *i = begin();

	store_change(i, own, POISE_OWN_NOT);
	store_change(i, say, (unsigned long)&usable);
	cr_expect_eq(flags_of(i, ADDR), POISE_A_ECHO | POISE_A_USABLE | POISE_A_REFUSE);
	store_change(i, disable_all, true);
	cr_expect_eq(flags_of(i, ADDR), POISE_A_REFUSE);
	store_change(i, disable_all, false);
	cr_expect_eq(flags_of(i, ADDR), POISE_A_ECHO | POISE_A_USABLE | POISE_A_REFUSE);
	instance_close(i);
}

/* A claim without a service is nobody's in particular; what is set for an address that is neither
 * claimed nor a service's means nothing. */
Test(hosts, without_a_service)
{
	static const struct said claimed = {OTHER, "lo", .own = POISE_OWN_NOT};
	static const struct said set = {
		.addr = ADDR, .device = "", .ping = POISE_PING_NO, .own = POISE_OWN_NOT};
	struct instance *i = begin();

	store_change(i, own, POISE_OWN_NOT);
	store_change(i, say, (unsigned long)&claimed);
	store_change(i, say, (unsigned long)&set);
	cr_expect_eq(flags_of(i, OTHER), POISE_A_ECHO | POISE_A_REFUSE);
	cr_expect_eq(service_of(i, OTHER), POISE_HOST_SHARED);
	cr_expect_eq(flags_of(i, ADDR), POISE_A_REFUSE);
	cr_expect_eq(service_of(i, ADDR), 1);
	store_change(i, gone, 0);
	cr_expect_eq(flags_of(i, ADDR), NOBODY);
	cr_expect_eq(i->meta->answering, 1);
	instance_close(i);
}
