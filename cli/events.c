// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise events: what changed, from the ring in the instance's maps. With --follow what comes, a
 * line each, until ^C or until the instance is removed. Whoever reads too slowly is told how many
 * it missed.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../maps/clock.h"
#include "../maps/memory.h"
#include "../maps/events.h"
#include "event.h"
#include "transact.h"

#define LOOK_US	  50000 /* between looks with --follow: one load each */
#define FINISH_US 1000	/* between looks at one that is being written */

struct asked {
	char service[POISE_NAME_MAX]; /* empty: of any, and of none */
	__u64 since;		      /* CLOCK_REALTIME ns */
	__u64 last;		      /* that many at most; 0: all */
};

/* Those to be printed, oldest first. */
struct listed {
	struct poise_event *event;
	size_t n, room;
};

static const char *const filters[] = {"since", "last"};

#define FILTERS (sizeof(filters) / sizeof(filters[0]))

/* ---- which ------------------------------------------------------------------------------------*/

/* A service that is gone by now has events all the same. */
static bool was_told(const struct instance *i, const char *name)
{
	struct events_reader r;
	struct poise_event e;
	bool found = false;

	events_open(&r, i, true);
	while (!found && events_next(&r, i, &e))
		found = !strcmp(e.service, name);
	return found;
}

static int take_service(struct cli *c, struct asked *a)
{
	const char *word = args_peek(&c->args);
	const struct config_service *svc;

	if (!word || !strcmp(word, filters[0]) || !strcmp(word, filters[1]))
		return 0;
	if (strlen(word) < sizeof(a->service) && was_told(c->instance, word)) {
		strcpy(a->service, args_take(&c->args));
		return 0;
	}
	svc = cli_service(c);
	if (!svc)
		return -1;
	memcpy(a->service, svc->conf.name, sizeof(a->service));
	return 0;
}

static int take_since(struct cli *c, const char *value, struct asked *a)
{
	__u64 ms;

	if (poise_parse_duration(value, &ms, &c->error))
		return -1;
	a->since = cli_now() - ms * NS_PER_MS;
	return 0;
}

static int take(struct cli *c, struct asked *a)
{
	const char *word, *value;
	int k;

	if (take_service(c, a))
		return -1;
	while ((word = args_take(&c->args))) {
		k = args_match("word", word, filters, FILTERS, c->abbreviate, &c->error);
		if (k < 0)
			return -1;
		value = cli_need(c, k ? "the number of last" : "the duration of since");
		if (!value ||
		    (k ? poise_parse_number(value, &a->last, &c->error) : take_since(c, value, a)))
			return -1;
		if (k && !a->last)
			return cli_usage(c, "last 0 is none at all");
	}
	return 0;
}

static bool is_asked(const struct asked *a, const struct poise_event *e)
{
	return e->at >= a->since && (!a->service[0] || !strcmp(a->service, e->service));
}

/* ---- what was told ----------------------------------------------------------------------------*/

static void list_add(struct listed *l, const struct poise_event *e)
{
	l->event = memory_grow(l->event, l->n, &l->room, sizeof(*l->event));
	l->event[l->n++] = *e;
}

/* All there are now; one that is just being written is waited for. */
static void read_all(struct cli *c, const struct asked *a, struct events_reader *r,
		     struct listed *l)
{
	struct events_reader end;
	struct poise_event e;

	events_open(r, c->instance, true);
	events_open(&end, c->instance, false);
	while (r->next < end.next) {
		if (!events_next(r, c->instance, &e))
			usleep(FINISH_US);
		else if (is_asked(a, &e))
			list_add(l, &e);
	}
	if (a->last && l->n > a->last) {
		memmove(l->event, l->event + (l->n - a->last), a->last * sizeof(*l->event));
		l->n = a->last;
	}
}

static void print_missed(struct cli *c, __u64 missed)
{
	struct json_object *o;

	if (!missed)
		return;
	if (!c->json) {
		fprintf(c->out, "%llu events were missed: they came faster than they were read\n",
			missed);
		return;
	}
	o = json_object_new_object();
	json_add_known(o, "event", "missed");
	json_add_u64(o, "missed", missed);
	json_print(c, o);
}

static void print_list_json(struct cli *c, const struct listed *l, __u64 missed)
{
	struct json_object *o = json_answer(c), *list = json_object_new_array();

	if (missed)
		json_add_u64(o, "missed", missed);
	for (size_t k = 0; k < l->n; k++)
		json_object_array_add(list, event_json(&l->event[k]));
	json_object_object_add(o, "events", list);
	json_print(c, o);
}

/* ---- what is told from now on -----------------------------------------------------------------*/

static bool stands(const struct instance *i)
{
	struct stat st;

	return !fstat(i->lock_fd, &st) && st.st_nlink > 0;
}

static void print_one(struct cli *c, const struct poise_event *e)
{
	if (c->json)
		json_print(c, event_json(e));
	else
		event_print(c, e);
}

static int follow(struct cli *c, const struct asked *a, struct events_reader *r)
{
	struct poise_event e;
	__u64 told = 0;

	for (;;) {
		bool there = stands(c->instance);

		while (events_next(r, c->instance, &e)) {
			print_missed(c, r->missed - told);
			told = r->missed;
			if (is_asked(a, &e))
				print_one(c, &e);
		}
		if (fflush(c->out)) /* nobody reads it any more */
			return CLI_OK;
		if (!there)
			return poise_fail(&c->error, POISE_E_NO_INSTANCE,
					  "the instance was removed");
		usleep(LOOK_US);
	}
}

int cmd_events(struct cli *c)
{
	bool goes_on = c->args.set[OPT_FOLLOW];
	struct events_reader r;
	struct listed l = {0};
	struct asked a = {0};
	int status = CLI_OK;

	if (cli_read(c) || take(c, &a))
		return -1;
	read_all(c, &a, &r, &l);
	if (goes_on && !a.since && !a.last)
		l.n = 0; /* what was is not asked for */
	if (c->json && !goes_on) {
		print_list_json(c, &l, r.missed);
	} else {
		for (size_t k = 0; k < l.n; k++)
			print_one(c, &l.event[k]);
	}
	free(l.event);
	r.missed = 0;
	if (goes_on)
		status = follow(c, &a, &r);
	return status;
}
