// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise flows [SERVICE [BACKEND]] [state S] [idle 5m] [source ADDR] [--count]: the flow words,
 * filtered. A word holds no address: it says service, backend, protocol, state and for how long it
 * has been silent. Of modes nat and local the addresses are known too.
 */
#include <string.h>

#include "flows.h"
#include "../maps/table.h"

struct listing {
	const struct cli *c;
	struct flow_filter filter;
	struct flow_owners owners;
	struct flow_columns columns;
	__u32 now;
	__u64 count;
};

static void print_one(const struct listing *l, const struct flow_owner *owner, __u64 word,
		      __u32 idle, __u32 slot)
{
	char tuple[FLOW_TUPLE_TEXT];
	struct json_object *o;

	if (!l->c->json) {
		flow_print(l->c, &l->columns, "", owner, word, idle, flow_tuple(l->c, slot, tuple));
		return;
	}
	o = json_object_new_object();
	flow_json(o, owner, word, idle);
	flow_tuple_json(l->c, slot, o);
	json_item(l->c, l->count, o);
}

/* Of a flow whose addresses are not known it cannot be told. */
static bool is_from(const struct listing *l, __u32 slot)
{
	const struct flow_filter *f = &l->filter;
	union poise_addr source;
	__u16 port;

	if (!slot)
		return false;
	port = instance_slot_source(l->c->instance, slot, &source);
	return !memcmp(&source, &f->source, sizeof(source)) && (!f->port || f->port == port);
}

static bool one_word(void *ctx, __u64 word, __u32 slot)
{
	struct listing *l = ctx;
	const struct flow_filter *f = &l->filter;
	struct flow_owner owner = flow_owner_of(&l->owners, word);
	__u32 idle = instance_word_age(word, l->now);

	if (!owner.member || (f->service && owner.service != f->service) ||
	    (f->member && owner.member != f->member) ||
	    (f->state && POISE_WORD_STATE(word) != f->state) || idle < f->idle ||
	    (f->sourced && !is_from(l, slot)))
		return true;
	if (!l->c->args.set[OPT_COUNT])
		print_one(l, &owner, word, idle, slot);
	l->count++;
	return !ferror(l->c->out);
}

static void list_json(struct cli *c, struct listing *l)
{
	struct json_object *o = json_answer(c);

	flow_say_partly(c, l->filter.service, o);
	if (c->args.set[OPT_COUNT]) {
		instance_flows_at(c->instance, one_word, l);
		json_add_u64(o, "flows_recorded", l->count);
		json_print(c, o);
		return;
	}
	json_begin(c, o, "flows");
	instance_flows_at(c->instance, one_word, l);
	json_end(c);
}

static void list_text(struct cli *c, struct listing *l)
{
	flow_columns_measure(&l->columns, c, l->filter.service);
	if (!c->args.set[OPT_NO_HEADER] && !c->args.set[OPT_COUNT])
		flow_print_header(c, &l->columns, "",
				  c->instance->meta->nat_ports ? "CLIENT > ADDRESS by SOURCE" : "");
	instance_flows_at(c->instance, one_word, l);
	if (c->args.set[OPT_COUNT])
		fprintf(c->out, "%llu\n", l->count);
	flow_say_partly(c, l->filter.service, NULL);
}

int cmd_flows(struct cli *c)
{
	struct listing l = {.c = c};

	if (cli_read(c) || flow_filter_take(c, &l.filter, true))
		return -1;
	l.now = instance_stamp_now(c->instance);
	flow_owners_index(&l.owners, c);
	if (c->json)
		list_json(c, &l);
	else
		list_text(c, &l);
	flow_owners_free(&l.owners);
	return CLI_OK;
}
