// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The kinds of transaction, each on the same small configuration.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "kinds.h"
#include "maps/text.h"

#define TABLE 61 /* slots: few, so that a transaction has few stores */

/* ---- where every case begins ------------------------------------------------------------------*/

static struct config_address *claim(struct config *cfg, const char *text, const char *device)
{
	struct poise_error err = {0};
	struct config_address *a;
	union poise_addr addr;

	cr_assert_eq(poise_parse_host(text, &addr, &err), 0, "%s", text);
	a = config_address_add(cfg, &addr, &err);
	cr_assert(a && !config_address_device(a, device, &err), "%s: %s", text, err.message);
	return a;
}

static void set_ranges(struct config_service *web, const char *allow, const char *deny)
{
	struct poise_error err = {0};

	ranges_free(&web->allow);
	ranges_free(&web->deny);
	cr_assert(!allow || !ranges_set(&web->allow, allow, &err), "%s", err.message);
	cr_assert(!deny || !ranges_set(&web->deny, deny, &err), "%s", err.message);
}

void kinds_set_up(struct config *cfg, unsigned long argument)
{
	struct config_service *web = store_add_service(cfg, "web", 1, 0, 3);
	struct config_service *dns = store_add_service(cfg, "dns", 2, 10, 2);

	(void)argument;
	web->conf.table_size = TABLE;
	dns->conf.table_size = TABLE;
	store_listen(cfg, web, "[2001:db8::1]:443");
	store_listen(cfg, dns, "192.0.2.2:0/udp");
	web->member[1].conf.weight = 5;
	web->member[2].conf.health = POISE_HEALTH_CHECKING;
	/* as many as later kinds have, so that their run would fit in its place */
	set_ranges(web, NULL, "198.51.100.0/24,203.0.113.0/24,2001:db8:bad::/48");
	for (int l = 0; l < web->conf.listeners; l++)
		web->conf.listener[l].own = POISE_OWN_NOT;
	claim(cfg, "192.0.2.1", "lo")->conf.own = POISE_OWN_NOT;
	claim(cfg, "2001:db8::1", "e0");
}

struct instance *kinds_begin(void)
{
	struct instance *i = store_tiny();

	store_change(i, kinds_set_up, 0);
	store_check(i, "at first");
	return i;
}

/* ---- the kinds --------------------------------------------------------------------------------*/

static struct config_service *named(struct config *cfg, const char *name)
{
	struct config_service *svc = config_service_named(cfg, name);

	cr_assert(svc, "%s", name);
	return svc;
}

static struct config_member *member(struct config *cfg, unsigned int m)
{
	return &named(cfg, "web")->member[m];
}

static void service_add(struct config *cfg, unsigned long argument)
{
	(void)argument;
	store_add_service(cfg, "mail", 3, 20, 2)->conf.table_size = TABLE;
}

static void service_del(struct config *cfg, unsigned long argument)
{
	(void)argument;
	config_service_del(cfg, named(cfg, "dns"));
}

static void service_rename(struct config *cfg, unsigned long argument)
{
	(void)argument;
	struct poise_error err;

	cr_assert_eq(config_service_rename(cfg, named(cfg, "dns"), "names", &err), 0);
}

/* Another service takes the name, the listener and the backends of one that goes. */
static void service_replace(struct config *cfg, unsigned long argument)
{
	(void)argument;
	config_service_del(cfg, named(cfg, "web"));
	store_add_service(cfg, "web", 1, 0, 4)->conf.table_size = TABLE;
}

static void listen_more(struct config *cfg, unsigned long argument)
{
	(void)argument;
	store_listen(cfg, named(cfg, "web"), "192.0.2.9:0");
	store_listen(cfg, named(cfg, "web"), "192.0.2.9:8080");
}

static void unlisten(struct config *cfg, struct config_service *svc, const char *listener)
{
	struct poise_listener_conf l = {0};
	struct poise_error err;

	(void)cfg;
	cr_assert_eq(poise_parse_listener(listener, &l, &err), 0);
	cr_assert_eq(config_unlisten(svc, &l, &err), 0);
}

static void listen_less(struct config *cfg, unsigned long argument)
{
	(void)argument;
	unlisten(cfg, named(cfg, "web"), "[2001:db8::1]:443");
	unlisten(cfg, named(cfg, "dns"), "192.0.2.2:0/udp");
}

static void listener_moves(struct config *cfg, unsigned long argument)
{
	(void)argument;
	unlisten(cfg, named(cfg, "web"), "[2001:db8::1]:443");
	store_listen(cfg, named(cfg, "dns"), "[2001:db8::1]:443");
}

static void set_policy(struct config *cfg, unsigned long argument)
{
	(void)argument;
	named(cfg, "web")->conf.policy = POISE_SOURCE_HASH;
}

static void set_table_size(struct config *cfg, unsigned long argument)
{
	(void)argument;
	named(cfg, "web")->conf.table_size = 2 * TABLE + 1;
}

static void set_timers(struct config *cfg, unsigned long argument)
{
	(void)argument;
	named(cfg, "web")->conf.idle = 60000;
	named(cfg, "web")->conf.track = POISE_TRACK_ALWAYS;
}

static void set_forward(struct config *cfg, unsigned long argument)
{
	(void)argument;
	named(cfg, "web")->conf.forward = POISE_L2;
	named(cfg, "dns")->conf.entropy = 1;
}

static void backend_add(struct config *cfg, unsigned long argument)
{
	(void)argument;
	store_add_member(named(cfg, "web"), "10.0.9.1");
}

static void backend_add_many(struct config *cfg, unsigned long argument)
{
	(void)argument;
	char address[32];

	for (int n = 1; n <= 12; n++) {
		snprintf(address, sizeof(address), "10.0.8.%d", n);
		store_add_member(named(cfg, "web"), address);
	}
}

static void backend_weight(struct config *cfg, unsigned long argument)
{
	(void)argument;
	member(cfg, 0)->conf.weight = 9;
}

static void backend_weight_0(struct config *cfg, unsigned long argument)
{
	(void)argument;
	member(cfg, 0)->conf.weight = 0;
}

static void backend_drain(struct config *cfg, unsigned long argument)
{
	(void)argument;
	member(cfg, 0)->conf.admin = POISE_DRAINING;
	member(cfg, 0)->conf.deadline = 12345;
}

static void backend_disable(struct config *cfg, unsigned long argument)
{
	(void)argument;
	member(cfg, 0)->conf.admin = POISE_DISABLED;
}

static void set_gue(struct config *cfg, unsigned long argument)
{
	(void)argument;
	named(cfg, "web")->conf.forward = POISE_GUE;
	named(cfg, "web")->conf.gue_port = 7000;
	named(cfg, "dns")->conf.gue_checksum = 1;
}

static void backend_forward(struct config *cfg, unsigned long argument)
{
	(void)argument;
	member(cfg, 0)->conf.forward = POISE_L2;
	member(cfg, 0)->conf.forward_set = 1;
}

static void backend_down(struct config *cfg, unsigned long argument)
{
	(void)argument;
	member(cfg, 1)->conf.health = POISE_HEALTH_DOWN;
}

static void backend_up(struct config *cfg, unsigned long argument)
{
	(void)argument;
	member(cfg, 2)->conf.health = POISE_HEALTH_UP;
}

static void backend_sorry(struct config *cfg, unsigned long argument)
{
	(void)argument;
	member(cfg, 0)->conf.sorry = 1;
}

static void set_refuse(struct config *cfg, unsigned long argument)
{
	(void)argument;
	named(cfg, "web")->conf.on_none_up = POISE_NONE_UP_REFUSE;
	named(cfg, "web")->conf.on_nobody = POISE_NOBODY_DROP;
}

static void set_panic(struct config *cfg, unsigned long argument)
{
	(void)argument;
	named(cfg, "web")->conf.panic = 100;
}

static void set_on_down(struct config *cfg, unsigned long argument)
{
	(void)argument;
	named(cfg, "web")->conf.on_down = POISE_ON_DOWN_RESET;
	named(cfg, "web")->conf.on_down_udp = POISE_UDP_KEEP;
}

static void backend_leaves(struct config *cfg, unsigned long argument)
{
	(void)argument;
	member(cfg, 0)->conf.r.state = POISE_REC_LEAVING;
	member(cfg, 0)->conf.deadline = 1000;
}

static void backend_del(struct config *cfg, unsigned long argument)
{
	(void)argument;
	config_member_del(named(cfg, "web"), member(cfg, 1));
}

static void all_down(struct config *cfg, unsigned long argument)
{
	(void)argument;
	for (unsigned int m = 0; m < 3; m++)
		member(cfg, m)->conf.health = POISE_HEALTH_DOWN;
}

static void all_disabled(struct config *cfg, unsigned long argument)
{
	(void)argument;
	for (unsigned int m = 0; m < 3; m++)
		member(cfg, m)->conf.admin = POISE_DISABLED;
}

static void all_del(struct config *cfg, unsigned long argument)
{
	(void)argument;
	while (named(cfg, "web")->members)
		config_member_del(named(cfg, "web"), member(cfg, 0));
}

static void address_claim(struct config *cfg, unsigned long argument)
{
	(void)argument;
	claim(cfg, "192.0.2.0", "lo"); /* sorted before the others */
}

static void address_put(struct config *cfg, unsigned long argument)
{
	(void)argument;
	for (size_t a = 0; a < cfg->addresses; a++)
		cfg->address[a].conf.put = POISE_PUT_MARKED;
}

static void address_moves(struct config *cfg, unsigned long argument)
{
	(void)argument;
	claim(cfg, "192.0.2.1", "e1");
}

static void address_leaves(struct config *cfg, unsigned long argument)
{
	(void)argument;
	config_address_leave(&cfg->address[0]);
}

/* Keys of one that is claimed, and of one that is not. */
static void address_set(struct config *cfg, unsigned long argument)
{
	(void)argument;
	cfg->address[0].conf.ping = POISE_PING_NO;
	cfg->address[0].conf.announced = POISE_WITHDRAWN_NO_BACKEND;
	claim(cfg, "192.0.2.9", "")->conf.other_ports = POISE_OTHER_PASS;
}

/* Claimed for nobody, and already known to be no other's. */
static void address_known(struct config *cfg, unsigned long argument)
{
	(void)argument;
	claim(cfg, "192.0.2.9", "lo")->conf.own = POISE_OWN_NOT;
}

static void address_usable(struct config *cfg, unsigned long argument)
{
	(void)argument;
	cfg->address[0].conf.ping = POISE_PING_USABLE;
}

/* Somebody puts one on a device, the other is found to be nobody's. */
static void own_changes(struct config *cfg, unsigned long argument)
{
	(void)argument;
	named(cfg, "web")->conf.listener[0].own = POISE_OWN_HOST;
	named(cfg, "dns")->conf.listener[0].own = POISE_OWN_NOT;
}

/* The slot of the one that goes is had by the one that comes. */
static void address_replace(struct config *cfg, unsigned long argument)
{
	(void)argument;
	config_address_del(cfg, &cfg->address[0]);
	claim(cfg, "192.0.2.7", "lo");
}

/* Something of everything at once, as apply does it. */
static void big_diff(struct config *cfg, unsigned long argument)
{
	(void)argument;
	service_add(cfg, 0);
	listener_moves(cfg, 0);
	service_rename(cfg, 0);
	set_policy(cfg, 0);
	backend_add(cfg, 0);
	backend_del(cfg, 0);
	backend_weight(cfg, 0);
	backend_up(cfg, 0);
	address_replace(cfg, 0);
}

static void table_size_back(struct config *cfg, unsigned long argument)
{
	(void)argument;
	named(cfg, "web")->conf.table_size = TABLE;
}

static void all_up(struct config *cfg, unsigned long argument)
{
	(void)argument;
	for (unsigned int m = 0; m < 3; m++)
		member(cfg, m)->conf.health = POISE_HEALTH_UP;
}

/* ---- QUIC: server ids that come, change hands and go ------------------------------------------*/

static void quic_on(struct config *cfg, unsigned long argument)
{
	(void)argument;
	named(cfg, "dns")->conf.quic = 1;
	for (unsigned int m = 0; m < 2; m++)
		named(cfg, "dns")->member[m].conf.server_id = m + 1;
}

static void quic_web(struct config *cfg, unsigned long argument)
{
	(void)argument;
	named(cfg, "web")->conf.quic = 1;
	for (unsigned int m = 0; m < 3; m++)
		member(cfg, m)->conf.server_id = 7 * m + 1;
}

static void quic_off(struct config *cfg, unsigned long argument)
{
	(void)argument;
	named(cfg, "dns")->conf.quic = 0;
}

static void quic_swap(struct config *cfg, unsigned long argument)
{
	(void)argument;
	named(cfg, "dns")->member[0].conf.server_id = 2;
	named(cfg, "dns")->member[1].conf.server_id = 1;
}

static void quic_leaves(struct config *cfg, unsigned long argument)
{
	struct config_service *dns = named(cfg, "dns");

	(void)argument;
	dns->member[0].conf.r.state = POISE_REC_LEAVING;
	dns->member[0].conf.deadline = 1000;
	dns->member[1].conf.server_id = 1;
}

/* ---- limits that come, change and go ----------------------------------------------------------*/

static void limit_some(struct config *cfg, unsigned long argument)
{
	(void)argument;
	named(cfg, "web")->conf.max_conns = 7;
	named(cfg, "dns")->member[0].conf.max_conns_set = 1;
	named(cfg, "dns")->member[0].conf.max_conns = 9;
}

static void limit_others(struct config *cfg, unsigned long argument)
{
	(void)argument;
	named(cfg, "web")->conf.max_conns = 8;
	member(cfg, 1)->conf.max_conns_set = 1;
	named(cfg, "dns")->member[1].conf.max_conns_set = 1;
	named(cfg, "dns")->member[1].conf.max_conns = 1;
}

static void limit_none(struct config *cfg, unsigned long argument)
{
	(void)argument;
	named(cfg, "web")->conf.max_conns = 0;
	named(cfg, "dns")->member[0].conf.max_conns_set = 0;
}

/* ---- source ranges ----------------------------------------------------------------------------*/

static void ranges_some(struct config *cfg, unsigned long argument)
{
	(void)argument;
	set_ranges(named(cfg, "web"), "10.1.0.0/16,2001:db8::/32", "10.1.7.0/24");
}

static void ranges_others(struct config *cfg, unsigned long argument)
{
	(void)argument;
	set_ranges(named(cfg, "web"), NULL, "10.1.7.0/24,10.9.0.0/16,2001:db8:bad::/48");
}

/* Other prefixes that come to the same. */
static void ranges_respelt(struct config *cfg, unsigned long argument)
{
	(void)argument;
	set_ranges(named(cfg, "web"), "10.1.0.0/17,10.1.128.0/17,2001:db8::/32", "10.1.7.0/24");
}

static void ranges_none(struct config *cfg, unsigned long argument)
{
	(void)argument;
	set_ranges(named(cfg, "web"), NULL, NULL);
}

/* ---- the table of them ------------------------------------------------------------------------*/

#define KIND(name)                                                                                 \
	{                                                                                          \
#name, NULL, name                                                                  \
	}
#define AFTER(first, name)                                                                         \
	{                                                                                          \
#name " after " #first, first, name                                                \
	}

const struct kind kinds[] = {
	KIND(service_add),
	KIND(service_del),
	KIND(service_rename),
	KIND(service_replace),
	KIND(listen_more),
	KIND(listen_less),
	KIND(listener_moves),
	KIND(set_policy),
	KIND(set_table_size),
	KIND(set_timers),
	KIND(set_forward),
	KIND(set_gue),
	KIND(backend_add),
	KIND(backend_add_many),
	KIND(backend_weight),
	KIND(backend_weight_0),
	KIND(backend_drain),
	KIND(backend_disable),
	KIND(backend_forward),
	KIND(backend_down),
	KIND(backend_up),
	KIND(backend_sorry),
	KIND(set_panic),
	AFTER(backend_down, set_panic),
	AFTER(set_panic, backend_down),
	AFTER(all_down, set_refuse),
	AFTER(set_refuse, all_down),
	KIND(set_on_down),
	AFTER(set_on_down, backend_down),
	KIND(backend_leaves),
	KIND(backend_del),
	KIND(all_down),
	KIND(all_disabled),
	KIND(all_del),
	KIND(address_claim),
	KIND(address_put),
	KIND(address_leaves),
	KIND(address_set),
	KIND(address_known),
	KIND(address_usable),
	KIND(own_changes),
	KIND(address_replace),
	KIND(big_diff),
	/* the table of the first size was kept as the base, and becomes the table again */
	AFTER(set_table_size, table_size_back),
	/* the base is older than the table that goes: it stays, beside a third one */
	AFTER(set_table_size, set_policy),
	AFTER(set_table_size, backend_del),
	AFTER(set_table_size, all_del),
	AFTER(all_down, all_up),
	AFTER(all_disabled, all_del),
	AFTER(all_del, backend_add),
	AFTER(backend_del, backend_add),
	AFTER(service_del, service_add),
	AFTER(listen_more, listen_less),
	AFTER(address_put, address_moves),
	AFTER(address_leaves, address_replace),
	AFTER(address_known, address_leaves),
	AFTER(address_usable, all_disabled),
	AFTER(own_changes, service_del),
	KIND(quic_on),
	KIND(quic_web),
	AFTER(quic_on, quic_off),
	AFTER(quic_on, quic_swap),
	AFTER(quic_on, quic_leaves),
	AFTER(quic_on, service_del),
	KIND(ranges_some),
	AFTER(ranges_some, ranges_others),
	AFTER(ranges_some, ranges_respelt),
	AFTER(ranges_some, ranges_none),
	AFTER(ranges_some, service_replace),
	AFTER(ranges_some, set_policy),
	KIND(limit_some),
	AFTER(limit_some, limit_others),
	AFTER(limit_some, limit_none),
	AFTER(limit_some, backend_del),
	AFTER(limit_some, service_del),
};
const size_t kinds_count = sizeof(kinds) / sizeof(kinds[0]);

struct instance *kinds_begin_for(const struct kind *kind)
{
	struct instance *i = kinds_begin();

	if (kind->first)
		store_change(i, kind->first, 0);
	return i;
}

const struct kind *kind_named(const char *name)
{
	for (size_t k = 0; k < kinds_count; k++)
		if (!strcmp(kinds[k].name, name))
			return &kinds[k];
	cr_assert_fail("no kind %s", name);
	return NULL;
}
