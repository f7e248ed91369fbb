// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise flows client ADDR [SERVICE]: where a client's connections are. Words hold no addresses, so
 * the client's ports are tried with each listener, by the datapath's own hash.
 */
#include <arpa/inet.h>
#include <string.h>

#include "flows.h"

#define CLIENT_COLUMN 24 /* "[" address "]:65535" of IPv6 is longer; then the row is, too */

struct client {
	struct cli *c;
	union poise_addr addr;
	const struct config_service *service; /* NULL: all */
	struct poise_listener_conf only;      /* if `only_one`: this listener, or port of one */
	bool only_one;
	/* in hand */
	const struct config_service *svc;
	const struct poise_listener_conf *l;
	struct flow_owners owners;
	struct flow_columns columns;
	__u32 now;
	__u64 count;
};

static char *listener_text(const struct client *s, __u16 port, char buf[POISE_ENDPOINT_TEXT])
{
	struct poise_listener_conf l = *s->l;

	l.port = port;
	return poise_format_listener(&l, buf, POISE_ENDPOINT_TEXT);
}

static void print_json(const struct client *s, const struct instance_client_flow *flow,
		       const struct flow_owner *owner, __u32 idle)
{
	struct json_object *o = json_object_new_object();
	char text[POISE_ENDPOINT_TEXT];

	json_add_u64(o, "client_port", ntohs(flow->client_port));
	json_add_known(o, "listener", listener_text(s, flow->port, text));
	flow_json(o, owner, flow->word, idle);
	flow_source_json(s->c, flow->slot, o);
	json_item(s->c, s->count, o);
}

static void print_text(const struct client *s, const struct instance_client_flow *flow,
		       const struct flow_owner *owner, __u32 idle)
{
	char client[POISE_ENDPOINT_TEXT], listener[POISE_ENDPOINT_TEXT];
	char before[2 * POISE_ENDPOINT_TEXT + 8], tuple[FLOW_TUPLE_TEXT];
	const char *by;

	poise_format_endpoint(&s->addr, flow->client_port, client, sizeof(client));
	snprintf(before, sizeof(before), "%-*s  %-*s  ", CLIENT_COLUMN, client, CLIENT_COLUMN,
		 listener_text(s, flow->port, listener));
	by = strstr(flow_tuple(s->c, flow->slot, tuple), "by ");
	flow_print(s->c, &s->columns, before, owner, flow->word, idle, by ?: "");
}

static bool one_flow(void *ctx, const struct instance_client_flow *flow)
{
	struct client *s = ctx;
	struct flow_owner owner = flow_owner_of(&s->owners, flow->word);
	__u32 idle = instance_word_age(flow->word, s->now);
	struct poise_listener_conf exact = *s->l;

	exact.port = flow->port;
	/* a port with a listener of its own is that one's to show */
	if (!owner.member || (!s->l->port && config_listener_at(s->svc, &exact) >= 0))
		return true;
	if (s->c->json)
		print_json(s, flow, &owner, idle);
	else
		print_text(s, flow, &owner, idle);
	s->count++;
	return !ferror(s->c->out);
}

static int search(struct client *s, const struct config_service *svc,
		  const struct poise_listener_conf *l)
{
	char text[POISE_ENDPOINT_TEXT], addr[POISE_ADDR_TEXT];

	if (poise_addr_is4(&l->addr) != poise_addr_is4(&s->addr))
		return 0;
	s->svc = svc;
	s->l = l;
	if (!instance_client_flows(s->c->instance, &s->addr, l, svc->id, one_flow, s, &s->c->error))
		return 0;
	poise_error_about(&s->c->error, "listener %s", listener_text(s, l->port, text));
	return poise_error_remedy(&s->c->error, "say the port: poise flows client %s %s:PORT%s",
				  poise_format_addr(&s->addr, addr, sizeof(addr)),
				  poise_format_endpoint(&l->addr, 0, text, sizeof(text)),
				  l->proto == IPPROTO_UDP ? "/udp" : "");
}

/* Every listener that is asked for; one that cannot be searched keeps none of the others from it,
 * and is the error. */
static int search_all(struct client *s)
{
	int rc = 0;

	if (s->only_one)
		return search(s, s->service, &s->only);
	for (size_t i = 0; i < s->c->config->services; i++) {
		const struct config_service *svc = s->c->config->service[i];

		for (unsigned int k = 0; k < svc->conf.listeners; k++) {
			if (!s->service || svc == s->service)
				rc |= search(s, svc, &svc->conf.listener[k]);
		}
	}
	return rc;
}

static int search_json(struct client *s)
{
	struct json_object *o = json_answer(s->c);
	char text[POISE_ADDR_TEXT];
	int rc;

	json_add_known(o, "client", poise_format_addr(&s->addr, text, sizeof(text)));
	flow_say_partly(s->c, s->service, o);
	json_begin(s->c, o, "flows");
	rc = search_all(s);
	json_end(s->c);
	return rc;
}

static int search_text(struct client *s)
{
	char before[2 * CLIENT_COLUMN + 8];
	int rc;

	flow_columns_measure(&s->columns, s->c, s->service);
	snprintf(before, sizeof(before), "%-*s  %-*s  ", CLIENT_COLUMN, "CLIENT", CLIENT_COLUMN,
		 "LISTENER");
	if (!s->c->args.set[OPT_NO_HEADER])
		flow_print_header(s->c, &s->columns, before, "");
	rc = search_all(s);
	flow_say_partly(s->c, s->service, NULL);
	return rc;
}

/* SERVICE by its name: all its listeners; by a listener: that one, or that port of a listener of
 * every port. */
static int take_service(struct client *s)
{
	const char *word = args_peek(&s->c->args);
	struct poise_listener_conf any;
	char text[POISE_ENDPOINT_TEXT];

	if (!word)
		return 0;
	if (!config_service_named(s->c->config, word) &&
	    !poise_parse_listener(word, &s->only, NULL)) {
		any = s->only;
		any.port = 0;
		s->only_one = true;
		poise_format_listener(&any, text, sizeof(text));
		s->service = config_service_find(s->c->config, word, NULL)
				     ?: config_service_find(s->c->config, text, NULL);
	}
	if (s->service) {
		args_take(&s->c->args);
		return 0;
	}
	s->service = cli_service(s->c);
	return s->service ? 0 : -1;
}

int cmd_flows_client(struct cli *c)
{
	struct client s = {.c = c};
	const char *word = cli_need(c, "ADDR");
	int rc;

	if (!word)
		return -1;
	if (poise_parse_host(word, &s.addr, &c->error))
		return poise_error_of(&c->error, "client");
	if (cli_read(c) || take_service(&s) || cli_no_more(c))
		return -1;
	s.now = instance_stamp_now(c->instance);
	flow_owners_index(&s.owners, c);
	rc = c->json ? search_json(&s) : search_text(&s);
	flow_owners_free(&s.owners);
	return rc ? -1 : CLI_OK;
}
