// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise address: list claim release. The commands change the record; what follows for the device is
 * done when the change is committed (settle.c), as for `apply`.
 */
#include <net/if.h>

#include "../loader/net/claim.h"
#include "json.h"
#include "tabular.h"
#include "transact.h"

int cmd_address_claim(struct cli *c)
{
	const char *text = cli_need(c, "ADDR"), *device = text ? cli_need(c, "lo or DEV") : NULL;
	struct config *cfg = device ? cli_begin(c) : NULL;
	struct config_address *a;
	union poise_addr addr;

	if (!cfg || cli_no_more(c))
		return -1;
	if (poise_parse_host(text, &addr, &c->error))
		return poise_error_of(&c->error, "address");
	if (!if_nametoindex(device)) {
		poise_fail(&c->error, POISE_E_NO_DEVICE, "there is no device %s", device);
		poise_error_remedy(&c->error, "ip link shows what there is");
		return poise_error_about(&c->error, "address %s", text);
	}
	a = config_address_at(cfg, &addr);
	if (a && config_address_leaving(a))
		a->conf.r.owner = POISE_OWNER_HAND;
	a = config_address_add(cfg, &addr, &c->error);
	if (!a || config_address_device(a, device, &c->error))
		return -1;
	cli_say(c, "address %s is claimed on %s.", text, device);
	if (a->conf.r.owner == POISE_OWNER_FILE)
		cli_note(c, "the claim comes from a file: poise save --boot keeps a change of it");
	return cli_end(c);
}

int cmd_address_release(struct cli *c)
{
	const char *text = cli_need(c, "ADDR");
	struct config *cfg = text ? cli_begin(c) : NULL;
	struct config_address *a = cfg ? config_address_find(cfg, text, &c->error) : NULL;

	if (!a || cli_no_more(c))
		return -1;
	if (a->conf.r.owner == POISE_OWNER_FILE)
		cli_note(c, "the claim comes from a file: the next apply of it undoes this; "
			    "poise save --boot keeps it");
	cli_say(c, "address %s is no longer claimed on %s.", text, a->conf.device);
	config_address_leave(a);
	return cli_end(c);
}

static const char *state_of(struct net *net, const struct config_address *a)
{
	return config_address_leaving(a) ? "leaving" : net_claim_state(net, a);
}

static void list_json(struct cli *c, struct net *net)
{
	struct json_object *o = json_answer(c), *list = json_object_new_array();
	char text[POISE_ADDR_TEXT];

	for (size_t i = 0; i < c->config->addresses; i++) {
		const struct config_address *a = &c->config->address[i];
		struct json_object *one = json_object_new_object();

		json_add_known(one, "address",
			       poise_format_addr(&a->conf.addr, text, sizeof(text)));
		json_add_known(one, "device", a->conf.device);
		json_add_known(one, "owner", cli_owner(a->conf.r.owner));
		json_add_known(one, "state", state_of(net, a));
		json_object_array_add(list, one);
	}
	json_object_object_add(o, "addresses", list);
	json_print(c, o);
}

static void list_text(struct cli *c, struct net *net)
{
	char text[POISE_ADDR_TEXT];
	struct table t;

	table_start(&t);
	if (!c->args.set[OPT_NO_HEADER])
		table_row(&t, 0, (const char *const[]){"ADDRESS", "DEVICE", "OWNER", "STATE"}, 4);
	for (size_t i = 0; i < c->config->addresses; i++) {
		const struct config_address *a = &c->config->address[i];

		table_row(&t, 0,
			  (const char *const[]){
				  poise_format_addr(&a->conf.addr, text, sizeof(text)),
				  a->conf.device, cli_owner(a->conf.r.owner), state_of(net, a)},
			  4);
	}
	table_print(&t, c->out, c->colour);
}

int cmd_address_list(struct cli *c)
{
	struct net *net = NULL;

	if (cli_no_more(c) || cli_read(c) || net_open(&net, &c->error))
		return -1;
	if (c->json)
		list_json(c, net);
	else
		list_text(c, net);
	net_close(net);
	return CLI_OK;
}
