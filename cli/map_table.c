/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * poise map show table SERVICE: the service's table in its backends' names instead of ordinals,
 * which depend on the order in which backends came. Balancers with one configuration print the same
 * current backend for every slot.
 */
#include <stdlib.h>

#include "json.h"
#include "map.h"
#include "transact.h"

#define NAME_ROOM POISE_NAME_MAX

/* Names by ordinal; an ordinal of nobody's has an empty one. */
static char (*name_members(const struct config_service *svc))[NAME_ROOM]
{
	char(*names)[NAME_ROOM] = calloc(POISE_ORDINAL_MAX + 1, sizeof(*names));

	if (!names)
		abort();
	for (size_t m = 0; m < svc->members; m++) {
		char buf[NAME_ROOM];

		snprintf(names[svc->member[m].conf.ordinal & POISE_ORDINAL_MAX], NAME_ROOM, "%s",
			 cli_member_name(&svc->member[m], buf));
	}
	return names;
}

static void print_slot(struct cli *c, struct json_object *list, __u32 slot, const char *current,
		       const char *base)
{
	struct json_object *o;

	if (!list) {
		fprintf(c->out, "%u: %s%s%s\n", slot, *current ? current : "-",
			base ? " base " : "", base ? (*base ? base : "-") : "");
		return;
	}
	o = json_object_new_object();
	json_add_u64(o, "slot", slot);
	json_add_known(o, "backend", *current ? current : NULL);
	json_add_known(o, "base", base && *base ? base : NULL);
	json_object_array_add(list, o);
}

int map_show_table(struct cli *c, const char *service)
{
	struct config_service *svc = config_service_find(c->config, service, &c->error);
	const struct instance *i = c->instance;
	const struct poise_service_rec *rec;
	struct json_object *list, *o;
	char(*names)[NAME_ROOM];
	__u32 active;

	if (!svc || cli_no_more(c))
		return -1;
	active = i->services[svc->id].active;
	rec = &i->services[svc->id].rec[active & 1];
	if ((__u64)rec->table_at + rec->table_size > i->meta->table_slots)
		return poise_fail(&c->error, POISE_E_CORRUPT,
				  "the table of \"%s\" lies outside the map", service);
	list = c->json ? json_object_new_array() : NULL;
	names = name_members(svc);
	for (__u32 slot = 0; !(active & POISE_SERVICE_GONE) && slot < rec->table_size; slot++) {
		__u32 e = i->table[rec->table_at + slot];
		bool mixed = POISE_ENTRY_CURRENT(e) != POISE_ENTRY_BASE(e) && !rec->base_size;

		print_slot(c, list, slot, names[POISE_ENTRY_CURRENT(e)],
			   mixed ? names[POISE_ENTRY_BASE(e)] : NULL);
	}
	free(names);
	if (c->json) {
		o = json_answer(c);
		json_add_known(o, "service", svc->conf.name);
		json_object_object_add(o, "slots", list);
		json_print(c, o);
	}
	return CLI_OK;
}
