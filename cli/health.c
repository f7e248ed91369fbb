// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* poise health: set off test */
#include <stdlib.h>

#include "../loader/health/once.h"
#include "json.h"
#include "show.h"
#include "tabular.h"
#include "transact.h"

static int about(struct cli *c, const struct config_service *svc)
{
	return poise_error_about(&c->error, "service \"%s\"", svc->conf.name);
}

static void note_daemon(struct cli *c)
{
	if (!instance_daemon_runs(c->instance))
		cli_note(c, "poised is not running: nobody checks, states stay as they are");
}

/* The keys of a check of another type say nothing to this one: they begin at their defaults. */
static int take_type(struct cli *c, struct poise_health_conf *h)
{
	const struct option *type = option_find(OPTION_HEALTH, "type");
	struct poise_health_conf wanted;
	const char *word = cli_need(c, "TYPE");

	config_health_init(&wanted);
	if (!word || option_set(type, &wanted, word, &c->error))
		return -1;
	if (wanted.type != h->type)
		*h = wanted;
	return 0;
}

int cmd_health_set(struct cli *c)
{
	struct config *cfg = cli_begin_service(c);
	struct config_service *svc = cfg ? cli_service(c) : NULL;
	struct poise_health_conf made;
	char type[32];

	if (!svc)
		return -1;
	if (take_type(c, &svc->conf.health))
		return c->error.code == POISE_E_USAGE ? -1 : about(c, svc);
	if (cli_keys(c, OPTION_HEALTH, &svc->conf.health, false))
		return c->error.code == POISE_E_USAGE ? -1 : about(c, svc);
	svc->health_line = c->line;
	config_health_forget(svc);
	made = svc->conf.health;
	made.type = config_check_type(svc);
	if (made.type == POISE_CHECK_NONE)
		cli_say(c, "service %s: backends are not checked; all count as up.",
			svc->conf.name);
	else
		cli_say(c,
			"service %s: backends are checked by %s; each stays as it is until the "
			"first result.",
			svc->conf.name, cli_word(OPTION_HEALTH, "type", &made, type, sizeof(type)));
	if (made.type != POISE_CHECK_NONE)
		note_daemon(c);
	cli_note_files(c, svc);
	cli_note_owner(c, svc);
	return cli_end(c);
}

static bool checks_anybody(const struct config_service *svc)
{
	for (size_t m = 0; m < svc->members; m++)
		if (config_is_checked(svc, &svc->member[m]))
			return true;
	return config_check_type(svc) != POISE_CHECK_NONE;
}

int cmd_health_off(struct cli *c)
{
	struct config *cfg = cli_begin_service(c);
	struct config_service *svc = cfg ? cli_service(c) : NULL;

	if (!svc || cli_no_more(c))
		return -1;
	config_health_init(&svc->conf.health);
	svc->conf.health.type = POISE_CHECK_NONE;
	config_health_forget(svc);
	cli_say(c, "service %s: backends are not checked any more; all count as up%s.",
		svc->conf.name,
		checks_anybody(svc) ? ", but for those with a health-type of their own" : "");
	cli_note_owner(c, svc);
	return cli_end(c);
}

/* ---- test -------------------------------------------------------------------------------------*/

struct tested {
	const struct config_member **member;
	struct probe_want *want;
	struct poise_health_conf *conf; /* that want points to */
	struct probe_result *result;
	const char **why; /* it cannot go by the path; NULL: it can, or need not */
	size_t count;
};

static void add(struct tested *t, const struct config_service *svc, const struct config_member *m)
{
	struct probe_want *want = &t->want[t->count];

	config_check_of(svc, m, &t->conf[t->count]);
	*want = (struct probe_want){
		.addr = m->conf.addr,
		.port = config_check_port(svc, m),
		.conf = &t->conf[t->count],
		.member = m->id,
	};
	want->by_path = config_check_path(svc, m, &want->address, &t->why[t->count]);
	t->member[t->count++] = m;
}

/* The backend that is named, else all. */
static int choose(struct cli *c, const struct config_service *svc, struct tested *t)
{
	const char *word = args_take(&c->args);
	const struct config_member *m;

	if (word) {
		m = config_member_find(svc, word, &c->error);
		if (!m || cli_no_more(c))
			return -1;
		if (!config_is_checked(svc, m))
			return poise_fail(&c->error, POISE_E_CONFLICT,
					  "backend %s is not checked (%s)", word,
					  m->conf.check_off ? "checked no" : "type none");
		add(t, svc, m);
		return 0;
	}
	for (size_t k = 0; k < svc->members; k++)
		if (!config_member_leaving(&svc->member[k]) &&
		    config_is_checked(svc, &svc->member[k]))
			add(t, svc, &svc->member[k]);
	return 0;
}

static struct json_object *answer_json(const char *name, const struct probe_result *r)
{
	struct json_object *o = json_object_new_object();

	json_add_known(o, "backend", name);
	json_add_known(o, "result", r->good ? "good" : "bad");
	json_add_known(o, "detail", r->words);
	json_add_known(o, "via", r->by_path ? "path" : "direct");
	json_add_real(o, "duration_seconds", r->us / 1e6);
	return o;
}

static void print_json(struct cli *c, const struct config_service *svc, const struct tested *t)
{
	struct json_object *o = json_answer(c), *list = json_object_new_array();
	char name[POISE_NAME_MAX];

	json_add_known(o, "service", svc->conf.name);
	for (size_t k = 0; k < t->count; k++)
		json_object_array_add(
			list, answer_json(cli_member_name(t->member[k], name), &t->result[k]));
	json_object_object_add(o, "checks", list);
	json_print(c, o);
}

static void print_text(struct cli *c, const struct tested *t)
{
	char name[POISE_NAME_MAX], took[32];
	struct table table;

	table_start(&table);
	for (size_t k = 0; k < t->count; k++) {
		const struct probe_result *r = &t->result[k];

		table_row(&table, 0,
			  (const char *const[]){cli_member_name(t->member[k], name),
						r->good ? "good" : "bad", r->words,
						shown_took(r->us, took, sizeof(took)),
						r->by_path ? "by the path" : "directly",
						t->why[k] ? t->why[k] : ""},
			  6);
	}
	table_print(&table, c->out, c->colour);
}

static bool all_good(const struct tested *t)
{
	for (size_t k = 0; k < t->count; k++)
		if (!t->result[k].good)
			return false;
	return true;
}

int cmd_health_test(struct cli *c)
{
	struct config_service *svc;
	struct tested t = {0};
	int rc = -1;

	if (cli_read(c))
		return -1;
	svc = cli_service(c);
	if (!svc)
		return -1;
	if (!checks_anybody(svc)) {
		poise_fail(&c->error, POISE_E_CONFLICT, "its backends are not checked");
		poise_error_remedy(&c->error, "poise health set %s tcp", svc->conf.name);
		return about(c, svc);
	}
	t.member = calloc(svc->members + 1, sizeof(*t.member));
	t.want = calloc(svc->members + 1, sizeof(*t.want));
	t.conf = calloc(svc->members + 1, sizeof(*t.conf));
	t.result = calloc(svc->members + 1, sizeof(*t.result));
	t.why = calloc(svc->members + 1, sizeof(*t.why));
	if (!t.member || !t.want || !t.conf || !t.result || !t.why)
		abort();
	if (choose(c, svc, &t))
		goto free;
	rc = probe_once(c->instance, t.want, t.count, t.result);
	if (rc)
		poise_fail(&c->error, POISE_E_SYSTEM, "cannot make an event loop");
	else
		rc = all_good(&t) ? 0 : CLI_NO;
	if (rc >= 0 && c->json)
		print_json(c, svc, &t);
	else if (rc >= 0)
		print_text(c, &t);
free:
	free(t.member);
	free(t.want);
	free(t.conf);
	free(t.result);
	free(t.why);
	return rc;
}
