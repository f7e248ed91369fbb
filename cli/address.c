// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise address: list claim set release. The commands change the record; what follows for the
 * device is done when the change is committed (settle.c), as for `apply`.
 */
#include <net/if.h>
#include <string.h>

#include "../loader/net/gate.h"
#include "../maps/clock.h"
#include "json.h"
#include "show.h"
#include "tabular.h"
#include "transact.h"

static int about(struct cli *c, const char *text)
{
	return c->error.code == POISE_E_USAGE ? -1
					      : poise_error_about(&c->error, "address %s", text);
}

static void note_owner(struct cli *c, const struct config_address *a)
{
	if (a->conf.r.owner == POISE_OWNER_FILE)
		cli_note(c, "the address comes from a file: the next apply of it undoes this; "
			    "poise save --boot keeps it");
}

int cmd_address_claim(struct cli *c)
{
	const char *text = cli_need(c, "ADDR"), *device = text ? cli_need(c, "lo or DEV") : NULL;
	struct config *cfg = device ? cli_begin(c) : NULL;
	struct config_address *a;
	union poise_addr addr;

	if (!cfg)
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
	if (cli_keys(c, OPTION_ADDRESS, &a->conf, false))
		return about(c, text);
	cli_say(c, "address %s is claimed on %s.", text, device);
	note_owner(c, a);
	return cli_end(c);
}

/* Claimed, or an address that packets for a service come to without being on a device here. */
static struct config_address *find_or_add(struct cli *c, struct config *cfg, const char *text)
{
	struct config_address *a;
	union poise_addr addr;

	if (poise_parse_host(text, &addr, &c->error)) {
		poise_error_of(&c->error, "address");
		return NULL;
	}
	a = config_address_at(cfg, &addr);
	if (a && !config_address_leaving(a))
		return a;
	if (config_address_serves(cfg, &addr)) {
		a = config_address_add(cfg, &addr, &c->error);
		return a && !config_address_device(a, "", &c->error) ? a : NULL;
	}
	poise_fail(&c->error, POISE_E_NOT_FOUND, "is not claimed, and no service listens on it");
	poise_error_remedy(&c->error, "poise address list and poise service list show addresses");
	about(c, text);
	return NULL;
}

/* Whether one of the pairs from word `first` on is about what a claim alone does. */
static bool sets_announcing(const struct cli *c, size_t first)
{
	for (size_t at = first; at < c->args.next; at += 2) {
		const struct option *o = cli_key(c, OPTION_ADDRESS, c->args.word[at]);

		if (o && !strcmp(o->key, "announce"))
			return true;
	}
	return false;
}

int cmd_address_set(struct cli *c)
{
	const char *text = cli_need(c, "ADDR");
	struct config *cfg = text ? cli_begin(c) : NULL;
	struct config_address *a = cfg ? find_or_add(c, cfg, text) : NULL;
	size_t first = c->args.next, pairs = args_left(&c->args) / 2;
	char now[160];

	if (!a)
		return -1;
	if (cli_keys(c, OPTION_ADDRESS, &a->conf, true))
		return about(c, text);
	if (pairs == 1)
		cli_say(c, "address %s: %s.", text,
			cli_now_is(c, OPTION_ADDRESS, c->args.word[first], &a->conf, now,
				   sizeof(now)));
	else
		cli_say(c, "address %s: %zu keys set.", text, pairs);
	note_owner(c, a);
	if (!a->conf.device[0] && sets_announcing(c, first))
		cli_note(c,
			 "%s is not claimed: announce means nothing before "
			 "poise address claim %s lo|DEV",
			 text, text);
	if (!config_address_says(a))
		config_address_leave(a);
	return cli_end(c);
}

int cmd_address_release(struct cli *c)
{
	const char *text = cli_need(c, "ADDR");
	struct config *cfg = text ? cli_begin(c) : NULL;
	struct config_address *a = cfg ? config_address_find(cfg, text, &c->error) : NULL;

	if (!a || cli_no_more(c))
		return -1;
	note_owner(c, a);
	if (a->conf.device[0])
		cli_say(c, "address %s is no longer claimed on %s.", text, a->conf.device);
	else
		cli_say(c, "address %s: every key is at its default again.", text);
	config_address_leave(a);
	return cli_end(c);
}

static const char *state_of(struct net *net, const struct config_address *a)
{
	const char *state;

	if (config_address_leaving(a))
		return "leaving";
	if (!a->conf.device[0])
		return "unclaimed";
	state = net_claim_state(net, a);
	return config_address_withdrawn(a) && !strcmp(state, "absent") ? "withdrawn" : state;
}

/* With why, if it is withdrawn, and since when. */
static const char *state_words(struct net *net, const struct config_address *a, char *buf,
			       size_t size)
{
	const char *state = state_of(net, a), *why = config_address_why_word(a->conf.announced);
	bool withdrawn = !strcmp(state, "withdrawn");

	snprintf(buf, size, "%s%s%s", state, withdrawn ? " " : "", withdrawn ? why : "");
	return buf;
}

static const char *since(const struct config_address *a, char *buf, size_t size)
{
	__u64 at = a->conf.device[0] ? a->conf.announced_since : 0, now = cli_now();

	return at ? poise_format_age(now > at ? (now - at) / NS_PER_S : 0, buf, size) : "-";
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
		json_add_known(one, "why", config_address_why_word(a->conf.announced));
		json_add_time(one, "since", a->conf.device[0] ? a->conf.announced_since : 0);
		json_options(one, OPTION_ADDRESS, &a->conf);
		json_object_array_add(list, one);
	}
	json_object_object_add(o, "addresses", list);
	json_print(c, o);
}

/* Keys that are not at their default. */
static const char *keys_of(const struct config_address *a, char *buf, size_t size)
{
	char text[OPTION_TEXT];
	size_t used = 0;

	snprintf(buf, size, "-");
	for (const struct option *o = option_first(OPTION_ADDRESS); o && used < size;
	     o = option_next(o))
		if (!option_is_default(o, &a->conf))
			used += (size_t)snprintf(buf + used, size - used, "%s%s %s",
						 used ? " " : "", o->key,
						 option_format(o, &a->conf, text, sizeof(text)));
	return buf;
}

static void list_text(struct cli *c, struct net *net)
{
	char text[POISE_ADDR_TEXT], state[32], age[32], keys[160];
	struct table t;

	table_start(&t);
	if (!c->args.set[OPT_NO_HEADER])
		table_row(&t, 0,
			  (const char *const[]){"ADDRESS", "DEVICE", "OWNER", "STATE", "SINCE",
						"KEYS"},
			  6);
	for (size_t i = 0; i < c->config->addresses; i++) {
		const struct config_address *a = &c->config->address[i];

		table_row(&t, 0,
			  (const char *const[]){
				  poise_format_addr(&a->conf.addr, text, sizeof(text)),
				  a->conf.device[0] ? a->conf.device : "-",
				  cli_owner(a->conf.r.owner),
				  state_words(net, a, state, sizeof(state)),
				  since(a, age, sizeof(age)), keys_of(a, keys, sizeof(keys))},
			  6);
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
