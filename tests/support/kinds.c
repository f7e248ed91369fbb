// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The kinds of transaction, each on the same small configuration. The changes themselves are in
 * kinds_service.c, kinds_options.c, kinds_backend.c and kinds_address.c.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "kinds_priv.h"

/* ---- where every case begins ------------------------------------------------------------------*/

struct config_service *kinds_service(const struct config *cfg, const char *name)
{
	struct config_service *svc = config_service_named(cfg, name);

	cr_assert(svc, "%s", name);
	return svc;
}

struct config_member *kinds_member(const struct config *cfg, unsigned int web_member)
{
	return &kinds_service(cfg, "web")->member[web_member];
}

void kinds_set_up(struct config *cfg, unsigned long argument)
{
	struct config_service *web = store_add_service(cfg, "web", 1, 0, 3);
	struct config_service *dns = store_add_service(cfg, "dns", 2, 10, 2);

	(void)argument;
	web->conf.table_size = KINDS_TABLE;
	dns->conf.table_size = KINDS_TABLE;
	store_listen(cfg, web, "[2001:db8::1]:443");
	store_listen(cfg, dns, "192.0.2.2:0/udp");
	web->member[1].conf.weight = 5;
	web->member[2].conf.health = POISE_HEALTH_CHECKING;
	/* as many as later kinds have, so that their run would fit in its place */
	kinds_ranges(web, NULL, "198.51.100.0/24,203.0.113.0/24,2001:db8:bad::/48");
	for (int l = 0; l < web->conf.listeners; l++)
		web->conf.listener[l].own = POISE_OWN_NOT;
	kinds_claim(cfg, "192.0.2.1", "lo")->conf.own = POISE_OWN_NOT;
	kinds_claim(cfg, "2001:db8::1", "e0");
}

struct instance *kinds_begin(void)
{
	struct instance *i = store_tiny();

	store_change(i, kinds_set_up, 0);
	store_check(i, "at first");
	return i;
}

/* Something of everything at once, as apply does it. */
static EDIT(big_diff)
{
	kind_service_add(cfg, 0);
	kind_listener_moves(cfg, 0);
	kind_service_rename(cfg, 0);
	kind_set_policy(cfg, 0);
	kind_backend_add(cfg, 0);
	kind_backend_del(cfg, 0);
	kind_backend_weight(cfg, 0);
	kind_backend_up(cfg, 0);
	kind_address_replace(cfg, 0);
}

/* ---- the table of them ------------------------------------------------------------------------*/

#define KIND(name)                                                                                 \
	{                                                                                          \
#name, NULL, kind_##name                                                           \
	}
#define AFTER(first, name)                                                                         \
	{                                                                                          \
#name " after " #first, kind_##first, kind_##name                                  \
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
