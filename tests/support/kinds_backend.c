// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Changes to one backend, and to all of a service. */
#include <stdio.h>

#include "kinds_priv.h"

EDIT(backend_add)
{
	store_add_member(kinds_service(cfg, "web"), "10.0.9.1");
}

EDIT(backend_add_many)
{
	char address[32];

	for (int n = 1; n <= 12; n++) {
		snprintf(address, sizeof(address), "10.0.8.%d", n);
		store_add_member(kinds_service(cfg, "web"), address);
	}
}

EDIT(backend_weight)
{
	kinds_member(cfg, 0)->conf.weight = 9;
}

EDIT(backend_weight_0)
{
	kinds_member(cfg, 0)->conf.weight = 0;
}

EDIT(backend_drain)
{
	kinds_member(cfg, 0)->conf.admin = POISE_DRAINING;
	kinds_member(cfg, 0)->conf.deadline = 12345;
}

EDIT(backend_disable)
{
	kinds_member(cfg, 0)->conf.admin = POISE_DISABLED;
}

EDIT(backend_forward)
{
	kinds_member(cfg, 0)->conf.forward = POISE_L2;
	kinds_member(cfg, 0)->conf.forward_set = 1;
}

EDIT(backend_down)
{
	kinds_member(cfg, 1)->conf.health = POISE_HEALTH_DOWN;
}

EDIT(backend_up)
{
	kinds_member(cfg, 2)->conf.health = POISE_HEALTH_UP;
}

EDIT(backend_sorry)
{
	kinds_member(cfg, 0)->conf.sorry = 1;
}

EDIT(backend_leaves)
{
	kinds_member(cfg, 0)->conf.r.state = POISE_REC_LEAVING;
	kinds_member(cfg, 0)->conf.deadline = 1000;
}

EDIT(backend_del)
{
	config_member_del(kinds_service(cfg, "web"), kinds_member(cfg, 1));
}

EDIT(all_down)
{
	for (unsigned int m = 0; m < 3; m++)
		kinds_member(cfg, m)->conf.health = POISE_HEALTH_DOWN;
}

EDIT(all_disabled)
{
	for (unsigned int m = 0; m < 3; m++)
		kinds_member(cfg, m)->conf.admin = POISE_DISABLED;
}

EDIT(all_del)
{
	while (kinds_service(cfg, "web")->members)
		config_member_del(kinds_service(cfg, "web"), kinds_member(cfg, 0));
}

EDIT(all_up)
{
	for (unsigned int m = 0; m < 3; m++)
		kinds_member(cfg, m)->conf.health = POISE_HEALTH_UP;
}
