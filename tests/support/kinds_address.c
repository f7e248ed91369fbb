// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Changes to addresses: claimed, told something, found to be the host's own. */
#include <criterion/criterion.h>

#include "kinds_priv.h"
#include "maps/text.h"

struct config_address *kinds_claim(struct config *cfg, const char *text, const char *device)
{
	struct poise_error err = {0};
	struct config_address *a;
	union poise_addr addr;

	cr_assert_eq(poise_parse_host(text, &addr, &err), 0, "%s", text);
	a = config_address_add(cfg, &addr, &err);
	cr_assert(a && !config_address_device(a, device, &err), "%s: %s", text, err.message);
	return a;
}

EDIT(address_claim)
{
	kinds_claim(cfg, "192.0.2.0", "lo"); /* sorted before the others */
}

EDIT(address_put)
{
	for (size_t a = 0; a < cfg->addresses; a++)
		cfg->address[a].conf.put = POISE_PUT_MARKED;
}

EDIT(address_moves)
{
	kinds_claim(cfg, "192.0.2.1", "e1");
}

EDIT(address_leaves)
{
	config_address_leave(&cfg->address[0]);
}

/* Keys of one that is claimed, and of one that is not. */
EDIT(address_set)
{
	cfg->address[0].conf.ping = POISE_PING_NO;
	cfg->address[0].conf.announced = POISE_WITHDRAWN_NO_BACKEND;
	kinds_claim(cfg, "192.0.2.9", "")->conf.other_ports = POISE_OTHER_PASS;
}

/* Claimed for nobody, and already known to be no other's. */
EDIT(address_known)
{
	kinds_claim(cfg, "192.0.2.9", "lo")->conf.own = POISE_OWN_NOT;
}

EDIT(address_usable)
{
	cfg->address[0].conf.ping = POISE_PING_USABLE;
}

/* Somebody puts one on a device, the other is found to be nobody's. */
EDIT(own_changes)
{
	kinds_service(cfg, "web")->conf.listener[0].own = POISE_OWN_HOST;
	kinds_service(cfg, "dns")->conf.listener[0].own = POISE_OWN_NOT;
}

/* The slot of the one that goes is had by the one that comes. */
EDIT(address_replace)
{
	config_address_del(cfg, &cfg->address[0]);
	kinds_claim(cfg, "192.0.2.7", "lo");
}
