// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Changes to what has records of its own beside the service: server ids, limits, source ranges. */
#include <criterion/criterion.h>

#include "kinds_priv.h"

/* ---- QUIC: server ids that come, change hands and go ------------------------------------------*/

EDIT(quic_on)
{
	kinds_service(cfg, "dns")->conf.quic = 1;
	for (unsigned int m = 0; m < 2; m++)
		kinds_service(cfg, "dns")->member[m].conf.server_id = m + 1;
}

EDIT(quic_web)
{
	kinds_service(cfg, "web")->conf.quic = 1;
	for (unsigned int m = 0; m < 3; m++)
		kinds_member(cfg, m)->conf.server_id = 7 * m + 1;
}

EDIT(quic_off)
{
	kinds_service(cfg, "dns")->conf.quic = 0;
}

EDIT(quic_swap)
{
	kinds_service(cfg, "dns")->member[0].conf.server_id = 2;
	kinds_service(cfg, "dns")->member[1].conf.server_id = 1;
}

EDIT(quic_leaves)
{
	struct config_service *dns = kinds_service(cfg, "dns");

	dns->member[0].conf.r.state = POISE_REC_LEAVING;
	dns->member[0].conf.deadline = 1000;
	dns->member[1].conf.server_id = 1;
}

/* ---- limits that come, change and go ----------------------------------------------------------*/

EDIT(limit_some)
{
	kinds_service(cfg, "web")->conf.max_conns = 7;
	kinds_service(cfg, "dns")->member[0].conf.max_conns_set = 1;
	kinds_service(cfg, "dns")->member[0].conf.max_conns = 9;
}

EDIT(limit_others)
{
	kinds_service(cfg, "web")->conf.max_conns = 8;
	kinds_member(cfg, 1)->conf.max_conns_set = 1;
	kinds_service(cfg, "dns")->member[1].conf.max_conns_set = 1;
	kinds_service(cfg, "dns")->member[1].conf.max_conns = 1;
}

EDIT(limit_none)
{
	kinds_service(cfg, "web")->conf.max_conns = 0;
	kinds_service(cfg, "dns")->member[0].conf.max_conns_set = 0;
}

/* ---- source ranges ----------------------------------------------------------------------------*/

void kinds_ranges(struct config_service *svc, const char *allow, const char *deny)
{
	struct poise_error err = {0};

	ranges_free(&svc->allow);
	ranges_free(&svc->deny);
	cr_assert(!allow || !ranges_set(&svc->allow, allow, &err), "%s", err.message);
	cr_assert(!deny || !ranges_set(&svc->deny, deny, &err), "%s", err.message);
}

EDIT(ranges_some)
{
	kinds_ranges(kinds_service(cfg, "web"), "10.1.0.0/16,2001:db8::/32", "10.1.7.0/24");
}

EDIT(ranges_others)
{
	kinds_ranges(kinds_service(cfg, "web"), NULL, "10.1.7.0/24,10.9.0.0/16,2001:db8:bad::/48");
}

/* Other prefixes that come to the same. */
EDIT(ranges_respelt)
{
	kinds_ranges(kinds_service(cfg, "web"), "10.1.0.0/17,10.1.128.0/17,2001:db8::/32",
		     "10.1.7.0/24");
}

EDIT(ranges_none)
{
	kinds_ranges(kinds_service(cfg, "web"), NULL, NULL);
}
