// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* poise show [SERVICE]: services and their backends as a table, once or again and again. */
#include "show.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "../maps/clock.h"
#include "service_notes.h"
#include "tabular.h"
#include "watch.h"

#define LISTENERS_SHOWN 4 /* more make the line longer than a screen; --exact and JSON have all */
#define UNKNOWN		"-"
#define CELL		192 /* the longest: what a check found, how long it took, until when it is held */

enum group {
	SERVICES,
	BACKENDS,
};

/* A column: its heading (in lower case the word of --columns), and what fills it. */
struct column {
	const char *heading;
	/* The cell's text into buf, or a text of its own; s or b by group. */
	const char *(*cell)(const struct cli *c, const struct shown_service *s,
			    const struct shown_backend *b, char buf[CELL]);
	enum group group;
	bool number;
	bool asked; /* only if --columns names it */
};

static const char *human(const struct cli *c, bool known, double value, char buf[CELL])
{
	if (!known)
		return UNKNOWN;
	if (!c->exact)
		return poise_format_human(value, buf, CELL);
	snprintf(buf, CELL, "%.0f", value);
	return buf;
}

#define CELL_OF(name)                                                                              \
	static const char *name(const struct cli *c __attribute__((unused)),                       \
				const struct shown_service *s __attribute__((unused)),             \
				const struct shown_backend *b __attribute__((unused)),             \
				char buf[CELL] __attribute__((unused)))

/* Of the backend in a row of a backend, else of the whole service. */
static const struct instance_stats *stats_of(const struct shown_service *s,
					     const struct shown_backend *b)
{
	return b ? &b->stats : &s->stats;
}

CELL_OF(cell_service)
{
	return s->service->conf.name;
}

CELL_OF(cell_policy)
{
	return cli_word(OPTION_SERVICE, "policy", &s->service->conf, buf, CELL);
}

CELL_OF(cell_mode)
{
	return cli_word(OPTION_SERVICE, "forward", &s->service->conf, buf, CELL);
}

CELL_OF(cell_up)
{
	snprintf(buf, CELL, "%zu/%zu", s->up, s->configured);
	return buf;
}

CELL_OF(cell_flows)
{
	const struct instance_stats *t = stats_of(s, b);

	return human(c, s->flows_known, t->flows > 0 ? (double)t->flows : 0, buf);
}

CELL_OF(cell_new)
{
	const struct instance_stats *t = stats_of(s, b);

	return human(c, t->has_rates && s->flows_known, t->new_flows[0], buf);
}

CELL_OF(cell_packets)
{
	const struct instance_stats *t = stats_of(s, b);

	return human(c, t->has_rates, t->packets_rate[0], buf);
}

CELL_OF(cell_bits)
{
	const struct instance_stats *t = stats_of(s, b);

	return human(c, t->has_rates, t->bytes_rate[0] * 8, buf);
}

/* The slots of the table at which packets' flows are looked up. */
CELL_OF(cell_tracked)
{
	const struct aging_counts *n = &s->tracking;
	__u32 tracked = n->differing + n->mixed;

	if (config_records_all(&s->service->conf) || n->base)
		return "all";
	if (c->exact)
		snprintf(buf, CELL, "%u/%u", tracked, n->slots);
	else
		snprintf(buf, CELL, "%.0f %%", n->slots ? 100.0 * tracked / n->slots : 0);
	return buf;
}

CELL_OF(cell_backend)
{
	return b->name;
}

CELL_OF(cell_state)
{
	return b->state;
}

CELL_OF(cell_since)
{
	__u64 now = cli_now(), since = b->member->conf.since;

	if (!since || since > now)
		return UNKNOWN;
	return poise_format_age((now - since) / NS_PER_S, buf, CELL);
}

CELL_OF(cell_weight)
{
	return cli_word(OPTION_BACKEND, "weight", &b->member->conf, buf, CELL);
}

CELL_OF(cell_share)
{
	snprintf(buf, CELL, c->exact ? "%.3f %%" : "%.0f %%", 100 * b->share);
	return buf;
}

/* The median of its requests, or how long it took to connect of late. */
CELL_OF(cell_latency)
{
	const struct latency_told *t = &b->latency;

	if (!t->source)
		return UNKNOWN;
	return shown_latency(t->p50 ? t->p50 : t->recent, buf, CELL);
}

/* What is wrong with it if it is the network and not the backend, else why it is ejected, else what
 * the last check found. */
CELL_OF(cell_check)
{
	char took[32], left[16];

	if (b->why[0])
		return b->why;
	if (ladder_ejected(&b->member->conf))
		return shown_ejection(b, buf, CELL);
	if (!b->check.at)
		return UNKNOWN;
	if (!b->check.good)
		return b->check.words;
	shown_took(b->check.us, took, sizeof(took));
	if (b->check.held_until > clock_realtime())
		snprintf(buf, CELL, "%s in %s; held down for %s", b->check.words, took,
			 poise_format_age((b->check.held_until - clock_realtime()) / NS_PER_S, left,
					  sizeof(left)));
	else
		snprintf(buf, CELL, "%s in %s", b->check.words, took);
	return buf;
}

/* Listeners may be longer than a cell: show_service puts them in by hand. */
static const struct column columns[] = {
	{"SERVICE", cell_service, SERVICES, false, false},
	{"LISTENERS", NULL, SERVICES, false, false},
	{"POLICY", cell_policy, SERVICES, false, false},
	{"MODE", cell_mode, SERVICES, false, false},
	{"UP", cell_up, SERVICES, true, false},
	{"FLOWS", cell_flows, SERVICES, true, false},
	{"NEW/s", cell_new, SERVICES, true, false},
	{"PKT/s", cell_packets, SERVICES, true, false},
	{"BIT/s", cell_bits, SERVICES, true, false},
	{"TRACKED", cell_tracked, SERVICES, true, true},
	{"BACKEND", cell_backend, BACKENDS, false, false},
	{"STATE", cell_state, BACKENDS, false, false},
	{"SINCE", cell_since, BACKENDS, true, false},
	{"WEIGHT", cell_weight, BACKENDS, true, false},
	{"SHARE", cell_share, BACKENDS, true, false},
	{"FLOWS", cell_flows, BACKENDS, true, false},
	{"NEW/s", cell_new, BACKENDS, true, false},
	{"PKT/s", cell_packets, BACKENDS, true, false},
	{"BIT/s", cell_bits, BACKENDS, true, false},
	{"LATENCY", cell_latency, BACKENDS, true, false},
	{"CHECK", cell_check, BACKENDS, false, false},
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* ---- which columns ------------------------------------------------------------------------*/

static int choose_columns(struct cli *c, bool wanted[COLUMNS])
{
	const char *list = c->args.value[OPT_COLUMNS];
	const char *names[COLUMNS];
	char *copy, *word, *rest;
	int status = 0;

	for (size_t i = 0; i < COLUMNS; i++) {
		names[i] = columns[i].heading;
		wanted[i] = !list && !columns[i].asked;
	}
	if (!list)
		return 0;
	copy = strdup(list);
	if (!copy)
		abort();
	for (word = strtok_r(copy, ",", &rest); word && !status;
	     word = strtok_r(NULL, ",", &rest)) {
		bool found = false;

		/* FLOWS stands in both tables, and is wanted in both. */
		for (size_t i = 0; i < COLUMNS; i++) {
			if (!strcasecmp(word, names[i]))
				found = wanted[i] = true;
		}
		if (!found)
			status = args_match("column", word, names, COLUMNS, false, &c->error);
	}
	free(copy);
	return status;
}

static size_t headings(struct table *t, enum group group, const bool wanted[COLUMNS],
		       const char *cell[TABLE_COLUMNS])
{
	size_t n = 0;

	for (size_t i = 0; i < COLUMNS; i++) {
		if (columns[i].group != group || !wanted[i])
			continue;
		if (columns[i].number)
			table_right(t, group, (unsigned int)n);
		cell[n++] = columns[i].heading;
	}
	return n;
}

/* ---- rows ---------------------------------------------------------------------------------*/

struct showing {
	struct table table;
	bool wanted[COLUMNS];
	bool header;
	size_t services;
	bool named; /* one was asked for, as a whole */
	const struct config_service *last;
};

static enum table_colour state_colour(const char *state)
{
	if (!strncmp(state, "up", 2))
		return COLOUR_GOOD;
	if (!strncmp(state, "down", 4) || !strncmp(state, "unresolved", 10))
		return COLOUR_BAD;
	return COLOUR_WARN;
}

/* A row of the group, from the columns wanted; nothing if none is. */
static void add_row(const struct cli *c, struct showing *w, enum group group,
		    const struct shown_service *s, const struct shown_backend *b)
{
	char buf[TABLE_COLUMNS][CELL], *listeners = NULL;
	const char *cell[TABLE_COLUMNS];
	size_t n = 0, state = TABLE_COLUMNS;

	for (size_t i = 0; i < COLUMNS; i++) {
		if (columns[i].group != group || !w->wanted[i])
			continue;
		if (columns[i].cell == cell_state)
			state = n;
		if (columns[i].cell)
			cell[n] = columns[i].cell(c, s, b, buf[n]);
		else
			cell[n] = listeners =
				cli_listeners(s->service, c->exact ? 0 : LISTENERS_SHOWN);
		n++;
	}
	if (n) {
		table_row(&w->table, group, cell, n);
		if (state < n)
			table_colour(&w->table, (unsigned int)state, state_colour(b->state));
	}
	free(listeners);
}

static void add_headings(struct showing *w, enum group group)
{
	const char *cell[TABLE_COLUMNS];
	size_t n = headings(&w->table, group, w->wanted, cell);

	if (!n || !w->header)
		return;
	table_row(&w->table, group, cell, n);
	for (size_t i = 0; i < n; i++)
		table_colour(&w->table, (unsigned int)i, COLOUR_FAINT);
}

static int show_service(struct cli *c, const struct shown_service *s, void *ctx)
{
	struct showing *w = ctx;

	w->last = s->service;
	if (!w->services++)
		add_headings(w, SERVICES);
	add_row(c, w, SERVICES, s, NULL);
	if (s->service->members)
		add_headings(w, BACKENDS);
	for (size_t i = 0; i < s->service->members; i++)
		add_row(c, w, BACKENDS, s, &s->backend[i]);
	return 0;
}

static int add_json(struct cli *c, const struct shown_service *s, void *ctx)
{
	(void)c;
	json_object_array_add(ctx, shown_json(s));
	return 0;
}

static int show_json(struct cli *c)
{
	struct json_object *o = json_answer(c), *list = json_object_new_array();

	json_object_object_add(o, "services", list);
	if (shown_each(c, add_json, list)) {
		json_object_put(o);
		return -1;
	}
	json_print(c, o);
	return 0;
}

static bool is_anyone_checked(const struct config_service *svc)
{
	for (size_t m = 0; m < svc->members; m++)
		if (config_is_checked(svc, &svc->member[m]))
			return true;
	return false;
}

/* What poised alone does: results grow old, and shares are not moved on. */
static void say_no_daemon(const struct cli *c)
{
	bool checked = false, fades = false;

	if (instance_daemon_runs(c->instance))
		return;
	for (size_t i = 0; i < c->config->services; i++) {
		checked |= is_anyone_checked(c->config->service[i]);
		fades |= config_fade_in(&c->config->service[i]->conf) != 0;
	}
	if (checked)
		fprintf(c->out, "poised is not running: nobody checks, states stay as they are\n");
	if (fades)
		fprintf(c->out, "poised is not running: backends do not fade in\n");
}

static void say_notes(const struct cli *c, const struct showing *w)
{
	for (size_t i = 0; i < c->config->services; i++) {
		const struct config_service *svc = c->config->service[i];
		const char *note;
		char words[CELL];
		size_t at = 0;

		if (w->services == 1 && svc != w->last)
			continue;
		note = shown_rung(c, svc, words, sizeof(words));
		if (note)
			fprintf(c->out, "%s: %s\n", svc->conf.name, note);
		while ((note = service_note(svc, &at)))
			fprintf(c->out, "%s: %s\n", svc->conf.name, note);
		note = config_passive_obstacle(&svc->conf);
		if (note && svc->conf.passive && w->named)
			fprintf(c->out, "%s: not judged by its flows: %s\n", svc->conf.name, note);
	}
}

/* One frame: the state as it is now. */
static int show_once(struct cli *c)
{
	struct showing w = {.header = !c->args.set[OPT_NO_HEADER],
			    .named = args_left(&c->args) && !c->args.set[OPT_COLUMNS]};

	if (choose_columns(c, w.wanted) || cli_read(c))
		return -1;
	if (c->json)
		return show_json(c);
	table_start(&w.table);
	table_indent(&w.table, SERVICES, 1);
	table_indent(&w.table, BACKENDS, 3);
	if (shown_each(c, show_service, &w))
		return -1;
	table_print(&w.table, c->out, c->colour);
	if (!c->args.set[OPT_COLUMNS])
		say_no_daemon(c);
	say_notes(c, &w);
	if (!w.services)
		fprintf(c->out, "no services: poise service add NAME ADDR:PORT\n");
	return 0;
}

int cmd_show(struct cli *c)
{
	if (args_left(&c->args) > 1) {
		args_take(&c->args);
		return cli_no_more(c);
	}
	return c->args.set[OPT_WATCH] ? watch(c, show_once) : show_once(c);
}
