/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is shown of services and backends: gathered once (struct shown_*), then printed as a table
 * or as JSON. What is not known stays marked so: "-" in the table, absent in JSON.
 */
#ifndef POISE_CLI_SHOW_H
#define POISE_CLI_SHOW_H

#include <json-c/json.h>

#include "../maps/aging.h"
#include "../maps/quantile.h"
#include "transact.h"

struct shown_backend {
	const struct config_member *member;
	char name[POISE_NAME_MAX];
	char state[64]; /* in the words of the manual */
	double fade;	/* the part of its share that it takes; 1: all, or catching up */
	double share;	/* of the service's table, 0..1 */
	char why[128];	/* it has no next hop; empty: not known, or it has one */
	struct poise_check_result check; /* at 0: none is known */
	struct latency_told latency;
	bool flows_known;
	struct instance_stats stats;
};

struct shown_service {
	const struct config_service *service;
	size_t up, configured; /* backends; without those leaving, and sorry ones */
	bool flows_known;
	struct ladder ladder;
	struct instance_stats stats; /* sums over the backends */
	struct aging_counts tracking;
	struct shown_backend *backend;
};

/* Gathers svc as c->instance has it now; free with shown_free. */
void shown_gather(struct cli *c, const struct config_service *svc, struct shown_service *s);
void shown_free(struct shown_service *s);

/* Who serves instead of those that are up, in words, in buf or a text of its own; NULL: nobody
 * need. */
const char *shown_rung(const struct cli *c, const struct config_service *svc, char *buf,
		       size_t size);

/* Why it is ejected and for how long. */
const char *shown_ejection(const struct shown_backend *b, char *buf, size_t size);
#define SHOWN_EJECTION (CONFIG_EJECT_TEXT + 32)

/* A duration in microseconds, for people: 0.9ms, 120ms, 2.5s. */
const char *shown_took(__u64 us, char *buf, size_t size);

/* The same for latencies, which may be shorter: 0.034ms. */
const char *shown_latency(double seconds, char *buf, size_t size);

/* A service as `show --json` has it. */
struct json_object *shown_json(const struct shown_service *s);
struct json_object *json_listeners(const struct config_service *svc);
/* Every option of obj, a structure of the scope. */
void json_options(struct json_object *o, enum option_scope scope, const void *obj);
/* Adds the counters and rates of s that are known. */
void json_add_stats(struct json_object *o, const struct instance_stats *s, bool flows_known);

/* Adds what is known of a latency, if anything is. */
void json_add_latency(struct json_object *o, const struct latency_told *t);

/* Listeners with a space between, malloc'ed; most: how many before "+N more", 0 all. */
char *cli_listeners(const struct config_service *svc, unsigned int most);

/* The service named by the next word, or every one: calls each() in order; -1 with an error. */
int shown_each(struct cli *c, int (*each)(struct cli *c, const struct shown_service *s, void *ctx),
	       void *ctx);

#endif
