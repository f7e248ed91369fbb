// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Recorded flows as words of a command line, as rows and as JSON; see flows.h. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "flows.h"
#include "tabular.h"
#include "../maps/table.h"

#define PARTLY_NAMES 3 /* services named in a line; more are counted */

static const char *const states[] = {
	[POISE_FLOW_FREE] = "free",	    [POISE_FLOW_NEW] = "new",
	[POISE_FLOW_PICKUP] = "pickup",	    [POISE_FLOW_EST] = "established",
	[POISE_FLOW_FIN] = "closing",	    [POISE_FLOW_RST] = "reset",
	[POISE_FLOW_AFFINITY] = "affinity",
};

#define STATES (sizeof(states) / sizeof(states[0]))

/* ---- which flows ------------------------------------------------------------------------------*/

enum filter { BY_STATE, BY_IDLE, BY_SOURCE, FILTERS };

static const char *const filters[] = {"state", "idle", "source"};

/* Or the end. */
static bool is_filter(const char *word)
{
	for (int k = 0; word && k < FILTERS; k++)
		if (!strcmp(word, filters[k]))
			return true;
	return !word;
}

static int take_names(struct cli *c, struct flow_filter *f)
{
	const char *word, *near;

	if (is_filter(args_peek(&c->args)))
		return 0;
	f->service = cli_service(c);
	if (!f->service)
		return -1;
	if (is_filter(args_peek(&c->args)))
		return 0;
	word = args_take(&c->args);
	f->member = config_member_find(f->service, word, &c->error);
	near = f->member ? NULL : poise_closest(word, filters, FILTERS);
	if (near)
		poise_error_remedy(&c->error, "did you mean \"%s\"?", near);
	return f->member ? 0 : -1;
}

static int take_state(struct cli *c, const char *value, struct flow_filter *f)
{
	int k = args_match("state", value, states + 1, STATES - 1, c->abbreviate, &c->error);

	f->state = (unsigned int)k + 1;
	return k < 0 ? -1 : 0;
}

static int take_idle(struct cli *c, const char *value, struct flow_filter *f)
{
	__u64 ms;

	if (poise_parse_duration(value, &ms, &c->error))
		return -1;
	/* No word is older than the largest number of a struct poise_sweep can say. */
	f->idle = ms / 1000 > 0xffff ? 0xffff : (__u32)(ms / 1000);
	return 0;
}

static int take_source(struct cli *c, const char *value, struct flow_filter *f)
{
	f->sourced = true;
	return poise_parse_endpoint(value, &f->source, &f->port, &c->error);
}

static int take_value(struct cli *c, enum filter k, struct flow_filter *f)
{
	static const char *const values[] = {"the state", "the duration of idle",
					     "the address of source"};
	const char *value = cli_need(c, values[k]);

	if (!value)
		return -1;
	switch (k) {
	case BY_STATE: return take_state(c, value, f);
	case BY_IDLE: return take_idle(c, value, f);
	default: return take_source(c, value, f);
	}
}

int flow_filter_take(struct cli *c, struct flow_filter *f, bool source)
{
	const char *word;

	if (take_names(c, f))
		return -1;
	while ((word = args_take(&c->args))) {
		int k = args_match("word", word, filters, source ? FILTERS : BY_SOURCE,
				   c->abbreviate, &c->error);

		if (k < 0 || take_value(c, (enum filter)k, f))
			return -1;
	}
	return 0;
}

bool flow_filter_is_any(const struct flow_filter *f)
{
	return !f->service && !f->state && !f->idle && !f->sourced;
}

/* ---- whose ------------------------------------------------------------------------------------*/

void flow_owners_index(struct flow_owners *o, const struct cli *c)
{
	const struct config *cfg = c->config;

	o->n = c->instance->meta->members;
	o->of = calloc(o->n, sizeof(*o->of));
	if (!o->of)
		abort();
	for (size_t i = 0; i < cfg->services; i++) {
		const struct config_service *svc = cfg->service[i];

		for (size_t k = 0; k < svc->members; k++) {
			if (svc->member[k].id < o->n)
				o->of[svc->member[k].id] =
					(struct flow_owner){svc, &svc->member[k]};
		}
	}
}

void flow_owners_free(struct flow_owners *o)
{
	free(o->of);
	o->of = NULL;
}

struct flow_owner flow_owner_of(const struct flow_owners *o, __u64 word)
{
	__u16 id = POISE_WORD_MEMBER(word);
	__u32 state = POISE_WORD_STATE(word);

	if (id >= o->n || !state || state >= STATES)
		return (struct flow_owner){0};
	return o->of[id];
}

/* ---- rows -------------------------------------------------------------------------------------*/

static int wider(int width, const char *text)
{
	int w = (int)text_width(text);

	return w > width ? w : width;
}

void flow_columns_measure(struct flow_columns *w, const struct cli *c,
			  const struct config_service *of)
{
	w->service = wider(0, "SERVICE");
	w->backend = wider(0, "BACKEND");
	for (size_t i = 0; i < c->config->services; i++) {
		const struct config_service *svc = c->config->service[i];

		if (of && svc != of)
			continue;
		w->service = wider(w->service, svc->conf.name);
		for (size_t k = 0; k < svc->members; k++) {
			char name[POISE_NAME_MAX];

			w->backend = wider(w->backend, cli_member_name(&svc->member[k], name));
		}
	}
}

static void print_row(const struct cli *c, const struct flow_columns *w, const char *before,
		      const char *const cell[6])
{
	/* names are plain ASCII: a byte is a column */
	fprintf(c->out, "%s%-*s  %-*s  %-8s  %-11s  %7s%s%s\n", before, w->service, cell[0],
		w->backend, cell[1], cell[2], cell[3], cell[4], *cell[5] ? "  " : "", cell[5]);
}

void flow_print_header(const struct cli *c, const struct flow_columns *w, const char *before,
		       const char *after)
{
	print_row(c, w, before,
		  (const char *const[]){"SERVICE", "BACKEND", "PROTOCOL", "STATE", "IDLE", after});
}

static const char *protocol(__u64 word)
{
	return POISE_WORD_TAG(word) & POISE_TAG_UDP ? "udp" : "tcp";
}

void flow_print(const struct cli *c, const struct flow_columns *w, const char *before,
		const struct flow_owner *owner, __u64 word, __u32 idle, const char *after)
{
	char name[POISE_NAME_MAX], age[POISE_WORD_TEXT];

	print_row(c, w, before,
		  (const char *const[]){owner->service->conf.name,
					cli_member_name(owner->member, name), protocol(word),
					states[POISE_WORD_STATE(word)],
					poise_format_age(idle, age, sizeof(age)), after});
}

char *flow_tuple(const struct cli *c, __u32 slot, char buf[FLOW_TUPLE_TEXT])
{
	const struct poise_slot *s;
	char client[POISE_ENDPOINT_TEXT], address[POISE_ENDPOINT_TEXT], source[POISE_ENDPOINT_TEXT];
	union poise_addr from;
	__u16 port;

	buf[0] = '\0';
	if (!slot)
		return buf;
	s = instance_slots(c->instance, slot, 1);
	port = instance_slot_source(c->instance, slot, &from);
	snprintf(buf, FLOW_TUPLE_TEXT, "%s > %s by %s",
		 poise_format_endpoint(&s->client, (__u16)s->ports, client, sizeof(client)),
		 poise_format_endpoint(&s->address, (__u16)(s->ports >> 16), address,
				       sizeof(address)),
		 poise_format_endpoint(&from, port, source, sizeof(source)));
	return buf;
}

void flow_source_json(const struct cli *c, __u32 slot, struct json_object *o)
{
	char text[POISE_ENDPOINT_TEXT];
	union poise_addr from;
	__u16 port;

	if (!slot)
		return;
	port = instance_slot_source(c->instance, slot, &from);
	json_add_known(o, "source", poise_format_endpoint(&from, port, text, sizeof(text)));
}

void flow_tuple_json(const struct cli *c, __u32 slot, struct json_object *o)
{
	char text[POISE_ENDPOINT_TEXT];
	const struct poise_slot *s;

	if (!slot)
		return;
	s = instance_slots(c->instance, slot, 1);
	json_add_known(o, "client",
		       poise_format_endpoint(&s->client, (__u16)s->ports, text, sizeof(text)));
	json_add_known(
		o, "address",
		poise_format_endpoint(&s->address, (__u16)(s->ports >> 16), text, sizeof(text)));
	flow_source_json(c, slot, o);
}

void flow_json(struct json_object *o, const struct flow_owner *owner, __u64 word, __u32 idle)
{
	char name[POISE_NAME_MAX];

	json_add_known(o, "service", owner->service->conf.name);
	json_add_known(o, "backend", cli_member_name(owner->member, name));
	json_add_known(o, "protocol", protocol(word));
	json_add_known(o, "state", states[POISE_WORD_STATE(word)]);
	json_add_u64(o, "idle_seconds", idle);
}

/* ---- what is not recorded ---------------------------------------------------------------------*/

static void say_partly_json(const struct cli *c, const struct config_service *of,
			    struct json_object *o)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < c->config->services; i++) {
		const struct config_service *svc = c->config->service[i];

		if ((!of || svc == of) && !cli_flows_known(svc))
			json_object_array_add(list, json_object_new_string(svc->conf.name));
	}
	json_object_object_add(o, "recorded_in_part", list);
}

void flow_say_partly(const struct cli *c, const struct config_service *of, struct json_object *o)
{
	char names[PARTLY_NAMES * (POISE_NAME_MAX + 2)] = "";
	size_t n = 0;

	if (o) {
		say_partly_json(c, of, o);
		return;
	}
	for (size_t i = 0; i < c->config->services; i++) {
		const struct config_service *svc = c->config->service[i];

		if ((of && svc != of) || cli_flows_known(svc))
			continue;
		if (n++ < PARTLY_NAMES)
			strcat(strcat(names, n > 1 ? ", " : ""), svc->conf.name);
	}
	if (!n || c->quiet)
		return;
	fprintf(c->err, "not every flow is recorded: %s", names);
	if (n > PARTLY_NAMES)
		fprintf(c->err, " and %zu more services", n - PARTLY_NAMES);
	fprintf(c->err, " (track auto or off; track always records all)\n");
}
