// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Gathering what is shown; see show.h. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "../maps/clock.h"
#include "../maps/table.h"
#include "service_notes.h"
#include "show.h"

static void add_stats(struct instance_stats *sum, const struct instance_stats *s)
{
	sum->flows += s->flows;
	sum->packets += s->packets;
	sum->bytes += s->bytes;
	sum->opened += s->opened;
	sum->closed += s->closed;
	sum->has_rates &= s->has_rates;
	for (int i = 0; i < POISE_SIGNALS; i++)
		sum->signal[i] += s->signal[i];
	for (int i = 0; i < 2; i++) {
		sum->new_flows[i] += s->new_flows[i];
		sum->packets_rate[i] += s->packets_rate[i];
		sum->bytes_rate[i] += s->bytes_rate[i];
	}
}

/* Behind `up`: how far it has come. */
static void gather_fade(const struct cli *c, const struct config_service *svc,
			struct shown_backend *b)
{
	size_t used = strlen(b->state);

	b->fade = 1;
	if (strcmp(b->state, "up") != 0 ||
	    !instance_member_fades(c->instance, svc, b->member, cli_now(),
				   instance_stamp_now(c->instance), &b->fade))
		return;
	if (b->fade < 1)
		snprintf(b->state + used, sizeof(b->state) - used, " fading %.0f%%", 100 * b->fade);
	else
		snprintf(b->state + used, sizeof(b->state) - used, " catching up");
}

static void gather_backend(struct cli *c, const struct config_service *svc,
			   const struct config_member *m, struct shown_backend *b)
{
	bool unchecked = config_is_checked(svc, m) && m->conf.health <= POISE_HEALTH_CHECKING &&
			 !instance_daemon_runs(c->instance);
	char name[POISE_NAME_MAX];

	b->member = m;
	snprintf(b->name, sizeof(b->name), "%s", cli_member_name(m, name));
	snprintf(b->state, sizeof(b->state), "%s%s", instance_member_state(c->instance, svc, m),
		 unchecked ? " unchecked" : "");
	if (!strncmp(b->state, "unresolved", 10))
		cli_unreachable(c, svc, m, b->why, sizeof(b->why));
	gather_fade(c, svc, b);
	b->flows_known = cli_flows_known(svc);
	instance_member_stats(c->instance, m->id, &b->stats);
	b->latency = latency_tell(instance_latencies(c->instance, m->id, 1));
	if (config_is_checked(svc, m))
		instance_check_result(c->instance, m->id, &b->check);
}

/* What those who fade in do not take goes to the others. */
static void share_faded(struct shown_service *s, const double *share)
{
	double taken = 0;

	for (size_t i = 0; i < s->service->members; i++)
		taken += share[i] * s->backend[i].fade;
	for (size_t i = 0; i < s->service->members && taken > 0; i++)
		s->backend[i].share = share[i] * s->backend[i].fade / taken;
}

void shown_gather(struct cli *c, const struct config_service *svc, struct shown_service *s)
{
	double *share = calloc(svc->members + 1, sizeof(*share));

	memset(s, 0, sizeof(*s));
	s->service = svc;
	s->flows_known = cli_flows_known(svc);
	s->ladder = instance_ladder(c->instance, svc);
	s->backend = calloc(svc->members + 1, sizeof(*s->backend));
	if (!share || !s->backend)
		abort();
	s->stats.has_rates = svc->members > 0;
	instance_shares(c->instance, svc, share);
	aging_count(c->instance, svc->id, &s->tracking);
	for (size_t i = 0; i < svc->members; i++) {
		struct shown_backend *b = &s->backend[i];

		gather_backend(c, svc, &svc->member[i], b);
		s->up += !strncmp(b->state, "up", 2);
		s->configured += svc->member[i].conf.r.state != POISE_REC_LEAVING &&
				 !svc->member[i].conf.sorry;
		add_stats(&s->stats, &b->stats);
	}
	share_faded(s, share);
	free(share);
}

void shown_free(struct shown_service *s)
{
	free(s->backend);
	s->backend = NULL;
}

int shown_each(struct cli *c, int (*each)(struct cli *c, const struct shown_service *s, void *ctx),
	       void *ctx)
{
	const char *word = args_peek(&c->args);
	const struct config_service *one = NULL;
	int status = 0;

	if (word) {
		one = cli_service(c);
		if (!one)
			return -1;
	}
	for (size_t i = 0; i < c->config->services && !status; i++) {
		struct shown_service s;

		if (one && c->config->service[i] != one)
			continue;
		shown_gather(c, c->config->service[i], &s);
		status = each(c, &s, ctx);
		shown_free(&s);
	}
	return status;
}

char *cli_listeners(const struct config_service *svc, unsigned int most)
{
	unsigned int n = svc->conf.listeners, shown = most && n > most ? most : n;
	size_t size = (size_t)(shown + 1) * (POISE_ENDPOINT_TEXT + 1), used = 0;
	char *text = calloc(1, size), one[POISE_ENDPOINT_TEXT];

	if (!text)
		abort();
	for (unsigned int i = 0; i < shown; i++)
		used += (size_t)snprintf(
			text + used, size - used, "%s%s", i ? " " : "",
			poise_format_listener(&svc->conf.listener[i], one, sizeof(one)));
	if (shown < n)
		snprintf(text + used, size - used, " +%u more", n - shown);
	return text;
}

/* ---- JSON ---------------------------------------------------------------------------------*/

struct json_object *json_listeners(const struct config_service *svc)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < svc->conf.listeners; i++) {
		const struct poise_listener_conf *l = &svc->conf.listener[i];
		struct json_object *o = json_object_new_object();
		char text[POISE_ADDR_TEXT];

		json_add_known(o, "address", poise_format_addr(&l->addr, text, sizeof(text)));
		json_add_u64(o, "port", ntohs(l->port));
		json_add_known(o, "protocol", l->proto == IPPROTO_UDP ? "udp" : "tcp");
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *json_ranges(const struct ranges *list)
{
	struct json_object *array = json_object_new_array();
	char text[RANGE_TEXT];

	for (size_t i = 0; i < list->n; i++) {
		range_format(&list->range[i], text, sizeof(text));
		json_object_array_add(array, json_object_new_string(text));
	}
	return array;
}

/* One that may be left to other options says so, and then shown_json says the one in force. */
static void add_duration(struct json_object *o, const char *key, const struct option *opt, __u64 ms)
{
	bool left = opt->ones && ms == (__u32)~0u;
	char text[48];

	snprintf(text, sizeof(text), "%s_auto", key);
	if (opt->ones)
		json_object_object_add(o, text, json_object_new_boolean(left));
	snprintf(text, sizeof(text), "%s_seconds", key);
	if (!left)
		json_add_real(o, text, (double)ms / 1e3);
}

/* No limit is no number, nor is what a check does not ask for. */
static bool zero_is_absent(const struct option *o)
{
	return o->zero && (o->scope == OPTION_HEALTH || !strcmp(o->zero, "none"));
}

/* A ratio has a name of its own; none is absent. */
static void add_part(struct json_object *o, const char *key, __u64 n)
{
	char ratio[64];

	snprintf(ratio, sizeof(ratio), "%s_ratio", key);
	if (n & POISE_PART_PERCENT)
		json_add_real(o, ratio, (double)(n & ~(__u64)POISE_PART_PERCENT) / 1e2);
	else if (n)
		json_add_u64(o, key, n);
}

static void add_option(struct json_object *o, const struct option *opt, const void *obj);

/* As the key of health that it stands in for; absent where that holds. */
static void add_own(struct json_object *o, const struct option *opt, const void *obj)
{
	struct option owned = *option_owned(opt);
	struct poise_health_conf h;

	owned.key = opt->key;
	if (option_own(opt, obj, &h))
		add_option(o, &owned, &h);
}

/* A value of the option table: a number as such, a word as text; the key with _ for -. */
static void add_option(struct json_object *o, const struct option *opt, const void *obj)
{
	char key[32], text[OPTION_TEXT];
	__u64 n = option_number(opt, obj);

	snprintf(key, sizeof(key), "%s", opt->key);
	for (char *p = key; *p; p++)
		*p = *p == '-' ? '_' : *p;
	switch (opt->type) {
	case OPTION_BOOL: json_object_object_add(o, key, json_object_new_boolean(n != 0)); break;
	case OPTION_U8:
	case OPTION_U16:
	case OPTION_U32:
	case OPTION_SIZE:
		if (n || !zero_is_absent(opt))
			json_add_u64(o, key, n);
		break;
	case OPTION_DURATION: add_duration(o, key, opt, n); break;
	case OPTION_PERCENT:
		if (!n && opt->zero) /* shown_json says the one in force */
			break;
		strncat(key, "_ratio", sizeof(key) - strlen(key) - 1);
		json_add_real(o, key, (double)n / 1e2);
		break;
	case OPTION_HUNDREDTHS: json_add_real(o, key, (double)n / 1e2); break;
	case OPTION_TABLE_SIZE: /* a number always: shown_json says the one in force */
		json_object_object_add(o, "table_size_auto", json_object_new_boolean(!n));
		break;
	case OPTION_RANGES:
		json_object_object_add(o, key, json_ranges(option_list_const(opt, obj)));
		break;
	case OPTION_PART: add_part(o, key, n); break;
	case OPTION_OWN: add_own(o, opt, obj); break;
	default: json_add_known(o, key, option_format(opt, obj, text, sizeof(text)));
	}
}

void json_options(struct json_object *o, enum option_scope scope, const void *obj)
{
	for (const struct option *opt = option_first(scope); opt; opt = option_next(opt))
		add_option(o, opt, obj);
}

void json_add_stats(struct json_object *o, const struct instance_stats *s, bool flows_known)
{
	if (flows_known) {
		json_add_u64(o, "flows", s->flows > 0 ? (__u64)s->flows : 0);
		json_add_u64(o, "flows_opened_total", s->opened);
		json_add_u64(o, "flows_closed_total", s->closed);
	}
	json_add_u64(o, "packets_total", s->packets);
	json_add_u64(o, "bytes_total", s->bytes);
	if (!s->has_rates)
		return;
	if (flows_known)
		json_add_real(o, "new_flows_per_second", s->new_flows[0]);
	json_add_real(o, "packets_per_second", s->packets_rate[0]);
	json_add_real(o, "bytes_per_second", s->bytes_rate[0]);
}

void json_add_latency(struct json_object *o, const struct latency_told *t)
{
	struct json_object *latency;

	if (!t->source)
		return;
	latency = json_object_new_object();
	json_object_object_add(o, "latency", latency);
	json_add_known(latency, "source", t->source);
	json_add_u64(latency, "samples_total", t->samples);
	json_add_real(latency, "recent_seconds", t->recent);
	if (!t->p50)
		return;
	json_add_real(latency, "p50_seconds", t->p50);
	json_add_real(latency, "p90_seconds", t->p90);
	json_add_real(latency, "p99_seconds", t->p99);
}

static const char *health_word(int health)
{
	static const char *const words[] = {
		[POISE_HEALTH_NONE] = "none",
		[POISE_HEALTH_CHECKING] = "checking",
		[POISE_HEALTH_UP] = "up",
		[POISE_HEALTH_DOWN] = "down",
	};

	return health >= 0 && health <= POISE_HEALTH_DOWN ? words[health] : NULL;
}

const char *shown_latency(double seconds, char *buf, size_t size)
{
	if (seconds >= 1e-3)
		return shown_took((__u64)(seconds * 1e6), buf, size);
	snprintf(buf, size, "%.3fms", seconds * 1e3);
	return buf;
}

const char *shown_took(__u64 us, char *buf, size_t size)
{
	if (us < 10000)
		snprintf(buf, size, "%.1fms", (double)us / 1000);
	else if (us < 1000000)
		snprintf(buf, size, "%llums", us / 1000);
	else
		snprintf(buf, size, "%.1fs", (double)us / 1000000);
	return buf;
}

const char *shown_ejection(const struct shown_backend *b, char *buf, size_t size)
{
	const struct poise_member_conf *m = &b->member->conf;
	char why[CONFIG_EJECT_TEXT], left[32];
	__u64 now = cli_now();

	config_eject_words(m, why, sizeof(why));
	if (m->eject_until > now)
		snprintf(buf, size, "%s; back in %s", why,
			 poise_format_age((m->eject_until - now) / NS_PER_S, left, sizeof(left)));
	else
		snprintf(buf, size, "%s; back when poised looks", why);
	return buf;
}

static struct json_object *check_json(const struct poise_check_result *r)
{
	struct json_object *o = json_object_new_object();

	json_add_known(o, "result", r->good ? "good" : "bad");
	json_add_known(o, "detail", r->words);
	json_add_known(o, "via", r->by_path ? "path" : "direct");
	json_add_u64(o, "in_a_row", r->in_a_row);
	if (r->held_until > clock_realtime())
		json_add_time(o, "held_until", r->held_until);
	json_add_real(o, "duration_seconds", r->us / 1e6);
	json_add_time(o, "at", r->at);
	return o;
}

static struct json_object *ejection_json(const struct poise_member_conf *m)
{
	static const char *const words[POISE_FAULTS] = {
		[POISE_FAULT_UNANSWERED] = "unanswered",
		[POISE_FAULT_UNFINISHED] = "unfinished",
		[POISE_FAULT_REFUSED] = "refused",
	};
	struct json_object *o = json_object_new_object();

	json_add_known(o, "fault", m->ejected < POISE_FAULTS ? words[m->ejected] : NULL);
	json_add_u64(o, "flows", m->eject_flows);
	json_add_real(o, "bad_ratio", m->eject_bad / 1e2);
	json_add_real(o, "median_ratio", m->eject_median / 1e2);
	json_add_real(o, "time_seconds", m->eject_time / 1e3);
	json_add_time(o, "until", m->eject_until);
	return o;
}

static struct json_object *backend_json(const struct shown_service *s,
					const struct shown_backend *b)
{
	const struct poise_member_conf *m = &b->member->conf;
	struct json_object *o = json_object_new_object();
	char text[POISE_ADDR_TEXT];

	json_add_known(o, "address", poise_format_addr(&m->addr, text, sizeof(text)));
	if (m->port)
		json_add_u64(o, "port", ntohs(m->port));
	json_options(o, OPTION_BACKEND, m);
	/* What is in force, where the option has another word for "none of its own". */
	json_object_object_del(o, "name");
	json_object_object_del(o, "forward");
	json_object_object_del(o, "max_conns");
	if (config_max_conns(&s->service->conf, m))
		json_add_u64(o, "max_conns", config_max_conns(&s->service->conf, m));
	json_add_known(o, "forward",
		       option_word(option_find(OPTION_SERVICE, "forward"),
				   config_mode(s->service, b->member)));
	json_add_known(o, "name", b->name);
	json_add_known(o, "owner", cli_owner(m->r.owner));
	json_add_known(o, "health", health_word(m->health));
	json_add_known(o, "state", b->state);
	json_add_known(o, "state_reason", b->why);
	json_add_time(o, "state_since", m->since);
	json_add_real(o, "share_ratio", b->share);
	json_add_real(o, "fade_ratio", b->fade);
	json_add_stats(o, &b->stats, b->flows_known);
	json_add_latency(o, &b->latency);
	if (b->check.at)
		json_object_object_add(o, "check", check_json(&b->check));
	if (m->ejected)
		json_object_object_add(o, "ejection", ejection_json(m));
	return o;
}

static struct json_object *health_json(const struct config_service *svc)
{
	struct poise_health_conf h = svc->conf.health;
	struct json_object *o = json_object_new_object();

	h.type = config_check_type(svc);
	if (h.type != POISE_CHECK_NONE)
		json_options(o, OPTION_HEALTH, &h);
	else
		json_add_known(o, "type", "none");
	json_object_object_add(o, "type_auto",
			       json_object_new_boolean(svc->conf.health.type == POISE_CHECK_AUTO));
	return o;
}

/* How much of the table is not settled yet: why packets' flows are looked up. */
static struct json_object *tracking_json(const struct aging_counts *n)
{
	struct json_object *o = json_object_new_object();

	json_add_u64(o, "slots_differing", n->differing);
	json_add_u64(o, "slots_mixed", n->mixed);
	json_object_object_add(o, "base_table", json_object_new_boolean(n->base));
	json_object_object_add(o, "unrecorded", json_object_new_boolean(n->untracked));
	return o;
}

static struct json_object *notes_json(const struct config_service *svc)
{
	struct json_object *list = json_object_new_array();
	const char *note;
	size_t at = 0;

	while ((note = service_note(svc, &at)))
		json_object_array_add(list, json_object_new_string(note));
	return list;
}

struct json_object *shown_json(const struct shown_service *s)
{
	const struct poise_service_conf *conf = &s->service->conf;
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	json_add_known(o, "name", conf->name);
	json_add_known(o, "owner", cli_owner(conf->r.owner));
	json_options(o, OPTION_SERVICE, s->service);
	json_add_u64(o, "table_size", config_table_size(s->service));
	json_object_object_add(o, "notes", notes_json(s->service));
	json_object_object_add(o, "tracking", tracking_json(&s->tracking));
	json_object_object_del(o, "max_ejected_ratio");
	json_add_real(o, "max_ejected_ratio",
		      conf->max_ejected ? conf->max_ejected / 1e2 : 1.0 / 3);
	json_add_known(o, "passive_obstacle", config_passive_obstacle(conf));
	json_add_real(o, "fade_in_seconds", (double)config_fade_in(conf) / 1e3);
	json_object_object_add(o, "health", health_json(s->service));
	json_object_object_add(o, "listeners", json_listeners(s->service));
	json_add_u64(o, "backends_up", s->up);
	json_add_u64(o, "backends_configured", s->configured);
	json_add_known(o, "rung", ladder_rung_word(ladder_rung(&s->ladder)));
	json_object_object_add(o, "panics", json_object_new_boolean(ladder_panics(&s->ladder)));
	json_object_object_add(o, "below_minimum",
			       json_object_new_boolean(ladder_below(&s->ladder)));
	json_add_stats(o, &s->stats, s->flows_known);
	for (size_t i = 0; i < s->service->members; i++)
		json_object_array_add(list, backend_json(s, &s->backend[i]));
	json_object_object_add(o, "backends", list);
	return o;
}
