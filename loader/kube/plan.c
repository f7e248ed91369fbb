// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What one Service asks for; see plan.h. Here is which of its ports and addresses make a poise
 * service together, and what that is called.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "annotate.h"
#include "fnv.h"
#include "maps/memory.h"
#include "maps/text.h"
#include "plan.h"

#define HASH_DIGITS 16
#define LONG_NAME   256 /* three labels of 63 with what is between and behind */

/* Endpoints of all its ports that are looked at for one Service: ten ports of a hundred thousand. A
 * thousand ports of as many would keep the others waiting for minutes. */
#define ENDPOINTS_MOST (1u << 20)

struct planner {
	const struct kube_cache *c;
	const struct kube_options *o;
	const struct kube_entry *e;
	struct plan *out;
	struct places places;
	const struct kube_port **port; /* those of TCP and UDP */
	size_t ports;
	struct targets *targets; /* of the first so many of them, in the family under way */
	size_t within;
	size_t members; /* of all its poise services until now */
};

/* ---- whether it is ours -----------------------------------------------------------------------*/

bool kube_class_ours(const struct kube_service *s, const struct kube_options *o)
{
	if (s->type != KUBE_LOAD_BALANCER)
		return false;
	if (!s->lb_class)
		return o->classless;
	return !strcmp(s->lb_class, o->lb_class ? o->lb_class : KUBE_CLASS);
}

bool kube_left_alone(const struct kube_service *s, const struct kube_options *o)
{
	return s->headless || s->type >= KUBE_EXTERNAL_NAME ||
	       (s->proxy && strcmp(s->proxy, KUBE_PROXY_NAME) != 0) ||
	       (s->type == KUBE_LOAD_BALANCER && !kube_class_ours(s, o));
}

struct kube_about plan_about(const struct kube_entry *e)
{
	return (struct kube_about){KUBE_SERVICE, e->at.ns, e->at.name, e->service->o.uid};
}

/* ---- names ------------------------------------------------------------------------------------*/

/* port NULL: of all ports. */
static void name_service(const struct planner *p, const struct kube_port *port, bool open,
			 __u8 family, char out[POISE_NAME_MAX])
{
	const char *tail = open ? "_open" : "", *six = family == KUBE_IPV6 ? "_6" : "";
	const struct kube_entry *e = p->e;
	char text[LONG_NAME];

	if (!port)
		snprintf(text, sizeof(text), "%s.%s%s%s", e->at.ns, e->at.name, tail, six);
	else if (port->name[0])
		snprintf(text, sizeof(text), "%s.%s.%s%s%s", e->at.ns, e->at.name, port->name, tail,
			 six);
	else
		snprintf(text, sizeof(text), "%s.%s.%u%s%s", e->at.ns, e->at.name, port->port, tail,
			 six);
	if (!poise_check_name(text, NULL))
		memcpy(out, text, strlen(text) + 1);
	else /* too long, or it reads like an address */
		snprintf(out, POISE_NAME_MAX, "%.*s_%0*llx", POISE_NAME_MAX - 2 - HASH_DIGITS, text,
			 HASH_DIGITS, fnv(FNV_BEGIN, text, strlen(text)));
}

/* ---- which ports go together ------------------------------------------------------------------*/

/* By what the Service says, which does not change as pods come and go; and in fact. A name stands
 * for other numbers in TCP than in UDP. */
static bool same_target(const struct kube_port *a, const struct kube_port *b)
{
	const char *x = a->target, *y = b->target;
	char number[2][8];

	snprintf(number[0], sizeof(number[0]), "%u", a->port);
	snprintf(number[1], sizeof(number[1]), "%u", b->port);
	if (!*x || !strcmp(x, "0"))
		x = number[0];
	if (!*y || !strcmp(y, "0"))
		y = number[1];
	return !strcmp(x, y) && (a->proto == b->proto || !x[strspn(x, "0123456789")]);
}

/* Whether all ports that listen at these places can be one poise service. */
static bool agree(const struct planner *p, const struct build *b)
{
	const struct kube_port *first = NULL;
	size_t listeners = 0, of = 0;

	for (size_t i = 0; i < p->within; i++) {
		size_t n = build_listeners(b, p->port[i]);

		if (!n)
			continue;
		listeners += n;
		if (!first) {
			first = p->port[i];
			of = i;
		} else if (!same_target(first, p->port[i]) ||
			   !targets_equal(&p->targets[of], &p->targets[i])) {
			return false;
		}
	}
	return listeners <= POISE_LISTENERS_MAX;
}

/* Ports that listen nowhere there are none of it. A Service cannot have more members than one poise
 * service could: else one with a thousand ports would want a million. */
static void build(struct planner *p, struct build *b, const struct kube_port **port, size_t ports,
		  const struct targets *t)
{
	const struct kube_about about = plan_about(p->e);
	char field[32];

	if (p->members + t->n > CONFIG_MEMBERS_MAX) {
		snprintf(field, sizeof(field), "spec.ports[%u]", port[0]->at);
		kube_find(&p->out->findings, &about, KUBE_R_FULL, field,
			  "not served: a Service has at most %d backends, of all its ports",
			  CONFIG_MEMBERS_MAX);
		return;
	}
	p->members += t->n;
	b->targets = t;
	build_service(b, port, ports, p->out->part, &p->out->findings);
}

static void build_set(struct planner *p, struct build b, bool open)
{
	const struct kube_port **port = memory_alloc((p->within + 1) * sizeof(*port));
	bool together = agree(p, &b);
	char name[POISE_NAME_MAX];
	size_t n = 0, first = 0;

	b.name = name;
	for (size_t i = 0; i < p->within; i++) {
		if (!build_listeners(&b, p->port[i]))
			continue;
		if (!n)
			first = i;
		port[n++] = p->port[i];
		if (together)
			continue;
		name_service(p, p->port[i], open, b.family, name);
		build(p, &b, &p->port[i], 1, &p->targets[i]);
	}
	if (n && together) {
		name_service(p, NULL, open, b.family, name);
		build(p, &b, port, n, &p->targets[first]);
	}
	free(port);
}

/* Where each port leads, as long as that is no endless work. */
static void find_targets(struct planner *p, __u8 family)
{
	const struct kube_node *node = kube_cache_node(p->c);
	const struct kube_about about = plan_about(p->e);
	struct targets *t = p->targets;
	char field[32];
	size_t seen = 0;

	for (p->within = 0; p->within < p->ports; p->within++, t++) {
		const struct kube_port *port = p->port[p->within];

		targets_of(p->e, port, family, p->e->service->local, node ? node->zone : "", t);
		seen += t->seen;
		if (seen <= ENDPOINTS_MOST)
			continue;
		targets_free(t);
		snprintf(field, sizeof(field), "spec.ports[%u]", port->at);
		kube_find(&p->out->findings, &about, KUBE_R_FULL, field,
			  "not served, nor those behind it: the ports of a Service have at most "
			  "%u endpoints together, of all nodes",
			  ENDPOINTS_MOST);
		return;
	}
}

static void build_family(struct planner *p, __u8 family)
{
	const struct kube_service *s = p->e->service;
	const __u8 all = 1 << PLACE_INGRESS | 1 << PLACE_EXTERNAL | 1 << PLACE_NODE;
	struct build b = {.e = p->e, .places = &p->places, .family = family};

	find_targets(p, family);
	b.kinds = s->ranged ? 1 << PLACE_INGRESS : all;
	build_set(p, b, false);
	if (s->ranged) {
		b.kinds = all & ~(1 << PLACE_INGRESS);
		build_set(p, b, true);
	}
	for (size_t i = 0; i < p->within; i++)
		targets_free(&p->targets[i]);
}

/* ---- the whole --------------------------------------------------------------------------------*/

static void find_faults(const struct kube_entry *e, struct kube_findings *out)
{
	const struct kube_service *s = e->service;
	const struct kube_about about = plan_about(e);

	kube_findings_add(out, s->o.faults);
	for (size_t i = 0; i < e->slices; i++)
		kube_findings_add(out, e->slice[i]->o.faults);
	if (s->affinity && s->affinity_for > KUBE_AFFINITY_MOST)
		kube_find(out, &about, KUBE_R_UNSUPPORTED,
			  "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
			  "%u: clients are known for %u seconds at most", s->affinity_for,
			  KUBE_AFFINITY_MOST);
}

static bool is_server(const struct kube_options *o, const struct place *place)
{
	return o->server_port && !poise_addr_cmp(&place->addr, &o->server);
}

/* The way to the API server must not depend on what it tells us: should what is behind it there go
 * wrong, we could not be told otherwise. It may be meant, as where we are the balancer in front of
 * it, so it is served. */
static void find_server(struct planner *p)
{
	const struct kube_about about = plan_about(p->e);
	char field[32], text[POISE_ADDR_TEXT];

	for (size_t i = 0; i < p->places.n; i++) {
		const struct place *place = &p->places.place[i];

		for (size_t k = 0; k < p->ports && is_server(p->o, place); k++) {
			if (p->port[k]->proto != IPPROTO_TCP ||
			    place_port(place, p->port[k]) != p->o->server_port)
				continue;
			snprintf(field, sizeof(field), "spec.ports[%u]", p->port[k]->at);
			kube_find(&p->out->findings, &about, KUBE_R_SERVER, field,
				  "served at %s port %u, where this node reaches the API server: "
				  "if that fails there, nothing that is changed will be known",
				  poise_format_addr(&place->addr, text, sizeof(text)),
				  p->o->server_port);
		}
	}
}

/* On a device of ours, the API server's address would lead nowhere else any more. */
static bool may_claim(struct planner *p, const struct place *place)
{
	const struct kube_about about = plan_about(p->e);
	char text[POISE_ADDR_TEXT];

	if (place->kind != PLACE_INGRESS || !is_server(p->o, place))
		return place->kind == PLACE_INGRESS;
	if (p->o->claim)
		kube_find(&p->out->findings, &about, KUBE_R_SERVER, "status.loadBalancer.ingress",
			  "%s is not put on %s: this node reaches the API server by it",
			  poise_format_addr(&place->addr, text, sizeof(text)), p->o->claim);
	return false;
}

static void claim(struct planner *p)
{
	p->out->claim = memory_alloc((p->places.n + 1) * sizeof(*p->out->claim));
	for (size_t i = 0; i < p->places.n; i++)
		if (may_claim(p, &p->places.place[i]))
			p->out->claim[p->out->claims++] = p->places.place[i].addr;
}

void plan_make(const struct kube_cache *c, const struct kube_options *o, const struct kube_entry *e,
	       struct plan *out)
{
	const struct kube_service *s = e->service;
	struct planner p = {.c = c, .o = o, .e = e, .out = out};

	*out = (struct plan){.part = config_new(), .created = s ? s->o.created : 0};
	if (s && s->type == KUBE_TYPE_UNKNOWN) /* nobody else can know it either */
		kube_findings_add(&out->findings, s->o.faults);
	if (!s || kube_left_alone(s, o))
		return;
	if (kube_class_ours(s, o) && s->local && s->health_port) {
		out->health_port = s->health_port;
		out->local = targets_local(e);
	}
	places_of(c, o, s, &p.places, &out->findings);
	if (p.places.n) {
		p.port = memory_alloc((s->ports + 1) * sizeof(*p.port));
		p.targets = memory_alloc((s->ports + 1) * sizeof(*p.targets));
		for (size_t i = 0; i < s->ports; i++)
			if (s->port[i].proto)
				p.port[p.ports++] = &s->port[i];
		find_faults(e, &out->findings);
		find_server(&p);
		build_family(&p, KUBE_IPV4);
		build_family(&p, KUBE_IPV6);
		claim(&p);
		free(p.port);
		free(p.targets);
	} else if (kube_class_ours(s, o)) { /* what is amiss may be why it has none */
		kube_findings_add(&out->findings, s->o.faults);
	}
	free(p.places.place);
}

void plan_free(struct plan *p)
{
	config_free(p->part);
	kube_findings_free(&p->findings);
	free(p->claim);
}
