// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From the tree of a file to a configuration. Which keys a service or backend has is the option
 * table's business; here is the structure around them: what is a list, what a mapping, what must be
 * there. Every step notes its line in the error first, so whatever fails inside has one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_priv.h"
#include "option.h"
#include "text.h"
#include "tree.h"

#define HASH_KEY_DIGITS 32
#define INTERFACES_MAX	256 /* more devices than hosts have */

struct parser {
	struct config *cfg;
	struct poise_error *err;
	struct poise_service_conf defaults;
	const struct tree_node *services;
	size_t backends; /* of all services */
};

static void at(struct parser *p, const struct tree_node *n)
{
	p->err->line = n->line;
}

static int need_kind(struct parser *p, const struct tree_node *n, enum tree_kind kind,
		     const char *what)
{
	at(p, n);
	if (tree_is_null(n))
		return poise_fail(p->err, POISE_E_BAD_VALUE, "%s: has no value", what);
	if (n->kind != kind)
		return poise_fail(p->err, POISE_E_BAD_VALUE, "%s: must be %s, not %s", what,
				  tree_kind_word(kind), tree_kind_word(n->kind));
	return 0;
}

/* The text of a scalar; NULL with an error if it is none. */
static const char *need_text(struct parser *p, const struct tree_node *n, const char *what)
{
	return need_kind(p, n, TREE_TEXT, what) ? NULL : n->text;
}

static int set_option(struct parser *p, enum option_scope scope, const struct tree_node *key,
		      const struct tree_node *value, void *obj, const char *const *more, size_t n)
{
	const struct option *o = option_find(scope, key->text);
	const char *text;

	at(p, key);
	if (!o)
		return option_unknown(scope, key->text, more, n, p->err);
	text = need_text(p, value, key->text);
	return text ? option_set(o, obj, text, p->err) : -1;
}

/* ---- top level --------------------------------------------------------------------------------*/

static int parse_hash_key(struct parser *p, const struct tree_node *n)
{
	const char *text = need_text(p, n, "hash-key");

	if (!text)
		return -1;
	if (strlen(text) != HASH_KEY_DIGITS ||
	    strspn(text, "0123456789abcdefABCDEF") != HASH_KEY_DIGITS)
		return poise_fail(p->err, POISE_E_BAD_VALUE, "hash-key: must be %d hex digits",
				  HASH_KEY_DIGITS); /* a secret: not quoted */
	for (size_t i = 0; i < HASH_KEY_DIGITS; i++) {
		char digit[] = {text[i], '\0'};
		__u64 *half = &p->cfg->hash_key[i / (HASH_KEY_DIGITS / 2)];

		*half = *half << 4 | strtoul(digit, NULL, 16);
	}
	p->cfg->has_hash_key = true;
	return 0;
}

static int parse_limits(struct parser *p, const struct tree_node *n)
{
	if (need_kind(p, n, TREE_MAP, "limits"))
		return -1;
	for (size_t i = 0; i < n->items; i += 2)
		if (set_option(p, OPTION_LIMIT, n->item[i], n->item[i + 1], &p->cfg->limits, NULL,
			       0))
			return poise_error_about(p->err, "limits");
	p->cfg->has_limits = true;
	return 0;
}

static int parse_defaults(struct parser *p, const struct tree_node *n)
{
	if (need_kind(p, n, TREE_MAP, "defaults"))
		return -1;
	for (size_t i = 0; i < n->items; i += 2)
		if (set_option(p, OPTION_SERVICE, n->item[i], n->item[i + 1], &p->defaults, NULL,
			       0))
			return poise_error_about(p->err, "defaults");
	return 0;
}

static int parse_addresses(struct parser *p, const struct tree_node *n)
{
	at(p, n);
	poise_fail(p->err, POISE_E_UNSUPPORTED,
		   "addresses: claiming addresses is not in this version");
	return poise_error_remedy(p->err,
				  "remove the key; packets reach a service whether or not its "
				  "address is on an interface, as long as they are routed here");
}

/* ---- interfaces -------------------------------------------------------------------------------*/

static int check_device(struct parser *p, const char *name)
{
	size_t length = strlen(name);
	bool good = length && length < IF_NAMESIZE && strcmp(name, ".") && strcmp(name, "..");

	for (const char *c = name; *c && good; c++)
		good = *c > ' ' && *c < 0x7f && *c != '/' && *c != ':';
	if (good)
		return 0;
	poise_fail_text(p->err, POISE_E_BAD_VALUE, name, "not a name of a device");
	return poise_error_of(p->err, "device");
}

static int parse_interface(struct parser *p, const struct tree_node *n)
{
	static const char *const more[] = {"device"};
	struct config *cfg = p->cfg;
	struct config_interface new = {0};
	const struct tree_node *device = n;
	const char *name;
	size_t room = cfg->interfaces;

	option_defaults(OPTION_INTERFACE, &new);
	for (size_t i = 0; n->kind == TREE_MAP && i < n->items; i += 2)
		if (strcmp(n->item[i]->text, more[0]) &&
		    set_option(p, OPTION_INTERFACE, n->item[i], n->item[i + 1], &new, more, 1))
			return -1;
	at(p, n);
	if (n->kind == TREE_MAP)
		device = tree_value(n, more[0]);
	if (!device)
		return poise_fail(p->err, POISE_E_BAD_VALUE, "the device is missing");
	name = need_text(p, device, more[0]);
	if (!name || check_device(p, name))
		return -1;
	for (size_t i = 0; i < cfg->interfaces; i++)
		if (!strcmp(cfg->interface[i].device, name))
			return poise_fail(p->err, POISE_E_EXISTS, "device %s is listed twice",
					  name);
	if (cfg->interfaces == INTERFACES_MAX)
		return poise_fail(p->err, POISE_E_FULL, "more than %d devices", INTERFACES_MAX);
	snprintf(new.device, sizeof(new.device), "%s", name);
	cfg->interface =
		config_grow(cfg->interface, cfg->interfaces, &room, sizeof(*cfg->interface));
	cfg->interface[cfg->interfaces++] = new;
	return 0;
}

static int parse_interfaces(struct parser *p, const struct tree_node *n)
{
	if (need_kind(p, n, TREE_LIST, "interfaces"))
		return -1;
	for (size_t i = 0; i < n->items; i++)
		if (parse_interface(p, n->item[i]))
			return poise_error_about(p->err, "interfaces");
	return 0;
}

/* ---- backends ---------------------------------------------------------------------------------*/

static const char *const backend_keys[] = {"address", "port"};
#define BACKEND_KEYS (sizeof(backend_keys) / sizeof(backend_keys[0]))

static bool is_among(const char *key, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(key, keys[i]))
			return true;
	return false;
}

/* The error for a mapping without a key that it needs: if another key is unknown, that is it,
 * misspelled. */
static int missing(struct parser *p, const struct tree_node *map, enum option_scope scope,
		   const char *const *keys, size_t n, const char *what)
{
	for (size_t i = 0; i < map->items; i += 2) {
		at(p, map->item[i]);
		if (!is_among(map->item[i]->text, keys, n) &&
		    !option_find(scope, map->item[i]->text))
			return option_unknown(scope, map->item[i]->text, keys, n, p->err);
	}
	at(p, map);
	return poise_fail(p->err, POISE_E_BAD_VALUE, "%s", what);
}

/* Address and port of a backend, written as one text or as two keys. */
static int parse_endpoint(struct parser *p, const struct tree_node *n, union poise_addr *addr,
			  __u16 *port)
{
	const struct tree_node *address = n->kind == TREE_MAP ? tree_value(n, "address") : n;
	const struct tree_node *number = n->kind == TREE_MAP ? tree_value(n, "port") : NULL;
	const char *text;

	at(p, n);
	if (!address)
		return missing(p, n, OPTION_BACKEND, backend_keys, BACKEND_KEYS,
			       "a backend without an address");
	text = need_text(p, address, "address");
	if (!text)
		return poise_error_about(p->err, "backend");
	if (poise_parse_endpoint(text, addr, port, p->err))
		return poise_error_of(p->err, "backend");
	if (!number)
		return 0;
	if (*port) {
		at(p, number);
		poise_fail_text(p->err, POISE_E_CONFLICT, text, "has its port in the address too");
		return poise_error_of(p->err, "backend");
	}
	text = need_text(p, number, "port");
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

	if (parse_endpoint(p, n, &addr, &port))
		return -1;
	poise_format_endpoint(&addr, port, text, sizeof(text));
	option_defaults(OPTION_BACKEND, &new.conf);
	for (size_t i = 0; n->kind == TREE_MAP && i < n->items; i += 2) {
		if (is_among(n->item[i]->text, backend_keys, BACKEND_KEYS))
			continue;
		if (set_option(p, OPTION_BACKEND, n->item[i], n->item[i + 1], &new.conf,
			       backend_keys, BACKEND_KEYS))
			return poise_error_about(p->err, "backend %s", text);
		new.admin_said |= !strcmp(n->item[i]->text, "admin");
	}
	at(p, n);
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
	if (need_kind(p, n, TREE_LIST, "backends"))
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
	const char *text = need_text(p, n, "listen");
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
		return need_kind(p, n, TREE_LIST, "listen");
	for (size_t i = 0; (one = listener_node(n, i)); i++)
		if (add_listener(p, svc, one))
			return -1;
	return 0;
}

/* `health: none` is what this version does; any other check it does not have. */
static int parse_health(struct parser *p, const struct tree_node *n)
{
	const struct tree_node *type = n->kind == TREE_MAP ? tree_value(n, "type") : n;

	at(p, n);
	if (type && type->kind == TREE_TEXT && !strcmp(type->text, "none"))
		return 0;
	poise_fail(p->err, POISE_E_UNSUPPORTED, "health: checks are not in this version");
	return poise_error_remedy(p->err, "write health: none, or leave it out");
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
			failed = parse_health(p, value);
		else if (strcmp(key->text, "name"))
			failed = set_option(p, OPTION_SERVICE, key, value, &svc->conf, service_keys,
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

	if (need_kind(p, n, TREE_MAP, "a service"))
		return -1;
	name = tree_value(n, "name");
	if (!name)
		return missing(p, n, OPTION_SERVICE, service_keys, SERVICE_KEYS,
			       "a service without a name");
	text = need_text(p, name, "name");
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
		option_copy(o, &svc->conf, &p->defaults);
	return parse_service_body(p, svc, n);
}

static int parse_services(struct parser *p, const struct tree_node *n)
{
	if (tree_is_null(n))
		return 0;
	if (need_kind(p, n, TREE_LIST, "services"))
		return -1;
	p->services = n;
	for (size_t i = 0; i < n->items; i++)
		if (parse_service(p, n->item[i]))
			return -1;
	return 0;
}

/* ---- the whole --------------------------------------------------------------------------------*/

/* In the order in which they are read, whatever their order in the file. */
static const struct {
	const char *key;
	int (*parse)(struct parser *p, const struct tree_node *n);
} sections[] = {
	{"hash-key", parse_hash_key},	  {"limits", parse_limits},
	{"interfaces", parse_interfaces}, {"addresses", parse_addresses},
	{"defaults", parse_defaults},	  {"services", parse_services},
};
#define SECTIONS (sizeof(sections) / sizeof(sections[0]))

static int check_sections(struct parser *p, const struct tree_node *root)
{
	const char *keys[SECTIONS], *near;

	for (size_t s = 0; s < SECTIONS; s++)
		keys[s] = sections[s].key;
	for (size_t i = 0; i < root->items; i += 2) {
		const char *key = root->item[i]->text;

		if (is_among(key, keys, SECTIONS))
			continue;
		at(p, root->item[i]);
		near = poise_closest(key, keys, SECTIONS);
		poise_fail_text(p->err, POISE_E_UNKNOWN_KEY, key, "no such key of the file");
		if (near)
			return poise_error_remedy(p->err, "did you mean %s?", near);
		return poise_error_remedy(p->err, "its keys are hash-key, limits, interfaces, "
						  "defaults and services");
	}
	return 0;
}

static int parse_root(struct parser *p, const struct tree_node *root)
{
	if (!root || tree_is_null(root))
		return 0;
	if (need_kind(p, root, TREE_MAP, "the file") || check_sections(p, root))
		return -1;
	option_defaults(OPTION_SERVICE, &p->defaults);
	for (size_t s = 0; s < SECTIONS; s++) {
		const struct tree_node *n = tree_value(root, sections[s].key);

		if (n && sections[s].parse(p, n))
			return -1;
	}
	return config_validate(p->cfg, p->err);
}

struct config *config_parse(const char *file, const char *text, size_t length,
			    struct poise_error *err)
{
	struct poise_error mine = {
		0}; /* kept from err, whose file and line would outlive success */
	struct parser p = {.cfg = config_new(), .err = &mine};
	struct tree *tree;

	snprintf(mine.file, sizeof(mine.file), "%s", file);
	snprintf(p.cfg->file, sizeof(p.cfg->file), "%s", file);
	if (length > CONFIG_FILE_MAX) {
		poise_fail(&mine, POISE_E_SYNTAX, "larger than %d MiB", CONFIG_FILE_MAX >> 20);
		tree = NULL;
	} else {
		tree = tree_read(text, length, &mine);
	}
	if (!tree || parse_root(&p, tree->root)) {
		config_free(p.cfg);
		p.cfg = NULL;
		if (err)
			*err = mine;
	}
	tree_free(tree);
	return p.cfg;
}
