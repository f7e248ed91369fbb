// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Changes to a service: that it comes and goes, where it listens, how it chooses and forwards. */
#include <criterion/criterion.h>

#include "kinds_priv.h"
#include "maps/text.h"

static void unlisten(struct config_service *svc, const char *listener)
{
	struct poise_listener_conf l = {0};
	struct poise_error err;

	cr_assert_eq(poise_parse_listener(listener, &l, &err), 0);
	cr_assert_eq(config_unlisten(svc, &l, &err), 0);
}

EDIT(service_add)
{
	store_add_service(cfg, "mail", 3, 20, 2)->conf.table_size = KINDS_TABLE;
}

EDIT(service_del)
{
	config_service_del(cfg, kinds_service(cfg, "dns"));
}

EDIT(service_rename)
{
	struct poise_error err;

	cr_assert_eq(config_service_rename(cfg, kinds_service(cfg, "dns"), "names", &err), 0);
}

/* Another service takes the name, the listener and the backends of one that goes. */
EDIT(service_replace)
{
	config_service_del(cfg, kinds_service(cfg, "web"));
	store_add_service(cfg, "web", 1, 0, 4)->conf.table_size = KINDS_TABLE;
}

EDIT(listen_more)
{
	store_listen(cfg, kinds_service(cfg, "web"), "192.0.2.9:0");
	store_listen(cfg, kinds_service(cfg, "web"), "192.0.2.9:8080");
}

EDIT(listen_less)
{
	unlisten(kinds_service(cfg, "web"), "[2001:db8::1]:443");
	unlisten(kinds_service(cfg, "dns"), "192.0.2.2:0/udp");
}

EDIT(listener_moves)
{
	unlisten(kinds_service(cfg, "web"), "[2001:db8::1]:443");
	store_listen(cfg, kinds_service(cfg, "dns"), "[2001:db8::1]:443");
}

EDIT(set_policy)
{
	kinds_service(cfg, "web")->conf.policy = POISE_SOURCE_HASH;
}

EDIT(set_table_size)
{
	kinds_service(cfg, "web")->conf.table_size = 2 * KINDS_TABLE + 1;
}

EDIT(set_timers)
{
	kinds_service(cfg, "web")->conf.idle = 60000;
	kinds_service(cfg, "web")->conf.track = POISE_TRACK_ALWAYS;
}

EDIT(set_forward)
{
	kinds_service(cfg, "web")->conf.forward = POISE_L2;
	kinds_service(cfg, "dns")->conf.entropy = 1;
}

EDIT(set_gue)
{
	kinds_service(cfg, "web")->conf.forward = POISE_GUE;
	kinds_service(cfg, "web")->conf.gue_port = 7000;
	kinds_service(cfg, "dns")->conf.gue_checksum = 1;
}

EDIT(set_refuse)
{
	kinds_service(cfg, "web")->conf.on_none_up = POISE_NONE_UP_REFUSE;
	kinds_service(cfg, "web")->conf.on_nobody = POISE_NOBODY_DROP;
}

EDIT(set_panic)
{
	kinds_service(cfg, "web")->conf.panic = 100;
}

EDIT(set_on_down)
{
	kinds_service(cfg, "web")->conf.on_down = POISE_ON_DOWN_RESET;
	kinds_service(cfg, "web")->conf.on_down_udp = POISE_UDP_KEEP;
}

EDIT(table_size_back)
{
	kinds_service(cfg, "web")->conf.table_size = KINDS_TABLE;
}
