// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise map resize flows N: another size of the flow table, while packets run. The other maps hold
 * what the configuration asks for, in places that records name; their sizes count when they are
 * made, so the answer for them is what to do instead.
 */
#include <string.h>

#include "../loader/attach/attach.h"
#include "json.h"
#include "map.h"
#include "transact.h"

/* The limit that a map's size follows from; NULL: none. */
static const char *limit_of(const char *map)
{
	static const struct {
		const char *map, *limit;
	} limits[] = {
		{"table", "table-slots"},
		{"members", "backends"},
		{"member_conf", "backends"},
		{"counters", "backends"},
		{"loads", "backends"},
		{"rates", "backends"},
		{"latencies", "backends"},
		{"checks", "backends"},
		{"held", "backends"},
		{"server_ids", "backends"},
		{"services", "services"},
		{"service_conf", "services"},
		{"drops", "services"},
		{"listeners", "listeners"},
		{"listener_seeds", "listeners"},
		{"paths", "paths"},
		{"devmap", "paths"},
		{"range_conf", "ranges"},
		{"bounds", "ranges"},
	};

	for (size_t n = 0; n < sizeof(limits) / sizeof(limits[0]); n++)
		if (!strcmp(limits[n].map, map))
			return limits[n].limit;
	return NULL;
}

static int refuse(struct cli *c, const char *map)
{
	const char *limit = limit_of(map);

	if (!limit)
		return poise_fail(&c->error, POISE_E_UNSUPPORTED,
				  "map %s has a size of its own, which cannot be changed", map);
	poise_fail(&c->error, POISE_E_UNSUPPORTED,
		   "map %s is as large as limits: %s asks for when the maps are created; only "
		   "flows can be resized while packets run",
		   map, limit);
	return poise_error_remedy(&c->error,
				  "poise save > FILE, write limits: { %s: N } into it, then poise "
				  "reset, and start poised with it or poise apply FILE",
				  limit);
}

static int take_map(struct cli *c, const char *name)
{
	struct map_view view[MAP_VIEWS];
	const char *names[MAP_VIEWS];
	size_t n = map_views(c->instance, view);
	int k;

	for (size_t i = 0; i < n; i++)
		names[i] = view[i].name;
	k = args_match("map", name, names, n, c->abbreviate, &c->error);
	if (k < 0)
		return -1;
	return strcmp(names[k], "flows") != 0 ? refuse(c, names[k]) : 0;
}

/* N as the file's limit has it, in whole buckets. */
static int take_buckets(struct cli *c, __u32 *buckets)
{
	const char *word = cli_need(c, "N");
	struct config_limits limits = {0};

	if (!word)
		return -1;
	if (option_set(option_find(OPTION_LIMIT, "flow-slots"), &limits, word, &c->error))
		return -1;
	*buckets = instance_map_entries("flows", &limits, c->instance->meta->cpus);
	return 0;
}

static void say(struct cli *c, __u32 was, __u64 left)
{
	__u32 slots = c->instance->meta->flow_buckets * POISE_BUCKET_WORDS;
	char now[32], before[32];

	poise_format_size(slots, now, sizeof(now));
	if (was == slots)
		cli_say(c, "the flow table has %s slots.", now);
	else
		cli_say(c, "the flow table has %s slots instead of %s.", now,
			poise_format_size(was, before, sizeof(before)));
	if (left)
		cli_note(c,
			 "%llu flow%s recorded in the old one, and move%s as %s packets come; once "
			 "it "
			 "is empty %s",
			 left, left == 1 ? " is" : "s are", left == 1 ? "s" : "",
			 left == 1 ? "its" : "their",
			 instance_daemon_runs(c->instance)
				 ? "poised removes it"
				 : "it can go, which poised sees to when it runs");
}

int cmd_map_resize(struct cli *c)
{
	const char *name = cli_need(c, "NAME");
	struct json_object *o;
	__u32 buckets, was;
	__u64 left;

	if (!name || cli_read(c) || take_map(c, name) || take_buckets(c, &buckets) ||
	    cli_no_more(c))
		return -1;
	was = c->instance->meta->flow_buckets * POISE_BUCKET_WORDS;
	if (attach_resize(&c->where, buckets, &left, &c->error))
		return -1;
	say(c, was, left);
	if (!c->json || c->quiet) {
		cli_print_change(c);
		return CLI_OK;
	}
	o = json_change(c);
	json_add_u64(o, "flow_slots", c->instance->meta->flow_buckets * POISE_BUCKET_WORDS);
	json_add_u64(o, "flows_left", left);
	json_print(c, o);
	return CLI_OK;
}
