// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* poise decap attach | detach | show: the backend side, where encapsulated packets are unwrapped.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "attached.h"
#include "json.h"
#include "tabular.h"

#define PORT_KEY "gue-port"

/* What DEV is to strip, as typed; both lists malloc'ed. */
struct wanted {
	union poise_addr *address;
	__u16 *port;
	size_t addresses, ports;
};

static int take_port(struct cli *c, __u16 *port)
{
	const char *word = cli_need(c, "PORT");

	if (!word)
		return -1;
	if (poise_parse_port(word, port, &c->error))
		return poise_error_of(&c->error, PORT_KEY);
	*port = ntohs(*port);
	return *port ? 0 : cli_usage(c, PORT_KEY " 0: balancers send to one port, the service's");
}

static int take_wanted(struct cli *c, struct wanted *w)
{
	size_t most = args_left(&c->args) + 1;
	const char *word;

	*w = (struct wanted){.address = calloc(most, sizeof(*w->address)),
			     .port = calloc(most, sizeof(*w->port))};
	if (!w->address || !w->port)
		abort();
	while ((word = args_take(&c->args))) {
		if (!strcmp(word, PORT_KEY)) {
			if (take_port(c, &w->port[w->ports++]))
				return -1;
		} else if (poise_parse_addr(word, &w->address[w->addresses++], &c->error)) {
			return poise_error_of(&c->error, "virtual address");
		}
	}
	return w->addresses
		       ? 0
		       : cli_usage(c, "ADDR is missing: the service's addresses, as on lo here");
}

int cmd_decap_attach(struct cli *c)
{
	const char *dev = cli_need(c, "DEV");
	struct attach_decap state = {0};
	struct wanted w = {0};
	int status = -1;

	if (!dev || take_wanted(c, &w) ||
	    attach_decap(&c->where, dev,
			 &(struct attach_decap_want){w.address, w.addresses, w.port, w.ports},
			 &state, &c->error))
		goto out;
	cli_say(c, "%s unwraps packets for %zu address%s (%s); what is for others stays as it is.",
		dev, w.addresses, w.addresses == 1 ? "" : "es", state.tc ? "TC" : "XDP");
	if (state.warning[0])
		cli_note(c, "%s: %s", dev, state.warning);
	cli_note(c, "next: poise decap check says what this host lacks to answer directly");
	cli_print_change(c);
	status = CLI_OK;
out:
	attach_decap_free(&state, 1);
	free(w.address);
	free(w.port);
	return status;
}

int cmd_decap_detach(struct cli *c)
{
	const char *dev = cli_need(c, "DEV");

	if (!dev || cli_no_more(c) || attach_decap_detach(&c->where, dev, &c->error))
		return -1;
	cli_say(c, "%s no longer unwraps packets.", dev);
	cli_print_change(c);
	return CLI_OK;
}

static struct json_object *decap_json(const struct attach_decap *d)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	struct json_object *ports = json_object_new_array();
	char text[POISE_ADDR_TEXT];

	json_add_known(o, "device", d->device);
	json_add_known(o, "hook", d->tc ? "tc" : "xdp");
	json_add_known(o, "warning", d->warning);
	json_add_u64(o, "packets_total", d->counts.packets);
	json_add_u64(o, "bytes_total", d->counts.bytes);
	json_add_u64(o, "dropped_ecn_total", d->counts.ecn);
	json_add_u64(o, "dropped_failed_total", d->counts.failed);
	for (size_t i = 0; i < d->addresses; i++)
		json_object_array_add(list, json_object_new_string(poise_format_addr(
						    &d->address[i], text, sizeof(text))));
	json_object_object_add(o, "addresses", list);
	for (size_t i = 0; i < d->ports; i++)
		json_object_array_add(ports, json_object_new_int(d->port[i]));
	json_object_object_add(o, "gue_ports", ports);
	return o;
}

#define COLUMNS 7

/* "6080,6081", or "-". */
static void write_ports(const struct attach_decap *d, char *buf, size_t size)
{
	size_t used = 0;

	snprintf(buf, size, "-");
	for (size_t i = 0; i < d->ports && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%u", i ? "," : "", d->port[i]);
}

static void decap_row(struct table *t, const struct attach_decap *d)
{
	char packets[24], bytes[24], dropped[24], text[POISE_ADDR_TEXT];
	char ports[POISE_DECAP_PORTS * 6 + 1];

	snprintf(packets, sizeof(packets), "%llu", d->counts.packets);
	snprintf(bytes, sizeof(bytes), "%llu", d->counts.bytes);
	snprintf(dropped, sizeof(dropped), "%llu", d->counts.ecn + d->counts.failed);
	write_ports(d, ports, sizeof(ports));
	for (size_t i = 0; i < d->addresses; i++) {
		poise_format_addr(&d->address[i], text, sizeof(text));
		table_row(t, 0,
			  (const char *const[COLUMNS]){i ? "" : d->device,
						       i ? "" : (d->tc ? "tc" : "xdp"),
						       i ? "" : packets, i ? "" : bytes,
						       i ? "" : dropped, i ? "" : ports, text},
			  COLUMNS);
	}
}

static void show_text(struct cli *c, const struct attach_decap *list, int n)
{
	struct table t;

	table_start(&t);
	if (!c->args.set[OPT_NO_HEADER])
		table_row(&t, 0,
			  (const char *const[COLUMNS]){"DEVICE", "HOOK", "PACKETS", "BYTES",
						       "DROPPED", "GUE", "ADDRESSES"},
			  COLUMNS);
	for (int i = 0; i < n; i++)
		decap_row(&t, &list[i]);
	for (unsigned int k = 2; k < 5; k++)
		table_right(&t, 0, k);
	table_print(&t, c->out, c->colour);
	for (int i = 0; i < n; i++) {
		if (list[i].warning[0])
			fprintf(c->out, "  %s: %s\n", list[i].device, list[i].warning);
	}
}

int cmd_decap_show(struct cli *c)
{
	struct attach_decap *list = NULL;
	struct json_object *o, *devices;
	int n;

	if (cli_no_more(c))
		return -1;
	n = attach_decap_list(&c->where, &list, &c->error);
	if (n < 0)
		return -1;
	if (c->json) {
		o = json_answer(c);
		devices = json_object_new_array();
		for (int i = 0; i < n; i++)
			json_object_array_add(devices, decap_json(&list[i]));
		json_object_object_add(o, "devices", devices);
		json_print(c, o);
	} else {
		show_text(c, list, n);
	}
	attach_decap_free(list, (size_t)n);
	free(list);
	return CLI_OK;
}
