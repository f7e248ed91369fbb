// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise stats [SERVICE [BACKEND]]: every counter, and what was not forwarded by reason. Reasons
 * and their sentences are those of maps/reasons.h.
 */
#include <string.h>

#include "json.h"
#include "show.h"
#include "tabular.h"
#include "../maps/ports.h"

struct reason {
	const char *name, *sentence;
};

static const struct reason reasons[POISE_R_COUNT] = {
#define REASON_LINE(sym, name, text) [POISE_R_##sym] = {name, text},
	POISE_REASONS(REASON_LINE) POISE_EVENTS(REASON_LINE)};

struct stats {
	struct table table;
	struct json_object *services;
	const char *backend; /* only this one, or NULL */
};

static struct json_object *counts_json(const __u64 count[POISE_REASON_SLOTS], int from, int to)
{
	struct json_object *o = json_object_new_object();

	for (int i = from; i < to; i++) {
		char key[48];

		snprintf(key, sizeof(key), "%s", reasons[i].name);
		for (char *p = key; *p; p++)
			*p = *p == '-' ? '_' : *p;
		json_add_u64(o, key, count[i]);
	}
	return o;
}

static void add_reasons_json(struct json_object *o, const __u64 count[POISE_REASON_SLOTS])
{
	json_object_object_add(o, "drops", counts_json(count, 0, POISE_DROP_REASONS));
	json_object_object_add(o, "events", counts_json(count, POISE_DROP_REASONS, POISE_R_COUNT));
}

static const char *number(const struct cli *c, __u64 n, char buf[32])
{
	if (!c->exact && n >= 100000)
		return poise_format_human((double)n, buf, 32);
	snprintf(buf, 32, "%llu", n);
	return buf;
}

static void counter(const struct cli *c, struct stats *s, const char *name, bool known, __u64 n,
		    const char *help)
{
	char buf[32];

	table_row(&s->table, 1, (const char *const[]){name, known ? number(c, n, buf) : "-", help},
		  3);
}

static void counters(const struct cli *c, struct stats *s, const struct instance_stats *t,
		     bool flows_known)
{
	counter(c, s, "packets", true, t->packets, "that came for it and were forwarded");
	counter(c, s, "bytes", true, t->bytes, "of IP packets as they came");
	counter(c, s, "flows", flows_known, t->flows > 0 ? (__u64)t->flows : 0,
		flows_known ? "live now"
			    : "not counted: a hash policy records only what needs it "
			      "(track always counts)");
	counter(c, s, "flows opened", flows_known, t->opened, "since it exists");
	counter(c, s, "flows closed", flows_known, t->closed, "by FIN, RST or silence");
}

/* What backends are judged by (passive). */
static void signals(const struct cli *c, struct stats *s, const struct shown_backend *b)
{
	static const struct {
		const char *name, *help;
	} words[POISE_SIGNALS] = {
		[POISE_BEGUN] = {"flows begun", "with a SYN"},
		[POISE_ANSWERED] = {"flows answered", "of these, as their clients went on"},
		[POISE_FINISHED] = {"flows finished", "by FIN or RST of their clients"},
		[POISE_REFUSED] = {"flows refused", "by RST of the backend"},
	};
	char why[SHOWN_EJECTION];

	for (int k = 0; k < POISE_SIGNALS && b->flows_known; k++)
		if (k != POISE_REFUSED || b->stats.signal[k])
			counter(c, s, words[k].name, true, b->stats.signal[k], words[k].help);
	if (b->member->conf.ejected)
		table_row(&s->table, 1,
			  (const char *const[]){"ejected", "", shown_ejection(b, why, sizeof(why))},
			  3);
}

static void latency_row(struct stats *s, const char *name, double seconds, const char *help)
{
	char took[32];

	table_row(&s->table, 1,
		  (const char *const[]){name, shown_latency(seconds, took, sizeof(took)), help}, 3);
}

static const char *latency_help(const struct latency_told *t)
{
	static const struct {
		const char *source, *help;
	} words[] = {
		{"request", "requests, to the first byte of the answer"},
		{"acknowledged", "requests, until clients had the answer, less their round trip"},
		{"short", "the same of short answers: the least of a few"},
		{"connect", "connections, from SYN to SYN-ACK; no request yet"},
	};

	for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
		if (!strcmp(words[k].source, t->source))
			return words[k].help;
	return "";
}

static void latency(const struct cli *c, struct stats *s, const struct latency_told *t)
{
	if (!t->source)
		return;
	counter(c, s, "timed", true, t->samples, latency_help(t));
	if (t->p50) {
		latency_row(s, "latency p50", t->p50, "half of those requests took no longer");
		latency_row(s, "latency p90", t->p90, "nine of ten");
		latency_row(s, "latency p99", t->p99, "99 of 100");
	}
	latency_row(s, "latency recent", t->recent, "by its peaks, halved in a second");
}

static void heading(struct stats *s, const char *what, const char *name, unsigned int group)
{
	char text[POISE_NAME_MAX + 16];

	snprintf(text, sizeof(text), "%s %s", what, name);
	table_row(&s->table, group, (const char *const[]){text}, 1);
}

static int drops_of(struct cli *c, __u16 service, const char *none, struct stats *s)
{
	__u64 count[POISE_REASON_SLOTS] = {0};
	bool any = false;

	if (instance_drops(c->instance, service, count, &c->error))
		return -1;
	for (int i = 0; i < POISE_R_COUNT; i++) {
		if (count[i])
			counter(c, s, reasons[i].name, true, count[i], reasons[i].sentence);
		any |= i < POISE_DROP_REASONS && count[i];
	}
	if (!any && none)
		table_row(&s->table, 1, (const char *const[]){"drops", "0", none}, 3);
	return 0;
}

/* What belongs to no single service: several share the address, or none has it. */
static int drops_of_none(struct cli *c, struct stats *s)
{
	__u64 count[POISE_REASON_SLOTS] = {0};
	bool any = false;

	if (instance_drops(c->instance, 0, count, &c->error))
		return -1;
	for (int i = 0; i < POISE_R_COUNT; i++)
		any |= count[i] != 0;
	if (!any)
		return 0;
	table_row(&s->table, 0, (const char *const[]){"of no single service"}, 1);
	return drops_of(c, 0, NULL, s);
}

/* ---- ports of mode nat, which services share
 * ----------------------------------------------------*/

static bool port_use_of(const struct cli *c, __u32 group, struct port_use *use)
{
	*use = instance_port_use(c->instance, group);
	return use->used || use->resting || use->refused;
}

static void ports_text(const struct cli *c, struct stats *s)
{
	const struct poise_meta *m = c->instance->meta;
	struct port_use use;
	bool any = false;

	for (__u32 group = 0; m->nat_ports && group < m->groups; group++) {
		char name[32], help[96];

		if (!port_use_of(c, group, &use))
			continue;
		if (!any)
			table_row(&s->table, 0, (const char *const[]){"ports of mode nat"}, 1);
		any = true;
		snprintf(name, sizeof(name), "group %u", group);
		snprintf(help, sizeof(help), "of %u in use, %u more rest, %llu refused",
			 instance_ports_free(c->instance), use.resting, use.refused);
		counter(c, s, name, true, use.used, help);
	}
}

static struct json_object *ports_json(const struct cli *c)
{
	const struct poise_meta *m = c->instance->meta;
	struct json_object *list = json_object_new_array();
	struct port_use use;

	for (__u32 group = 0; m->nat_ports && group < m->groups; group++) {
		struct json_object *o;

		if (!port_use_of(c, group, &use))
			continue;
		o = json_object_new_object();
		json_add_u64(o, "group", group);
		json_add_u64(o, "used", use.used);
		json_add_u64(o, "resting", use.resting);
		json_add_u64(o, "limit", instance_ports_free(c->instance));
		json_add_u64(o, "refused_total", use.refused);
		json_object_array_add(list, o);
	}
	return list;
}

/* ---- services ---------------------------------------------------------------------------------*/

static int service_text(struct cli *c, const struct shown_service *v, struct stats *s)
{
	if (!s->backend) {
		heading(s, "service", v->service->conf.name, 0);
		counters(c, s, &v->stats, v->flows_known);
		if (drops_of(c, v->service->id, "every packet was forwarded", s))
			return -1;
	}
	for (size_t i = 0; i < v->service->members; i++) {
		const struct shown_backend *b = &v->backend[i];

		if (s->backend && strcmp(s->backend, b->name))
			continue;
		heading(s, "backend", b->name, 0);
		counters(c, s, &b->stats, b->flows_known);
		signals(c, s, b);
		latency(c, s, &b->latency);
	}
	return 0;
}

static struct json_object *backend_stats_json(const struct shown_backend *b)
{
	static const char *const keys[POISE_SIGNALS] = {
		[POISE_BEGUN] = "flows_begun_total",
		[POISE_ANSWERED] = "flows_answered_total",
		[POISE_FINISHED] = "flows_finished_total",
		[POISE_REFUSED] = "flows_refused_total",
	};
	struct json_object *o = json_object_new_object();

	json_add_known(o, "name", b->name);
	json_add_stats(o, &b->stats, b->flows_known);
	json_add_latency(o, &b->latency);
	for (int k = 0; k < POISE_SIGNALS && b->flows_known; k++)
		json_add_u64(o, keys[k], b->stats.signal[k]);
	return o;
}

static int service_json(struct cli *c, const struct shown_service *v, struct stats *s)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	__u64 count[POISE_REASON_SLOTS] = {0};

	json_object_array_add(s->services, o);
	json_object_object_add(o, "backends", list);
	json_add_known(o, "name", v->service->conf.name);
	json_add_stats(o, &v->stats, v->flows_known);
	if (instance_drops(c->instance, v->service->id, count, &c->error))
		return -1;
	add_reasons_json(o, count);
	for (size_t i = 0; i < v->service->members; i++) {
		if (!s->backend || !strcmp(s->backend, v->backend[i].name))
			json_object_array_add(list, backend_stats_json(&v->backend[i]));
	}
	return 0;
}

static int each_service(struct cli *c, const struct shown_service *v, void *ctx)
{
	return c->json ? service_json(c, v, ctx) : service_text(c, v, ctx);
}

/* SERVICE BACKEND: the backend's name as shown, whatever way it was said. */
static int take_backend(struct cli *c, struct stats *s, char name[POISE_NAME_MAX])
{
	const struct config_service *svc;
	const struct config_member *m;

	if (args_left(&c->args) < 2)
		return 0;
	svc = cli_service(c);
	m = svc ? config_member_find(svc, args_take(&c->args), &c->error) : NULL;
	if (!m || cli_no_more(c))
		return -1;
	s->backend = cli_member_name(m, name);
	c->args.next -= 2;
	return 0;
}

static int print_stats(struct cli *c, struct stats *s)
{
	bool all = !args_left(&c->args);

	if (c->json) {
		struct json_object *o = json_answer(c);
		__u64 count[POISE_REASON_SLOTS] = {0};
		int status;

		s->services = json_object_new_array();
		json_object_object_add(o, "services", s->services);
		status = shown_each(c, each_service, s);
		if (!status && all && !instance_drops(c->instance, 0, count, &c->error)) {
			add_reasons_json(o, count);
			json_object_object_add(o, "nat_groups", ports_json(c));
		}
		if (status)
			json_object_put(o);
		else
			json_print(c, o);
		return status;
	}
	table_start(&s->table);
	table_indent(&s->table, 1, 2);
	table_right(&s->table, 1, 1);
	if (shown_each(c, each_service, s) || (all && drops_of_none(c, s)))
		return -1;
	if (all)
		ports_text(c, s);
	table_print(&s->table, c->out, c->colour);
	return 0;
}

int cmd_stats(struct cli *c)
{
	struct stats s = {0};
	char name[POISE_NAME_MAX];

	if (cli_read(c) || take_backend(c, &s, name))
		return -1;
	return print_stats(c, &s);
}
