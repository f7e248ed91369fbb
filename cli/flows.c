// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise flows [SERVICE [BACKEND]] [state S] [idle 5m] [--count]: the flow words, filtered. A word
 * holds no address: it says service, backend, state and for how long it has been silent.
 *
 * There may be millions, so each is printed as it is found, in columns as wide as the names that
 * there are, and as JSON likewise.
 */
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "tabular.h"
#include "transact.h"

static const char *const states[] = {
	[POISE_FLOW_FREE] = "free",	    [POISE_FLOW_NEW] = "new",
	[POISE_FLOW_PICKUP] = "pickup",	    [POISE_FLOW_EST] = "established",
	[POISE_FLOW_FIN] = "closing",	    [POISE_FLOW_RST] = "reset",
	[POISE_FLOW_AFFINITY] = "affinity",
};

#define STATES (sizeof(states) / sizeof(states[0]))

/* Who has a member id. */
struct holder {
	const struct config_service *service;
	const struct config_member *member;
};

struct listing {
	const struct cli *c;
	struct holder *holder; /* by member id */
	size_t holders;
	/* what is asked for; NULL or 0: any */
	const struct config_service *service;
	const struct config_member *member;
	unsigned int state;
	__u32 idle;
	/* what was found */
	__u64 count;
	/* how it is printed */
	int service_width, backend_width;
};

static void index_members(struct listing *l)
{
	const struct config *cfg = l->c->config;

	l->holders = l->c->instance->meta->members;
	l->holder = calloc(l->holders, sizeof(*l->holder));
	if (!l->holder)
		abort();
	for (size_t i = 0; i < cfg->services; i++) {
		const struct config_service *svc = cfg->service[i];

		for (size_t k = 0; k < svc->members; k++) {
			if (svc->member[k].id < l->holders)
				l->holder[svc->member[k].id] =
					(struct holder){svc, &svc->member[k]};
		}
	}
}

static int wider(int width, const char *text)
{
	int w = (int)text_width(text);

	return w > width ? w : width;
}

/* Columns as wide as the widest name that may come. */
static void measure(struct listing *l)
{
	const struct config *cfg = l->c->config;

	l->service_width = wider(0, "SERVICE");
	l->backend_width = wider(0, "BACKEND");
	for (size_t i = 0; i < cfg->services; i++) {
		const struct config_service *svc = cfg->service[i];

		if (l->service && svc != l->service)
			continue;
		l->service_width = wider(l->service_width, svc->conf.name);
		for (size_t k = 0; k < svc->members; k++) {
			char name[POISE_NAME_MAX];

			l->backend_width =
				wider(l->backend_width, cli_member_name(&svc->member[k], name));
		}
	}
}

static void print_row(const struct listing *l, const char *service, const char *backend,
		      const char *state, const char *idle)
{
	/* names are plain ASCII: a byte is a column */
	fprintf(l->c->out, "%-*s  %-*s  %-11s  %7s\n", l->service_width, service, l->backend_width,
		backend, state, idle);
}

static void print_one(const struct listing *l, const struct holder *h, const char *state,
		      __u32 idle)
{
	char name[POISE_NAME_MAX], age[32];
	const char *backend = cli_member_name(h->member, name);
	struct json_object *o;

	if (!l->c->json) {
		print_row(l, h->service->conf.name, backend, state,
			  poise_format_age(idle, age, sizeof(age)));
		return;
	}
	o = json_object_new_object();
	json_add_known(o, "service", h->service->conf.name);
	json_add_known(o, "backend", backend);
	json_add_known(o, "state", state);
	json_add_u64(o, "idle_seconds", idle);
	json_item(l->c, l->count, o);
}

static bool one_word(void *ctx, __u64 word)
{
	struct listing *l = ctx;
	unsigned int state = POISE_WORD_STATE(word);
	__u16 id = POISE_WORD_MEMBER(word);
	__u32 idle = instance_word_age(l->c->instance, word);
	const struct holder *h = id < l->holders ? &l->holder[id] : NULL;

	/* Words of members that are gone are nobody's; the sweeper takes them away. */
	if (!h || !h->member || !state || state >= STATES)
		return true;
	if ((l->service && h->service != l->service) || (l->member && h->member != l->member) ||
	    (l->state && state != l->state) || idle < l->idle)
		return true;
	if (!l->c->args.set[OPT_COUNT])
		print_one(l, h, states[state], idle);
	l->count++;
	return !ferror(l->c->out);
}

/* state S and idle D in any order, at the end. */
static int take_filters(struct cli *c, struct listing *l)
{
	static const char *const words[] = {"state", "idle"};
	const char *word, *value;
	__u64 ms;
	int k;

	while ((word = args_take(&c->args))) {
		k = args_match("word", word, words, 2, c->abbreviate, &c->error);
		if (k < 0)
			return -1;
		value = cli_need(c, k ? "the duration of idle" : "the state");
		if (!value)
			return -1;
		if (k) {
			if (poise_parse_duration(value, &ms, &c->error))
				return -1;
			l->idle = (__u32)(ms / 1000);
			continue;
		}
		k = args_match("state", value, states + 1, STATES - 1, c->abbreviate, &c->error);
		if (k < 0)
			return -1;
		l->state = (unsigned int)k + 1;
	}
	return 0;
}

static bool is_filter(const char *word)
{
	return !word || !strcmp(word, "state") || !strcmp(word, "idle");
}

/* SERVICE [BACKEND], if said. */
static int take_names(struct cli *c, struct listing *l)
{
	if (is_filter(args_peek(&c->args)))
		return 0;
	l->service = cli_service(c);
	if (!l->service)
		return -1;
	if (is_filter(args_peek(&c->args)))
		return 0;
	l->member = config_member_find(l->service, args_take(&c->args), &c->error);
	return l->member ? 0 : -1;
}

static void list_json(struct cli *c, struct listing *l)
{
	struct json_object *o = json_answer(c);

	if (c->args.set[OPT_COUNT]) {
		instance_flows(c->instance, one_word, l);
		json_add_u64(o, "flows_recorded", l->count);
		json_print(c, o);
		return;
	}
	json_begin(c, o, "flows");
	instance_flows(c->instance, one_word, l);
	json_end(c);
}

static void list_text(struct cli *c, struct listing *l)
{
	measure(l);
	if (!c->args.set[OPT_NO_HEADER] && !c->args.set[OPT_COUNT])
		print_row(l, "SERVICE", "BACKEND", "STATE", "IDLE");
	instance_flows(c->instance, one_word, l);
	if (c->args.set[OPT_COUNT])
		fprintf(c->out, "%llu\n", l->count);
}

int cmd_flows(struct cli *c)
{
	struct listing l = {.c = c};

	if (cli_read(c) || take_names(c, &l) || take_filters(c, &l))
		return -1;
	index_members(&l);
	if (c->json)
		list_json(c, &l);
	else
		list_text(c, &l);
	free(l.holder);
	return CLI_OK;
}
