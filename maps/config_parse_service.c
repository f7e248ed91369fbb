// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The section `services` of a file: services, their listeners and their backends.
 */
#include <string.h>

#include "config_parse.h"
#include "text.h"

/* ---- backends ---------------------------------------------------------------------------------*/

static const char *const backend_keys[] = {"address", "port"};
#define BACKEND_KEYS (sizeof(backend_keys) / sizeof(backend_keys[0]))

/* Address and port of a backend, written as one text or as two keys. */
static int backend_endpoint(struct parser *p, const struct tree_node *n, union poise_addr *addr,
			    __u16 *port)
{
	const struct tree_node *address = n->kind == TREE_MAP ? tree_value(n, "address") : n;
	const struct tree_node *number = n->kind == TREE_MAP ? tree_value(n, "port") : NULL;
	const char *text;

	parse_at(p, n);
	if (!address)
		return parse_missing(p, n, OPTION_BACKEND, backend_keys, BACKEND_KEYS,
				     "a backend without an address");
	text = parse_text(p, address, "address");
	if (!text)
		return poise_error_about(p->err, "backend");
	if (poise_parse_endpoint(text, addr, port, p->err))
		return poise_error_of(p->err, "backend");
	if (!number)
		return 0;
	if (*port) {
		parse_at(p, number);
		poise_fail_text(p->err, POISE_E_CONFLICT, text, "has its port in the address too");
		return poise_error_of(p->err, "backend");
	}
	text = parse_text(p, number, "port");
	if (!text || poise_parse_port(text, port, p->err))
		return poise_error_of(p->err, "port");
	return 0;
}

static int add_backend(struct parser *p, struct config_service *svc, const struct tree_node *n)
{
	struct config_member new = {.line = n->line}, *m;
	char text[POISE_ENDPOINT_TEXT];
	union poise_addr addr;
	__u16 port;

	if (backend_endpoint(p, n, &addr, &port))
		return -1;
	poise_format_endpoint(&addr, port, text, sizeof(text));
	option_defaults(OPTION_BACKEND, &new.conf);
	for (size_t i = 0; n->kind == TREE_MAP && i < n->items; i += 2) {
		if (parse_among(n->item[i]->text, backend_keys, BACKEND_KEYS))
			continue;
		if (parse_option(p, OPTION_BACKEND, n->item[i], n->item[i + 1], &new.conf,
				 backend_keys, BACKEND_KEYS))
			return poise_error_about(p->err, "backend %s", text);
		new.admin_said |= !strcmp(n->item[i]->text, "admin");
	}
	parse_at(p, n);
	m = config_member_at(svc, &addr, port);
	if (m) {
		poise_fail(p->err, POISE_E_EXISTS, "is in line %d already", m->line);
		return poise_error_about(p->err, "backend %s", text);
	}
	if (++p->backends > CONFIG_IDS_MAX)
		return poise_fail(p->err, POISE_E_FULL, "more than %d backends in the file",
				  CONFIG_IDS_MAX);
	m = config_member_add(svc, &addr, port, p->err);
	if (!m)
		return -1;
	m->line = new.line;
	m->admin_said = new.admin_said;
	m->conf.r.owner = POISE_OWNER_FILE;
	for (const struct option *o = option_first(OPTION_BACKEND); o; o = option_next(o))
		option_copy(o, &m->conf, &new.conf);
	return 0;
}

static int parse_backends(struct parser *p, struct config_service *svc, const struct tree_node *n)
{
	if (tree_is_null(n))
		return 0; /* "backends:" and nothing below it: none yet */
	if (parse_need(p, n, TREE_LIST, "backends"))
		return -1;
	for (size_t i = 0; i < n->items; i++)
		if (add_backend(p, svc, n->item[i]))
			return -1;
	return 0;
}

/* ---- services ---------------------------------------------------------------------------------*/

static const char *const service_keys[] = {"name", "listen", "backends", "health"};
#define SERVICE_KEYS (sizeof(service_keys) / sizeof(service_keys[0]))

/* The listeners a service's node lists, whether one text or a list of them. */
static const struct tree_node *listener_node(const struct tree_node *listen, size_t i)
{
	if (listen->kind != TREE_LIST)
		return i ? NULL : listen;
	return i < listen->items ? listen->item[i] : NULL;
}

/* The first line of the file that names this listener. */
static int line_of_listener(const struct parser *p, const struct poise_listener_conf *l)
{
	const struct tree_node *listen, *n;
	struct poise_listener_conf other;

	for (size_t s = 0; s < p->services->items; s++) {
		listen = tree_value(p->services->item[s], "listen");
		for (size_t i = 0; listen && (n = listener_node(listen, i)); i++)
			if (n->kind == TREE_TEXT && !poise_parse_listener(n->text, &other, NULL) &&
			    config_same_listener(&other, l))
				return n->line;
	}
	return 0;
}

static int add_listener(struct parser *p, struct config_service *svc, const struct tree_node *n)
{
	const char *text = parse_text(p, n, "listen");
	struct poise_listener_conf l;
	struct config_service *holder;

	if (!text)
		return -1;
	if (poise_parse_listener(text, &l, p->err))
		return poise_error_of(p->err, "listener");
	l.owner = POISE_OWNER_FILE;
	holder = config_index_find(p->cfg, &l);
	if (holder) {
		poise_fail_text(p->err, POISE_E_EXISTS, text, "service \"%s\" has it in line %d",
				holder->conf.name, line_of_listener(p, &l));
		return poise_error_of(p->err, "listener");
	}
	if (svc->conf.listeners == POISE_LISTENERS_MAX)
		return poise_fail(p->err, POISE_E_FULL, "more than %d listeners",
				  POISE_LISTENERS_MAX);
	return config_listen(p->cfg, svc, &l, p->err);
}

static int parse_listen(struct parser *p, struct config_service *svc, const struct tree_node *n)
{
	const struct tree_node *one;

	if (n->kind == TREE_MAP || tree_is_null(n))
		return parse_need(p, n, TREE_LIST, "listen");
	for (size_t i = 0; (one = listener_node(n, i)); i++)
		if (add_listener(p, svc, one))
			return -1;
	return 0;
}

static const char *const health_keys[] = {"type"};

/* `health: tcp`, or a mapping with the type and what else is to be said. */
static int parse_health(struct parser *p, struct config_service *svc, const struct tree_node *n)
{
	const struct option *type = option_find(OPTION_HEALTH, "type");
	const struct tree_node *said = n->kind == TREE_MAP ? tree_value(n, "type") : n;
	const char *text;

	parse_at(p, n);
	svc->health_line = n->line;
	if (!said)
		return parse_missing(p, n, OPTION_HEALTH, health_keys, 1, "health without a type");
	text = parse_text(p, said, "type");
	if (!text || option_set(type, &svc->conf.health, text, p->err))
		return poise_error_of(p->err, "health");
	for (size_t i = 0; n->kind == TREE_MAP && i < n->items; i += 2) {
		if (parse_among(n->item[i]->text, health_keys, 1))
			continue;
		if (parse_option(p, OPTION_HEALTH, n->item[i], n->item[i + 1], &svc->conf.health,
				 health_keys, 1))
			return poise_error_of(p->err, "health");
	}
	parse_at(p, n);
	return config_health_validate(&svc->conf.health, &svc->conf.health, p->err);
}

static int parse_service_body(struct parser *p, struct config_service *svc,
			      const struct tree_node *n)
{
	for (size_t i = 0; i < n->items; i += 2) {
		const struct tree_node *key = n->item[i], *value = n->item[i + 1];
		int failed = 0;

		if (!strcmp(key->text, "listen"))
			failed = parse_listen(p, svc, value);
		else if (!strcmp(key->text, "backends"))
			failed = parse_backends(p, svc, value);
		else if (!strcmp(key->text, "health"))
			failed = parse_health(p, svc, value);
		else if (strcmp(key->text, "name"))
			failed = parse_option(p, OPTION_SERVICE, key, value, svc, service_keys,
					      SERVICE_KEYS);
		if (failed)
			return poise_error_about(p->err, "service \"%s\"", svc->conf.name);
	}
	return 0;
}

static int parse_service(struct parser *p, const struct tree_node *n)
{
	const struct tree_node *name;
	struct config_service *svc;
	const char *text;

	if (parse_need(p, n, TREE_MAP, "a service"))
		return -1;
	name = tree_value(n, "name");
	if (!name)
		return parse_missing(p, n, OPTION_SERVICE, service_keys, SERVICE_KEYS,
				     "a service without a name");
	text = parse_text(p, name, "name");
	if (!text)
		return poise_error_about(p->err, "service");
	svc = config_service_named(p->cfg, text);
	if (svc) {
		poise_fail(p->err, POISE_E_EXISTS, "line %d has a service of this name already",
			   svc->line);
		return poise_error_about(p->err, "service \"%s\"", text);
	}
	if (p->cfg->services == CONFIG_IDS_MAX)
		return poise_fail(p->err, POISE_E_FULL, "more than %d services", CONFIG_IDS_MAX);
	svc = config_service_add(p->cfg, text, POISE_OWNER_FILE, p->err);
	if (!svc)
		return -1;
	svc->line = n->line;
	for (const struct option *o = option_first(OPTION_SERVICE); o; o = option_next(o))
		option_copy(o, svc, &p->defaults);
	return parse_service_body(p, svc, n);
}

int parse_services(struct parser *p, const struct tree_node *n)
{
	if (tree_is_null(n))
		return 0;
	if (parse_need(p, n, TREE_LIST, "services"))
		return -1;
	p->services = n;
	for (size_t i = 0; i < n->items; i++)
		if (parse_service(p, n->item[i]))
			return -1;
	return 0;
}
