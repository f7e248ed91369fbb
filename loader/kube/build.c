// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One poise service of a Service: listeners, members, options, and the proof that they go together.
 * What does not is blamed on the one annotation without which they would.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "annotate.h"
#include "maps/memory.h"
#include "maps/option.h"
#include "maps/text.h"
#include "plan.h"

#define WHY_TEXT 320 /* of an error, in a finding */

struct work {
	const struct build *b;
	struct config *part;
	struct config_service *svc;
	struct kube_findings *findings;
};

/* ---- listeners --------------------------------------------------------------------------------*/

static bool meant(const struct build *b, const struct place *p)
{
	return b->kinds & 1 << p->kind &&
	       b->family == (poise_addr_is4(&p->addr) ? KUBE_IPV4 : KUBE_IPV6);
}

size_t build_listeners(const struct build *b, const struct kube_port *port)
{
	size_t n = 0;

	for (size_t i = 0; i < b->places->n; i++)
		n += meant(b, &b->places->place[i]) && place_port(&b->places->place[i], port);
	return n;
}

static void listen_on(struct work *w, const struct kube_port *port)
{
	const struct kube_about about = plan_about(w->b->e);
	char field[32], text[POISE_ENDPOINT_TEXT];
	struct poise_error err = {0};

	for (size_t i = 0; i < w->b->places->n; i++) {
		const struct place *p = &w->b->places->place[i];
		const struct poise_listener_conf l = {
			.addr = p->addr,
			.port = htons(place_port(p, port)),
			.proto = port->proto,
			.owner = POISE_OWNER_KUBERNETES,
			/* Whoever may write a Service may name any address as an external one, a
			 * pod's that comes by here too: its other ports are not his. */
			.alone = p->kind != PLACE_INGRESS,
		};

		if (!meant(w->b, p) || !l.port || config_listener_at(w->svc, &l) >= 0)
			continue;
		if (!config_listen(w->part, w->svc, &l, &err))
			continue;
		snprintf(field, sizeof(field), "spec.ports[%u]", port->at);
		kube_find(w->findings, &about, KUBE_R_FULL, field, "not served on %s: %s",
			  poise_format_listener(&l, text, sizeof(text)), err.message);
	}
}

/* ---- members ----------------------------------------------------------------------------------*/

static void put_members(struct work *w)
{
	const struct targets *t = w->b->targets;
	struct config_member proto = {.admin_said = true};

	option_defaults(OPTION_BACKEND, &proto.conf);
	proto.conf.r.state = POISE_REC_USED;
	proto.conf.r.owner = POISE_OWNER_KUBERNETES;
	w->svc->member = memory_alloc(t->n * sizeof(*w->svc->member));
	w->svc->room = t->n;
	for (size_t i = 0; i < t->n; i++) {
		struct config_member *m = &w->svc->member[w->svc->members++];

		*m = proto;
		m->conf.addr = t->target[i].addr;
		m->conf.port = htons(t->target[i].port);
		m->conf.admin = t->target[i].admin;
	}
}

/* Pods on this node are reached by its own routing, with the client's address; others through one
 * of ours. An annotation that says how is for all of them. */
static void put_modes(struct work *w, bool said)
{
	for (size_t i = 0; i < w->svc->members; i++) {
		struct config_member *m = &w->svc->member[i];
		bool local = !said && w->b->targets->target[i].local;

		m->conf.forward = local ? POISE_LOCAL : 0;
		m->conf.forward_set = local;
	}
}

/* ---- options ----------------------------------------------------------------------------------*/

static void blame(struct work *w, enum kube_reason reason, const struct kube_note *note,
		  const struct poise_error *err)
{
	const struct kube_about about = plan_about(w->b->e);
	char field[128] = "", why[WHY_TEXT], value[64];

	if (note) {
		snprintf(field, sizeof(field), "metadata.annotations.%s%s", KUBE_ANNOTATION,
			 note->key);
		poise_quote(note->value, value, sizeof(value));
	}
	poise_error_text(err, why, sizeof(why));
	if (note && reason == KUBE_R_REFUSED)
		kube_find(w->findings, &about, reason, field, "%s is left out: %s", value, why);
	else if (err->remedy[0])
		kube_find(w->findings, &about, reason, field, "%s; %s", why, err->remedy);
	else
		kube_find(w->findings, &about, reason, field, "%s", why);
}

/* Keys of a check that no annotation has given a type. */
static void leave_idle_checks(struct work *w, bool quiet)
{
	static const char dash[] = "health-";
	struct poise_health_conf *health = &w->svc->conf.health;
	const struct kube_service *s = w->b->e->service;
	struct poise_error err = {0};

	poise_fail(&err, POISE_E_CONFLICT, "says nothing without a type of check");
	poise_error_about(&err, "health");
	for (size_t i = 0; i < s->notes && !quiet; i++) {
		const struct option *o = NULL;

		if (!strncmp(s->note[i].key, dash, strlen(dash)))
			o = option_find(OPTION_HEALTH, s->note[i].key + strlen(dash));
		if (o && strcmp(o->key, "type") != 0 && !option_is_default(o, health))
			blame(w, KUBE_R_REFUSED, &s->note[i], &err);
	}
	config_health_fit(health);
}

/* All options anew, but one annotation (past the last: none is left out), or but all of them.
 * quiet: no findings. */
static void set_options(struct work *w, size_t but, bool none, bool quiet)
{
	const struct kube_service *s = w->b->e->service;
	struct poise_error err;
	bool forwards = false;

	ranges_free(&w->svc->allow);
	ranges_free(&w->svc->deny);
	option_defaults(OPTION_SERVICE, w->svc);
	config_health_init(&w->svc->conf.health);
	annotate_spec(s, w->svc);
	for (size_t i = 0; i < s->notes && !none; i++) {
		const struct kube_note *note = &s->note[i];

		memset(&err, 0, sizeof(err));
		if (i == but)
			continue;
		if (!annotate_note(note, w->svc, &err))
			forwards |= !strcmp(note->key, "forward") &&
				    strcmp(note->value, "default") != 0;
		else if (!quiet)
			blame(w, KUBE_R_ANNOTATION, note, &err);
	}
	if (w->svc->conf.health.type == POISE_CHECK_NONE &&
	    !(but < s->notes && !strcmp(s->note[but].key, "health")))
		leave_idle_checks(w, quiet);
	put_modes(w, forwards);
	if (s->local && w->b->targets->anywhere)
		w->svc->conf.on_nobody = POISE_NOBODY_DROP;
	if (s->ranged && w->b->kinds & 1 << PLACE_INGRESS)
		annotate_ranges(s, w->svc);
}

/* Alone in a configuration of its own. */
static int validate(struct work *w, struct poise_error *err)
{
	struct config alone = {.service = &w->svc, .services = 1};

	return config_validate(&alone, err);
}

/* Without one annotation, or at last without any. Returns whether it is right then. */
static bool mend(struct work *w, const struct poise_error *why)
{
	const struct kube_service *s = w->b->e->service;

	for (size_t i = 0; i < s->notes; i++) {
		set_options(w, i, false, true);
		if (validate(w, NULL))
			continue;
		blame(w, KUBE_R_REFUSED, &s->note[i], why);
		return true;
	}
	set_options(w, s->notes, true, true);
	blame(w, KUBE_R_REFUSED, NULL, why);
	return !validate(w, NULL);
}

void build_service(const struct build *b, const struct kube_port *const *port, size_t ports,
		   struct config *part, struct kube_findings *findings)
{
	struct work w = {b, part, NULL, findings};
	struct poise_error err = {0};

	w.svc = config_service_add(part, b->name, POISE_OWNER_KUBERNETES, &err);
	if (!w.svc) { /* its hash is another's */
		blame(&w, KUBE_R_NAME, NULL, &err);
		return;
	}
	for (size_t i = 0; i < ports; i++)
		listen_on(&w, port[i]);
	put_members(&w);
	set_options(&w, b->e->service->notes, false, false);
	if (validate(&w, &err) && !mend(&w, &err))
		config_service_del(part, w.svc);
}
