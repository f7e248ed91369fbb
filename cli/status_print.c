// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* poise status, for people and as JSON. */
#include <stdarg.h>

#include "../maps/clock.h"
#include "json.h"
#include "status.h"
#include "tabular.h"

static const char *mode_word(int mode)
{
	return option_word(option_find(OPTION_INTERFACE, "mode"), mode);
}

static void line(struct table *t, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void line(struct table *t, const char *what, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	table_row(t, 0, (const char *const[]){what, text}, 2);
}

/* Limits as they are typed in the file: 32M is a power of two. */
static void usage_line(const struct cli *c, struct table *t, const struct usage *u)
{
	char used[32], limit[32];

	if (c->exact || u->limit < 100000)
		line(t, u->what, "%llu of %llu", u->used, u->limit);
	else
		line(t, u->what, "%s of %s (%.0f %%)",
		     poise_format_human((double)u->used, used, sizeof(used)),
		     poise_format_size(u->limit, limit, sizeof(limit)),
		     100.0 * (double)u->used / (double)u->limit);
}

static void ports_line(struct table *t, const struct status *s)
{
	if (s->translates)
		line(t, s->ports.what, "%llu of %llu in group %u, the fullest; %llu refused",
		     s->ports.used, s->ports.limit, s->group, s->ports_refused);
}

static void overlay_line(struct table *t, const struct status *s)
{
	if (s->overlay == POISE_OVERLAY_STANDS)
		line(t, "nftables",
		     "table inet %s translates for %zu backend%s without a device of ours",
		     s->nft_table, s->by_stack, s->by_stack == 1 ? "" : "s");
}

static void daemon_line(struct table *t, const struct status *s)
{
	char age[32];
	__u64 now = cli_now();

	if (s->daemon)
		line(t, "poised", "running for %s, process %u",
		     poise_format_age((now - s->daemon_since) / NS_PER_S, age, sizeof(age)),
		     s->pid);
	else
		line(t, "poised", "not running");
}

static void boot_line(struct table *t, const struct status *s)
{
	char age[32];

	if (!s->boot_read)
		line(t, "boot file", "%s (not there, or not readable)", s->boot_file);
	else if (s->boot_applied)
		line(t, "boot file", "%s, applied %s ago", s->boot_file,
		     poise_format_age((cli_now() - s->boot_applied) / NS_PER_S, age, sizeof(age)));
	else
		line(t, "boot file", "%s, not applied yet", s->boot_file);
}

void status_text(struct cli *c, const struct status *s)
{
	struct table t;
	bool ok = !s->problems.n;
	char text[1024];

	table_start(&t);
	line(&t, "status", "%s", ok ? "healthy" : "degraded");
	table_colour(&t, 1, ok ? COLOUR_GOOD : COLOUR_BAD);
	line(&t, "poise", "%s, ABI %d, instance %s, generation %llu", POISE_VERSION, POISE_ABI,
	     c->instance->meta->instance, c->instance->meta->committed);
	daemon_line(&t, s);
	for (int i = 0; i < s->devices; i++)
		line(&t, i ? "" : "attached to", "%s, %s mode%s", s->device[i].device,
		     mode_word(s->device[i].mode), s->device[i].shared ? ", shared" : "");
	if (!s->devices)
		line(&t, "attached to", "no device");
	usage_line(c, &t, &s->services);
	usage_line(c, &t, &s->backends);
	usage_line(c, &t, &s->table);
	usage_line(c, &t, &s->flows);
	ports_line(&t, s);
	overlay_line(&t, s);
	if (s->claimed)
		line(&t, "addresses", "%zu claimed, %zu withdrawn", s->claimed, s->withdrawn);
	if (s->unsettled)
		line(&t, "tracking", "%zu service%s not settled: flows of %llu slots are looked up",
		     s->unsettled, s->unsettled == 1 ? "" : "s", s->slots);
	else
		line(&t, "tracking", "settled");
	boot_line(&t, s);
	if (s->cluster.state)
		line(&t, "kubernetes", "%s", status_cluster_text(s, text, sizeof(text)));
	line(&t, "hash-key", "fingerprint %s", s->fingerprint);
	for (size_t i = 0; i < s->problems.n; i++) {
		line(&t, i ? "" : "problems", "%s", s->problems.text[i]);
		table_colour(&t, 1, COLOUR_BAD);
	}
	for (size_t i = 0; i < s->notes.n; i++) {
		line(&t, i ? "" : "notes", "%s", s->notes.text[i]);
		table_colour(&t, 1, COLOUR_WARN);
	}
	table_print(&t, c->out, c->colour);
}

static struct json_object *remarks_json(const struct remarks *r)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < r->n; i++)
		json_object_array_add(list, json_object_new_string(r->text[i]));
	return list;
}

static void add_usage(struct json_object *o, const char *key, const struct usage *u)
{
	struct json_object *usage = json_object_new_object();

	json_add_u64(usage, "used", u->used);
	json_add_u64(usage, "limit", u->limit);
	json_object_object_add(o, key, usage);
}

static struct json_object *devices_json(const struct status *s)
{
	struct json_object *list = json_object_new_array();

	for (int i = 0; i < s->devices; i++) {
		struct json_object *o = json_object_new_object();

		json_add_known(o, "device", s->device[i].device);
		json_add_known(o, "mode", mode_word(s->device[i].mode));
		json_add_known(o, "mode_wanted", mode_word(s->device[i].wanted));
		json_object_object_add(o, "shared", json_object_new_boolean(s->device[i].shared));
		json_add_known(o, "warning", s->device[i].warning);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *daemon_json(const struct status *s)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "running", json_object_new_boolean(s->daemon));
	if (s->daemon) {
		json_add_u64(o, "pid", s->pid);
		json_add_time(o, "since", s->daemon_since);
	}
	return o;
}

static struct json_object *tracking_json(const struct status *s)
{
	struct json_object *o = json_object_new_object();

	json_add_u64(o, "services_unsettled", s->unsettled);
	json_add_u64(o, "slots_unsettled", s->slots);
	if (s->pressed)
		json_add_u64(o, "pressure_seconds_ago", s->pressed_ago);
	return o;
}

static struct json_object *overlay_json(const struct status *s)
{
	struct json_object *o = json_object_new_object();
	char table[sizeof("inet ") + NFT_TABLE_TEXT];

	snprintf(table, sizeof(table), "inet %s", s->nft_table);
	json_add_known(o, "table", table);
	json_object_object_add(o, "stands",
			       json_object_new_boolean(s->overlay == POISE_OVERLAY_STANDS));
	json_add_u64(o, "backends", s->by_stack);
	return o;
}

static struct json_object *boot_json(const struct status *s)
{
	struct json_object *o = json_object_new_object();

	json_add_known(o, "path", s->boot_file);
	json_add_time(o, "applied_at", s->boot_applied);
	json_add_known(o, "error", s->boot_error);
	if (s->boot_read) {
		json_add_u64(o, "differences", s->drift);
		json_add_u64(o, "services_by_hand", s->by_hand);
	}
	return o;
}

void status_json(struct cli *c, const struct status *s)
{
	struct json_object *o = json_answer(c), *usage = json_object_new_object();
	struct json_object *addresses = json_object_new_object();

	json_add_known(o, "status", s->problems.n ? "degraded" : "healthy");
	json_add_known(o, "instance", c->instance->meta->instance);
	json_object_object_add(o, "daemon", daemon_json(s));
	json_object_object_add(o, "devices", devices_json(s));
	add_usage(usage, "services", &s->services);
	add_usage(usage, "backends", &s->backends);
	add_usage(usage, "table_slots", &s->table);
	add_usage(usage, "flow_slots", &s->flows);
	if (s->translates)
		add_usage(usage, "nat_ports", &s->ports);
	json_object_object_add(o, "usage", usage);
	json_add_u64(addresses, "claimed", s->claimed);
	json_add_u64(addresses, "withdrawn", s->withdrawn);
	json_object_object_add(o, "addresses", addresses);
	json_object_object_add(o, "tracking", tracking_json(s));
	if (s->overlay)
		json_object_object_add(o, "nftables", overlay_json(s));
	json_object_object_add(o, "boot_file", boot_json(s));
	if (s->cluster.state)
		json_object_object_add(o, "kubernetes", status_cluster_json(s));
	json_add_known(o, "hash_key_fingerprint", s->fingerprint);
	json_object_object_add(o, "problems", remarks_json(&s->problems));
	json_object_object_add(o, "notes", remarks_json(&s->notes));
	json_print(c, o);
}
