// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* poise service: add set listen unlisten rename drain del list */
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "json.h"
#include "show.h"
#include "tabular.h"
#include "transact.h"

/* What is not a listener there is a KEY: only listeners have : or [ or begin with a digit. */
static bool looks_like_listener(const char *word)
{
	return word && (strpbrk(word, ":[") || (*word >= '0' && *word <= '9'));
}

static int about(struct cli *c, const struct config_service *svc)
{
	return poise_error_about(&c->error, "service \"%s\"", svc->conf.name);
}

static int take_listeners(struct cli *c, struct config_service *svc)
{
	struct poise_listener_conf l;
	size_t n = 0;

	while (looks_like_listener(args_peek(&c->args))) {
		if (poise_parse_listener(args_take(&c->args), &l, &c->error))
			return about(c, svc);
		if (config_listen(c->config, svc, &l, &c->error))
			return -1;
		n++;
	}
	return n ? (int)n : cli_usage(c, "LISTENER is missing (ADDR:PORT[/tcp|/udp])");
}

int cmd_service_add(struct cli *c)
{
	const char *name = cli_need(c, "NAME");
	struct config *cfg = name ? cli_begin(c) : NULL;
	struct config_service *svc;
	char policy[32], mode[32];
	int n;

	if (!cfg)
		return -1;
	svc = config_service_add(cfg, name, POISE_OWNER_HAND, &c->error);
	if (!svc)
		return -1;
	svc->line = c->line;
	n = take_listeners(c, svc);
	if (n < 0)
		return -1;
	if (cli_keys(c, OPTION_SERVICE, svc, false))
		return c->error.code == POISE_E_USAGE ? -1 : about(c, svc);
	cli_say(c, "service %s added: %d listener%s, policy %s, forward %s; no flow is touched.",
		name, n, n == 1 ? "" : "s",
		cli_word(OPTION_SERVICE, "policy", svc, policy, sizeof(policy)),
		cli_word(OPTION_SERVICE, "forward", svc, mode, sizeof(mode)));
	cli_note(c, "next: poise backend add %s ADDR[:PORT]...", name);
	cli_note_addresses(c, svc);
	cli_note_files(c, svc);
	return cli_end(c);
}

/* Source ranges hold for established flows too: whether one of the pairs from word `first` on sets
 * them. */
static bool names_ranges(const struct cli *c, size_t first, size_t pairs)
{
	for (size_t n = 0; n < pairs; n++) {
		const struct option *o = cli_key(c, OPTION_SERVICE, c->args.word[first + 2 * n]);

		if (o && o->type == OPTION_RANGES)
			return true;
	}
	return false;
}

/* What a change of keys, the pairs from word `first` on, means for flows that there are. */
static const char *effect_of(const struct cli *c, const struct config_service *svc, __u8 track,
			     size_t first, size_t pairs)
{
	if (svc->conf.track == POISE_TRACK_OFF && track != POISE_TRACK_OFF)
		return "from now on every packet goes by the table: flows recorded with another "
		       "backend than it gives them are cut";
	for (size_t m = 0; m < svc->members; m++)
		if (cli_cuts(c, svc, &svc->member[m]))
			return CLI_CUTS;
	if (names_ranges(c, first, pairs))
		return pairs == 1 ? "this holds from the next packet on"
				  : "who may come holds from the next packet on";
	return "established flows stay where they are";
}

int cmd_service_set(struct cli *c)
{
	struct config *cfg = cli_begin(c);
	struct config_service *svc = cfg ? cli_service(c) : NULL;
	size_t first = c->args.next, pairs = args_left(&c->args) / 2;
	const char *effect;
	char text[160];
	__u8 track;

	if (!svc)
		return -1;
	track = svc->conf.track;
	if (cli_keys(c, OPTION_SERVICE, svc, true))
		return c->error.code == POISE_E_USAGE ? -1 : about(c, svc);
	effect = effect_of(c, svc, track, first, pairs);
	if (pairs == 1)
		cli_say(c, "service %s: %s; %s.", svc->conf.name,
			cli_now_is(c, OPTION_SERVICE, c->args.word[first], svc, text, sizeof(text)),
			effect);
	else
		cli_say(c, "service %s: %zu keys set; %s.", svc->conf.name, pairs, effect);
	cli_note_files(c, svc);
	cli_note_owner(c, svc);
	return cli_end(c);
}

int cmd_service_listen(struct cli *c)
{
	struct config *cfg = cli_begin(c);
	struct config_service *svc = cfg ? cli_service(c) : NULL;
	int n;

	if (!svc)
		return -1;
	n = take_listeners(c, svc);
	if (n < 0 || cli_no_more(c))
		return -1;
	cli_say(c, "service %s listens on %d more (%u in all); no flow is touched.", svc->conf.name,
		n, svc->conf.listeners);
	cli_note_addresses(c, svc);
	cli_note_added(c, svc);
	return cli_end(c);
}

static bool file_listens(const struct config_service *svc, const struct poise_listener_conf *l)
{
	int at = config_listener_at(svc, l);

	return at >= 0 && svc->conf.listener[at].owner == POISE_OWNER_FILE;
}

int cmd_service_unlisten(struct cli *c)
{
	struct config *cfg = cli_begin(c);
	struct config_service *svc = cfg ? cli_service(c) : NULL;
	struct poise_listener_conf l;
	bool of_file = false;
	const char *word;
	int n = 0;

	if (!svc)
		return -1;
	while ((word = args_take(&c->args))) {
		if (poise_parse_listener(word, &l, &c->error))
			return about(c, svc);
		of_file |= file_listens(svc, &l);
		if (config_unlisten(svc, &l, &c->error))
			return -1;
		n++;
	}
	if (!n)
		return cli_usage(c, "LISTENER is missing");
	cli_say(c,
		"service %s no longer listens on %d (%u left); flows through %s are no longer "
		"balanced.",
		svc->conf.name, n, svc->conf.listeners, n == 1 ? "it" : "them");
	if (of_file)
		cli_note_owner(c, svc);
	return cli_end(c);
}

int cmd_service_rename(struct cli *c)
{
	struct config *cfg = cli_begin(c);
	struct config_service *svc = cfg ? cli_service(c) : NULL;
	const char *name = svc ? cli_need(c, "NEW") : NULL;
	char old[POISE_NAME_MAX];

	if (!name || cli_no_more(c))
		return -1;
	memcpy(old, svc->conf.name, sizeof(old));
	if (config_service_rename(cfg, svc, name, &c->error))
		return -1;
	cli_say(c, "service %s is now named %s.", old, name);
	cli_note_owner(c, svc);
	return cli_end(c);
}

int cmd_service_drain(struct cli *c)
{
	struct config *cfg = cli_begin_service(c);
	struct config_service *svc = cfg ? cli_service(c) : NULL;
	struct backend_set set = {0};
	int status;

	if (!svc)
		return -1;
	for (size_t i = 0; i < svc->members; i++) {
		if (!config_member_leaving(&svc->member[i]))
			backend_set_add(&set, svc, &svc->member[i]);
	}
	status = backend_drain(c, &set);
	backend_set_free(&set);
	return status;
}

/* Deleting a service that works is refused: what is lost, in flows if they are counted, else in
 * packets per second if somebody measures them. */
static int refuse_live(struct cli *c, const struct config_service *svc)
{
	__u64 flows = cli_service_flows(c, svc);
	double packets = 0;

	for (size_t i = 0; i < svc->members; i++) {
		struct instance_stats s;

		instance_member_stats(c->instance, svc->member[i].id, &s);
		packets += s.has_rates ? s.packets_rate[0] : 0;
	}
	if (flows)
		poise_fail(&c->error, POISE_E_IN_USE, "%llu live flow%s", flows,
			   flows == 1 ? "" : "s");
	else if (packets >= 1)
		poise_fail(&c->error, POISE_E_IN_USE, "%.0f packets per second arrive", packets);
	else
		return 0;
	poise_error_remedy(&c->error, "poise service drain %s first, or --now to cut them",
			   svc->conf.name);
	return about(c, svc);
}

int cmd_service_del(struct cli *c)
{
	struct config *cfg = cli_begin(c);
	struct config_service *svc = cfg ? cli_service(c) : NULL;
	char name[POISE_NAME_MAX], flows[64];
	size_t members;

	if (!svc || cli_no_more(c))
		return -1;
	if (!c->args.set[OPT_NOW] && refuse_live(c, svc))
		return -1;
	cli_flows_text(cli_flows_known(svc), cli_service_flows(c, svc), flows, sizeof(flows));
	members = svc->members;
	memcpy(name, svc->conf.name, sizeof(name));
	cli_note_owner(c, svc);
	config_service_del(cfg, svc);
	cli_say(c, "service %s deleted with %zu backend%s; %s are cut.", name, members,
		members == 1 ? "" : "s", members ? flows : "no flows");
	return cli_end(c);
}

static void list_json(struct cli *c)
{
	struct json_object *o = json_answer(c), *list = json_object_new_array();

	for (size_t i = 0; i < c->config->services; i++) {
		const struct config_service *svc = c->config->service[i];
		struct json_object *s = json_object_new_object();

		json_add_known(s, "name", svc->conf.name);
		json_add_known(s, "owner", cli_owner(svc->conf.r.owner));
		json_object_object_add(s, "listeners", json_listeners(svc));
		json_add_u64(s, "backends_configured", svc->members);
		json_object_array_add(list, s);
	}
	json_object_object_add(o, "services", list);
	json_print(c, o);
}

int cmd_service_list(struct cli *c)
{
	struct table t;

	if (cli_no_more(c) || cli_read(c))
		return -1;
	if (c->json) {
		list_json(c);
		return CLI_OK;
	}
	table_start(&t);
	if (!c->args.set[OPT_NO_HEADER])
		table_row(&t, 0, (const char *const[]){"SERVICE", "OWNER", "BACKENDS", "LISTENERS"},
			  4);
	for (size_t i = 0; i < c->config->services; i++) {
		const struct config_service *svc = c->config->service[i];
		char backends[16], *listeners = cli_listeners(svc, 0);

		snprintf(backends, sizeof(backends), "%zu", svc->members);
		table_row(&t, 0,
			  (const char *const[]){svc->conf.name, cli_owner(svc->conf.r.owner),
						backends, listeners},
			  4);
		free(listeners);
	}
	table_right(&t, 0, 2);
	table_print(&t, c->out, c->colour);
	return CLI_OK;
}
