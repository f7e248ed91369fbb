// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise map list | show NAME [KEY] [--raw] | check: the pinned maps themselves, for whoever wants
 * to see what packets see. The table may be asked for by service, too.
 */
#include "map.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "maps/table.h"
#include "tabular.h"
#include "transact.h"

#define RAW_LINE 16 /* bytes in a line of --raw */

size_t map_views(const struct instance *i, struct map_view view[MAP_VIEWS])
{
	const struct poise_meta *m = i->meta;
	__u64 lines = (__u64)m->cpus * m->members;
	size_t n = 0;

#define VIEW(map, what, at, count, how)                                                            \
	view[n++] = (struct map_view){                                                             \
		.name = #map,                                                                      \
		.about = what,                                                                     \
		.entry = at,                                                                       \
		.size = sizeof(*(at)),                                                             \
		.entries = count,                                                                  \
		.print = how,                                                                      \
	}
	VIEW(meta, "limits, generations, the daemon", i->meta, 1, print_meta);
	VIEW(service_conf, "a service as configured, twice", i->service_conf, m->services,
	     print_service_conf);
	VIEW(member_conf, "a backend as configured, twice", i->member_conf, m->members,
	     print_member_conf);
	VIEW(listeners, "a listener", i->listeners, m->listener_slots, print_listener);
	VIEW(listener_seeds, "a bucket of listeners", i->listener_seeds, m->listener_seeds,
	     print_u32);
	VIEW(services, "a service as packets see it", i->services, m->services, print_service);
	VIEW(members, "a backend as packets see it", i->members, m->members, print_member);
	VIEW(table, "a slot of a service's table", instance_table(i, 0, m->table_slots),
	     m->table_slots, print_table_entry);
	VIEW(paths, "a way out", i->paths, m->paths, print_path);
	view[n++] = (struct map_view){
		"devmap", "a device to redirect to", NULL, sizeof(__u32), m->paths, NULL};
	VIEW(flows, "eight flow words", instance_flow_table(i), i->flow_buckets, print_bucket);
	VIEW(counters, "a backend's counters on a CPU", i->counters, lines, print_counter);
	VIEW(loads, "a backend's live flows on a CPU and on the others", i->loads,
	     m->cpus * poise_loads_row(m->members), print_loads);
	view[n++] = (struct map_view){"drops",	   "a service's drops by reason (poise stats)",
				      NULL,	   sizeof(struct poise_drops),
				      m->services, NULL};
	VIEW(latencies, "a backend's latencies", instance_latencies(i, 0, m->members), m->members,
	     print_latency);
	VIEW(rates, "a backend's rates", i->rates, m->members, print_rate);
	VIEW(checks, "what a backend's last check found", i->checks, m->members, print_check);
	VIEW(events, "what happened (poise events)", i->events, POISE_EVENT_RING, print_event);
	VIEW(address_conf, "a claimed address, twice", i->address_conf, POISE_ADDRESSES,
	     print_address_conf);
	VIEW(server_ids, "eight QUIC server ids", i->server_ids,
	     poise_server_id_buckets(m->members), print_server_ids);
	VIEW(fragments, "eight words of fragmented datagrams", i->fragments, POISE_FRAGMENT_BUCKETS,
	     print_bucket);
	VIEW(held, "a backend's live flows, where max-conns limits them", i->held, m->members,
	     print_held);
	VIEW(range_conf, "a source range as configured", i->range_conf,
	     poise_range_entries(m->ranges), print_range);
	VIEW(bounds, "where a source range begins or ends", i->bounds,
	     2 * poise_range_entries(m->ranges), print_bound);
	VIEW(cluster, "the Kubernetes cluster that is served (poise status)", i->cluster, 1,
	     print_cluster);
	VIEW(probes, "a check under way through the path", i->probes, POISE_PROBE_PORTS,
	     print_probe);
#undef VIEW
	return n;
}

static const void *entry_at(const struct map_view *v, __u64 key)
{
	return (const char *)v->entry + key * v->size;
}

/* An entry that was never written, or was cleared, is all zero; but for members, which always say
 * that they may not be chosen. */
static bool is_used(const struct map_view *v, __u64 key)
{
	const __u32 *word = entry_at(v, key);

	if (!strcmp(v->name, "members"))
		return ((const struct poise_member *)entry_at(v, key))->service;

	for (size_t i = 0; i < v->size / sizeof(*word); i++) {
		if (word[i])
			return true;
	}
	return false;
}

static __u64 used_entries(const struct map_view *v)
{
	__u64 n = 0;

	for (__u64 key = 0; v->entry && key < v->entries; key++)
		n += is_used(v, key);
	return n;
}

static void list_row(struct cli *c, struct table *t, struct json_object *list,
		     const struct map_view *v)
{
	char entries[24], size[24], used[24] = "-", bytes[24];
	struct json_object *o;

	if (!list) {
		snprintf(entries, sizeof(entries), "%llu", v->entries);
		snprintf(size, sizeof(size), "%zu", v->size);
		poise_format_size(v->entries * v->size, bytes, sizeof(bytes));
		if (v->entry)
			snprintf(used, sizeof(used), "%llu", used_entries(v));
		table_row(t, 0,
			  (const char *const[]){v->name, entries, used, size, bytes, v->about}, 6);
		return;
	}
	(void)c;
	o = json_object_new_object();
	json_add_known(o, "name", v->name);
	json_add_u64(o, "entries", v->entries);
	json_add_u64(o, "entry_bytes", v->size);
	if (v->entry)
		json_add_u64(o, "used", used_entries(v));
	json_object_array_add(list, o);
}

int cmd_map_list(struct cli *c)
{
	struct map_view view[MAP_VIEWS];
	struct json_object *o, *list = c->json ? json_object_new_array() : NULL;
	struct table t;
	size_t n;

	if (cli_no_more(c) || cli_read(c))
		return -1;
	n = map_views(c->instance, view);
	table_start(&t);
	if (!c->args.set[OPT_NO_HEADER])
		table_row(&t, 0,
			  (const char *const[]){"MAP", "ENTRIES", "USED", "BYTES EACH", "BYTES",
						"AN ENTRY IS"},
			  6);
	for (size_t i = 0; i < n; i++)
		list_row(c, &t, list, &view[i]);
	for (unsigned int i = 1; i < 5; i++)
		table_right(&t, 0, i);
	if (c->json) {
		o = json_answer(c);
		json_object_object_add(o, "maps", list);
		json_print(c, o);
	} else {
		table_print(&t, c->out, c->colour);
	}
	return CLI_OK;
}

static void print_raw(FILE *out, const struct map_view *v, __u64 key)
{
	const unsigned char *p = entry_at(v, key);

	for (size_t i = 0; i < v->size; i++)
		fprintf(out, "%s%02x", i % RAW_LINE ? " " : (i ? "\n   " : ""), p[i]);
}

static void print_entry(struct cli *c, const struct map_view *v, __u64 key)
{
	fprintf(c->out, "%llu: ", key);
	if (c->args.set[OPT_RAW])
		print_raw(c->out, v, key);
	else
		v->print(c->out, c->instance, key, entry_at(v, key));
	fputc('\n', c->out);
}

/* JSON has the same text as people see, or the bytes: maps are for looking, not an interface. */
static struct json_object *entry_json(struct cli *c, const struct map_view *v, __u64 key)
{
	struct json_object *o = json_object_new_object();
	size_t size = 0;
	char *text = NULL;
	FILE *out = c->out;

	c->out = open_memstream(&text, &size);
	if (!c->out)
		abort();
	if (c->args.set[OPT_RAW])
		print_raw(c->out, v, key);
	else
		v->print(c->out, c->instance, key, entry_at(v, key));
	fclose(c->out);
	c->out = out;
	json_add_u64(o, "key", key);
	json_add_known(o, c->args.set[OPT_RAW] ? "bytes" : "fields", text);
	free(text);
	return o;
}

static int show_entries(struct cli *c, const struct map_view *v, __u64 first, __u64 end, bool all)
{
	struct json_object *o;
	__u64 n = 0;

	if (c->json) {
		o = json_answer(c);
		json_add_known(o, "map", v->name);
		json_begin(c, o, "entries");
	}
	for (__u64 key = first; key < end && !ferror(c->out); key++) {
		if (!all && !is_used(v, key))
			continue;
		if (c->json)
			json_item(c, n++, entry_json(c, v, key));
		else
			print_entry(c, v, key);
	}
	if (c->json)
		json_end(c);
	return CLI_OK;
}

int cmd_map_show(struct cli *c)
{
	struct map_view view[MAP_VIEWS];
	const char *names[MAP_VIEWS], *name = cli_need(c, "NAME"), *word;
	char *end = NULL;
	__u64 key;
	size_t n;
	int k;

	if (!name || cli_read(c))
		return -1;
	n = map_views(c->instance, view);
	for (size_t i = 0; i < n; i++)
		names[i] = view[i].name;
	k = args_match("map", name, names, n, c->abbreviate, &c->error);
	if (k < 0)
		return -1;
	if (!view[k].entry) {
		poise_fail(&c->error, POISE_E_UNSUPPORTED,
			   "%s is not an array that can be looked into", name);
		return poise_error_remedy(&c->error, "bpftool map dump pinned %s/%s",
					  c->instance->dir, view[k].name);
	}
	word = args_take(&c->args);
	if (!word)
		return show_entries(c, &view[k], 0, view[k].entries, false);
	if (!strcmp(view[k].name, "table") && !isdigit((unsigned char)*word))
		return map_show_table(c, word);
	errno = 0;
	key = strtoull(word, &end, 0);
	if (errno || *end || !isdigit((unsigned char)*word) || key >= view[k].entries)
		return poise_fail(&c->error, POISE_E_BAD_VALUE, "%s has keys 0 to %llu, not \"%s\"",
				  name, view[k].entries - 1, word);
	return cli_no_more(c) ? -1 : show_entries(c, &view[k], key, key + 1, true);
}

/* Differences shown: where one map is spoilt there may be thousands. JSON has them all. */
#define CHECK_SHOWN 50

struct checking {
	struct cli *c;
	struct json_object *list;
	int shown;
};

static void report(void *ctx, const char *map, const char *sentence)
{
	struct checking *k = ctx;
	struct json_object *o;

	if (!k->list) {
		if (k->shown++ < CHECK_SHOWN)
			fprintf(k->c->out, "%s: %s\n", map, sentence);
		return;
	}
	o = json_object_new_object();
	json_add_known(o, "map", map);
	json_add_known(o, "difference", sentence);
	json_object_array_add(k->list, o);
}

int cmd_map_check(struct cli *c)
{
	struct checking k = {.c = c};
	int differences;

	/* Under the lock, so that nobody's half-done change is taken for a difference. */
	if (cli_no_more(c) || !cli_begin(c))
		return -1;
	k.list = c->json ? json_object_new_array() : NULL;
	differences = instance_check(c->instance, report, &k, &c->error);
	instance_unlock(c->instance);
	if (differences < 0)
		return -1;
	if (c->json) {
		struct json_object *o = json_answer(c);

		json_object_object_add(o, "differences", k.list);
		json_print(c, o);
	} else if (!differences && !c->quiet) {
		fprintf(c->out, "every map is what the configuration asks for.\n");
	} else if (differences > CHECK_SHOWN) {
		fprintf(c->out, "and %d more differences (--json names all)\n",
			differences - CHECK_SHOWN);
	}
	return differences ? CLI_NO : CLI_OK;
}
